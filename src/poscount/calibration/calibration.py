"""A calibration: what has been learned from tasks whose truth is known, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from poscount.calibration.blend import BLEND, ONE_KIND, SUM, blend
from poscount.calibration.trees import N_LEAVES, N_SPLITS, Trees
from poscount.results.distribution import INTERVAL_LEVELS, quantiles_from_intervals
from poscount.results.estimates import Estimates
from poscount.storage.schema import Array, Field, ListOf, MayLack, Text, require

# Quantiles of the truth that are learned: the median, and the ends of 80 and 95 % intervals.
QUANTILES = (0.025, 0.1, 0.5, 0.9, 0.975)
MEDIAN = 2
LEARNED_LEVELS = (0.8, 0.95)
# Level of the interval whose farther end is the likely error: 81 of 100 errors on sources that were
# left out were not larger (`benchmarks/accuracy/calibration.py verdict`).
LIKELY = 0.6
# No end is closer to the value, as a share of the upper bound.
SMALLEST_DISTANCE = 0.005
# An end that is closer to 0 or 1 than this share of the interval's width is put there; and so is a
# lower end below this share of the value. If half of what was counted may be negatives that look
# like positives, all of it may be: where intervals missed, it was mostly there.
NEAR_END, HALF = 0.05, 0.5
SMALLEST_BOUND = 1e-6
LARGEST_RATIO, LARGEST_VALUE, LARGEST_LEAF = 5.0, 1e6, 10.0
# How the names of columns begin that are no ratios; so are logarithms and differences.
NO_RATIOS = (
    "region_share",
    "below_ratio",
    "near_bound",
    "null_ratio",
    "skill",
    "mean_distance",
    "told",
)
# Of the region with the smallest upper bound.
OF_REGION = ("region_share", "region_ratio", "region_low")
# Ratios that are looked at as they are, too.
AS_THEY_ARE = ("prevalence", "ratio", "gap", "high", "pat")


class Calibration(BaseEstimator):
    """How far RCQ was from the truth in a bank of tasks, given what its regions said.

    It predicts quantiles of the error, as shares of the smallest upper bound that any region gives.
    ``poscount calibrate`` makes one; poscount comes with one for each method.

    Attributes
    ----------
    method_ : str
        "RCQ", "RCQ-reference", "RCQ-kinds", "RCQ-groups" or "RCQ-other".
    columns_ : list of str
        Columns of the lines that it takes.
    feature_, threshold_, missing_right_, leaf_ : ndarray
        The trees (`poscount.calibration.trees.Trees`).
    levels_ : ndarray
        Levels for which there are factors.
    below_, above_ : ndarray
        By how much the learned distances of the ends from the value are stretched at these levels,
        so that intervals hold on data sets that were not learned from.
    error_ : ndarray of shape (2,)
        Expected error, as multiples of the learned widths at 80 and 95 %.
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
        "method_": Text(("RCQ", "RCQ-reference", "RCQ-kinds", "RCQ-groups", "RCQ-other")),
        "columns_": ListOf(Text(), "columns", distinct=True),
        "feature_": Array("uint8", (len(QUANTILES), "trees", N_SPLITS)),
        "threshold_": Array("float32", (len(QUANTILES), "trees", N_SPLITS), infinite=True),
        "missing_right_": Array("bool", (len(QUANTILES), "trees", N_SPLITS)),
        # So that no sum overflows: an error is at most 1, as a share of a bound.
        "leaf_": Array(
            "float32",
            (len(QUANTILES), "trees", N_LEAVES),
            least=-LARGEST_LEAF,
            most=LARGEST_LEAF,
        ),
        "levels_": Array("float64", ("levels",)),
        "below_": Array("float64", ("levels",), least=0, most=LARGEST_VALUE),
        "above_": Array("float64", ("levels",), least=0, most=LARGEST_VALUE),
        "error_": Array("float64", (len(LEARNED_LEVELS),), least=0, most=LARGEST_VALUE),
        "least_": Array("float64", ("columns",), infinite=True),
        "most_": Array("float64", ("columns",), infinite=True),
        "provenance_": Text(),
        "blend_": MayLack(Array("float64", (None,))),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless everything is as `answer` needs it: files may hold anything."""
        columns = self.columns_
        require({"prevalence", "high"} <= set(columns), "it does not name its columns.")
        require(self.feature_.size and self.levels_.size, "it has no trees or no levels.")
        known = self.feature_.max() < n_features(columns)
        require(known, "a tree looks at a column that there is not.")
        rising = (np.diff(self.levels_, prepend=0, append=1) > 0).all()
        require(rising, "levels do not increase from 0 to 1.")
        require((self.least_ <= self.most_).all(), "a range is empty.")
        if self.blend_.size:
            fits = len(self.blend_) == 1 + len(columns) and {BLEND, ONE_KIND, SUM} <= set(columns)
            require(fits, "blend is of other columns.")

    def check_for(self, method: str, names: Sequence[str]) -> None:
        """Raise ValueError unless it was made for a method that has columns of these names."""
        require(self.method_ == method, f"the calibration is one of {self.method_}.")
        unknown = sorted(set(self.columns_) - set(names))
        require(not unknown, "the calibration looks at columns that this poscount does not have.")

    @property
    def trees(self) -> Trees:
        """The trees that predict the quantiles."""
        return Trees(self.feature_, self.threshold_, self.missing_right_, self.leaf_)

    def estimate(
        self,
        lines: np.ndarray,
        names: Sequence[str],
        level: float,
        recognisable: bool | None = None,
    ) -> tuple[Estimates, np.ndarray]:
        """Prevalences and intervals: the median of the truth in tasks that looked like this.

        Parameters
        ----------
        lines : ndarray of shape (n_samples, n_columns)
            Features of each sample.
        names : sequence of str
            Names of these columns.
        level : float
            Of the intervals.
        recognisable : bool, optional
            As in `RCQ`; it changes nothing yet.

        Returns
        -------
        estimates : Estimates
            With details `expected_error`, the mean absolute error of the value in such tasks, and
            `likely_error`, what 80 of 100 of them were not farther off than.
        unfamiliar : ndarray of bool, shape (n_samples,)
            Whether a sample is unlike all tasks that were learned from.
        """
        unknown = sorted(set(self.columns_) - set(names))
        if unknown:
            raise ValueError(
                f"The calibration looks at {unknown[0]!r}, which this poscount does not know: make "
                "it again with `poscount calibrate`."
            )
        # Those of its own time, in case that there are more by now.
        lines = lines[:, [list(names).index(name) for name in self.columns_]]
        if self.blend_.size:
            lines = blend(lines, self.columns_, self.blend_)
        predicted = self.trees.predict(as_features(lines, self.columns_))
        learned = LearnedQuantiles(predicted, lines, self.columns_)
        # A sum along each row, not a matrix product, so that a group gets the bits it gets alone.
        expected_error = (learned.widths * self.error_).sum(axis=1)
        value = learned.value_or_end(expected_error)
        low, high = learned.interval(INTERVAL_LEVELS, self.levels_, self.below_, self.above_)
        likely = INTERVAL_LEVELS == LIKELY
        likely_error = np.max([np.abs(value - end[likely][0]) for end in (low, high)], axis=0)
        unfamiliar = ((lines < self.least_) | (lines > self.most_)).any(axis=1)
        estimates = Estimates(
            value=value,
            quantiles=quantiles_from_intervals(value, low, high),
            level=level,
            details={"expected_error": expected_error, "likely_error": likely_error},
        )
        return estimates, unfamiliar


class LearnedQuantiles:
    """Quantiles of the truth as the trees predict them, and intervals made of them.

    Parameters
    ----------
    predicted : ndarray of shape (n_samples, 5)
        Predictions of `QUANTILES`: of the truth minus the uncalibrated prevalence, as a share of
        the upper bound.
    lines : ndarray of shape (n_samples, n_columns)
        What the regions say.
    columns : sequence of str

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        The median.
    widths : ndarray of shape (n_samples, 2)
        Widths of the learned intervals.
    """

    def __init__(self, predicted: np.ndarray, lines: np.ndarray, columns: Sequence[str]) -> None:
        bound = upper_bounds(lines, columns)
        errors = np.sort(predicted, axis=1) * bound[:, np.newaxis]
        self._uncalibrated = uncalibrated(lines, columns)
        absolute = np.clip(self._uncalibrated[:, np.newaxis] + errors, 0, 1)
        self.value = absolute[:, MEDIAN]
        self._smallest = SMALLEST_DISTANCE * bound
        at = list(columns).index("log_rows") if "log_rows" in columns else None
        self._half_row = 0.0 if at is None else 0.5 / np.exp(lines[:, at])
        self._below = self.value[:, np.newaxis] - absolute[:, [1, 0]]
        self._above = absolute[:, [3, 4]] - self.value[:, np.newaxis]
        self.widths = self._below + self._above

    def value_or_end(self, expected_error: np.ndarray) -> np.ndarray:
        """The value; or exactly 0 or 1 if the regions say so, and the value is hardly another.

        No positives at all, and nothing but positives, are frequent truths, and no median is.
        """
        at_end = (self._uncalibrated == 0) | (self._uncalibrated == 1)
        # Less than half a row is none.
        near = np.abs(self.value - self._uncalibrated) <= np.maximum(expected_error, self._half_row)
        return np.where(at_end & near, self._uncalibrated, self.value)

    def distances(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Learned distances of the ends from the value, of the level that is next to this one."""
        nearest = 0 if level <= LEARNED_LEVELS[0] else 1
        below, above = (
            np.maximum(side[:, nearest], self._smallest) for side in (self._below, self._above)
        )
        return below, above

    def interval(
        self, level: float | np.ndarray, levels: np.ndarray, below: np.ndarray, above: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals, of shape (n_samples,), or (n_levels, n_samples) for several.

        Parameters
        ----------
        level : float or ndarray of shape (n_levels,)
        levels : ndarray
            Levels for which there are factors.
        below, above : ndarray
            Factors by which the learned distances are stretched at these levels.
        """
        down, up = (
            self._stretched(side, level, levels, factors)
            for side, factors in ((0, below), (1, above))
        )
        return put_to_ends(self.value - down, self.value, self.value + up)

    def _stretched(
        self, side: int, level: float | np.ndarray, levels: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        """Distance at a level: of the factors below it and above it, as if errors were normal."""
        z, at = ndtri((1 + level) / 2), ndtri((1 + levels) / 2)
        # A higher level never has a narrower interval.
        known = np.maximum.accumulate(
            [self.distances(level)[side] * k for level, k in zip(levels, factors, strict=True)]
        )
        # From no distance at a level of 0 on; and beyond the last level in proportion.
        at, known = np.append(0.0, at), np.vstack([np.zeros_like(known[0]), known])
        i = np.clip(np.searchsorted(at, z, side="right"), 1, len(at) - 1)
        part = ((z - at[i - 1]) / (at[i] - at[i - 1]))[..., np.newaxis]
        between = known[i - 1] + part * (known[i] - known[i - 1])
        beyond = known[-1] * (z / at[-1])[..., np.newaxis]
        return np.where((z >= at[-1])[..., np.newaxis], beyond, between)


def put_to_ends(
    low: np.ndarray, value: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Put an end of an interval to 0 or 1 if it is next to it, or does not exclude much."""
    near = NEAR_END * (high - low)
    return (
        np.where((low < near) | (low < HALF * value), 0.0, low),
        np.where(high > 1 - near, 1.0, high),
    )


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
