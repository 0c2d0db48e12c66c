"""AlphaMax's likelihood written for reading, maximised by a general optimiser."""

import numpy as np
from scipy.optimize import minimize


def log_likelihood(w, labeled, unlabeled, r):
    """As in the docstring, without the bin width."""
    positive_part = w * unlabeled
    return unlabeled @ np.log(r * labeled + unlabeled - positive_part) + labeled @ np.log(
        positive_part / r
    )


def maximum(labeled, unlabeled, r):
    """Largest log-likelihood over w in [0, 1]^k with sum w v = r."""
    best = minimize(
        lambda w: -log_likelihood(w, labeled, unlabeled, r),
        np.full(len(labeled), r),
        bounds=[(1e-9, 1)] * len(labeled),
        constraints={"type": "eq", "fun": lambda w: w @ unlabeled - r},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert best.success, best.message
    return -best.fun
