"""The checks, one file each: from a small record of evidence to a statistic and one sentence.

The warnings of an answer come from them, and so does its verdict. No method is imported here:
methods fill in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from poscount.checks.broken_assumption import BROKEN_ASSUMPTION
from poscount.checks.check import BatchWarnings, Check, CheckResult, joined_results
from poscount.checks.code_among_positives import CODE_AMONG_POSITIVES
from poscount.checks.columns import ColumnEvidence, PositiveColumns
from poscount.checks.constant_decides import CONSTANT_DECIDES
from poscount.checks.context_column import CONTEXT_COLUMN
from poscount.checks.copies import POSITIVES_IN_SAMPLE, REPEATED_POSITIVES
from poscount.checks.evidence import Evidence, MissingEvidenceError, UnknownValues
from poscount.checks.exchanged_columns import EXCHANGED_COLUMNS
from poscount.checks.few_positives import FEW_POSITIVES, FEW_POSITIVES_FOR_RCQ
from poscount.checks.few_rows import FEW_ROWS
from poscount.checks.hardly_recognisable import HARDLY_RECOGNISABLE
from poscount.checks.missing_code import MISSING_CODE
from poscount.checks.missing_differs import MISSING_DIFFERS
from poscount.checks.nothing_like_positives import NOTHING_LIKE_POSITIVES
from poscount.checks.other_units import OTHER_UNITS
from poscount.checks.overlap import OVERLAP
from poscount.checks.repeated_number import REPEATED_NUMBER
from poscount.checks.singular_covariance import SINGULAR_COVARIANCE
from poscount.checks.swapped_tables import SWAPPED_TABLES
from poscount.checks.tied_scores import TIED_SCORES
from poscount.checks.unlike_training import UNLIKE_TRAINING
from poscount.checks.unseen_categories import UNSEEN_CATEGORIES
from poscount.data.rows_seen import RowsSeen
from poscount.results.verdict import AnswerWarning

# Of the model alone, made once for many samples; and of each sample.
MODEL_CHECKS = (
    FEW_POSITIVES_FOR_RCQ,
    CODE_AMONG_POSITIVES,
    REPEATED_POSITIVES,
    FEW_POSITIVES,
    SINGULAR_COVARIANCE,
    TIED_SCORES,
)
UNKNOWN_VALUE_CHECKS = (MISSING_DIFFERS, UNSEEN_CATEGORIES)
SAMPLE_CHECKS = (
    FEW_ROWS,
    CONTEXT_COLUMN,
    SWAPPED_TABLES,
    *UNKNOWN_VALUE_CHECKS,
    OTHER_UNITS,
    MISSING_CODE,
    EXCHANGED_COLUMNS,
    NOTHING_LIKE_POSITIVES,
    CONSTANT_DECIDES,
    # After those that name a column.
    BROKEN_ASSUMPTION,
    UNLIKE_TRAINING,
    HARDLY_RECOGNISABLE,
)
# Of the rows of a sample, where they are at hand.
ROW_CHECKS = (POSITIVES_IN_SAMPLE, REPEATED_NUMBER)
__all__ = [
    "MODEL_CHECKS",
    "SAMPLE_CHECKS",
    "BatchWarnings",
    "ColumnEvidence",
    "Evidence",
    "MissingEvidenceError",
    "PositiveColumns",
    "UnknownValues",
    "batch_warnings",
    "joined_warnings",
    "model_results",
    "row_warnings",
    "unknown_value_warnings",
]


def model_results(evidence: Evidence) -> list[CheckResult]:
    """What the checks of the model alone have seen, which holds for every sample."""
    return _results(MODEL_CHECKS, evidence)


def batch_warnings(evidence: Evidence, of_model: Sequence[CheckResult] = ()) -> BatchWarnings:
    """Warnings of samples, together with those of their model.

    Parameters
    ----------
    evidence : Evidence
        Of the samples.
    of_model : sequence of CheckResult
        From `model_results`. Which rule was used comes first, everything else last.
    """
    first = [result for result in of_model if result.check is FEW_POSITIVES_FOR_RCQ]
    last = [result for result in of_model if result.check is not FEW_POSITIVES_FOR_RCQ]
    # RCQ's doubt sees what a crowded core means better than the core alone.
    checks = SAMPLE_CHECKS if evidence.has("broken") else (*SAMPLE_CHECKS, OVERLAP)
    results = [*first, *_results(checks, evidence), *last]
    return BatchWarnings(evidence.n_samples, results)


def joined_warnings(
    parts: Sequence[tuple[BatchWarnings, np.ndarray, np.ndarray]],
) -> BatchWarnings:
    """The warnings of samples whose evidence was gathered apart; `parts` as in `joined_results`."""
    n = sum(len(places) for *_, places in parts)
    there = {result.check.code for warnings, *_ in parts for result in warnings.results}
    first, *last = MODEL_CHECKS
    codes = [check.code for check in (first, *SAMPLE_CHECKS, OVERLAP, *last) if check.code in there]
    return BatchWarnings(n, [joined_results(code, parts, n) for code in codes])


def unknown_value_warnings(evidence: Evidence) -> BatchWarnings:
    """Warnings about values that the positives do not have, for methods that see nothing else."""
    checks = (FEW_ROWS, *UNKNOWN_VALUE_CHECKS, NOTHING_LIKE_POSITIVES)
    return BatchWarnings(evidence.n_samples, _results(checks, evidence))


def row_warnings(seen: RowsSeen, n_known: int, feature_names: Sequence[str]) -> list[AnswerWarning]:
    """Warnings about what the rows of a sample tell besides their counts.

    Parameters
    ----------
    seen : RowsSeen
    n_known : int
        Labelled positives that can be found again.
    feature_names : sequence of str
    """
    evidence = Evidence(
        1,
        n_known=n_known,
        positives_found=seen.n_known / max(n_known, 1),
        feature_names=feature_names,
        repeated_values=seen.repeated,
    )
    return [result.warning(0) for result in _results(ROW_CHECKS, evidence)]


def _results(checks: Iterable[Check], evidence: Evidence) -> list[CheckResult]:
    """What checks have seen, as far as there is evidence; only those that warn of some sample."""
    found = []
    for check in checks:
        try:
            result = check.look(evidence)
        except MissingEvidenceError:
            continue
        if result.severity.any():
            found.append(result)
    return found
