"""What can be known before any row is seen: the errors of PAT and of classify and count.

The formulas are those of the paper; `plan` adds what the paper leaves out, the error that comes
from having learned the positives from a sample of them. No data are read here.
"""

from poscount.theory.formulas import (
    adjusted_count,
    classify_and_count,
    classify_and_count_error,
    pat_error_mean,
    pat_error_variance,
    pat_estimate_variance,
    pat_expected_error,
)
from poscount.theory.planning import Plan, plan

__all__ = [
    "Plan",
    "adjusted_count",
    "classify_and_count",
    "classify_and_count_error",
    "pat_error_mean",
    "pat_error_variance",
    "pat_estimate_variance",
    "pat_expected_error",
    "plan",
]
