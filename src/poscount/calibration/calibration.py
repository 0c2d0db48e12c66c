"""A calibration: what has been learned from tasks whose truth is known, as arrays."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from poscount.calibration.blend import BLEND, ONE_KIND, SUM, blend
from poscount.calibration.trees import N_LEAVES, N_SPLITS, Trees
from poscount.results.distribution import LEVELS, around, quantile_at
from poscount.results.estimates import Estimates
from poscount.storage.model_files import content_hash
from poscount.storage.schema import Array, Field, ListOf, MayLack, Number, Text, require

METHODS = ("RCQ", "RCQ-reference", "RCQ-kinds", "RCQ-groups", "RCQ-other")
# Where the steps of a distribution end. With p the uncalibrated prevalence and g the gap between
# the smallest bound and the ratio: at shares of p - 2 g; then at p plus multiples of g, because
# they shrink as samples grow; then at shares of what is left up to 1.
SHARES_BELOW = np.array([0, 0.03, 0.08, 0.15, 0.25, 0.37, 0.5, 0.64, 0.78])
GAPS_AROUND = np.array([-2, -1.4, -0.9, -0.6, -0.35, -0.15, 0.05, 0.25, 0.5, 1, 2.5])
SHARES_ABOVE = np.array([0.1, 0.3, 0.6, 1])
# One class for a truth of 0, and one for each step.
N_CLASSES = len(SHARES_BELOW) + len(GAPS_AROUND) + len(SHARES_ABOVE)
# An ensemble for each of them, and a last one for the odds that the task is recognisable.
N_ENSEMBLES = N_CLASSES + 1
MOST_COLUMNS = 255
# What the gap is called in the lines of a method.
GAPS = ("kinds_gap", "total_gap", "gap")
# Exponential functions of different machines differ in their last bits.
DECIMALS = 9
SMALLEST_BOUND = 1e-6
LARGEST_RATIO, LARGEST_VALUE, LARGEST_LEAF = 5.0, 1e6, 30.0
# Whether a task is recognisable, which the user may know, and no line tells.
RECOGNISABLE = "recognisable"
# How the names of columns begin that are no ratios; so are logarithms and differences.
NO_RATIOS = (
    "region_share",
    "below_ratio",
    "near_bound",
    "null_ratio",
    "skill",
    "mean_distance",
    "told",
    RECOGNISABLE,
    "tolerance",
)
# Of the region with the smallest upper bound.
OF_REGION = ("region_share", "region_ratio", "region_low")
# Ratios that are looked at as they are, too.
AS_THEY_ARE = ("prevalence", "ratio", "gap", "high", "pat")


class Calibration(BaseEstimator):
    """How the truth was distributed in a bank of tasks, given what RCQ's regions said.

    It predicts the probability of each of some steps, which are measured by what the regions said
    (`step_ends`). ``poscount calibrate`` makes one; poscount comes with one for each method.

    Attributes
    ----------
    method_ : str
        "RCQ", "RCQ-reference", "RCQ-kinds", "RCQ-groups" or "RCQ-other".
    columns_ : list of str
        Columns of the lines that it takes.
    feature_, threshold_, missing_right_, leaf_ : ndarray
        The trees (`poscount.calibration.trees.Trees`): an ensemble for a truth of 0, one for each
        step, and one for whether the task is recognisable.
    temperature_ : float
        What sums of trees are divided by, so that probabilities are right on data sets that were
        not learned from.
    least_, most_ : ndarray
        Range of each column outside of which nothing was learned; infinite where it does not
        matter.
    provenance_ : str
        Where it comes from, as JSON.
    blend_ : ndarray
        Coefficients of the blend that it starts from (`poscount.calibration.blend`), of sums over
        kinds; empty for others.
    """

    blend_: np.ndarray = np.empty(0)

    def __sklearn_clone__(self) -> Self:
        # A clone of a quantifier is to use it, not to learn it again.
        return self

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "method_": Text(METHODS),
        "columns_": ListOf(Text(), "columns", distinct=True),
        "feature_": Array("uint8", (N_ENSEMBLES, "trees", N_SPLITS)),
        "threshold_": Array("float32", (N_ENSEMBLES, "trees", N_SPLITS), infinite=True),
        "missing_right_": Array("bool", (N_ENSEMBLES, "trees", N_SPLITS)),
        # So that no sum overflows.
        "leaf_": Array(
            "float32", (N_ENSEMBLES, "trees", N_LEAVES), least=-LARGEST_LEAF, most=LARGEST_LEAF
        ),
        "temperature_": Number(0.1, 10),
        "least_": Array("float64", ("columns",), infinite=True),
        "most_": Array("float64", ("columns",), infinite=True),
        "provenance_": Text(),
        "blend_": MayLack(Array("float64", (None,))),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless everything is as `estimate` needs it: files may hold anything."""
        columns = self.columns_
        # Trees have no numbers for more.
        require(len(columns) <= MOST_COLUMNS, "it names too many columns.")
        needed = {"prevalence", "high", "log_rows", RECOGNISABLE}
        named = needed <= set(columns) and set(GAPS) & set(columns)
        require(named, "it does not name its columns.")
        require(self.feature_.size, "it has no trees.")
        known = self.feature_.max() < n_features(columns)
        require(known, "a tree looks at a column that there is not.")
        require((self.least_ <= self.most_).all(), "a range is empty.")
        if self.blend_.size:
            fits = len(self.blend_) == 1 + len(columns) and {BLEND, ONE_KIND, SUM} <= set(columns)
            require(fits, "blend is of other columns.")

    def check_for(self, method: str, names: Sequence[str]) -> None:
        """Raise ValueError unless it was made for a method that has columns of these names."""
        require(self.method_ == method, f"the calibration is one of {self.method_}.")
        unknown = sorted(set(self.columns_) - {*names, RECOGNISABLE})
        require(not unknown, "the calibration looks at columns that this poscount does not have.")

    @functools.cached_property
    def _own_name(self) -> str:
        return f"{self.method_} {content_hash(self)[:12]}"

    @property
    def own_name(self) -> str | None:
        """What a calibration of the user's own is called; None for those of poscount."""
        return None if "_shipped" in vars(self) else self._own_name

    @property
    def trees(self) -> Trees:
        """The trees that predict the steps."""
        return Trees(self.feature_, self.threshold_, self.missing_right_, self.leaf_)

    def estimate(
        self,
        lines: np.ndarray,
        names: Sequence[str],
        level: float,
        *,
        recognisable: bool | None = None,
    ) -> tuple[Estimates, np.ndarray]:
        """Prevalences and their distributions: those of the truth in tasks that looked like this.

        Parameters
        ----------
        lines : ndarray of shape (n_samples, n_columns)
            Features of each sample.
        names : sequence of str
            Names of these columns.
        level : float
            Of the intervals.
        recognisable : bool, optional
            What the user knows, as in `poscount.RCQ`.

        Returns
        -------
        estimates : Estimates
            With the detail `p_recognisable`, the share of recognisable ones among such tasks.
        unfamiliar : ndarray of bool, shape (n_samples,)
            Whether a sample is unlike all tasks that were learned from.
        """
        told = np.full(len(lines), np.nan if recognisable is None else float(recognisable))
        lines, names = np.column_stack([lines, told]), [*names, RECOGNISABLE]
        unknown = sorted(set(self.columns_) - set(names))
        if unknown:
            raise ValueError(
                f"The calibration looks at {unknown[0]!r}, which this poscount does not know: make "
                "it again with `poscount calibrate`."
            )
        # Those of its own time, in case that there are more by now.
        lines = lines[:, [names.index(name) for name in self.columns_]]
        if self.blend_.size:
            lines = blend(lines, self.columns_, self.blend_)
        sums = self.trees.predict(as_features(lines, self.columns_))
        shares = probabilities(sums[:, :N_CLASSES], self.temperature_)
        quantiles = quantiles_of_steps(shares, step_ends(lines, self.columns_))
        value = median_or_end(quantiles, lines, self.columns_)
        quantiles = around(quantiles, value)
        unfamiliar = ((lines < self.least_) | (lines > self.most_)).any(axis=1)
        estimates = Estimates(
            value=value,
            quantiles=quantiles,
            level=level,
            details={
                "p_recognisable": (1 / (1 + np.exp(-sums[:, -1]))).round(DECIMALS),
            },
        )
        return estimates, unfamiliar


