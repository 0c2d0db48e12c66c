"""Learning a calibration from a bank."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize, nnls

from poscount.calibration.blend import ONE_KIND, SUM, blend
from poscount.calibration.calibration import (
    QUANTILES,
    Calibration,
    LearnedQuantiles,
    as_features,
    put_to_ends,
    uncalibrated,
    upper_bounds,
)
from poscount.calibration.trees import DEPTH, N_LEAVES, Trees, trees_of_boosting
from poscount.seeds import stream
from poscount.training.bank import FAMILIES, Bank

# Of the samples that intervals may miss.
SHARE_BELOW = 0.25
NO_BLEND = np.empty(0)
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.95, 0.98, 0.99])
LARGEST_TARGET = 1.5
N_TREES = 160
LEARNING_RATE = 0.08
FEWEST_IN_LEAF = 60
# Of the columns at each split.
SHARE_OF_COLUMNS = 0.3
# Sizes by which widths are told.
LABELED_FROM, ROWS_FROM = [20, 50, 100, 200, 500, 1000, 2000], [30, 100, 300, 1000, 3000, 10000]
FEWEST_WIDTHS = 20
# Beyond the tasks of the bank on this side, nothing is known. On the other side, more positives and
# more rows only take noise away.
LIMITED_BELOW = ("log_positives", "log_rows")
LIMITED_ABOVE = ("log_features", "gap", "log_groups")
# What the weight of a blend is learned from: few columns, each without outliers.
BLEND_INPUTS = (
    "log_heterogeneity",
    "log_sum_over_one_kind",
    "excess_difference",
    "log_distance_of_grown",
    "log_core_difference",
    "log_largest_difference",
    "log_core_difference_of_grown",
    "log_separation",
    "log_grown_kinds",
    "null_ratio_of_kinds",
    "log_kinds",
    "told",
    "log_positives",
    "log_rows",
    "log_features",
)
BLEND_PENALTY = 1e-4
# Errors in prevalence below its root count by their squares, so that the loss is smooth.
BLEND_SMOOTH = 1e-4


def learn(bank: Bank, made_by: dict[str, Any], n_jobs: int | None = None) -> Calibration:
    """Learn a calibration.

    Parameters
    ----------
    bank : Bank
    made_by : dict
        Where the bank comes from, for the provenance; in types that JSON knows.
    n_jobs : int, optional
        As in joblib.
    """
    # Intervals are to hold on real data.
    real = ~np.isin(bank.kin, list(FAMILIES))
    judged = real if real.any() else ~real
    own, predicted = out_of_kin_quantiles(bank, judged, n_jobs)
    factors = fit_factors(own, predicted)
    trees, coefficients = fit_trees_and_blend(bank)
    calibration = assemble(bank, trees, factors, coefficients)
    scores = judge(own, predicted, factors)
    calibration.provenance_ = json.dumps({**made_by, **_contents(bank), **scores})
    return calibration


def assemble(
    bank: Bank, trees: Trees, factors: Factors, coefficients: np.ndarray = NO_BLEND
) -> Calibration:
    """A calibration of its parts."""
    calibration = Calibration()
    calibration.method_, calibration.columns_ = bank.method, list(bank.columns)
    for name, array in trees._asdict().items():
        setattr(calibration, f"{name}_", array)
    if coefficients.size:
        calibration.blend_ = coefficients
    calibration.levels_ = LEVELS
    calibration.below_, calibration.above_, calibration.error_ = factors
    names = np.array(bank.columns)
    limited = (np.isin(names, LIMITED_BELOW), np.isin(names, LIMITED_ABOVE))
    calibration.least_ = np.where(limited[0], bank.lines.min(axis=0), -np.inf)
    calibration.most_ = np.where(limited[1], bank.lines.max(axis=0), np.inf)
    calibration.provenance_ = ""
    return calibration


def judge(bank: Bank, predicted: np.ndarray, factors: Factors) -> dict[str, Any]:
    """Coverage and mean error, in answers by trees that were learned without the kin of each."""
    learned = LearnedQuantiles(predicted, bank.lines, bank.columns)
    coverage = {}
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        low, high = learned.interval(level, LEVELS, factors.below, factors.above)
        coverage[f"{level:g}"] = round(
            float(((low <= bank.truth) & (bank.truth <= high)).mean()), 4
        )
    error = np.abs(learned.value - bank.truth).mean()
    low, high = learned.interval(0.95, LEVELS, factors.below, factors.above)
    return {
        "coverage": coverage,
        "mean_absolute_error": round(float(error), 4),
        "widths": _widths(bank, high - low),
    }


def _widths(bank: Bank, width: np.ndarray) -> dict[str, Any]:
    """Quartiles of the intervals' widths by number of positives and of rows, for planning."""
    n_labeled, n_rows = (
        np.exp(bank.lines[:, bank.columns.index(name)]).round()
        for name in ("log_positives", "log_rows")
    )
    usual = (bank.truth >= 0.05) & (bank.truth <= 0.95)

    rows, columns = (
        np.searchsorted(sizes, values, side="right") - 1
        for sizes, values in ((LABELED_FROM, n_labeled), (ROWS_FROM, n_rows))
    )

    def quartiles(row: int, column: int) -> list[float] | None:
        here = width[usual & (rows == row) & (columns == column)]
        if len(here) < FEWEST_WIDTHS:
            return None
        return np.quantile(here, [0.25, 0.5, 0.75]).round(4).tolist()

    table = [[quartiles(i, j) for j in range(len(ROWS_FROM))] for i in range(len(LABELED_FROM))]
    return {"n_labeled_from": LABELED_FROM, "n_rows_from": ROWS_FROM, "quartiles": table}


