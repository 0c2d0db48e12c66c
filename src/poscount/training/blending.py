"""Learning how much to trust the sum over kinds of positives, and how much the one kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from poscount.calibration.blend import ONE_KIND, SUM, blend
from poscount.training.bank import Bank

# What the weight is learned from: few columns, each without outliers.
INPUTS = (
    *("log_heterogeneity", "log_sum_over_one_kind", "excess_difference"),
    *("log_distance_of_grown", "log_core_difference", "log_largest_difference"),
    *("log_core_difference_of_grown", "log_separation"),
    *("log_grown_kinds", "null_ratio_of_kinds", "log_kinds", "told"),
    *("log_positives", "log_rows", "log_features"),
)
PENALTY = 1e-4
# Errors in prevalence below its root count by their squares, so that the loss is smooth.
SMOOTH = 1e-4


def blends(bank: Bank) -> bool:
    """Whether the calibration of this bank starts from a blend."""
    return SUM in bank.columns


def fit_blend(bank: Bank) -> np.ndarray:
    """Coefficients of `poscount.calibration.blend` with the smallest mean absolute error.

    Sources count by the root of the number of their samples.
    """
    used = [bank.columns.index(name) for name in INPUTS]
    one_kind, total = (bank.lines[:, bank.columns.index(name)] for name in (ONE_KIND, SUM))
    inputs = np.nan_to_num(bank.lines[:, used])
    location, scale = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-9)
    design = np.column_stack([np.ones(len(inputs)), (inputs - location) / scale])
    step, wanted = total - one_kind, bank.truth - one_kind
    _, source, sizes = np.unique(bank.source, return_inverse=True, return_counts=True)
    weights = 1 / np.sqrt(sizes[source])
    weights /= weights.sum()

    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        share = 1 / (1 + np.exp(-(design @ coefficients).clip(-30, 30)))
        error = share * step - wanted
        size = np.sqrt(error**2 + SMOOTH)
        slopes = coefficients * np.r_[0, np.full(len(used), PENALTY)]
        gradient = design.T @ (weights * error / size * step * share * (1 - share))
        return float(weights @ size + slopes @ coefficients), gradient + 2 * slopes

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x
    coefficients = np.zeros(1 + len(bank.columns))
    coefficients[0] = found[0] - (found[1:] * location / scale).sum()
    coefficients[1 + np.array(used)] = found[1:] / scale
    return coefficients


def with_blend(bank: Bank, coefficients: np.ndarray) -> Bank:
    """The same bank, with the blend as the uncalibrated prevalence."""
    return replace(bank, lines=blend(bank.lines, bank.columns, coefficients))
