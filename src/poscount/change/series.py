"""A series of groups: which of them changed, and how fast the prevalence moves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.change.line import FEWEST_VALUES, Line, fit_line
from poscount.change.shared_regions import (
    Ratios,
    adjusted,
    difference_interval,
    p_values,
    quantile,
    require_comparable,
    score_interval,
    shared_regions,
)
from poscount.change.time_axis import TimeAxis, time_axis
from poscount.change.trend_result import Change, Estimated, Slope, Step, Trend, TrendPoint
from poscount.counts.counts import GroupedCounts
from poscount.errors import InputError, join_names
from poscount.methods.regions.rcq import RCQ
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.results.prevalence import Prevalence

# Of all series without change, the share in which any comparison is marked.
FALSE_ALARMS = 0.05
# A step explains that groups vary, if the dispersion around its two levels is smaller than this.
_MUCH_DISPERSED = 1.5
# Groups that vary more around the line than noise does in 1 of 100 series are said to.
_DISPERSED = 0.01

Baseline = int | tuple[Any, Any] | None


def trend(
    model: Quantifier,
    data: Any,
    by: str | None = None,
    *,
    baseline: Baseline = None,
    smooth: bool = False,
    weights: Any = None,
) -> Trend:
    """Compare the groups of a series with each other.

    Each group is compared with the one before and, if a `baseline` is given, with all groups of the
    baseline together; and all groups before each place in the series with all groups after it,
    which shows a smaller change than two groups do. All groups are compared in the same regions, so
    that the error that they share through the labelled positives cancels
    (`poscount.change.shared_regions`). The p-values of all comparisons of a series are adjusted
    together by Holm's method: at most 5 of 100 series in which nothing changes have any mark.

    Parameters
    ----------
    model : RCQ, PAT or ODIn
        Fitted; its `confidence` is the level of all intervals.
    data : frame, or GroupedCounts
        Unlabeled rows; or their counts by group, from `count_by` or `poscount.engines.count`.
    by : str
        Column of dates, times or numbers, or a period such as ``"week(date)"``; not with counts,
        which have their groups.
    baseline : int or tuple of two groups, optional
        The first so many groups; or the first and the last group of a period.
    smooth : bool, default=False
        Whether small groups borrow strength from the others: `TrendPoint.smoothed`.
    weights : array-like or str, optional
        As in `CountingQuantifier.count`, with a frame.

    Returns
    -------
    Trend

    Notes
    -----
    The comparisons are about the population behind each group, of which its rows are a random draw:
    if 500 rows of a population with 30 % positives are drawn each week, nothing changes, although
    the share in the rows does.

    What is compared assumes that the positives of all groups are distributed alike, and that there
    are no negatives where the weights are. Negatives there that stay the same do no harm other than
    to make changes look smaller; if their kinds change, so does the answer.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> def frame(shift):
    ...     return pd.DataFrame(rng.normal(size=(len(shift), 3)) + shift[:, None], columns=[*"abc"])
    >>> model = RCQ(random_state=0).fit(frame(np.zeros(300)))
    >>> week = np.repeat(np.arange(8), 500)
    >>> negative = rng.random(4000) > np.where(week < 5, 0.3, 0.5)
    >>> found = trend(model, frame(7 * negative).assign(week=week), "week", baseline=4)
    >>> [point.label for point in found.points if point.from_previous and
    ...     point.from_previous.changed]
    ['5']
    >>> [point.label for point in found.points if point.from_baseline and
    ...     point.from_baseline.changed]
    ['5', '6', '7']
    """
    counting, counted = _counted(model, data, by, weights)
    (label,) = counted.by
    known = counted.of_groups([i for i, (key,) in enumerate(counted.keys) if key is not None])
    keys = [key for (key,) in known.keys]
    lost = int(counted.n.sum() - known.n.sum())
    notes = [f"{lost} row(s) without {label} are in no group."] if lost else []
    axis = time_axis(keys, label)
    if len(keys) < 2:
        only = f" ({axis.labels[0]})" if keys else ""
        raise InputError(
            f"A trend needs at least two groups, and these rows have {len(keys)}{only}; group by a "
            "shorter period, or give rows of more of them.",
            option="by",
        )
    chosen = _baseline_groups(baseline, axis, [keys[i] for i in axis.order])
    series = _ComparedGroups(counting, axis, known.of_groups(axis.order), chosen)
    line = series.line() if len(keys) >= FEWEST_VALUES else None
    if line is None:
        both = "A slope and smoothed values need" if smooth else "A slope needs"
        notes.append(f"{both} at least {FEWEST_VALUES} groups.")
    elif line.dispersion_p_value < _DISPERSED and not series.explained_by_step:
        notes.append(
            f"The groups vary {line.dispersion:.1f} times as much around a straight line as chance "
            "explains. The interval of the slope allows for it, but a single change may be "
            "ordinary variation rather than the start of something new."
        )
    if axis.n_gaps:
        found = f": {join_names(axis.gaps.values())}" if axis.gaps else ""
        notes.append(
            f"{axis.n_gaps} {axis.unit}(s) between the first and the last have no rows{found}. The "
            f"group after one is compared with the last {axis.unit} that has rows."
        )
    if getattr(model, "subclass_parts_", None):
        notes.append("Changes are counted as if the positives were of one kind.")
    return Trend(
        by=label,
        method=type(model).__name__,
        n_labeled=model.n_labeled_,
        level=counting.confidence,
        points=series.points(line if smooth else None),
        step=series.step,
        slope=None if line is None else series.slope(line),
        dispersion=None if line is None else line.dispersion,
        dispersion_p_value=None if line is None else line.dispersion_p_value,
        baseline=[axis.labels[i] for i in chosen],
        smooth=smooth and line is not None,
        notes=notes,
    )


def _counted(
    model: Quantifier, data: Any, by: str | None, weights: Any
) -> tuple[RCQ | ScoreQuantifier, GroupedCounts]:
    known = require_comparable(model)
    if isinstance(data, GroupedCounts):
        if by is not None or weights is not None:
            raise InputError(
                "Counts have their groups and weights already.",
                option="weights" if by is None else "by",
                leave_out=True,
            )
        counted = data
    elif by is None:
        raise InputError("A trend needs the column to group by.", option="by")
    else:
        counted = known.count_by(data, by, weights=weights)
    if len(counted.by) != 1:
        raise InputError(
            f"A trend is one series of groups, and these are grouped by {', '.join(counted.by)}: "
            "group by the time alone, and look at one part of the rows at a time.",
            option="by",
        )
    return known, counted


def _baseline_groups(baseline: Baseline, axis: TimeAxis, keys: Sequence[Any]) -> list[int]:
    """Places of the groups of the baseline."""
    n_groups = len(keys)
    if baseline is None:
        return []
    if isinstance(baseline, int):
        if not 1 <= baseline < n_groups:
            raise InputError(
                f"The baseline is {baseline} group(s) of {n_groups}: it must be at least 1, and "
                "leave at least one group to compare with it.",
                option="baseline",
            )
        return list(range(baseline))
    first, last = (_place(end, axis, keys) for end in baseline)
    if last < first:
        raise InputError(
            f"The baseline ends with {axis.labels[last]}, before its first group "
            f"{axis.labels[first]}.",
            option="baseline",
        )
    if last - first + 1 == n_groups:
        raise InputError(
            "The baseline has all groups, so that none is left to compare with it.",
            option="baseline",
        )
    return list(range(first, last + 1))


def _place(end: Any, axis: TimeAxis, keys: Sequence[Any]) -> int:
    for place, (key, label) in enumerate(zip(keys, axis.labels, strict=True)):
        if end == key or str(end) == label:
            return place
    raise InputError(
        f"{end!s} of the baseline is not among the groups, which are {axis.labels[0]} to "
        f"{axis.labels[-1]}" + (" and have gaps." if axis.n_gaps else "."),
        option="baseline",
    )


class _ComparedGroups:
    """Ratios of the groups of a series in common regions, and what follows from them.

    The counts are in the order of the axis; the baseline are places of groups in it, and so are the
    keys of the changes, `previous` and `from_baseline`.
    """

    def __init__(
        self,
        model: RCQ | ScoreQuantifier,
        axis: TimeAxis,
        grouped: GroupedCounts,
        baseline: list[int],
    ) -> None:
        self.model, self.axis, self.grouped = model, axis, grouped
        self.counts = [each for _, each in grouped.items()]
        self.regions = shared_regions(model, self.counts)
        self.baseline = baseline
        self.found = self.regions.ratios(self.counts)
        self.confidence = model.confidence
        self.z = quantile(self.confidence)
        self.previous, self.from_baseline, self.step = self._compare()

    def points(self, line: Line | None) -> list[TrendPoint]:
        """All groups in order, with the periods without rows between them."""
        smoothed = [None] * len(self.counts) if line is None else self._smoothed(line)
        levels = self.found.ratio * self.regions.scale
        answers = self.model.estimate_by(self.grouped)
        points = {
            float(self.axis.places[i]): TrendPoint(
                label=self.axis.labels[i],
                n_rows=counts.n,
                prevalence=answers[i],
                level=float(levels[i]),
                from_previous=self.previous.get(i),
                from_baseline=self.from_baseline.get(i),
                smoothed=smoothed[i],
                in_baseline=i in self.baseline,
            )
            for i, counts in enumerate(self.counts)
        }
        gaps = self.axis.gaps.items()
        points |= {place: TrendPoint(label, 0, None, None) for place, label in gaps}
        return [points[place] for place in sorted(points)]

    def line(self) -> Line:
        """The line through the levels; their noise is that at the line, not at the levels."""
        ratio, n_rows = self.found
        expected = np.full(len(ratio), float(ratio @ n_rows / n_rows.sum()))
        for _ in range(2):
            noise = self._noise(expected)
            line = fit_line(self.axis.places, ratio, noise, self.confidence)
            centred = self.axis.places - self.axis.places.mean()
            weight = 1 / noise
            middle = (ratio - line.slope[0] * centred) @ weight / weight.sum()
            expected = middle + line.slope[0] * centred
        return line

    def slope(self, line: Line) -> Slope:
        """The slope as a change of the prevalence, with the error of the shared factor."""
        value, low, high = (part * self.regions.scale for part in line.slope)
        shared = self.z * self.regions.factor_sd * value
        return Slope(
            value,
            value - float(np.hypot(value - low, shared)),
            value + float(np.hypot(high - value, shared)),
            self.axis.unit,
        )

    def _compare(self) -> tuple[dict[int, Change], dict[int, Change], Step]:
        """Changes from the group before and from the baseline, by place, and the step.

        Together they are the family of comparisons in which false alarms are controlled.
        """
        n_groups = len(self.counts)
        ratio, n_rows = self.found
        later = np.arange(1, n_groups)
        others = np.setdiff1d(np.arange(n_groups), self.baseline) if self.baseline else later[:0]
        rows = n_rows[self.baseline].sum()
        base = float(ratio[self.baseline] @ n_rows[self.baseline]) / max(rows, 1)
        now = np.concatenate([later, others])
        then = Ratios(
            np.concatenate([ratio[:-1], np.full(len(others), base)]),
            np.concatenate([n_rows[:-1], np.full(len(others), rows)]),
        )
        one = Ratios(ratio[now], n_rows[now])
        before, after, dispersion = self._splits()
        # Then the groups do not vary by themselves.
        self.explained_by_step = dispersion < _MUCH_DISPERSED
        p = adjusted(
            np.concatenate(
                [
                    p_values(*one, *then, self.regions.second_moment),
                    p_values(
                        *(before.ratio, before.n_rows / dispersion),
                        *(after.ratio, after.n_rows / dispersion),
                        self.regions.second_moment,
                    ),
                ]
            )
        )
        p, of_splits = p[: len(now)], p[len(now) :]
        difference = one.ratio - then.ratio
        ends = difference_interval(
            difference, self._margins(one), self._margins(then), self.z * self.regions.factor_sd
        )
        scaled = np.clip(np.array([difference, *ends]) * self.regions.scale, -1, 1)
        against = [self.axis.labels[i - 1] for i in later] + ["baseline"] * len(others)
        changes = [
            Change(label, change, low, high, p_value, p_value <= FALSE_ALARMS)
            for label, (change, low, high), p_value in zip(
                against, scaled.T.tolist(), p.tolist(), strict=True
            )
        ]
        best = int(of_splits.argmin())
        step = Step(
            self.axis.labels[best + 1],
            float(before.ratio[best]) * self.regions.scale,
            float(after.ratio[best]) * self.regions.scale,
            float(of_splits[best]),
            bool(of_splits[best] <= FALSE_ALARMS),
        )
        return (
            dict(zip(later.tolist(), changes[: len(later)], strict=True)),
            dict(zip(others.tolist(), changes[len(later) :], strict=True)),
            step,
        )

    def _splits(self) -> tuple[Ratios, Ratios, float]:
        """All groups before and after each place, and how much more than by chance they vary.

        The dispersion is that around the two levels of the best split, and at least 1: if groups
        vary by themselves, as many rows are worth less.
        """
        ratio, n_rows = self.found
        rows, weighted = np.cumsum(n_rows), np.cumsum(ratio * n_rows)
        before = Ratios(weighted[:-1] / rows[:-1], rows[:-1])
        rows_after = rows[-1] - rows[:-1]
        after = Ratios((weighted[-1] - weighted[:-1]) / rows_after, rows_after)
        best = int(p_values(*before, *after, self.regions.second_moment).argmin())
        place = np.arange(len(ratio))
        expected = np.where(place <= best, before.ratio[best], after.ratio[best])
        excess = ((ratio - expected) ** 2 / self._noise(expected)).sum()
        return before, after, max(1.0, float(excess) / max(1, len(ratio) - 2))

    def _noise(self, expected: np.ndarray) -> np.ndarray:
        """Variance of the ratios of groups, if these are expected."""
        n_rows = self.found.n_rows
        likely = np.clip(expected, 1 / n_rows, self.regions.second_moment - 1 / n_rows)
        return likely * (self.regions.second_moment - likely) / n_rows

    def _margins(self, found: Ratios) -> tuple[np.ndarray, np.ndarray]:
        low, high = score_interval(*found, self.regions.second_moment, self.z, drawn=True)
        return found.ratio - low, high - found.ratio

    def _smoothed(self, line: Line) -> list[Estimated]:
        """Values on the line's way to the groups, at the height of the answer for all rows."""
        all_rows = self.model.estimate(reduce(add, self.counts))
        ratio, n_rows = self.found
        level = float(ratio @ n_rows / n_rows.sum())
        value, low, high = np.clip(_moved(line.smoothed, level, float(all_rows)), 0, 1)
        below, above = _shared_error(value, all_rows)
        low = np.maximum(0.0, value - np.hypot(value - low, below))
        high = np.minimum(1.0, value + np.hypot(high - value, above))
        return [Estimated(*one) for one in np.array([value, low, high]).T.tolist()]


def _moved(ratios: np.ndarray, level: float, answer: float) -> np.ndarray:
    """Prevalences from ratios whose level, over all rows, should be the answer for all rows.

    If it is higher, negatives with a share q of the weight of positives would explain it: with
    them, a ratio is p + (1 - p) q. If it is lower, all ratios are too small by the same factor.
    """
    if answer >= level or level >= 1:
        return ratios * (answer / level if level > 0 else 1.0)
    return 1 - (1 - ratios) * (1 - answer) / (1 - level)


def _shared_error(value: np.ndarray, all_rows: Prevalence) -> tuple[np.ndarray, np.ndarray]:
    """What all groups may be off by together, from the interval of the answer for all rows."""
    p, interval = float(all_rows), all_rows.interval
    assert interval is not None  # methods that count always have one
    part = np.minimum(1.0, value / p) if p > 0 else np.ones_like(value)
    return part * (p - interval.low), part * (interval.high - p)
