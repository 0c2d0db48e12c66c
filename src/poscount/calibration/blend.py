"""A learned weight between two answers, for the calibration of sums over kinds of positives.

Counting all positives as one kind is right if nothing drifts, and the sum over kinds is right if
kinds drift; no single sample tells for sure which of them it is. The weight of the sum is a
logistic function of what is known about the sample. The trees of a calibration start from the
blend: by themselves, they would need many more tasks to learn a weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Columns of the answers between which the blend lies, and of the blend.
ONE_KIND, SUM, BLEND = "plain", "kinds", "prevalence"
LARGEST_LOGIT = 30.0
DECIMALS = 6


def blend(lines: np.ndarray, columns: Sequence[str], coefficients: np.ndarray) -> np.ndarray:
    """Lines in which the blend is the uncalibrated prevalence.

    Parameters
    ----------
    lines : ndarray of shape (n_samples, n_columns)
    columns : sequence of str
        Names of the columns.
    coefficients : ndarray of shape (1 + n_columns,)
        The constant of the logistic function, and the coefficient of each column.

    Examples
    --------
    >>> lines = np.array([[0.0, 0.2, 0.6], [0.0, np.nan, 0.6]])
    >>> blend(lines, ["prevalence", "plain", "kinds"], np.zeros(4))[0].tolist()
    [0.4, 0.2, 0.6]
    """
    one_kind, total, place = (list(columns).index(name) for name in (ONE_KIND, SUM, BLEND))
    # A sum along each row, not a matrix product, so that a group gets the bits that it gets alone.
    logit = coefficients[0] + (np.nan_to_num(lines) * coefficients[1:]).sum(axis=1)
    weight = 1 / (1 + np.exp(-logit.clip(-LARGEST_LOGIT, LARGEST_LOGIT)))
    blended = lines.copy()
    blended[:, place] = lines[:, one_kind] + weight * (lines[:, total] - lines[:, one_kind])
    blended[:, place] = blended[:, place].round(DECIMALS)
    return blended
