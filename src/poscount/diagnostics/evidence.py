"""Gathering evidence for the report: the estimate, its rows, and what RCQ and DEDPUL say."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from poscount.base.counting import Counted, CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.checks import Evidence, MissingEvidenceError, UnknownValues
from poscount.checks.dedpul_disagrees import FEWEST_POSITIVES as FEWEST_FOR_DEDPUL
from poscount.checks.dedpul_disagrees import FEWEST_ROWS
from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.checks.second_sample import Comparison
from poscount.counts.counts import Counts
from poscount.data.rows import InputSupport, Rows
from poscount.diagnostics.two_samples import compare_samples
from poscount.errors import InputError, require_rows
from poscount.methods.pu.dedpul import DEDPUL
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.pu.trcq import TRCQ
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.rcq import RCQ
from poscount.results.prevalence import Prevalence
from poscount.scorers import Mahalanobis
from poscount.seeds import stream
from poscount.storage.model_files import content_hash
from poscount.threads import one_blas_thread

# More rows would not tell more, but take long.
MOST_ROWS = 10_000
# In standard deviations of the positives.
FARTHEST = 6.0

NO_POSITIVES = ("It needs the positives, which this model does not keep.", "positives")
NO_REFERENCE = ("It needs a second sample with a different prevalence.", "reference")
NOT_NUMBERS = ("It needs finite numbers, without text, missing values or sparse rows.",)
TOO_COARSE = ("The values are so coarse that rows are equal by chance.",)
NO_SCORER = ("It needs the Mahalanobis score, which this model does not use.",)
NO_TIES = ("This method does not count rows between thresholds of a score.",)


class RegionalView(NamedTuple):
    """A sample as RCQ sees it.

    Attributes
    ----------
    model : PositivesQuantifier
        On the same positives: the model itself, its regions, or one fitted for the purpose.
    counts : Counts
        Of the sample.
    answer : Prevalence
        Its answer.
    reference : Counts or None
        Of the second sample.
    """

    model: PositivesQuantifier
    counts: Counts
    answer: Prevalence
    reference: Counts | None

    @property
    def seen(self) -> Evidence:
        """What the checks see in the regions."""
        return self.model._view(self.counts).evidence


def gather(
    model: Quantifier, sample: Any, positives: Any, reference: Any
) -> tuple[Prevalence, Evidence]:
    """The answer, and everything that a model, its sample and whatever else is given tell of it."""
    rows = model._sample(sample, allow_empty=False)
    answer, cells = _answer(model, rows)
    second = None if reference is None else model._sample(reference)
    if second is not None:
        require_rows(len(second), "The reference has")
    known = Evidence(
        1,
        n_labeled=model.n_labeled_,
        feature_names=_names(model),
        n_redundant=model.columns_.n_redundant if hasattr(model, "columns_") else 0,
        count=answer.count,
        seed=model.seed_,
    )
    known.add("sample", lambda: _as_numbers(rows))
    known.add("positives", lambda: _learned_from(model, positives))
    known.add("some_positives", lambda: _some(known.positives, "positives", model.seed_))
    known.add("some_rows", lambda: _some(known.sample, "sample", model.seed_))
    known.add("view", lambda: _regional_view(model, answer, rows, cells, known, second))
    known.add("comparison", lambda: _comparison(known, second))
    known.add("dedpul", lambda: _dedpul(known))
    known.add("unknown_values", lambda: _unknown_values(rows))
    own = model.part_ if isinstance(model, PositivesQuantifier) else model
    known.add("scorer", lambda: _scorer(own, known))
    known.add("max_tie_share", lambda: _max_tie_share(own))
    known.add("low", lambda: _ends(answer)[0])
    known.add("high", lambda: _ends(answer)[1])
    if answer.interval is not None:
        known.level = answer.interval.level
    if "gap" in answer.details:
        known.gap = np.array([answer.details["gap"]])
    known.add("estimate", lambda: np.array([float(known.view.answer)]))
    known.add("region_gap", lambda: _detail(known, "gap"))
    for name in ("pat", "core_difference", "disagreement", "core_excess"):
        known.add(name, functools.partial(_detail, known, name))
    if "core_excess" in answer.details:
        known.core_excess = np.array([answer.details["core_excess"]])
    known.add("core_dof", lambda: known.view.model.part_.core_dof_)
    known.add("positives_found", lambda: _positives_found(model, rows))
    known.n_known = len(getattr(model, "known_rows_", ()))
    known.add("core_share", lambda: known.view.seen.core_share)
    known.add("columns", lambda: known.view.seen.columns)
    known.add("broken", lambda: _broken(answer, known))
    return answer, known


def _broken(answer: Prevalence, known: Evidence) -> np.ndarray:
    """How likely each assumption is broken: of the answer itself, or of RCQ's."""
    found = answer.details.get("broken") or known.view.answer.details.get("broken")
    if found is None:
        raise MissingEvidenceError
    return np.array([list(found.values())])


