"""A series of groups: which of them changed, and how fast the prevalence moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from poscount.base.clustered import rows_in_core
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
from poscount.counts.clusters import design_effect, with_cluster
from poscount.counts.counts import GroupedCounts
from poscount.errors import InputError, join_names
from poscount.methods.regions.rcq import RCQ
from poscount.methods.score_quantifier import ScoreQuantifier

# Of all series without change, the share in which any comparison is marked.
FALSE_ALARMS = 0.05
# Groups vary by themselves if the dispersion around the two levels of a step is larger than this.
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
    cluster: str | None = None,
) -> Trend:
    """Compare the groups of a series with each other.

    Each group is compared with the one before and, if a `baseline` is given, with all groups of the
    baseline together; and all groups before each place in the series with all groups after it,
    which shows a smaller change than two groups do. All groups are compared in the same regions, so
    that the error that they share through the labelled positives cancels; what changing negatives
    may do is in the intervals (`poscount.change.shared_regions`). The p-values of all comparisons
    of a series, and of its slope, are adjusted together by Holm's method: at most 5 of 100 series
    in which nothing changes have any mark. Of a step and a slope, the one that explains the groups
    better is claimed.

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
    cluster : str, optional
        The column that names the cluster of each row, such as its trap; counts are grouped by it,
        too. The rows of a group are worth as many fewer as its clusters differ
        (`poscount.counts.clusters.design_effect`).

    Returns
    -------
    Trend

    See Also
    --------
    poscount.compare_samples : For two samples.
    poscount.ChangeDetector : For a stream.

    Notes
    -----
    The comparisons are about the population behind each group, of which its rows are a random draw:
    if 500 rows of a population with 30 % positives are drawn each week, nothing changes, although
    the share in the rows does.

    What is compared assumes that the positives of all groups are distributed alike. Negatives that
    look like them do no harm as long as they stay the same; if their kinds change, the ratios do,
    by about as much as the intervals allow for. Groups that vary by themselves are taken to do so
    because of their negatives, as far as those explain it.

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
    counting, counted = _counted(model, data, by, weights, cluster)
    effect = 1.0
    if cluster is not None:
        effect = design_effect(counted, cluster, rows_in_core(counting, counted))
        counted = counted.without(cluster)
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
    series = _ComparedGroups(counting, axis, known.of_groups(axis.order), chosen, effect)
    line = series.line
    if line is None:
        both = "A slope and smoothed values need" if smooth else "A slope needs"
        notes.append(f"{both} at least {FEWEST_VALUES} groups.")
    elif line.dispersion_p_value < _DISPERSED and series.dispersion > _MUCH_DISPERSED:
        notes.append(
            f"The groups vary {line.dispersion:.1f} times as much around a straight line as chance "
            "explains. The intervals allow for it as far as changing negatives explain it; a "
            "single change may be ordinary variation rather than the start of something new."
        )
    if axis.n_gaps:
        found = f": {join_names(axis.gaps.values())}" if axis.gaps else ""
        notes.append(
            f"{axis.n_gaps} {axis.unit}(s) between the first and the last have no rows{found}. The "
            f"group after one is compared with the last {axis.unit} that has rows."
        )
    if cluster is not None:
        notes.append(f"By its clusters, a row is worth {1 / effect:.2f} independent ones.")
    if getattr(model, "subclass_parts_", None):
        notes.append("Changes are counted as if the positives were of one kind.")
    return Trend(
        by=label,
        method=type(model).__name__,
        n_labeled=model.n_labeled_,
        level=counting.confidence,
        answer=series.regions.answer,
        points=series.points(smooth and line is not None),
        step=series.step,
        slope=series.slope,
        dispersion=None if line is None else line.dispersion,
        dispersion_p_value=None if line is None else line.dispersion_p_value,
        baseline=[axis.labels[i] for i in chosen],
        smooth=smooth and line is not None,
        notes=notes,
    )


