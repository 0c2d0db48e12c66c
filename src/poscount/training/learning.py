"""Learning a calibration from a bank."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize

from poscount.calibration.blend import ONE_KIND, SUM, blend
from poscount.calibration.calibration import (
    N_CLASSES,
    N_ENSEMBLES,
    RECOGNISABLE,
    Calibration,
    as_features,
    probabilities,
    quantiles_of_steps,
    step_ends,
)
from poscount.calibration.trees import DEPTH, Trees, trees_of_boosting
from poscount.results.distribution import ends_at, quantile_at
from poscount.training.bank import FAMILIES, Bank

NO_BLEND = np.empty(0)
N_TREES = 60
LEARNING_RATE = 0.08
MOST_LEAVES = 12
FEWEST_IN_LEAF = 30
# Of the columns at each split.
SHARE_OF_COLUMNS = 0.3
# Sum of the trees of a class that no task was in.
NEVER = -10.0
TEMPERATURES = np.arange(0.6, 2.01, 0.05)
LEVEL = 0.95
# Parts of the kin that are left out together.
N_PARTS = 5
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
    "log_reference",
    "skill",
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
    left_out = leave_out(bank, n_jobs)
    untold = left_out.said(told=False)
    temperature = fit_temperature(*untold)
    calibration = assemble(bank, *fit_trees_and_blend(bank), temperature)
    scores = {
        **judge(*untold, temperature),
        "widths": _widths(*untold, temperature),
        "widths_recognisable": _widths(*_recognisable(*left_out.said(told=True)), temperature),
    }
    calibration.provenance_ = json.dumps({**made_by, **_contents(bank), **scores})
    return calibration


def assemble(bank: Bank, trees: Trees, coefficients: np.ndarray, temperature: float) -> Calibration:
    """A calibration of its parts."""
    calibration = Calibration()
    calibration.method_, calibration.columns_ = bank.method, list(bank.columns)
    for name, array in trees._asdict().items():
        setattr(calibration, f"{name}_", array)
    if coefficients.size:
        calibration.blend_ = coefficients
    calibration.temperature_ = temperature
    names = np.array(bank.columns)
    limited = (np.isin(names, LIMITED_BELOW), np.isin(names, LIMITED_ABOVE))
    calibration.least_ = np.where(limited[0], bank.lines.min(axis=0), -np.inf)
    calibration.most_ = np.where(limited[1], bank.lines.max(axis=0), np.inf)
    calibration.provenance_ = ""
    return calibration


def judge(bank: Bank, sums: np.ndarray, temperature: float) -> dict[str, Any]:
    """Coverage and mean error, in answers by trees that were learned without the kin of each."""
    quantiles = distributions(bank, sums, temperature)
    coverage = {}
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        low, high = ends_at(quantiles, level)
        held = (low <= bank.truth) & (bank.truth <= high)
        coverage[f"{level:g}"] = round(float(held.mean()), 4)
    error = np.abs(quantile_at(quantiles, 0.5) - bank.truth).mean()
    return {"coverage": coverage, "mean_absolute_error": round(float(error), 4)}


def distributions(bank: Bank, sums: np.ndarray, temperature: float) -> np.ndarray:
    """Quantiles of the distribution of each line, from sums of trees."""
    shares = probabilities(sums[:, :N_CLASSES], temperature)
    return quantiles_of_steps(shares, step_ends(bank.lines, bank.columns))


def fit_temperature(bank: Bank, sums: np.ndarray) -> float:
    """The smallest temperature at which 95 % intervals hold in 95 % of samples; kin count the same.

    Parameters
    ----------
    bank : Bank
    sums : ndarray of shape (n_samples, n_ensembles)
        By trees that were learned without the kin of each.
    """
    _, kin, sizes = np.unique(bank.kin, return_inverse=True, return_counts=True)
    for temperature in TEMPERATURES:
        low, high = ends_at(distributions(bank, sums, temperature), LEVEL)
        held = (low <= bank.truth) & (bank.truth <= high)
        if np.bincount(kin, held / sizes[kin]).mean() >= LEVEL:
            break
    return float(temperature.round(2))


def _recognisable(bank: Bank, sums: np.ndarray) -> tuple[Bank, np.ndarray]:
    """The samples of recognisable tasks, and the sums of trees."""
    kept = bank.lines[:, recognisable_column(bank)][:, 0] == 1
    return bank.part(kept), sums[kept]


def _widths(bank: Bank, sums: np.ndarray, temperature: float) -> dict[str, Any]:
    """Quartiles of the intervals' widths by number of positives and of rows, for planning."""
    low, high = ends_at(distributions(bank, sums, temperature), LEVEL)
    width = high - low
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
    """Trees that predict the step of the truth, and the blend that they start from, if any."""
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
    """Trees that predict the step in which the truth lies, and whether the task is recognisable."""
    told, untold = (as_features(lines, bank.columns) for lines in (bank.lines, without_told(bank)))
    trees = Trees.nothing(N_ENSEMBLES, N_TREES)
    trees.leaf[:, 0] = NEVER
    # Each line twice: the user knows whether its task is recognisable, and does not.
    _boost(trees, np.vstack([told, untold]), np.tile(classes_of(bank), 2))
    recognisable = bank.lines[:, recognisable_column(bank)][:, 0] == 1
    # A column without any value cannot be binned, and one of zeros is never looked at.
    hidden = as_features(np.where(recognisable_column(bank), 0.0, bank.lines), bank.columns)
    _boost(trees, hidden, np.where(recognisable, N_ENSEMBLES - 1, 0))
    return trees._replace(
        feature=trees.feature.astype(np.uint8), threshold=trees.threshold.astype(np.float32)
    )


