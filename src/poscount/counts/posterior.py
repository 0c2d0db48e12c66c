"""How likely the rows of each cell are to be positive."""

from __future__ import annotations

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


def cell_posterior(rows: np.ndarray, shares: np.ndarray, prevalence: Prevalence) -> CellPosterior:
    """Probability of being positive in each cell, min(1, s share / sample share).

    The factor s makes the mean over the sample the prevalence, or as large as it can be.

    Examples
    --------
    >>> p = Prevalence(0.4, n_labeled=5, n_unlabeled=10, method="PAT")
    >>> found = cell_posterior(np.array([6, 4]), np.array([0.2, 0.8]), p)
    >>> found.probability.round(3).tolist()
    [0.133, 0.8]
    """
    sample_shares = rows / rows.sum()
    possible = (shares > 0) & (sample_shares > 0)
    positives, sample = shares[possible], sample_shares[possible]
    # The mean over the sample is piecewise linear in s, with these knots.
    knots = np.concatenate([[0.0], np.sort(sample / positives)])
    means = np.minimum(sample, knots[:, np.newaxis] * positives).sum(axis=1)
    s = np.interp(float(prevalence), means, knots)
    probability = np.zeros(len(shares))
    probability[possible] = np.minimum(1.0, s * positives / sample)
    return CellPosterior(rows, shares, probability, prevalence)