def _counted(
    model: Quantifier, data: Any, by: str | None, weights: Any, cluster: str | None
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
        counted = known.count_by(data, with_cluster([by], cluster), weights=weights)
    if len(counted.by) != 1 + (cluster is not None):
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
        design_effect: float,
    ) -> None:
        self.axis, self.baseline = axis, baseline
        self.counts = [each for _, each in grouped.items()]
        self.regions = shared_regions(model, self.counts)
        found = self.regions.ratios(self.counts)
        self.found = found._replace(n_rows=found.n_rows / design_effect)
        self.shares = self.regions.shares(self.found.ratio)
        self.confidence = model.confidence
        self.z = quantile(self.confidence)
        self.line = self._line() if len(self.counts) >= FEWEST_VALUES else None
        self._compare()

    def points(self, smooth: bool) -> list[TrendPoint]:
        """All groups in order, with the periods without rows between them."""
        below, above = self._margins(Ratios(self.found.ratio, self.worth))
        scale = self.regions.scale
        estimated = self._estimated(self.shares, scale * below, scale * above)
        smoothed: list[Estimated | None] = [None] * len(self.counts)
        if smooth and self.line is not None:
            value, low, high = self.regions.shares(self.line.smoothed)
            smoothed = [*self._estimated(value, value - low, high - value)]
        points = {
            float(self.axis.places[i]): TrendPoint(
                label=self.axis.labels[i],
                place=float(self.axis.places[i]),
                n_rows=counts.n,
                prevalence=estimated[i],
                from_previous=self.previous.get(i),
                from_baseline=self.from_baseline.get(i),
                smoothed=smoothed[i],
                in_baseline=i in self.baseline,
            )
            for i, counts in enumerate(self.counts)
        }
        gaps = self.axis.gaps.items()
        points |= {place: TrendPoint(label, place, 0, None) for place, label in gaps}
        return [points[place] for place in sorted(points)]

    def _line(self) -> Line:
        """The line through the ratios; their noise is that at the line, not at the ratios."""
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

    def _compare(self) -> None:
        """Find the changes from the group before and from the baseline, the step, and the slope.

        Together they are the family of comparisons in which false alarms are controlled.
        """
        ratio, n_rows = self.found
        square, scale = self.regions.second_moment, self.regions.scale
        before, after, expected = self._splits()
        noise = self._noise(expected)
        excess = float(((ratio - expected) ** 2 / noise).sum())
        # If groups vary by themselves, as many rows are worth less.
        self.dispersion = max(1.0, excess / max(1, len(ratio) - 2))
        # A line may explain them better.
        around = (
            self.dispersion if self.line is None else min(self.dispersion, self.line.dispersion)
        )
        varied = max(0.0, around - 1) * float(noise.mean())
        own = min(varied, (self.regions.leak / scale) ** 2)
        self.worth = n_rows / (1 + own / noise)
        later, others, now, then = self._pairs()
        lasting = self.regions.lasting / scale
        least = math.sqrt(2) * self.z * lasting
        slope, slope_p_value = self._slope(least * scale)
        p = adjusted(
            np.concatenate(
                [
                    p_values(*now, *then, square, least),
                    p_values(
                        *(before.ratio, before.n_rows / self.dispersion),
                        *(after.ratio, after.n_rows / self.dispersion),
                        square,
                        least,
                    ),
                    slope_p_value,
                ]
            )
        )
        of_pairs, of_splits, of_slope = np.split(p, [len(now.ratio), len(p) - len(slope_p_value)])
        changes = self._changes(now, then, of_pairs, lasting)
        self.previous = dict(zip(later.tolist(), changes[: len(later)], strict=True))
        self.from_baseline = dict(zip(others.tolist(), changes[len(later) :], strict=True))
        best = int(of_splits.argmin())
        line_explains = self.line is not None and excess > self.line.dispersion * (len(ratio) - 2)
        both = bool(of_slope.size) and max(of_splits[best], of_slope[0]) <= FALSE_ALARMS
        levels = self.regions.shares(np.array([before.ratio[best], after.ratio[best]]))
        self.step = Step(
            self.axis.labels[best + 1],
            float(levels[0]),
            float(levels[1]),
            float(of_splits[best]),
            bool(of_splits[best] <= FALSE_ALARMS) and not (both and line_explains),
        )
        self.slope = None
        if slope is not None:
            claimed = bool(of_slope[0] <= FALSE_ALARMS) and not (both and not line_explains)
            self.slope = Slope(*slope, self.axis.unit, float(of_slope[0]), claimed)

    def _pairs(self) -> tuple[np.ndarray, np.ndarray, Ratios, Ratios]:
        """Places of groups compared with the one before and with the baseline; and both sides."""
        (ratio, n_rows), worth = self.found, self.worth
        later = np.arange(1, len(ratio))
        others = np.setdiff1d(np.arange(len(ratio)), self.baseline) if self.baseline else later[:0]
        base = float(ratio[self.baseline] @ n_rows[self.baseline])
        base /= max(n_rows[self.baseline].sum(), 1)
        now = np.concatenate([later, others])
        then = Ratios(
            np.concatenate([ratio[:-1], np.full(len(others), base)]),
            np.concatenate([worth[:-1], np.full(len(others), worth[self.baseline].sum())]),
        )
        return later, others, Ratios(ratio[now], worth[now]), then

    def _changes(self, now: Ratios, then: Ratios, p: np.ndarray, lasting: float) -> list[Change]:
        ends = difference_interval(
            now.ratio - then.ratio,
            self._margins(now),
            self._margins(then),
            self.z * self.regions.factor_sd,
            self.z * lasting,
        )
        difference = self.regions.shares(now.ratio) - self.regions.shares(then.ratio)
        low, high = np.clip(np.array(ends) * self.regions.scale, -1, 1)
        # Shares are never below 0 or above 1.
        low, high = np.minimum(low, difference), np.maximum(high, difference)
        n_later = len(self.counts) - 1
        against = self.axis.labels[:-1] + ["baseline"] * (len(p) - n_later)
        columns = (each.tolist() for each in (difference, low, high, p, p <= FALSE_ALARMS))
        return [Change(*each) for each in zip(against, *columns, strict=True)]

    def _slope(self, lasting: float) -> tuple[tuple[float, float, float] | None, np.ndarray]:
        """The slope as a change of the prevalence, and its p-value; none without a line.

        A slope is two halves of the series that differ: changing negatives may make them differ.
        """
        if self.line is None:
            return None, np.empty(0)
        value, low, high = (part * self.regions.scale for part in self.line.slope)
        lasting *= 2 / (self.axis.places[-1] - self.axis.places[0])
        shared = math.hypot(self.z * self.regions.factor_sd * value, lasting)
        sd = max((high - low) / (2 * self.z), np.finfo(float).tiny)
        p = 2 * ndtr(-max(abs(value) - lasting, 0) / sd)
        ends = value - math.hypot(value - low, shared), value + math.hypot(high - value, shared)
        return (value, *ends), np.array([p])

    def _splits(self) -> tuple[Ratios, Ratios, np.ndarray]:
        """All groups before and after each place, and what the best split expects of each group."""
        ratio, n_rows = self.found
        rows, weighted = np.cumsum(n_rows), np.cumsum(ratio * n_rows)
        before = Ratios(weighted[:-1] / rows[:-1], rows[:-1])
        rows_after = rows[-1] - rows[:-1]
        after = Ratios((weighted[-1] - weighted[:-1]) / rows_after, rows_after)
        best = int(p_values(*before, *after, self.regions.second_moment).argmin())
        early = np.arange(len(ratio)) <= best
        return before, after, np.where(early, before.ratio[best], after.ratio[best])

    def _noise(self, expected: np.ndarray) -> np.ndarray:
        """Variance of the ratios of groups, if these are expected."""
        n_rows = self.found.n_rows
        likely = np.clip(expected, 1 / n_rows, self.regions.second_moment - 1 / n_rows)
        return likely * (self.regions.second_moment - likely) / n_rows

    def _margins(self, found: Ratios) -> tuple[np.ndarray, np.ndarray]:
        low, high = score_interval(*found, self.regions.second_moment, self.z, drawn=True)
        return found.ratio - low, high - found.ratio

    def _estimated(
        self, value: np.ndarray, below: np.ndarray, above: np.ndarray
    ) -> list[Estimated]:
        """Shares with what chance leaves open, and what all groups may be off by together."""
        p, interval = float(self.regions.answer), self.regions.answer.interval
        assert interval is not None  # methods that count always have one
        part = np.minimum(1.0, value / p) if p > 0 else np.ones_like(value)
        low = np.maximum(0.0, value - np.hypot(below, part * (p - interval.low)))
        high = np.minimum(1.0, value + np.hypot(above, part * (interval.high - p)))
        return [Estimated(*one) for one in np.array([value, low, high]).T.tolist()]
