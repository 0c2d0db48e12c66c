"""The answer to an estimate: numbers and plain sentences.

Only the warnings of the prevalences are in it; the check of the assumptions comes later, in a file
of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from poscount import __version__
from poscount.app.estimates import ScorePicture
from poscount.app.fitting import Fitted, describe_columns, is_reusable
from poscount.app.results import Result, warnings_of
from poscount.results.prevalence import Prevalence
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.verdict import verdict_of_many
from poscount.web import reproduction_code
from poscount.web.tasks import EstimateTask

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

# Days, weeks, months and years as groups are written.
_DATE = re.compile(r"\d{4}(-(\d\d|W\d\d).*)?$")
_CITATION = (
    "D. M. dos Reis, M. C. P. de Souto, E. P. M. de Sousa, G. Batista: Quantifying With Only "
    "Positive Training Data. arXiv:2004.10356, 2020"
)


def build_answer(
    task: EstimateTask,
    fitted: Fitted,
    results: Sequence[Result],
    *,
    truth: Sequence[float] | None,
    scores: ScorePicture | None,
    drawn: bool,
    no_model: str | None,
) -> dict[str, Any]:
    """Put an answer together, in types that JSON has.

    Parameters
    ----------
    task : EstimateTask
    fitted : Fitted
        The model that was fitted for it.
    results : sequence of Result
        At least one, with the names of files as the client knows them.
    truth : sequence of float, optional
        The true shares, where they are known.
    scores : ScorePicture, optional
        The scores behind the answer, if there is one answer.
    drawn : bool
        Whether there is a picture.
    no_model : str, optional
        Why there is no model file.

    Returns
    -------
    dict
        `totals` are the results for the rows of all groups together, if there are groups. `series`
        says whether these follow each other in time. `targets` are the names of
        several targets, "other" last: there is then a result for each target of every group.
    """
    model = fitted.model
    totals = [result for result in results if result.is_total]
    results = [result for result in results if not result.is_total]
    features = list(model.feature_names_in_)
    named = None if tuple(features) == task.positives.default_features else features
    first = results[0].prevalence
    targets = _targets(results)
    headline = _headline_of_targets(results, targets) if targets else _headline(results)
    if totals and not targets:
        headline = f"{_sentence(totals[0]._replace(group={}))} {headline}"
    and_reference = _and_reference(results)
    with_reference = bool(and_reference)
    by_experience = "p_recognisable" in first.details
    not_covered = _CHANGED_IS_NOT_COVERED if by_experience else _CHANCE_ONLY
    return {
        "headline": headline,
        "label_title": ", ".join(results[0].group) or "sample",
        "verdict": _verdict(results),
        "results": [
            _entry(result, truth[i] if truth else None) for i, result in enumerate(results)
        ],
        "totals": [_entry(result, None) for result in totals],
        "series": len(results) > 1 and all(_DATE.match(_label(result)) for result in results),
        "targets": targets,
        "scores": None if scores is None else _scores(scores),
        "truth": truth is not None,
        "warnings": _warnings(results),
        "meaning": [
            _MEANING,
            _BY_EXPERIENCE if by_experience else _BY_CHANCE,
            *([f"The model learned from the positives{and_reference}."] if and_reference else []),
            *(
                f"Column {name} {why}: it is not used."
                for name, why in {**fitted.of_groups, **fitted.left_out}.items()
            ),
        ],
        "doubts": [_CHANGED, _LOOKALIKES, not_covered, _CHECK],
        "made": (
            f"{first.method}, fitted on {first.n_labeled:,} positives{and_reference} "
            f"with the columns {', '.join(features)}; seed {model.seed_}.{_knowledge(first)}"
        ),
        "n_reference": results[0].n_reference,
        "methods_paragraph": _methods_paragraph(results, len(features), model.seed_),
        "files": [
            {"name": file.name, "role": file.role, "sha256": file.sha256} for file in task.files
        ],
        "date": date.today().isoformat(),
        "method": task.method,
        "features": features,
        "columns": [column._asdict() for column in describe_columns(model)],
        "seed": model.seed_,
        **results[0].knowledge,
        "picture": f"Chart of the numbers in the table. {headline}" if drawn else None,
        "command": reproduction_code.command(task, named, is_reusable(model), with_reference),
        "python": reproduction_code.python(task, named, first.method, with_reference),
        "no_model": no_model,
    }


def _entry(result: Result, truth: float | None) -> dict[str, Any]:
    return {
        "label": _label(result),
        "group": {name: _plain(value) for name, value in result.group.items()},
        "sentence": _sentence(result),
        "truth": truth,
        **result.prevalence.to_dict(),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def percent(share: float) -> str:
    """Write a share in percent."""
    return f"{100 * share:.1f} %"


def interval_text(low: float, high: float) -> str:
    """Write an interval in percent."""
    return f"{percent(low)} to {percent(high)}"


def _label(result: Result) -> str:
    values = ("missing" if value is None else str(value) for value in result.group.values())
    return ", ".join(values) or "all rows"


def _headline(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return _sentence(results[0])
    low = min(results, key=lambda result: result.prevalence)
    high = max(results, key=lambda result: result.prevalence)
    if percent(low.prevalence) == percent(high.prevalence):
        return f"In all {len(results)} groups the share of positives is {percent(low.prevalence)}."
    return (
        f"In {len(results)} groups the share of positives ranges from {percent(low.prevalence)} "
        f"({_label(low)}) to {percent(high.prevalence)} ({_label(high)})."
    )


def _targets(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.target for result in results if result.target is not None))


def _headline_of_targets(results: Sequence[Result], targets: Sequence[str]) -> str:
    n_groups = len(results) // len(targets)
    if n_groups > 1:
        return f"Shares of {len(targets) - 1} targets, and of the rest, in {n_groups} groups."
    shares = ", ".join(f"{r.target} {percent(r.prevalence)}" for r in results)
    return f"Of the {results[0].prevalence.n_unlabeled:,} rows: {shares}."


def _sentence(result: Result) -> str:
    p = result.prevalence
    where = f" of {_label(result)}" if result.group else ""
    answer = (
        f"About {percent(p)} of the {p.n_unlabeled:,} rows{where} are positive, which is about "
        f"{p.count:,.0f} rows."
    )
    if p.interval is None:
        return (
            f"{answer} This method gives no interval by default; set Replicates to see how "
            "uncertain the number is."
        )
    low, high, level = p.interval.low, p.interval.high, p.interval.level
    return f"{answer} The {100 * level:g} % interval is {interval_text(low, high)}."


def _warnings(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Each warning in the words of its worst case, and the labels of the samples that have it."""
    return [
        {
            "code": caution.code,
            "severity": caution.severity,
            "sentence": caution.sentence[:1].upper() + caution.sentence[1:],
            "where": [_label(result) for result in warned],
            "worst": _label(worst),
        }
        for caution, worst, warned in warnings_of(results)
    ]


