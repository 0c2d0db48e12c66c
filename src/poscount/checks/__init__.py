"""The checks, one file each: from a small record of evidence to a statistic and one sentence.

Each check has a threshold with measured false alarms. From the same checks come the warnings of a
prevalence and the findings of the assumption report. No method is imported here: methods fill the
record for the warnings, `poscount.diagnostics` a fuller one for the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from poscount.checks.check import Check, Evidence, ManySamples, Missing, RegionEvidence
from poscount.checks.columns import ColumnEvidence, PositiveColumns, column_evidence
from poscount.checks.columns_fit import EXCHANGED_COLUMNS, ONLY_COLUMNS_FIT, SHIFTED_COLUMNS
from poscount.checks.constant_features import CONSTANT_FEATURES
from poscount.checks.copies import (
    DUPLICATE_POSITIVES,
    DUPLICATE_ROWS,
    POSITIVES_IN_SAMPLE,
    REPEATED_POSITIVES,
)
from poscount.checks.core_differs import CORE_DIFFERS
from poscount.checks.dedpul_disagrees import DEDPUL_DISAGREES
from poscount.checks.few_positives import FEW_POSITIVES, FEW_POSITIVES_FOR_RCQ
from poscount.checks.gaps import GapEvidence, ManyGapEvidence
from poscount.checks.many import ManyCautions
from poscount.checks.missing_code import ADDED_ZEROS, MISSING_CODE
from poscount.checks.missing_differs import MISSING_DIFFERS
from poscount.checks.nothing_like_positives import NOTHING_LIKE_POSITIVES
from poscount.checks.other_units import OTHER_UNITS
from poscount.checks.overlap import OVERLAP
from poscount.checks.pat_disagrees import PAT_DISAGREES
from poscount.checks.repeated_columns import REPEATED_COLUMNS, SINGULAR_COVARIANCE
from poscount.checks.repeated_values import REPEATED_VALUES
from poscount.checks.second_sample import SECOND_SAMPLE
from poscount.checks.subsampled import SUBSAMPLED
from poscount.checks.tied_scores import TIED_SCORES
from poscount.checks.unlike_experience import UNLIKE_EXPERIENCE
from poscount.checks.unseen_words import UNSEEN_WORDS
from poscount.checks.wide_interval import WIDE_INTERVAL
from poscount.results.verdict import Caution

# Of the model alone, made once for many samples; and of each sample.
MODEL_CHECKS = (
    FEW_POSITIVES_FOR_RCQ,
    REPEATED_POSITIVES,
    FEW_POSITIVES,
    SINGULAR_COVARIANCE,
    TIED_SCORES,
)
GAP_CHECKS = (MISSING_DIFFERS, UNSEEN_WORDS)
SAMPLE_CHECKS = (
    *GAP_CHECKS,
    OTHER_UNITS,
    MISSING_CODE,
    ADDED_ZEROS,
    EXCHANGED_COLUMNS,
    SHIFTED_COLUMNS,
    ONLY_COLUMNS_FIT,
    NOTHING_LIKE_POSITIVES,
    WIDE_INTERVAL,
    UNLIKE_EXPERIENCE,
    CORE_DIFFERS,
    PAT_DISAGREES,
    OVERLAP,
    SUBSAMPLED,
)
# In the order of the report.
REPORT = (
    FEW_POSITIVES,
    WIDE_INTERVAL,
    *GAP_CHECKS,
    OTHER_UNITS,
    MISSING_CODE,
    ADDED_ZEROS,
    EXCHANGED_COLUMNS,
    SHIFTED_COLUMNS,
    ONLY_COLUMNS_FIT,
    NOTHING_LIKE_POSITIVES,
    CORE_DIFFERS,
    PAT_DISAGREES,
    OVERLAP,
    SECOND_SAMPLE,
    DEDPUL_DISAGREES,
    CONSTANT_FEATURES,
    REPEATED_COLUMNS,
    DUPLICATE_POSITIVES,
    DUPLICATE_ROWS,
    POSITIVES_IN_SAMPLE,
    REPEATED_VALUES,
    TIED_SCORES,
)

__all__ = [
    "MODEL_CHECKS",
    "REPORT",
    "SAMPLE_CHECKS",
    "ColumnEvidence",
    "Evidence",
    "GapEvidence",
    "ManyCautions",
    "ManyGapEvidence",
    "ManySamples",
    "Missing",
    "PositiveColumns",
    "RegionEvidence",
    "cautions_of_many",
    "column_evidence",
    "gap_cautions",
    "model_cautions",
    "sample_cautions",
]


def model_cautions(evidence: Evidence) -> tuple[Caution, ...]:
    """Warnings that are about the model alone, and so hold for every sample."""
    return _cautions(MODEL_CHECKS, evidence)


def sample_cautions(evidence: Evidence, of_model: tuple[Caution, ...]) -> tuple[Caution, ...]:
    """Warnings for one sample, together with those of `model_cautions`."""
    n_first = _n_first(of_model)
    of_sample = _cautions(SAMPLE_CHECKS, evidence)
    return (*of_model[:n_first], *of_sample, *of_model[n_first:])


def cautions_of_many(
    samples: ManySamples, evidence_of: Callable[[int], Evidence], of_model: tuple[Caution, ...]
) -> ManyCautions:
    """Warnings of many samples, together with those of `model_cautions`, made when asked for.

    Parameters
    ----------
    samples : ManySamples
        What tells which checks concern which samples.
    evidence_of : callable
        From the number of a sample to its `Evidence`.
    of_model : tuple of Caution
    """
    n_first = _n_first(of_model)
    return ManyCautions(samples, SAMPLE_CHECKS, evidence_of, of_model[:n_first], of_model[n_first:])


def gap_cautions(evidence: Evidence) -> tuple[Caution, ...]:
    """Warnings about missing values and words, for methods that look at nothing else."""
    return _cautions(GAP_CHECKS, evidence)


def _cautions(checks: Iterable[Check], evidence: Evidence) -> tuple[Caution, ...]:
    found = [check.caution(evidence) for check in checks]
    return tuple(caution for caution in found if caution is not None)


def _n_first(of_model: tuple[Caution, ...]) -> int:
    """How many warnings of the model come first: which rule was used."""
    return int(bool(of_model) and of_model[0].code == FEW_POSITIVES_FOR_RCQ.code)
