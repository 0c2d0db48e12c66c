"""Results: records for JSON, CSV, and pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from poscount.errors import InputError
from poscount.results.user_knowledge import user_knowledge
from poscount.storage.writer import check_output, csv_writer, is_standard_output, write_whole

if TYPE_CHECKING:
    from poscount.change import Trend
    from poscount.judging.evaluation import Evaluation
    from poscount.results.prevalence import Prevalence
    from poscount.results.tables import SharedWarning

# What the target of a result is called among the columns of its group.
TARGET = "target"
# Columns of the result, whose names a grouping column cannot have.
RESERVED = (
    "prevalence",
    "interval",
    "low",
    "high",
    "level",
    "count",
    "n_labeled",
    "n_unlabeled",
    "label_frequency",
    "joint_prior",
    "method",
    "verdict",
    "warnings",
    "seed",
    "kinds",
    "total_weight",
    "effective_rows",
    "clusters",
    "rows_worth",
    "negatives",
    "limits",
    "n_reference",
    "recognisable",
    "tolerance",
    "is_total",
)

# How text begins that spreadsheets take for a formula, or skip to find one; the last four are the
# wide forms of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


class Result(NamedTuple):
    """A prevalence, and what it is the prevalence of: column names and values.

    `n_reference` unlabeled rows, all different, are those that the score was learned from, too.
    `is_total` says whether it is of the rows of all groups together.
    """

    group: dict[str, Any]
    prevalence: Prevalence
    n_reference: int = 0
    is_total: bool = False

    @property
    def seed(self) -> int | None:
        """Seed that reproduces it."""
        return self.prevalence.details.get("seed")

    @property
    def target(self) -> str | None:
        """The target that it is the share of, or "other"; None if there is only one target."""
        return self.prevalence.details.get("target")

    @property
    def kinds(self) -> list[dict[str, Any]]:
        """Kinds of positives, if they were counted apart: see `RCQ`."""
        return self.prevalence.details.get("kinds", [])

    @property
    def negatives(self) -> list[dict[str, Any]]:
        """Shares of labelled kinds of negatives and of "other", if there were negatives."""
        return self.prevalence.details.get("negatives", [])

    @property
    def knowledge(self) -> dict[str, Any]:
        """What the user has said that the data cannot say."""
        return user_knowledge(self.prevalence.details)

    @property
    def values(self) -> list[str]:
        """Values of the grouping columns, for people."""
        return ["missing" if value is None else str(value) for value in self.group.values()]

    @property
    def codes(self) -> str:
        """Codes of the warnings, separated by spaces."""
        return " ".join(warning.code for warning in self.prevalence.warnings)

    def above(self, limit: float) -> float:
        """How likely the share is above a limit, by a method that gives intervals."""
        assert self.prevalence.distribution is not None
        return self.prevalence.distribution.above(limit)

    def record(self, limits: Sequence[float] = ()) -> dict[str, Any]:
        """Everything about it, in types that JSON has, except for the values of the group.

        Parameters
        ----------
        limits : sequence of float
            Shares; the record tells how likely each of them is exceeded.
        """
        exceeded = [{"limit": limit, "above": self.above(limit)} for limit in limits]
        parts = {
            "is_total": self.is_total,
            "limits": exceeded,
            "kinds": self.kinds,
            "negatives": self.negatives,
            "n_reference": self.n_reference,
        }
        more = {name: entries for name, entries in parts.items() if entries}
        known = self.knowledge
        return {**self.group, **self.prevalence.to_dict(), "seed": self.seed, **more, **known}

    def line(
        self, limits: Sequence[float] = (), *, for_spreadsheet: bool = False
    ) -> dict[str, Any]:
        """What a table of results has of it.

        Parameters
        ----------
        limits : sequence of float
            As in `record`.
        for_spreadsheet : bool
            Whether to put an apostrophe before text of the group that a spreadsheet would take for
            a formula. It is no longer exact then.
        """
        p, group = self.prevalence, self.group
        if for_spreadsheet:
            group = {formula_as_text(name): formula_as_text(group[name]) for name in group}
        ends = p.interval or ("", "")
        return {
            **group,
            "prevalence": p,
            **dict(zip(("low", "high"), ends, strict=True)),
            "level": p.interval.level if p.interval else "",
            **{limit_column(limit): self.above(limit) for limit in limits},
            "count": p.count,
            "n_unlabeled": p.n_unlabeled,
            "n_labeled": p.n_labeled,
            **({"n_reference": self.n_reference} if self.n_reference else {}),
            "method": p.method,
            "verdict": p.verdict.status,
            "warnings": self.codes,
            "seed": self.seed,
            **self.knowledge,
        }


def limit_column(limit: float) -> str:
    """Name of the column that says how likely a share is above a limit.

    Examples
    --------
    >>> limit_column(0.05)
    'above_0.05'
    """
    return f"above_{limit}"


def warnings_of(results: Iterable[Result]) -> list[SharedWarning[Result]]:
    """Collect the warnings of results, each code once, in the words of its worst case."""
    from poscount.results.tables import shared_warnings

    return shared_warnings((result, result.prevalence) for result in results)


def write_csv(lines: Sequence[Mapping[str, Any]], file: IO[str]) -> None:
    """Write lines that have the same keys, under a header."""
    writer = csv_writer(file)
    writer.writerow(list(lines[0]))
    writer.writerows(line.values() for line in lines)


def formula_as_text(value: Any) -> Any:
    """Make a spreadsheet show text that it would otherwise run as a formula.

    Examples
    --------
    >>> [formula_as_text(value) for value in ("=1+2", "-0.5", "- night", -0.5, "north")]
    ["'=1+2", '-0.5', "'- night", -0.5, 'north']
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def draw(
    results: Sequence[Result],
    *paths: str | os.PathLike[str],
    truth: Sequence[float] | None = None,
    dpi: int = 150,
) -> None:
    """Draw prevalences with their intervals into picture files; the extensions name the formats.

    Parameters
    ----------
    results : sequence of Result
        That of all groups together is not drawn.
    *paths : path
        Such as ``nights.png``, ``nights.svg`` or ``nights.pdf``.
    truth : sequence of float, optional
        The true shares, where they are known; not drawn if there are several targets.
    dpi : int
        Resolution of pictures that are made of pixels.
    """
    from poscount.plotting.prevalences import PrevalenceDisplay, group_label
    from poscount.plotting.target_shares import TargetSharesDisplay
    from poscount.results.target_shares import TargetShares

    results = [result for result in results if not result.is_total]
    first = results[0]
    by = [name for name in first.group if name != TARGET or first.target is None]
    labels = [group_label(result.group[name] for name in by) or "sample" for result in results]
    drawn: Any
    if first.target is None:
        drawn = PrevalenceDisplay.from_predictions(
            [result.prevalence for result in results],
            labels,
            truth=truth,
            xlabel=", ".join(by),
            title=f"{PrevalenceDisplay.title}, {first.prevalence.method}",
        )
    else:
        n = len({result.target for result in results})
        groups = (results[i : i + n] for i in range(0, len(results), n))
        drawn = TargetSharesDisplay.from_predictions(
            [TargetShares({str(r.target): r.prevalence for r in group}) for group in groups],
            labels[::n],
            xlabel=", ".join(by),
            title=f"{TargetSharesDisplay.title}, {first.prevalence.method}",
        )
    save_picture(drawn.figure_, *paths, dpi=dpi)


