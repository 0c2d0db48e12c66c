"""Results: records for JSON, CSV, and pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from poscount.results.prevalence import Prevalence
from poscount.results.tables import SharedWarning, in_words, shared_warnings
from poscount.storage.writer import csv_writer, write_whole

if TYPE_CHECKING:
    from poscount.change import Trend

# What the target of a result is called among the columns of its group.
TARGET = "target"
# Columns of the result, whose names a grouping column cannot have.
RESERVED = (
    *("prevalence", "interval", "low", "high", "level", "count", "n_labeled", "n_unlabeled"),
    *("label_frequency", "joint_prior", "method", "verdict", "warnings", "seed", "kinds"),
    *("total_weight", "effective_rows", "negatives"),
)

# How text begins that spreadsheets take for a formula, or skip to find one; the last four are the
# wide forms of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


class Result(NamedTuple):
    """A prevalence, and what it is the prevalence of: column names and values."""

    group: dict[str, Any]
    prevalence: Prevalence

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
    def values(self) -> list[str]:
        """Values of the grouping columns, for people."""
        return ["missing" if value is None else str(value) for value in self.group.values()]

    @property
    def codes(self) -> str:
        """Codes of the warnings, separated by spaces."""
        return " ".join(caution.code for caution in self.prevalence.warnings)

    def record(self) -> dict[str, Any]:
        """Everything about it, in types that JSON has, except for the values of the group."""
        more = {"kinds": self.kinds, "negatives": self.negatives}
        told = {name: shares for name, shares in more.items() if shares}
        return {**self.group, **self.prevalence.to_dict(), "seed": self.seed, **told}


def warnings_of(results: Iterable[Result]) -> list[SharedWarning[Result]]:
    """Collect the warnings of results, each code once, in the words of its worst case."""
    return shared_warnings((result, result.prevalence) for result in results)


def where_warned(shared: SharedWarning[Result]) -> str:
    """Name the groups that a warning is about, and the one that it is worst for.

    Returns
    -------
    str
        Empty if there are no groups.
    """
    labels = ["/".join(result.values) for result in shared.of]
    which = in_words("/".join(shared.worst.values), labels)
    return f"{'/'.join(shared.worst.group)} {which}" if shared.worst.group else ""


def write_csv(results: Sequence[Result], file: IO[str], *, for_spreadsheet: bool = False) -> None:
    """Write a header, and one line for each result.

    Parameters
    ----------
    results : sequence of Result
    file : text file
    for_spreadsheet : bool
        Whether to put an apostrophe before text that a spreadsheet would take for a formula. The
        values of groups are no longer exact then.
    """
    written = formula_as_text if for_spreadsheet else _unchanged
    writer = csv_writer(file)
    heads = ["prevalence", "low", "high", "level", "count", "n_unlabeled", "n_labeled", "method"]
    writer.writerow([*map(written, results[0].group), *heads, "verdict", "warnings", "seed"])
    for result in results:
        group, p = result
        ends = (p.interval.low, p.interval.high, p.interval.level) if p.interval else ("", "", "")
        numbers = [p, *ends, p.count, p.n_unlabeled, p.n_labeled, p.method]
        grade = p.verdict.grade
        writer.writerow([*map(written, group.values()), *numbers, grade, result.codes, result.seed])


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


def _unchanged(value: Any) -> Any:
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
    *paths : path
        Such as ``nights.png``, ``nights.svg`` or ``nights.pdf``.
    truth : sequence of float, optional
        The true shares, where they are known; not drawn if there are several targets.
    dpi : int
        Resolution of pictures that are made of pixels.
    """
    figure = (_draw_targets if results[0].target else _draw_prevalences)(results, truth)
    save_picture(figure, *paths, dpi=dpi)


def draw_trend(trend: Trend, *paths: str | os.PathLike[str], dpi: int = 150) -> None:
    """Draw a trend into picture files; the parameters are those of `draw`."""
    from poscount.plotting.trends import TrendDisplay

    save_picture(TrendDisplay.from_trend(trend).figure_, *paths, dpi=dpi)


def save_picture(figure: Any, *paths: str | os.PathLike[str], dpi: int) -> None:
    """Write a figure into picture files, and close it; the extensions name the formats."""
    from poscount.plotting.display import picture, picture_format, pyplot

    for path in paths:
        write_whole(path, picture(figure, picture_format(path), dpi))
    pyplot().close(figure)


def _draw_prevalences(results: Sequence[Result], truth: Sequence[float] | None) -> Any:
    from poscount.plotting.prevalences import PrevalenceDisplay, group_label

    return PrevalenceDisplay.from_predictions(
        [result.prevalence for result in results],
        [group_label(result.group.values()) or "sample" for result in results],
        truth=truth,
        xlabel=", ".join(results[0].group),
        title=f"{PrevalenceDisplay.title}, {results[0].prevalence.method}",
    ).figure_


def _draw_targets(results: Sequence[Result], truth: Sequence[float] | None) -> Any:
    from poscount.plotting.prevalences import group_label
    from poscount.plotting.target_shares import TargetSharesDisplay
    from poscount.results.target_shares import TargetShares

    labels = [group_label(list(result.group.values())[:-1]) or "sample" for result in results]
    n_targets = len({result.target for result in results})
    groups = (results[i : i + n_targets] for i in range(0, len(results), n_targets))
    answers = [TargetShares({str(r.target): r.prevalence for r in group}) for group in groups]
    return TargetSharesDisplay.from_predictions(
        answers,
        labels[::n_targets],
        xlabel=", ".join(list(results[0].group)[:-1]),
        title=f"{TargetSharesDisplay.title}, {results[0].prevalence.method}",
    ).figure_
