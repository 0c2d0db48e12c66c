"""How likely the rows of each cell are to be positive."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from poscount.results.prevalence import Prevalence


class CellPosterior(NamedTuple):
    """What a model says about the rows of a sample, cell by cell.

    Attributes
    ----------
    rows : ndarray of int, shape (n_cells,)
        Rows of the sample in each cell.
    shares : ndarray of shape (n_cells,)
        Share of the labelled positives in each cell.
    probability : ndarray of shape (n_cells,)
        Probability that a row of the cell is positive; 0 in a cell without rows.
    prevalence : Prevalence
        Of the sample.
    """

    rows: np.ndarray
    shares: np.ndarray
    probability: np.ndarray
    prevalence: Prevalence


def posterior_of_cells(shares: np.ndarray, sample_shares: np.ndarray, value: float) -> np.ndarray:
    """Probability of being positive in each cell, so that the mean is the prevalence.

    It is min(1, s share / sample share).

    Parameters
    ----------
    shares, sample_shares : ndarray of shape (n_cells,)
        Shares of the positives and of the sample in each cell.
    value : float
        The prevalence.

    Warns
    -----
    UserWarning
        If the mean cannot reach the prevalence; the warning points to the caller's caller.

    Examples
    --------
    >>> posterior_of_cells(np.array([0.2, 0.8]), np.array([0.6, 0.4]), 0.4).round(3).tolist()
    [0.133, 0.8]
    """
    posterior, most = nearest_posterior(shares, sample_shares, value)
    if value > most + 1e-9:
        warnings.warn(
            f"The mean posterior is {most:.4f}, not the prevalence {value:.4f}, because only "
            "that share of the sample lies where positives do.",
            stacklevel=3,
        )
    return posterior


def nearest_posterior(
    shares: np.ndarray, sample_shares: np.ndarray, value: float
) -> tuple[np.ndarray, float]:
    """As `posterior_of_cells`, but with the largest mean that can be reached instead of a warning.

    Examples
    --------
    >>> posterior, most = nearest_posterior(np.array([0.0, 1.0]), np.array([0.7, 0.3]), 0.5)
    >>> posterior.tolist(), float(most)
    ([0.0, 1.0], 0.3)
    """
    possible = (shares > 0) & (sample_shares > 0)
    positives, sample = shares[possible], sample_shares[possible]
    # The mean over the sample is piecewise linear in s, with these knots.
    knots = np.concatenate([[0.0], np.sort(sample / positives)])
    means = np.minimum(sample, knots[:, np.newaxis] * positives).sum(axis=1)
    s = np.interp(value, means, knots)
    posterior = np.zeros(len(shares))
    posterior[possible] = np.minimum(1.0, s * positives / sample)
    return posterior, means[-1]
