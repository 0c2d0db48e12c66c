"""Positives of two clusters, and samples of them with negatives of any make."""

import numpy as np

N_LABELED, N_UNLABELED = 300, 600


def halves(rng, n, first=0.5, d=5):
    """Rows of two clusters, with a share of the first."""
    rows = rng.normal(size=(n, d))
    rows[rng.random(n) >= first, 0] += 4.0
    return rows


def separate(rng, n, d=5):
    return rng.normal(size=(n, d)) + 12.0


def sample_of(rng, p, negatives, first=0.5):
    n_positive = round(p * N_UNLABELED)
    return np.vstack([halves(rng, n_positive, first), negatives(rng, N_UNLABELED - n_positive)])
