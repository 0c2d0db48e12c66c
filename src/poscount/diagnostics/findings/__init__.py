"""The checks, one file each: a check looks at the evidence and gives a finding, or says why not."""

from __future__ import annotations

from collections.abc import Callable

from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import Finding, Unchecked
from poscount.diagnostics.findings.constant_features import constant_features
from poscount.diagnostics.findings.core_differs import core_differs
from poscount.diagnostics.findings.dedpul_disagrees import dedpul_disagrees
from poscount.diagnostics.findings.duplicates import (
    duplicate_positives,
    duplicate_rows,
    positives_in_sample,
)
from poscount.diagnostics.findings.few_positives import few_positives
from poscount.diagnostics.findings.overlap import overlap
from poscount.diagnostics.findings.pat_disagrees import pat_disagrees
from poscount.diagnostics.findings.repeated_columns import repeated_columns
from poscount.diagnostics.findings.repeated_values import repeated_values
from poscount.diagnostics.findings.second_sample import second_sample
from poscount.diagnostics.findings.tied_scores import tied_scores
from poscount.diagnostics.findings.wide_interval import wide_interval

# In the order of the report.
CHECKS: tuple[Callable[[Evidence], Finding | Unchecked], ...] = (
    few_positives,
    wide_interval,
    core_differs,
    pat_disagrees,
    overlap,
    second_sample,
    dedpul_disagrees,
    constant_features,
    repeated_columns,
    duplicate_positives,
    duplicate_rows,
    positives_in_sample,
    repeated_values,
    tied_scores,
)
