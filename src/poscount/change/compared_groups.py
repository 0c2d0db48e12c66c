"""The groups of a series in common regions: changes, the step, the slope, smoothed values."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from poscount.change.comparisons import (
    adjusted,
    difference_interval,
    p_values,
    quantile,
    score_interval,
)
from poscount.change.line import Line, fit_line
from poscount.change.shared_regions import Ratios, shared_regions
from poscount.change.time_axis import TimeAxis
from poscount.change.trend_result import Change, Estimated, Slope, Step, TrendPoint
from poscount.counts.counts import GroupedCounts
from poscount.methods.regions.rcq import RCQ
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.results.prevalence import Prevalence

# Of all series without change, the share in which any comparison is marked.
FALSE_ALARMS = 0.05
# A step explains that groups vary, if the dispersion around its two levels is smaller than this.
_MUCH_DISPERSED = 1.5


class ComparedGroups:
    """Ratios of the groups of a series in common regions, and what follows from them.

    Parameters
    ----------
    model : RCQ, PAT or ODIn
    axis : TimeAxis
        Of the groups.
    grouped : GroupedCounts
        Their counts, in the order of the axis.
    baseline : list of int
        Places of the groups of the baseline.

    Attributes
    ----------
    previous, from_baseline : dict
        From the places of groups to their changes.
    step : Step
    explained_by_step : bool
        Whether the groups vary hardly more than by chance around the levels of the step.
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
        points |= {place: TrendPoint.gap(label) for place, label in self.axis.gaps.items()}
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