def _detail(known: Evidence, name: str) -> np.ndarray:
    """A detail of RCQ's answer."""
    return np.array([known.view.answer.details[name]])


def _positives_found(model: Quantifier, rows: Rows) -> float:
    found = model._known()
    if found is None:
        raise MissingEvidenceError(*TOO_COARSE)
    found.find(rows)
    return found.n_found / len(model.known_rows_)


def _answer(model: Quantifier, rows: Rows) -> tuple[Prevalence, np.ndarray | None]:
    """The answer, and the cells that it was made from, if the method counts."""
    if not isinstance(model, CountingQuantifier):
        return model._quantify(rows), None
    cells = model._count_rows(rows, None, 1)
    return model._answers(Counted(cells, np.array([len(rows)])))[0], cells


def _names(model: Quantifier) -> list[str]:
    """Names of what the checks look at: numbers first, then categories and gaps."""
    return model.model_columns.design_names if hasattr(model, "columns_") else model.feature_names


def _scorer(own: Any, known: Evidence) -> Mahalanobis:
    # The model's own, because RCQ's shrunk covariance hides repeated columns.
    scorer = getattr(own, "scorer_", None)
    if isinstance(scorer, Mahalanobis):
        return scorer
    if not known.has("view"):
        raise MissingEvidenceError(*NO_SCORER)
    return known.view.model.part_.scorer_


def _max_tie_share(own: Any) -> float:
    if not hasattr(own, "max_tie_share_"):
        raise MissingEvidenceError(*NO_TIES)
    return own.max_tie_share_


def _ends(answer: Prevalence) -> tuple[np.ndarray, np.ndarray]:
    if answer.interval is None:
        raise MissingEvidenceError(
            f"{answer.method} gave no interval: wrap it in Bootstrap, or use RCQ."
        )
    return np.array([answer.interval.low]), np.array([answer.interval.high])


def _unknown_values(rows: Rows) -> UnknownValues:
    columns = rows.columns
    if columns is None or rows.projection is not None or sparse.issparse(rows.data):
        raise MissingEvidenceError
    return UnknownValues.of_rows(rows, columns)


def _as_numbers(rows: Rows) -> Rows:
    """The same rows for a reader that takes finite numbers only."""
    if rows.projection is not None:
        return Rows(rows.to_array(), tuple(rows.projection.names), InputSupport())
    if sparse.issparse(rows.data):
        raise MissingEvidenceError(*NOT_NUMBERS)
    columns = rows.columns
    if columns is not None and (not columns.all_numbers or columns.missing_.any()):
        return _design_rows(rows)
    if columns is None:
        if rows.frame:
            numeric = all(t.is_numeric() or t.is_boolean() for t in rows.data.schema.values())
        else:
            numeric = rows.data.dtype.kind in "fiub"
        if not numeric:
            raise MissingEvidenceError(*NOT_NUMBERS)
    plain = Rows(rows.data, rows.names, InputSupport())
    try:
        for _ in plain.blocks():
            pass
    except InputError:  # the sample has gaps
        if columns is None:
            raise MissingEvidenceError(*NOT_NUMBERS) from None
        return _design_rows(rows)
    return plain


def _design_rows(rows: Rows) -> Rows:
    assert rows.columns is not None
    numbers = np.ascontiguousarray(rows.columns.design(rows.to_array()))
    return Rows(numbers, tuple(rows.columns.design_names), InputSupport())


def _learned_from(model: Quantifier, positives: Any) -> Rows:
    if positives is not None:
        rows = model._sample(positives)
        n_given = _n_positives_in(model)
        if len(rows) != n_given:
            raise InputError(
                f"These are {len(rows)} positives, but the model was fitted on {n_given}: give "
                "those."
            )
        return _as_numbers(rows)
    if not isinstance(model, TransductiveQuantifier):
        raise MissingEvidenceError(*NO_POSITIVES)
    kept = model.positives_
    if isinstance(model, TRCQ):
        kept = np.ascontiguousarray(model.model_columns.design(kept))
    # Methods that split on categories keep something else; gaps of numbers come last.
    if kept.shape[1] - len(model.model_columns.gapped) != len(_names(model)):
        raise MissingEvidenceError(*NO_POSITIVES)
    return Rows(np.ascontiguousarray(kept[:, : len(_names(model))]), None, InputSupport())


