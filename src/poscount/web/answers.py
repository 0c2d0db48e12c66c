"""The answer to an estimate: numbers, plain sentences, and one HTML file to keep.

Only the warnings of the prevalences are in it; the check of the assumptions comes later, in a file
of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from poscount import __version__
from poscount.verdict import MEANINGS
from poscount.web import reproduction_code, schemas
from poscount.web.tasks import EstimateTask
from poscount.workflows import (
    Result,
    describe_columns,
    is_reusable,
    picture_element,
    warnings_of,
    whole_page,
)

_MEANING = (
    "The number is the share of positives among the unlabeled rows: 30 % of 1,000 rows means that "
    "about 300 of them are positive. It does not say which ones."
)
_BY_CHANCE = (
    "The interval shows how far chance alone could have moved the number, given how many positives "
    "and unlabeled rows there are."
)
_BY_EXPERIENCE = (
    "The interval and the verdict come from experience: thousands of samples whose true share is "
    "known, and what the method said about them. They hold if the labelled positives are like "
    "those among the unlabeled rows."
)
_CHANGED = (
    "Do not trust it if the labelled positives differ from the positives among the unlabeled rows, "
    "for example because they come from another instrument, season or place, or were chosen in "
    "another way. The number is then usually too low."
)
_LOOKALIKES = (
    "Do not trust it if something else looks just like a typical positive in all selected columns: "
    "it is counted as positive, and the number is too high. Adding columns that tell the two apart "
    "helps."
)
_CHANCE_ONLY = "The interval does not cover these two problems: it is about chance only."
_CHANGED_IS_NOT_COVERED = (
    "The interval covers the second problem as far as experience goes, and not the first."
)
_CHECK = (
    "If you can, check one sample by hand, or compare with another method. If two methods differ "
    "by more than their intervals, at least one of them is wrong."
)

_CSS = """
body { max-width: 60rem; } .big { font-size: 1.3rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: 0.8rem; overflow-x: auto; }
"""


def answer_of(
    task: EstimateTask,
    model: Any,
    results: Sequence[Result],
    *,
    truth: Sequence[float] | None,
    drawn: bool,
    no_model: str | None,
) -> schemas.Answer:
    """Put an answer together.

    Parameters
    ----------
    task : EstimateTask
    model : Quantifier
        The model that was fitted for it.
    results : sequence of Result
        At least one, with the names of files as the client knows them.
    truth : sequence of float, optional
        The true shares, where they are known.
    drawn : bool
        Whether there is a picture.
    no_model : str, optional
        Why there is no model file.
    """
    features = list(model.feature_names_in_)
    named = None if tuple(features) == task.default_features else features
    first = results[0].prevalence
    headline = _headline(results)
    by_experience = first.details.get("likely_error") is not None
    return schemas.Answer(
        headline=headline,
        verdict=_verdict(results),
        label_title=", ".join(results[0].group) or "sample",
        results=[_entry(result, truth[i] if truth else None) for i, result in enumerate(results)],
        truth=truth is not None,
        warnings=_warnings(results),
        meaning=[_MEANING, _BY_EXPERIENCE if by_experience else _BY_CHANCE],
        doubts=[
            *(_CHANGED, _LOOKALIKES),
            _CHANGED_IS_NOT_COVERED if by_experience else _CHANCE_ONLY,
            _CHECK,
        ],
        made=(
            f"{first.method}, fitted on {first.n_labeled:,} positives with the columns "
            f"{', '.join(features)}; seed {model.seed_}."
        ),
        method=task.method,
        features=features,
        columns=[schemas.UsedColumn(**column._asdict()) for column in describe_columns(model)],
        seed=model.seed_,
        picture=f"Chart of the numbers in the table. {headline}" if drawn else None,
        command=reproduction_code.command(task, named, is_reusable(model)),
        python=reproduction_code.python(task, named, first.method),
        no_model=no_model,
    )


def _entry(result: Result, truth: float | None) -> schemas.ResultEntry:
    return schemas.ResultEntry(
        label=_label(result),
        group={name: _plain(value) for name, value in result.group.items()},
        sentence=_sentence(result),
        truth=truth,
        **result.prevalence.to_dict(),
    )


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _range(interval: Any) -> str:
    return f"{_percent(interval.low)} to {_percent(interval.high)}"


def _label(result: Result) -> str:
    values = ("missing" if value is None else str(value) for value in result.group.values())
    return ", ".join(values) or "all rows"


def _headline(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return _sentence(results[0])
    low = min(results, key=lambda result: result.prevalence)
    high = max(results, key=lambda result: result.prevalence)
    if _percent(low.prevalence) == _percent(high.prevalence):
        return f"In all {len(results)} groups the share of positives is {_percent(low.prevalence)}."
    return (
        f"In {len(results)} groups the share of positives ranges from {_percent(low.prevalence)} "
        f"({_label(low)}) to {_percent(high.prevalence)} ({_label(high)})."
    )


def _sentence(result: Result) -> str:
    p = result.prevalence
    where = f" of {_label(result)}" if result.group else ""
    answer = (
        f"About {_percent(p)} of the {p.n_unlabeled:,} rows{where} are positive, which is about "
        f"{p.count:,.0f} rows."
    )
    if p.interval is None:
        return (
            f"{answer} This method gives no interval by default; set Replicates to see how "
            "uncertain the number is."
        )
    return f"{answer} The {100 * p.interval.level:g} % interval is {_range(p.interval)}."


def _warnings(results: Sequence[Result]) -> list[schemas.WarningInfo]:
    return [
        schemas.WarningInfo(
            code=caution.code,
            sentence=caution.sentence[:1].upper() + caution.sentence[1:],
            where=[_label(result) for result in warned],
            worst=_label(worst),
        )
        for caution, worst, warned in warnings_of(results)
    ]


def _verdict(results: Sequence[Result]) -> str:
    """The verdict on one sample, or how many groups have which."""
    verdicts = [result.prevalence.verdict for result in results]
    if len(verdicts) == 1:
        return verdicts[0].sentence
    numbers = Counter(verdict.grade for verdict in verdicts)
    told = [
        f"{numbers[grade]} of {len(verdicts)} groups {grade} ({meaning})"
        for grade, meaning in MEANINGS.items()
        if numbers[grade]
    ]
    return f"Verdict: {'; '.join(told)}."


# The file to keep


def report_html(answer: schemas.Answer, png: bytes | None) -> str:
    """Write an answer as one HTML page that needs no other file."""
    rows = "".join(f"<tr>{_cells(entry, answer.truth)}</tr>\n" for entry in answer.results)
    truth = ["truth"] if answer.truth else []
    heads = [
        answer.label_title,
        "share",
        "interval",
        *truth,
        "positives",
        "rows",
        "verdict",
        "warnings",
    ]
    noticed = [
        f"<strong>{escape(kind.sentence)}</strong> ({escape(', '.join(kind.where))})"
        for kind in answer.warnings
    ]
    parts = [
        f'<p class="big">{escape(answer.headline)}</p>\n<p>{escape(answer.verdict)}</p>\n',
        '<div class="wide" tabindex="0"><table>\n',
        f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>\n{rows}</table></div>\n",
        picture_element(png, answer.picture) if png and answer.picture else "",
        f"<h2>Warnings</h2>{_list(noticed) or '<p>There are none.</p>'}\n",
        f"<h2>What it means</h2>{_list(map(escape, answer.meaning))}\n",
        f"<h2>When not to trust it</h2>{_list(map(escape, answer.doubts))}\n",
        f"<h2>How it was made</h2><p>{escape(answer.made)}</p>\n",
        _columns_table(answer.columns),
        f"<h3>On the command line</h3>{_code(answer.command)}\n",
        f"<h3>In Python</h3>{_code(answer.python)}\n",
        f'<p class="note">poscount {__version__}</p>\n',
    ]
    return whole_page("Share of positives", "".join(parts), _CSS)


def _cells(entry: schemas.ResultEntry, with_truth: bool) -> str:
    cells = [
        entry.label,
        _percent(entry.prevalence),
        _range(entry.interval) if entry.interval else "none",
        *([_percent(entry.truth)] if with_truth and entry.truth is not None else []),
        f"{entry.count:,.0f}",
        f"{entry.n_unlabeled:,}",
        entry.verdict.grade,
        " ".join(caution.code for caution in entry.warnings) or "none",
    ]
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _columns_table(columns: Sequence[schemas.UsedColumn]) -> str:
    rows = "".join(
        f"<tr><td>{escape(column.name)}</td><td>{escape(column.kind)}</td>"
        f"<td>{escape(column.done)}</td></tr>\n"
        for column in columns
    )
    head = "<tr><th>column</th><th>kind</th><th>what the model did with it</th></tr>\n"
    return f'<div class="wide" tabindex="0"><table>\n{head}{rows}</table></div>\n'


def _code(text: str) -> str:
    # What scrolls must be reachable by keyboard.
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""
