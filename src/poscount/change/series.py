"""A series of groups: which of them changed, and how fast the prevalence moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poscount.base.quantifier import Quantifier
from poscount.change.compared_groups import ComparedGroups
from poscount.change.line import FEWEST_VALUES
from poscount.change.shared_regions import require_comparable
from poscount.change.time_axis import TimeAxis, time_axis
from poscount.change.trend_result import Trend
from poscount.counts.counts import GroupedCounts
from poscount.errors import InputError, join_names
from poscount.methods.regions.rcq import RCQ
from poscount.methods.score_quantifier import ScoreQuantifier

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
    series = ComparedGroups(counting, axis, known.of_groups(axis.order), chosen)
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
