"""Probability of a row to be positive, from the shares of its cell."""

from __future__ import annotations

import warnings

import numpy as np


def posterior_of_cells(shares: np.ndarray, sample_shares: np.ndarray, value: float) -> np.ndarray:
    """Probability in each cell, min(1, s share / sample share), whose mean is the prevalence.

    Parameters
    ----------
    shares, sample_shares : ndarray of shape (n_cells,)
        Shares of the positives and of the sample in each cell.
    value : float
        The prevalence.

    Warns
    -----
    UserWarning
        If the mean cannot reach the prevalence. It points at the caller's caller.

    Examples
    --------
    >>> posterior_of_cells(np.array([0.2, 0.8]), np.array([0.6, 0.4]), 0.4).round(3).tolist()
    [0.133, 0.8]
    """
    possible = (shares > 0) & (sample_shares > 0)
    positives, sample = shares[possible], sample_shares[possible]
    # The mean over the sample grows with s, in straight lines between these points.
    knots = np.concatenate([[0.0], np.sort(sample / positives)])
    means = np.minimum(sample, knots[:, np.newaxis] * positives).sum(axis=1)
    if value > means[-1] + 1e-9:
        warnings.warn(
            f"The mean posterior is {means[-1]:.4f}, not the prevalence {value:.4f}: only that "
            "share of the sample lies where positives can be.",
            stacklevel=3,
        )
    s = np.interp(value, means, knots)
    posterior = np.zeros(len(shares))
    posterior[possible] = np.minimum(1.0, s * positives / sample)
    return posterior