def _contents(bank: Bank) -> dict[str, Any]:
    tasks = {
        str(name): len(np.unique(bank.task[bank.source == name])) for name in np.unique(bank.source)
    }
    return {"tasks": tasks, "n_tasks": sum(tasks.values()), "n_samples": len(bank.truth)}


def fit_trees_and_blend(bank: Bank) -> tuple[Trees, np.ndarray]:
    """Trees that predict the quantiles of the truth, and the blend that they start from, if any."""
    coefficients = fit_blend(bank) if SUM in bank.columns else NO_BLEND
    return fit_trees(blended(bank, coefficients)), coefficients


def fit_blend(bank: Bank) -> np.ndarray:
    """Coefficients of `poscount.calibration.blend` with the smallest mean absolute error.

    Sources count by the root of the number of their samples.
    """
    used = [bank.columns.index(name) for name in BLEND_INPUTS]
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
        size = np.sqrt(error**2 + BLEND_SMOOTH)
        slopes = coefficients * np.r_[0, np.full(len(used), BLEND_PENALTY)]
        gradient = design.T @ (weights * error / size * step * share * (1 - share))
        return float(weights @ size + slopes @ coefficients), gradient + 2 * slopes

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x
    coefficients = np.zeros(1 + len(bank.columns))
    coefficients[0] = found[0] - (found[1:] * location / scale).sum()
    coefficients[1 + np.array(used)] = found[1:] / scale
    return coefficients


def blended(bank: Bank, coefficients: np.ndarray) -> Bank:
    """A bank as trees see it: with the blend, if any, as the uncalibrated prevalence."""
    if not coefficients.size:
        return bank
    return replace(bank, lines=blend(bank.lines, bank.columns, coefficients))


def fit_trees(bank: Bank) -> Trees:
    """Trees that predict the quantiles of the truth."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    features = as_features(bank.lines, bank.columns)
    bound = upper_bounds(bank.lines, bank.columns)
    error = bank.truth - uncalibrated(bank.lines, bank.columns)
    target = np.minimum(error / bound, LARGEST_TARGET)
    # The median is to have a small error in points, so what matters less in points is thinned out.
    # Weights would do the same, twenty times slower.
    kept = stream(0, "median").random(len(target)) < np.sqrt(bound)
    ensembles = [
        HistGradientBoostingRegressor(
            loss="quantile",
            quantile=quantile,
            max_iter=N_TREES,
            learning_rate=LEARNING_RATE,
            max_depth=DEPTH,
            max_leaf_nodes=N_LEAVES,
            min_samples_leaf=FEWEST_IN_LEAF,
            l2_regularization=1.0,
            max_features=SHARE_OF_COLUMNS,
            max_bins=64,
            early_stopping=False,
            random_state=0,
        ).fit(*((features[kept], target[kept]) if quantile == 0.5 else (features, target)))
        for quantile in QUANTILES
    ]
    trees = trees_of_boosting(ensembles)
    return trees._replace(
        feature=trees.feature.astype(np.uint8), threshold=trees.threshold.astype(np.float32)
    )


def out_of_kin_quantiles(
    bank: Bank, judged: np.ndarray, n_jobs: int | None = None
) -> tuple[Bank, np.ndarray]:
    """The samples that `judged` chooses, and quantiles by trees learned without the kin of each.

    Where these are all kin, by trees that were learned without a fifth of their tasks.
    """
    own = bank.part(judged)
    groups = bank.kin if len(np.unique(own.kin)) > 1 else np.where(judged, bank.task % 5, -1)
    left_out = np.unique(groups[judged])
    learned = Parallel(n_jobs=n_jobs)(
        delayed(fit_trees_and_blend)(bank.part(groups != group)) for group in left_out
    )
    lines = own.lines.copy()
    quantiles = np.empty((len(own.truth), len(QUANTILES)))
    for group, (trees, coefficients) in zip(left_out, learned, strict=True):
        here = groups[judged] == group
        lines[here] = blended(own.part(here), coefficients).lines
        quantiles[here] = trees.predict(as_features(lines[here], own.columns))
    return replace(own, lines=lines), quantiles


class Factors(NamedTuple):
    """What makes the learned quantiles hold on data sets that were not learned from."""

    below: np.ndarray
    above: np.ndarray
    error: np.ndarray


def fit_factors(bank: Bank, quantiles: np.ndarray) -> Factors:
    """Factors from quantiles that were predicted without the kin of each sample.

    At each level, half of the samples that an interval may miss lie above it, but only
    `SHARE_BELOW` below it: negatives that look like positives are the error that matters.
    """
    learned = LearnedQuantiles(quantiles, bank.lines, bank.columns)
    error = bank.truth - learned.value
    below, above = [], []
    for level in LEVELS:
        down, up = learned.distances(level)
        share = (1 + level) / 2
        above.append(max(0.0, float(np.quantile(error / up, share))))
        # Ends next to 0 are put there, which holds many truths of 0, so this is no quantile.
        high = learned.value + above[-1] * up

        def misses(factor: float, down: np.ndarray = down, high: np.ndarray = high) -> float:
            low, _ = put_to_ends(learned.value - factor * down, learned.value, high)
            return float((bank.truth < low).mean())

        below.append(_smallest_factor(misses, SHARE_BELOW * (1 - level)))
    return Factors(np.array(below), np.array(above), nnls(learned.widths, np.abs(error))[0])


def _smallest_factor(misses: Callable[[float], float], most: float) -> float:
    """The smallest factor that misses at most this share, up to a thousandth."""
    low, high = 0.0, 1.0
    while misses(high) > most:
        low, high = high, 2 * high
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if misses(middle) > most else (low, middle)
    return high
