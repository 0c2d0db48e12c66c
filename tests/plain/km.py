"""KM1 and KM2 as they are written down: every row a vertex, every distance from the start."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import nnls


def nearest_on_simplex(gram, target):
    """Weights on the simplex that minimise (v - target)' gram (v - target); target sums to 1.

    Because the weights sum to 1, the vertices can be moved so that the target is the origin. The
    point nearest to the origin is then, up to its length, the non-negative least squares solution
    of "make the moved point zero, and the sum of the weights one".
    """
    n = len(gram)
    moved = (np.eye(n) - target) @ gram @ (np.eye(n) - target).T
    values, vectors = np.linalg.eigh(moved)
    factor = np.sqrt(np.maximum(values, 0))[:, np.newaxis] * vectors.T
    weights, _ = nnls(np.vstack([factor, np.ones(n)]), np.append(np.zeros(n), 1.0), maxiter=100 * n)
    return weights / weights.sum()


def gram_matrix(rows, width):
    rows = rows.tolist()
    return np.array(
        [[math.exp(-(math.dist(x, y) ** 2) / (2 * width**2)) for y in rows] for x in rows]
    )


def mean_distance(positives, sample, width):
    """Distance between the mean of the positives and the mean of the sample."""
    gram = gram_matrix(np.vstack([positives, sample]), width)
    n = len(positives)
    between = gram[:n, n:].mean()
    return math.sqrt(max(0.0, gram[:n, :n].mean() - 2 * between + gram[n:, n:].mean()))


def choose_width(positives, sample):
    rows = np.vstack([positives, sample])
    distances = [
        math.dist(rows[i], rows[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))
    ]
    widths = [factor * np.median(distances) for factor in np.logspace(-1, 1, 5)]
    return max(widths, key=lambda width: mean_distance(positives, sample, width))


def kernel_means(positives, sample, lam_max):
    """Prevalences by KM1 and KM2."""
    width = choose_width(positives, sample)
    between = mean_distance(positives, sample, width)
    gram = gram_matrix(np.vstack([positives, sample]), width)
    n_labeled, n_sample = len(positives), len(sample)

    def distance(lam):
        target = np.repeat([(1 - lam) / n_labeled, lam / n_sample], [n_labeled, n_sample])
        rest = nearest_on_simplex(gram, target) - target
        return math.sqrt(max(0.0, rest @ gram @ rest))

    def search(threshold):
        left, right = 1.0, lam_max
        while right - left > 0.04:
            middle = (left + right) / 2
            if (distance(middle + 0.02) - distance(middle)) / 0.02 > threshold:
                right = middle
            else:
                left = middle
        lam = (left + right) / 2
        return (lam - 1) / lam

    threshold_2 = 0.8 * (distance(1.05) - distance(1.0)) / 0.05 + 0.2 * between
    nu_1 = 1 / math.sqrt(min(n_labeled, n_sample)) / between
    threshold_1 = threshold_2 if nu_1 > 0.9 else nu_1 * between
    return search(threshold_1), search(threshold_2)