def draw_trend(trend: Trend, *paths: str | os.PathLike[str], dpi: int = 150) -> None:
    """Draw a trend into picture files; the parameters are those of `draw`."""
    from poscount.plotting.trends import TrendDisplay

    save_picture(TrendDisplay.from_trend(trend).figure_, *paths, dpi=dpi)


def draw_evaluation(evaluation: Evaluation, *paths: str | os.PathLike[str], dpi: int = 150) -> None:
    """Draw an evaluation into picture files; the parameters are those of `draw`."""
    save_picture(evaluation.plot().figure_, *paths, dpi=dpi)


def save_picture(figure: Any, *paths: str | os.PathLike[str], dpi: int) -> None:
    """Write a figure into picture files, and close it; the extensions name the formats."""
    from poscount.plotting.display import picture, picture_format, pyplot

    for path in paths:
        write_whole(path, picture(figure, picture_format(path), dpi))
    pyplot().close(figure)


# Names of outputs, checked before the work for them begins


def check_picture(path: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Refuse a name for a picture, also for an extension that names no format."""
    if path is not None:
        from poscount.plotting.display import picture_format

        picture_format(path)
        check_output(path, inputs)


def check_result(
    path: str | None, inputs: Iterable[str | None] = (), formats: Sequence[str] = ("csv", "json")
) -> None:
    """Refuse a name for a result, also for an extension that is none of its formats.

    ``-`` is standard output, in any format.
    """
    if path is None or is_standard_output(path):
        return
    check_output(path, inputs)
    if os.path.splitext(path)[1].lower()[1:] not in formats:
        *others, last = (f".{each}" for each in formats)
        use = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"its extension names no format of this result; use {use}.", file=path)
