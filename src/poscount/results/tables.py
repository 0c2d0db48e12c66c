"""Several answers in one table: as text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from poscount.errors import join_names
from poscount.printable import in_a_sentence
from poscount.results import notebook
from poscount.results.prevalence import Prevalence, as_share
from poscount.results.verdict import AnswerWarning

T = TypeVar("T")
# Rows of a table of text, and characters of one of its cells.
MOST_ROWS, _MOST_IN_CELL = 60, 40
# Groups that a warning names.
MOST_NAMED = 8


class SharedWarning(NamedTuple, Generic[T]):
    """A warning that some answers have: its worst case, whose it is, and which answers those are.

    Attributes
    ----------
    warning : AnswerWarning
    worst : object
        What stands for the answer with the worst case.
    of : list
        What stands for each answer with this warning.
    """

    warning: AnswerWarning
    worst: T
    of: list[T]


def shared_warnings(answers: Iterable[tuple[T, Prevalence]]) -> list[SharedWarning[T]]:
    """Collect the warnings of answers, each code once, in the words of its worst case.

    Parameters
    ----------
    answers : iterable of pairs
        What stands for an answer, and the answer.
    """
    found: dict[str, list[tuple[AnswerWarning, T]]] = {}
    for what, p in answers:
        for warning in p.warnings:
            found.setdefault(warning.code, []).append((warning, what))
    return [
        SharedWarning(
            *max(cases, key=lambda case: abs(case[0].value or 0.0)), [what for _, what in cases]
        )
        for cases in found.values()
    ]


def named_warnings(answers: Iterable[tuple[str, Prevalence]]) -> Iterator[tuple[str, str]]:
    """Each warning with the names of the answers that have it: head and sentence.

    Examples
    --------
    >>> p = Prevalence(0.5, n_labeled=9, n_unlabeled=9, method="PAT",
    ...                warnings=[AnswerWarning("few-rows", "Only 9 rows.", 9.0)])
    >>> list(named_warnings([("monday", p), ("friday", p)]))
    [('few-rows, monday, friday (worst: monday):', 'Only 9 rows.')]
    """
    for warning, worst, of in shared_warnings(answers):
        yield f"{warning.code}, {in_words(worst, of)}:", warning.sentence


def in_words(worst: object, of: Sequence[object]) -> str:
    """Name the answers that have a warning, and the one that it is worst for."""
    which = f" (worst: {worst})" if len(of) > 1 else ""
    return join_names(map(str, of), MOST_NAMED) + which


def text_table(heads: Sequence[str], answers: Sequence[tuple[Sequence[str], Prevalence]]) -> str:
    """A table of answers, with a line for each.

    Parameters
    ----------
    heads : sequence of str
        Names of the columns that say what each answer is about.
    answers : sequence of pairs
        The texts in these columns, and the answer.
    """
    shown = answers[:MOST_ROWS]
    numbers = ["prevalence", _interval_head(shown), "count", "n"]
    heads = [in_a_sentence(head, _MOST_IN_CELL) for head in heads]
    lines = [[*heads, *numbers, "verdict", "warnings"]]
    for texts, p in shown:
        ends = f"[{p.interval.low:.3f}, {p.interval.high:.3f}]" if p.interval else ""
        codes = " ".join(warning.code for warning in p.warnings)
        cells = [f"{p:.3f}", ends, f"{p.count:.0f}", str(p.n_unlabeled), p.verdict.status, codes]
        lines.append([*(in_a_sentence(text, _MOST_IN_CELL) for text in texts), *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = range(len(heads), len(heads) + len(numbers))
    text = "\n".join(_line(line, widths, right) for line in lines)
    rest = len(answers) - len(shown)
    return f"{text}\n... and {rest:,} more" if rest else text


def html_table(heads: Sequence[str], answers: Sequence[tuple[Sequence[str], Prevalence]]) -> str:
    """The same for a notebook, with bars, and with all warnings below it."""
    shown = answers[: notebook.MOST_ROWS]
    numbers = ["share", _interval_head(shown), "count", "rows"]
    rows = [[*texts, *_html_cells(p)] for texts, p in shown]
    named = (("/".join(texts), p) for texts, p in answers)
    heads = [*heads, "0 to 100 %", *numbers, "verdict"]
    return notebook.table(heads, rows, numbers, len(answers)) + notebook.listed(
        named_warnings(named)
    )


def _line(cells: Sequence[str], widths: Sequence[int], right: range) -> str:
    pairs = enumerate(zip(cells, widths, strict=True))
    return "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in pairs).rstrip()


def _interval_head(answers: Sequence[tuple[Sequence[str], Prevalence]]) -> str:
    levels = [p.interval.level for _, p in answers if p.interval]
    return f"{100 * levels[0]:g} % interval" if levels else "interval"


def _html_cells(p: Prevalence) -> list[notebook.Cell]:
    return [
        as_share(p),
        f"{notebook.percent(p)} %",
        " to ".join(map(notebook.percent, p.interval)) + " %" if p.interval else "none",
        f"{p.count:,.0f}",
        f"{p.n_unlabeled:,}",
        p.verdict.status,
    ]
