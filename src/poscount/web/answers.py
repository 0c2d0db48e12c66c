"""The answer to an estimate: numbers and plain sentences.

Only the warnings of the prevalences are in it; the check of the assumptions comes later, in a file
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from poscount import __version__
from poscount.app.fitting import Fitted, describe_columns, is_reusable
from poscount.app.results import TARGET, Result, warnings_of
from poscount.results.distribution import LEVELS
from poscount.results.prevalence import Prevalence
from poscount.results.target_shares import OTHER
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.verdict import verdict_of_many
from poscount.web import reproduction_code
from poscount.web.tasks import EstimateTask

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
    no_model : str, optional
        Why there is no model file.

    Returns
    -------
    dict
        `totals` are the results for the rows of all groups together, if there are groups. `targets`
        are the names of several targets, "other" last: there is then a result for each target of
        every group. `quantiles` are those of the distribution of the share of all rows together, at
        `poscount.results.distribution.LEVELS`, and `what_if` its other readings.
    """
    model = fitted.model
    totals = [result for result in results if result.is_total]
    results = [result for result in results if not result.is_total]
    features = list(model.feature_names_in_)
    default = task.positives.default_features
    named = None if tuple(features) == default and task.wanted.label is None else features
    of_all = totals or (results if len(results) == 1 or results[0].target else [])
    whole = of_all[0].prevalence if len(of_all) == 1 else None
    distribution = None if whole is None else whole.distribution
    first = results[0].prevalence
    with_reference = bool(results[0].n_reference)
    return {
        "label_title": ", ".join(name for name in results[0].group if name != TARGET),
        "verdict": _verdict(results),
        "results": [
            _entry(result, truth[i] if truth else None) for i, result in enumerate(results)
        ],
        "totals": [_entry(result, None) for result in totals],
        "targets": list(
            dict.fromkeys(result.target for result in results if result.target is not None)
        ),
        "quantiles": None if distribution is None else distribution.quantiles.tolist(),
        "levels": LEVELS.tolist(),
        "what_if": [] if whole is None else _readings(whole),
        "truth": truth is not None,
        "warnings": _warnings([*totals, *results]),
        "left_out": {**fitted.of_groups, **fitted.left_out},
        "n_positives": fitted.positives.num_rows,
        "n_reference": results[0].n_reference,
        "methods_paragraph": _methods_paragraph(fitted, of_all or results, results),
        "files": [
            {"name": file.name, "role": file.role, "sha256": file.sha256} for file in task.files
        ],
        "date": date.today().isoformat(),
        "version": __version__,
        "method": task.method,
        "features": features,
        "columns": [column._asdict() for column in describe_columns(model)],
        "seed": model.seed_,
        **results[0].knowledge,
        "command": reproduction_code.command(task, named, is_reusable(model), with_reference),
        "python": reproduction_code.python(task, named, first.method, with_reference),
        "no_model": no_model,
    }


def _readings(prevalence: Prevalence) -> list[dict[str, Any]]:
    if "what_if" not in prevalence.details:
        return []
    return prevalence.what_if().to_dict()["readings"]


def _entry(result: Result, truth: float | None) -> dict[str, Any]:
    return {
        "label": _label(result),
        "group": {name: _plain(value) for name, value in result.group.items()},
        "truth": truth,
        **result.prevalence.to_dict(),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _label(result: Result) -> str:
    return ", ".join(value for value in result.values if value) or "all rows"


def _warnings(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Each warning in the words of its worst case, and the labels of the samples that have it."""
    return [
        {
            "code": caution.code,
            "severity": caution.severity,
            "reason": caution.reason,
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


def _methods_paragraph(fitted: Fitted, of_all: Sequence[Result], results: Sequence[Result]) -> str:
    """What a paper would say about how the numbers were made."""
    model, first = fitted.model, of_all[0].prevalence
    # Each target of a group is a share of the same rows.
    of_one_target = [result for result in of_all if result.target == of_all[0].target]
    n_rows = sum(result.prevalence.n_unlabeled for result in of_one_target)
    n_groups = len([result for result in results if result.target == results[0].target])
    groups = f" in {n_groups:,} groups" if n_groups > 1 else ""
    n_targets = len({result.target for result in results} - {None, OTHER})
    share = f"The shares of {n_targets} targets were" if n_targets else "The share of positives was"
    n_columns = len(model.feature_names_in_)
    columns = "1 column" if n_columns == 1 else f"{n_columns:,} columns"
    interval = ""
    if first.interval is not None:
        by_experience = "p_recognisable" in first.details
        source = "calibrated on tasks with known prevalence" if by_experience else "for chance"
        interval = f" Intervals are {100 * first.interval.level:g} % intervals, {source}."
    learns, score = "from labelled positives alone", ""
    if results[0].n_reference:
        learns = "from labelled positives and unlabeled rows"
        score = (
            f" One of its scores was learned from the positives and {results[0].n_reference:,} "
            "distinct unlabeled rows; no negatives were labelled."
        )
    elif "without_negatives" in first.details:
        learns = "from labelled positives and known negatives"
    return (
        f"{share} estimated with {first.method} as implemented in poscount "
        f"{__version__} (seed {model.seed_}), which learns {learns}: "
        f"{fitted.positives.num_rows:,} labelled positives and {n_rows:,} unlabeled rows{groups}, "
        f"described by {columns}.{score}{interval}{_knowledge(first)} The approach follows "
        f"{_CITATION}."
    )


def _knowledge(prevalence: Prevalence) -> str:
    """What the user has said, as sentences that go on after others."""
    return "".join(f" {sentence}" for sentence in knowledge_in_words(prevalence.details))