def step_ends(lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """Where the steps of each sample's distribution end: ascending, the first at 0.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The first class is a truth of 0, and class k the step from the end before it to its own.
        Ends may be above 1: what is there is a truth of 1.

    Examples
    --------
    >>> line = np.array([[0.5, 0.1, np.log(1000)]])
    >>> ends = step_ends(line, ["prevalence", "gap", "log_rows"])
    >>> [float(ends[0, i]) for i in (0, 9, 19, -1)]
    [0.0, 0.3, 0.75, 1.0]
    """
    p = uncalibrated(lines, columns)
    gap = lines[:, next(list(columns).index(name) for name in GAPS if name in columns)]
    # Without any bound, everything is possible. Less than half a row cannot be told from none.
    gap = np.maximum(np.nan_to_num(gap, nan=1.0), _half_row(lines, columns))
    around_p = p[:, np.newaxis] + gap[:, np.newaxis] * GAPS_AROUND
    first, last = np.maximum(around_p[:, :1], 0), around_p[:, -1:]
    above = last + np.maximum(1 - last, 0) * SHARES_ABOVE
    return np.hstack([first * SHARES_BELOW, np.maximum(around_p, 0), above])


def probabilities(sums: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of the classes, from the sums of their trees."""
    sums = (sums - sums.max(axis=1, keepdims=True)) / temperature
    powers = np.exp(np.ascontiguousarray(sums))
    return powers / powers.sum(axis=1, keepdims=True)


def quantiles_of_steps(shares: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Quantiles, at `LEVELS`, of distributions that are uniform within each step.

    Parameters
    ----------
    shares : ndarray of shape (n_samples, n_classes)
        Probability of 0, and of each step.
    ends : ndarray of shape (n_samples, n_classes)
        As `step_ends` gives them.

    Examples
    --------
    >>> found = quantiles_of_steps(np.array([[0.2, 0.8]]), np.array([[0.0, 0.4]]))
    >>> [float(x) for x in quantile_at(found[0], np.array([0.1, 0.2, 0.6, 1.0])).round(3)]
    [0.0, 0.0, 0.2, 0.4]
    """
    reached = shares.cumsum(axis=1)
    # What rounding leaves below 1 has no step of its own.
    reached[:, -1] = 1.0
    k = (reached[:, :, np.newaxis] < LEVELS).sum(axis=1)
    before = np.maximum(k - 1, 0)
    high, low = (np.take_along_axis(ends, i, axis=1) for i in (k, before))
    p_high, p_low = (np.take_along_axis(reached, i, axis=1) for i in (k, before))
    part = (LEVELS - p_low) / np.where(k > 0, p_high - p_low, 1.0)
    found = np.where(k > 0, low + part * (high - low), 0.0)
    # Rounding must not put a quantile below the one before it.
    return np.maximum.accumulate(np.clip(found, 0, 1).round(DECIMALS), axis=1)


def median_or_end(quantiles: np.ndarray, lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """The median; or exactly 0 or 1 if the regions say so, and so did a quarter of the truths.

    No positives at all, and nothing but positives, are frequent truths, and no median is.
    """
    p, half_row = uncalibrated(lines, columns), _half_row(lines, columns)
    quarter, median, three_quarters = quantile_at(quantiles, np.array([0.25, 0.5, 0.75])).T
    none = (p == 0) & (quarter <= half_row)
    everything = (p == 1) & (three_quarters >= 1 - half_row)
    return np.where(none, 0.0, np.where(everything, 1.0, median))


def _half_row(lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    return 0.5 / np.exp(lines[:, list(columns).index("log_rows")])


def uncalibrated(lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """The prevalence by the null calibration."""
    return lines[:, list(columns).index("prevalence")]


def upper_bounds(lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """The largest prevalence that the regions allow, which the truth is measured by."""
    high = lines[:, list(columns).index("high")]
    # Without any bound, everything is possible.
    bound = np.maximum(uncalibrated(lines, columns), np.where(np.isnan(high), 1.0, high))
    return np.clip(bound, SMALLEST_BOUND, 1.0)


def n_features(columns: Sequence[str]) -> int:
    """Number of features that `as_features` makes of these columns."""
    return as_features(np.ones((1, len(columns))), columns).shape[1]


def as_features(lines: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """What the trees look at: ratios as multiples of the upper bound, and all else as it is."""
    names = list(columns)
    lines = lines.copy()
    for i, name in enumerate(names):
        bound = "high" if name in OF_REGION else name.removesuffix("_ratio")
        if bound != name and bound in names:
            # Without any bound, no region is the one with the smallest.
            lines[np.isnan(lines[:, names.index(bound)]), i] = np.nan
    as_it_is = [
        name.startswith((*NO_RATIOS, "log_")) or name in AS_THEY_ARE or "difference" in name
        for name in columns
    ]
    ratio = [name in AS_THEY_ARE or not kept for name, kept in zip(columns, as_it_is, strict=True)]
    relative = lines[:, ratio] / upper_bounds(lines, columns)[:, np.newaxis]
    # As thresholds are.
    return np.column_stack(
        [
            np.clip(lines[:, as_it_is], -LARGEST_VALUE, LARGEST_VALUE),
            np.clip(relative, -LARGEST_RATIO, LARGEST_RATIO),
        ]
    ).astype(np.float32)