def _n_positives_in(model: Quantifier) -> int:
    part = getattr(model, "part_", None)
    return model.n_labeled_ if part is None else part.n_positives_in_


def _some(rows: Rows, name: str, seed: int) -> np.ndarray:
    if len(rows) > MOST_ROWS:
        chosen = stream(seed, f"diagnose {name}").choice(len(rows), MOST_ROWS, replace=False)
        rows = Rows(rows.data[np.sort(chosen)], rows.names, rows.accepts)
    return np.asarray(rows.to_array(), np.float64)


def _regional_view(
    model: Quantifier,
    answer: Prevalence,
    rows: Rows,
    cells: np.ndarray | None,
    known: Evidence,
    second: Rows | None,
) -> RegionalView:
    numbers = known.sample
    rcq = _with_regions(model, known)
    # A model that was fitted for the purpose knows the numbers only.
    own = isinstance(model, PositivesQuantifier | TRCQ)
    if rcq is not model or cells is None:
        cells = rcq._count_rows(rows if own else numbers, None, 1)
    counts = Counts(cells[0], len(rows), rcq.hash_)
    reference = None
    if second is not None:
        counted = rcq._count_rows(second if own else _as_numbers(second), None, 1)
        reference = Counts(counted[0], len(second), rcq.hash_)
    return RegionalView(rcq, counts, answer if rcq is model else rcq.estimate(counts), reference)


def _with_regions(model: Quantifier, known: Evidence) -> PositivesQuantifier:
    if model.n_labeled_ < FEWEST_POSITIVES:
        raise MissingEvidenceError(f"RCQ needs at least {FEWEST_POSITIVES} positives: label more.")
    if isinstance(model, TRCQ):
        found: PositivesQuantifier = _regions_of(model)
    elif isinstance(model, PositivesQuantifier):
        found = model
    else:
        try:
            found = RCQ(random_state=model.seed_).fit(known.positives.data)
        except ValueError as error:
            raise MissingEvidenceError(f"RCQ cannot learn from these positives: {error}") from error
    if not found.part_.rule.enough_positives:
        raise MissingEvidenceError("No region holds a fair share of the positives: label more.")
    return found


def _regions_of(model: TRCQ) -> RCQ:
    """TRCQ's regions, without a learned score, as a model that counts."""
    rcq = RCQ(confidence=model.confidence, calibration="null", random_state=model.seed_)
    for name in ("columns_", "projection_", "n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(rcq, name, getattr(model, name))
    rcq.seed_, rcq.part_, rcq.n_labeled_ = model.seed_, model.part_, model.n_labeled_
    rcq.calibration_ = None
    rcq.hash_ = content_hash(rcq)
    return rcq


def _comparison(known: Evidence, second: Rows | None) -> Comparison:
    if second is None and known.has("sample"):
        raise MissingEvidenceError(*NO_REFERENCE)
    view = known.view
    return compare_samples(view.model, view.counts, view.reference)


def _dedpul(known: Evidence) -> Prevalence:
    positives, sample, view = known.some_positives, known.some_rows, known.view
    if len(positives) < FEWEST_FOR_DEDPUL or len(sample) < FEWEST_ROWS:
        raise MissingEvidenceError(
            f"It needs at least {FEWEST_FOR_DEDPUL} positives and {FEWEST_ROWS} rows."
        )
    scorer = view.model.part_.scorer_
    positives, sample = (_with_distance(rows, scorer) for rows in (positives, sample))
    return DEDPUL(random_state=known.seed).fit(positives).quantify(sample)


def _with_distance(rows: np.ndarray, scorer: Mahalanobis) -> np.ndarray:
    """Features without their correlations, and the distance from the positives.

    With the distance, DEDPUL's logistic regression can see negatives all around the positives.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        white = (rows - scorer.location_) @ scorer.whitening_
    # Far is far enough: values that overflow must not decide about the others.
    white = np.clip(np.nan_to_num(white, nan=FARTHEST), -FARTHEST, FARTHEST)
    distance = np.sqrt((white**2).sum(axis=1))
    # What never varies among the positives has no distance, but DEDPUL sees to it by itself.
    return np.column_stack([white, distance, rows[:, scorer.constant_]])
