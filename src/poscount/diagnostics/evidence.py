"""Gathering evidence for the report: the estimate, its rows, and what RCQ and DEDPUL say."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from poscount.base.quantifier import Quantifier
from poscount.checks import (
    Evidence,
    GapEvidence,
    ManyGapEvidence,
    Missing,
    RegionEvidence,
    dedpul_disagrees,
)
from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.checks.second_sample import Comparison
from poscount.counts.counts import Counts
from poscount.counts.missing_counts import GapCounts, count_gaps, n_gap_cells
from poscount.data.rows import InputSupport, Rows
from poscount.diagnostics.two_samples import compare_samples
from poscount.errors import InputError, require_rows
from poscount.methods.pu.dedpul import DEDPUL
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.pu.trcq import TRCQ
from poscount.methods.regions.rcq import RCQ
from poscount.results.prevalence import Prevalence
from poscount.scorers import Mahalanobis
from poscount.seeds import stream
from poscount.threads import one_blas_thread

# More rows would not tell more, but take long.
MOST_ROWS = 10_000
# In standard deviations of the positives.
FARTHEST = 6.0

NO_POSITIVES = Missing("It needs the positives, which this model does not keep.", "positives")
NO_REFERENCE = Missing("It needs a second sample with a different prevalence.", "reference")
NOT_NUMBERS = Missing("It needs finite numbers, without text, missing values or sparse rows.")
NO_SCORER = Missing("It needs the Mahalanobis score, which this model does not use.")
NO_TIES = Missing("This method does not count rows between thresholds of a score.")


class RegionalView(NamedTuple):
    """A sample as RCQ sees it.

    Attributes
    ----------
    rcq : RCQ
        On the same positives: the model itself, a part of it, or fitted for the purpose.
    counts : Counts
        Of the sample.
    answer : Prevalence
        RCQ's answer.
    reference : Counts or Missing
        Of the second sample.
    """

    rcq: RCQ
    counts: Counts
    answer: Prevalence
    reference: Counts | Missing


class Gathered(NamedTuple):
    """An estimate with the evidence for the checks, and RCQ's view of it for the pictures."""

    answer: Prevalence
    evidence: Evidence
    view: RegionalView | Missing


def gather(model: Quantifier, sample: Any, positives: Any, reference: Any) -> Gathered:
    """Look at a model, its sample, and whatever else is given."""
    answer = model.quantify(sample)
    given = model._sample(sample)
    rows = _as_numbers(given)
    learned = _learned_from(model, positives)
    second = _second_sample(model, reference)
    view = _regional_view(model, answer, given, learned, second)
    some_positives, some_rows = (
        _some(part, model.seed_, name) for part, name in ((learned, "positives"), (rows, "sample"))
    )
    scorer = getattr(model, "scorer_", None)
    # The model's own, because RCQ's shrunk covariance hides repeated columns.
    if not isinstance(scorer, Mahalanobis):
        scorer = NO_SCORER if isinstance(view, Missing) else view.rcq.scorer_
    seen = view if isinstance(view, Missing) else view.rcq.evidence(view.counts)
    no_interval = Missing(f"{answer.method} gave no interval: fit it with resampling, or use RCQ.")
    evidence = Evidence(
        n_labeled=model.n_labeled_,
        feature_names=_names(model),
        scorer=scorer,
        redundant=model.columns_.n_redundant if hasattr(model, "columns_") else 0,
        largest_tie=getattr(model, "largest_tie_", NO_TIES),
        interval=answer.interval or no_interval,
        gap=answer.details.get("gap"),
        core_excess=_core_excess(answer, view),
        regions=view if isinstance(view, Missing) else _region_evidence(view),
        columns=seen if isinstance(seen, Missing) else seen.columns,
        gaps=_gaps(given),
        core_share=seen if isinstance(seen, Missing) else seen.core_share,
        warned=frozenset(caution.code for caution in answer.warnings),
        count=answer.count,
        seed=model.seed_,
        positives=learned,
        sample=rows,
        some_positives=some_positives,
        some_rows=some_rows,
        comparison=_comparison(rows, second, view),
        dedpul=_dedpul(model.seed_, some_positives, some_rows, view),
    )
    return Gathered(answer, evidence, view)


def _names(model: Quantifier) -> list[str]:
    """Names of what the checks look at: numbers first, then categories and gaps."""
    return model.block_columns.design_names if hasattr(model, "columns_") else model.feature_names


def _gaps(rows: Rows) -> GapEvidence | Missing:
    columns = rows.columns
    if columns is None or rows.projection is not None or sparse.issparse(rows.data):
        return Missing()
    cells = np.zeros(n_gap_cells(columns), np.int64)
    for block in rows.blocks():
        count_gaps(block, columns, None, cells)
    counted = GapCounts.of_cells(cells[np.newaxis], columns)
    return ManyGapEvidence(columns, *counted, np.array([len(rows)]))[0]


def _as_numbers(rows: Rows) -> Rows | Missing:
    """The same rows for a reader that takes finite numbers only."""
    if rows.projection is not None:
        return Rows(rows.whole(), tuple(rows.projection.names), InputSupport())
    if sparse.issparse(rows.data):
        return NOT_NUMBERS
    if rows.columns is not None:
        columns = rows.columns
        if columns.all_numbers and not columns.missing_.any():
            try:
                plain = Rows(rows.data, rows.names, InputSupport())
                for _ in plain.blocks():
                    pass
                return plain
            except InputError:
                pass  # the sample has gaps
        numbers = np.ascontiguousarray(columns.design(rows.whole()))
        return Rows(numbers, tuple(columns.design_names), InputSupport())
    if rows.frame:
        numeric = all(t.is_numeric() or t.is_boolean() for t in rows.data.schema.values())
    else:
        numeric = rows.data.dtype.kind in "fiub"
    plain = Rows(rows.data, rows.names, InputSupport())
    try:
        if numeric:
            for _ in plain.blocks():
                pass
    except InputError:
        return NOT_NUMBERS
    return plain if numeric else NOT_NUMBERS