def _verdict(results: Sequence[Result]) -> str:
    """The verdict on one sample, or how many groups have which."""
    verdicts = [result.prevalence.verdict for result in results]
    if len(verdicts) == 1:
        return str(verdicts[0])
    # With several targets, a group has a share of each.
    return verdict_of_many(verdicts, "groups" if results[0].target is None else "shares")


def _scores(picture: ScorePicture) -> dict[str, Any]:
    sentence = (
        "Where the line rises above the bars, the estimate is too high, or the positives have "
        "changed."
    )
    if picture.left:
        sentence += f" {picture.left:,} of {picture.rows:,} rows are further to the left."
    return {
        "edges": picture.edges,
        "sample": picture.sample,
        "positives": picture.positives,
        "sentence": sentence,
    }


def _methods_paragraph(results: Sequence[Result], n_features: int, seed: int) -> str:
    """What a paper would say about how the numbers were made."""
    first = results[0].prevalence
    n_rows = sum(result.prevalence.n_unlabeled for result in results)
    groups = f" in {len(results):,} groups" if len(results) > 1 else ""
    columns = "1 column" if n_features == 1 else f"{n_features:,} columns"
    interval = ""
    if first.interval is not None:
        by_experience = "p_recognisable" in first.details
        source = "calibrated on tasks with known prevalence" if by_experience else "for chance"
        interval = f" Intervals are {100 * first.interval.level:g} % intervals, {source}."
    learns, score = "from labelled positives alone", ""
    if results[0].n_reference:
        learns = "from labelled positives and unlabeled rows"
        score = (
            f" One of its scores was learned from the positives{_and_reference(results)}; no "
            "negatives were labelled."
        )
    return (
        f"The share of positives was estimated with {first.method} as implemented in poscount "
        f"{__version__} (seed {seed}), which learns {learns}: {first.n_labeled:,} labelled "
        f"positives and {n_rows:,} unlabeled rows{groups}, described by {columns}.{score}"
        f"{interval}{_knowledge(first)} The approach follows {_CITATION}."
    )


def _knowledge(prevalence: Prevalence) -> str:
    """What the user has said, as sentences that go on after others."""
    return "".join(f" {sentence}" for sentence in knowledge_in_words(prevalence.details))


def _and_reference(results: Sequence[Result]) -> str:
    """Say how many of the unlabeled rows were learned from, too."""
    n = results[0].n_reference
    return f" and {n:,} distinct unlabeled rows" if n else ""
