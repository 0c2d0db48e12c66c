"""What a trend is: its points, with their changes, and the slope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import narwhals as nw

from poscount.errors import join_names
from poscount.results import notebook
from poscount.results.prevalence import Prevalence


class Change(NamedTuple):
    """A group compared with another, or with the baseline.

    Attributes
    ----------
    against : str
        The other group, or "baseline".
    difference, low, high : float
        Change of the prevalence, and its interval.
    p_value : float
        Adjusted for all comparisons of the series.
    changed : bool
        Whether it is marked as a change: of 100 series without any, at most 5 have a mark.
    """

    against: str
    difference: float
    low: float
    high: float
    p_value: float
    changed: bool


class Estimated(NamedTuple):
    """A prevalence with its interval."""

    value: float
    low: float
    high: float


class Step(NamedTuple):
    """The split of a series into "before" and "after" that differ most.

    Attributes
    ----------
    at : str
        The first group after it.
    before, after : float
        Levels of all groups before it, and from it on.
    p_value : float
        Adjusted for all splits and all other comparisons of the series.
    changed : bool
        Whether it is claimed: it is more than chance and changing negatives explain, and explains
        the groups better than a slope does.
    """

    at: str
    before: float
    after: float
    p_value: float
    changed: bool


class Slope(NamedTuple):
    """Change of the prevalence per unit of time.

    Attributes
    ----------
    value, low, high : float
        The change, and its interval.
    per : str
        The unit of time.
    p_value : float
        Adjusted for all comparisons of the series.
    changed : bool
        Whether it is claimed: it is more than chance and changing negatives explain, and explains
        the groups better than a step does.
    """

    value: float
    low: float
    high: float
    per: str
    p_value: float
    changed: bool


@dataclass(frozen=True)
class TrendPoint:
    """A group of a series, or a period without rows.

    Attributes
    ----------
    label : str
    place : float
        When it is, in the units of the slope.
    n_rows : int
    prevalence : Estimated or None
        The share in the regions that all groups have in common, fastened to the answer for all
        rows; None without rows. Its interval includes what all groups may be off by together.
    from_previous, from_baseline : Change or None
    smoothed : Estimated or None
        The prevalence with strength borrowed from the other groups, if that was asked for.
    in_baseline : bool
    """

    label: str
    place: float
    n_rows: int
    prevalence: Estimated | None
    from_previous: Change | None = None
    from_baseline: Change | None = None
    smoothed: Estimated | None = None
    in_baseline: bool = False

    @property
    def changed(self) -> bool:
        """Whether it is marked as changed, from the group before or from the baseline."""
        return marked(self.from_previous) or marked(self.from_baseline)


@dataclass(frozen=True)
class Trend:
    """A series of groups compared with each other; made by `trend`.

    Attributes
    ----------
    by : str
        The grouping.
    method : str
        Name of the model's class.
    n_labeled : int
        Number of its positives.
    level : float
        Of all intervals.
    answer : Prevalence
        The model's answer for all rows together, with its verdict.
    points : list of TrendPoint
        In order of time.
    step : Step
        Where the series most likely has a step. Many groups on both sides show a smaller change
        than two groups do.
    slope : Slope or None
        None with fewer than four groups.
    dispersion, dispersion_p_value : float or None
        Variance of the groups around a line over what chance gives, and how often chance alone
        gives as much.
    baseline : list of str
        Labels of the groups of the baseline.
    smooth : bool
        Whether the points are smoothed, too.
    notes : list of str
        What should be known besides, in sentences.
    """

    by: str
    method: str
    n_labeled: int
    level: float
    answer: Prevalence
    points: list[TrendPoint]
    step: Step
    slope: Slope | None
    dispersion: float | None
    dispersion_p_value: float | None
    baseline: list[str]
    smooth: bool
    notes: list[str] = field(default_factory=list)

    @property
    def changes(self) -> list[TrendPoint]:
        """The points that are marked as changed."""
        return [point for point in self.points if point.changed]

    def records(self) -> list[dict[str, Any]]:
        """One flat record for each point, in types that JSON has; None where there is nothing."""
        return [self._record(point) for point in self.points]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {
            "by": self.by,
            "method": self.method,
            "n_labeled": self.n_labeled,
            "level": self.level,
            "all_rows": self.answer.to_dict(),
            "step": self.step._asdict(),
            "slope": None if self.slope is None else self.slope._asdict(),
            "dispersion": self.dispersion,
            "dispersion_p_value": self.dispersion_p_value,
            "baseline": self.baseline,
            "notes": self.notes,
            "summary": str(self),
            "points": self.records(),
        }

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """The records as a frame of pandas, polars or pyarrow."""
        records = self.records()
        columns = {name: [record[name] for record in records] for name in records[0]}
        return nw.from_dict(columns, backend=backend).to_native()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the series, with marks where it has changed; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        TrendDisplay
            With the axes, `ax_`, and their figure, `figure_`.
        """
        from poscount.plotting import TrendDisplay

        return TrendDisplay.from_trend(self, ax=ax)

    def _repr_html_(self) -> str:
        numbers = ["share", f"{100 * self.level:g} % interval", "rows", "change (points)"]
        return notebook.piece(
            *map(notebook.paragraph, str(self).splitlines()),
            notebook.table(
                [self.by, "0 to 100 %", *numbers, "changed from"],
                [_html_cells(point) for point in self.points[: notebook.MOST_ROWS]],
                numbers,
                len(self.points),
            ),
            *map(notebook.paragraph, self.notes),
            notebook.paragraph(f"{self.method}, {self.n_labeled:,} labelled positives", small=True),
        )

    def __str__(self) -> str:
        groups = [point for point in self.points if point.prevalence is not None]
        named = [point.label for point in groups if marked(point.from_previous)]
        lines = [
            f"Changed from the one before: {join_names(named, 12)}."
            if named
            else f"None of the {len(groups)} groups is marked as changed from the one before."
        ]
        if self.baseline:
            left = [point.label for point in groups if marked(point.from_baseline)]
            base = _range(self.baseline)
            lines.append(
                f"Changed from the baseline ({base}): {join_names(left, 12)}."
                if left
                else f"No group is marked as changed from the baseline ({base})."
            )
        if self.step.changed:
            before, after = 100 * self.step.before, 100 * self.step.after
            lines.append(f"A step at {self.step.at}: from {before:.1f} to {after:.1f} %.")
        elif self.slope is not None:
            value, low, high = (100 * part for part in self.slope[:3])
            name = "A slope" if self.slope.changed else "No step, and no clear slope"
            lines.append(
                f"{name}: {value:+.2f} points per {self.slope.per}, {low:+.2f} to {high:+.2f}."
            )
        return "\n".join(lines)

    def _record(self, point: TrendPoint) -> dict[str, Any]:
        p = point.prevalence
        record: dict[str, Any] = {
            "group": point.label,
            "n": point.n_rows,
            **dict(zip(("prevalence", "low", "high"), p or (None, None, None), strict=True)),
            **_columns(point.from_previous, "change", "compared_with"),
        }
        if self.baseline:
            record["in_baseline"] = point.in_baseline
            record |= _columns(point.from_baseline, "from_baseline")
        if self.smooth:
            value = point.smoothed
            names = ("smoothed", "smoothed_low", "smoothed_high")
            record |= dict(zip(names, value or (None, None, None), strict=True))
        return record


def _html_cells(point: TrendPoint) -> list[notebook.Cell]:
    p = point.prevalence
    if p is None:
        return [point.label, None, "no rows", *[None] * 4]
    change = point.from_previous
    marks = {"the one before": change, "the baseline": point.from_baseline}
    return [
        point.label,
        notebook.Share(*p),
        f"{notebook.percent(p.value)} %",
        f"{notebook.percent(p.low)} to {notebook.percent(p.high)} %",
        f"{point.n_rows:,}",
        f"{100 * change.difference:+.1f}" if change else None,
        ", ".join(what for what, found in marks.items() if marked(found)),
    ]


def marked(change: Change | None) -> bool:
    """Whether there is a comparison, and it is marked as a change."""
    return change is not None and change.changed


def _range(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def _columns(change: Change | None, name: str, against: str | None = None) -> dict[str, Any]:
    found = dict.fromkeys(Change._fields) if change is None else change._asdict()
    columns = {} if against is None else {against: found["against"]}
    return columns | {
        name: found["difference"],
        f"{name}_low": found["low"],
        f"{name}_high": found["high"],
        f"{name}_p": found["p_value"],
        f"{name}_marked": found["changed"],
    }