def _learned_from(model: Quantifier, positives: Any) -> Rows | Missing:
    if positives is None and isinstance(model, TransductiveQuantifier):
        kept = model.positives_
        if isinstance(model, TRCQ):
            kept = np.ascontiguousarray(model.block_columns.design(kept))
        # Methods that split on categories keep something else; gaps of numbers come last.
        known = kept.shape[1] - len(model.block_columns.gapped) == len(_names(model))
        numbers = np.ascontiguousarray(kept[:, : len(_names(model))])
        return Rows(numbers, None, InputSupport()) if known else NO_POSITIVES
    if positives is None:
        return NO_POSITIVES
    rows = model._sample(positives)
    n_given = getattr(model, "n_given_", model.n_labeled_)
    if len(rows) != n_given:
        raise InputError(
            f"These are {len(rows)} positives, but the model was fitted on {n_given}: give those."
        )
    return _as_numbers(rows)


def _second_sample(model: Quantifier, reference: Any) -> Rows | Missing:
    if reference is None:
        return NO_REFERENCE
    rows = model._sample(reference)
    require_rows(len(rows), "The reference has")
    return rows


def _some(rows: Rows | Missing, seed: int, name: str) -> np.ndarray | Missing:
    if isinstance(rows, Missing):
        return rows
    if len(rows) > MOST_ROWS:
        chosen = stream(seed, f"diagnose {name}").choice(len(rows), MOST_ROWS, replace=False)
        rows = Rows(rows.data[np.sort(chosen)], rows.names, rows.accepts)
    return np.asarray(rows.whole(), np.float64)


def _regional_view(
    model: Quantifier,
    answer: Prevalence,
    rows: Rows,
    positives: Rows | Missing,
    second: Rows | Missing,
) -> RegionalView | Missing:
    numbers = _as_numbers(rows)
    if isinstance(numbers, Missing):
        return numbers
    rcq = _rcq(model, positives)
    if isinstance(rcq, Missing):
        return rcq
    # A model that was fitted for the purpose knows the numbers only.
    own_model = isinstance(model, RCQ | TRCQ)
    counts = rcq.count(rows.data if own_model else numbers.data)
    own = answer if rcq is model else rcq.estimate(counts)
    if not isinstance(second, Missing):
        second = second if own_model else _as_numbers(second)
    reference = second if isinstance(second, Missing) else rcq.count(second.data)
    return RegionalView(rcq, counts, own, reference)


def _rcq(model: Quantifier, positives: Rows | Missing) -> RCQ | Missing:
    if isinstance(model, TRCQ):
        model = model.rcq_
    if model.n_labeled_ < FEWEST_POSITIVES:
        return Missing(f"RCQ needs at least {FEWEST_POSITIVES} positives: label more.")
    if not isinstance(model, RCQ):
        if isinstance(positives, Missing):
            return positives
        try:
            model = RCQ(random_state=model.seed_).fit(positives.data)
        except ValueError as error:
            return Missing(f"RCQ cannot learn from these positives: {error}")
    if not model.regions.enough_positives:
        return Missing("No region holds a fair share of the positives: label more.")
    return model


def _region_evidence(view: RegionalView) -> RegionEvidence:
    details = view.answer.details
    return RegionEvidence(
        estimate=float(view.answer),
        pat=details["pat"],
        gap=details["gap"],
        core_difference=details["core_difference"],
        core_freedom=view.rcq.core_freedom_,
        disagreement=details["disagreement"],
    )


def _core_excess(answer: Prevalence, view: RegionalView | Missing) -> float | Missing:
    if "core_excess" in answer.details:
        return answer.details["core_excess"]
    return view if isinstance(view, Missing) else view.answer.details["core_excess"]


def _comparison(
    rows: Rows | Missing, second: Rows | Missing, view: RegionalView | Missing
) -> Comparison | Missing:
    if isinstance(rows, Missing):
        return rows
    if isinstance(second, Missing):
        return second
    if isinstance(view, Missing):
        return view
    if isinstance(view.reference, Missing):
        return view.reference
    return compare_samples(view.rcq, view.counts, view.reference)


def _dedpul(
    seed: int,
    positives: np.ndarray | Missing,
    sample: np.ndarray | Missing,
    view: RegionalView | Missing,
) -> Prevalence | Missing:
    if isinstance(positives, Missing):
        return positives
    if isinstance(sample, Missing):
        return sample
    if isinstance(view, Missing):
        return view
    fewest = dedpul_disagrees.FEWEST_POSITIVES, dedpul_disagrees.FEWEST_ROWS
    if len(positives) < fewest[0] or len(sample) < fewest[1]:
        return Missing("It needs at least {} positives and {} rows.".format(*fewest))
    positives, sample = (_with_distance(rows, view.rcq.scorer_) for rows in (positives, sample))
    return DEDPUL(random_state=seed).fit(positives).quantify(sample)


def _with_distance(rows: np.ndarray, scorer: Mahalanobis) -> np.ndarray:
    """Features without their correlations, and the distance from the positives.

    With the distance, DEDPUL's logistic regression can see negatives all around the positives.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        white = (rows - scorer.location_) @ scorer.whitening_
    # Far is far enough: values that overflow must not decide about the others.
    white = np.clip(np.nan_to_num(white, nan=FARTHEST), -FARTHEST, FARTHEST)
    return np.column_stack([white, np.sqrt((white**2).sum(axis=1))])
