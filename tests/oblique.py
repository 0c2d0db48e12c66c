"""A task in which a learned score helps."""

import numpy as np


def oblique(seed, p, n_labeled=300, n_unlabeled=600):
    """Positives and a sample; negatives are positives on one side of a plane along no feature."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    negatives = rng.normal(size=(4 * n_unlabeled, 6))
    negatives = negatives[negatives @ [1, -1, 1, -1, 1, -1] > 0][: n_unlabeled - n_positive]
    positives = rng.normal(size=(n_labeled + n_positive, 6))
    return positives[:n_labeled], np.vstack([positives[n_labeled:], negatives])