def _boost(trees: Trees, features: np.ndarray, classes: np.ndarray) -> None:
    """Put trees that predict classes into their places; of two classes, into that of the second."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    known = np.unique(classes)
    if len(known) == 1:
        trees.leaf[known, 0] = -NEVER
        return
    boosting = HistGradientBoostingClassifier(
        max_iter=N_TREES,
        learning_rate=LEARNING_RATE,
        max_depth=DEPTH,
        max_leaf_nodes=MOST_LEAVES,
        min_samples_leaf=FEWEST_IN_LEAF,
        l2_regularization=1.0,
        max_features=SHARE_OF_COLUMNS,
        max_bins=64,
        early_stopping=False,
        random_state=0,
    ).fit(features, classes)
    places = known if len(known) > 2 else known[1:]
    for all_classes, of_known in zip(trees, trees_of_boosting(boosting), strict=True):
        all_classes[places] = of_known


def classes_of(bank: Bank) -> np.ndarray:
    """The class of each truth: 0 for none, and k for the k-th step."""
    ends = step_ends(bank.lines, bank.columns)
    step = (ends < bank.truth[:, np.newaxis]).sum(axis=1)
    return np.where(bank.truth > 0, np.clip(step, 1, N_CLASSES - 1), 0)


def without_told(bank: Bank) -> np.ndarray:
    """Lines of users who do not know whether positives are recognisable."""
    return np.where(recognisable_column(bank), np.nan, bank.lines)


def recognisable_column(bank: Bank) -> np.ndarray:
    """Which of the columns tells whether a task is recognisable."""
    return np.array(bank.columns) == RECOGNISABLE


class LeftOut(NamedTuple):
    """Real samples, and trees that were learned without the kin of each.

    Attributes
    ----------
    samples : Bank
    part : ndarray of int
        In which part each of them was left out.
    learned : list of tuple
        Trees and blend without each part.
    """

    samples: Bank
    part: np.ndarray
    learned: list[tuple[Trees, np.ndarray]]

    def said(self, *, told: bool) -> tuple[Bank, np.ndarray]:
        """Samples as trees see them, and what the trees say: sums of each ensemble.

        Parameters
        ----------
        told : bool
            Whether users know if tasks are recognisable.
        """
        lines = self.samples.lines.copy() if told else without_told(self.samples)
        sums = np.empty((len(lines), N_ENSEMBLES))
        for k, (trees, coefficients) in enumerate(self.learned):
            here = self.part == k
            own = replace(self.samples, lines=lines).part(here)
            lines[here] = blended(own, coefficients).lines
            sums[here] = trees.predict(as_features(lines[here], own.columns))
        return replace(self.samples, lines=lines), sums


def leave_out(bank: Bank, n_jobs: int | None = None) -> LeftOut:
    """Learn without each of `N_PARTS` parts of the kin.

    Where all samples are kin, a fifth of their tasks is left out; where all are synthetic, they are
    judged themselves.
    """
    # Intervals are to hold on real data.
    real = ~np.isin(bank.kin, list(FAMILIES))
    judged = real if real.any() else ~real
    names, kin = np.unique(bank.kin[judged], return_inverse=True)
    part = (kin if len(names) > 1 else bank.task[judged]) % N_PARTS
    of_all = np.full(len(judged), -1)
    of_all[judged] = part
    learned = Parallel(n_jobs=n_jobs)(
        delayed(fit_trees_and_blend)(bank.part(of_all != k)) for k in range(N_PARTS)
    )
    return LeftOut(bank.part(judged), part, learned)
