"""Reasons to believe an estimate or not: the assumption report, and two samples compared.

The statistics behind the warnings are in `poscount.checks`; here they become findings for people.
"""

from poscount.diagnostics.comparison import Comparison, compare_samples
from poscount.diagnostics.diagnosis import Diagnosis, diagnose
from poscount.diagnostics.finding import Finding, Unchecked

__all__ = ["Comparison", "Diagnosis", "Finding", "Unchecked", "compare_samples", "diagnose"]
