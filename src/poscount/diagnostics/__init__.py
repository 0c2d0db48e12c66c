"""The assumption report: gathers evidence, runs the checks on it, and writes text, JSON and HTML.

It also compares two samples. What is checked, and with which threshold, is in `poscount.checks`.
"""

from poscount.checks.finding import Finding, Unchecked
from poscount.checks.second_sample import Comparison
from poscount.diagnostics.assumption_report import Diagnosis, diagnose
from poscount.diagnostics.two_samples import compare_samples

__all__ = ["Comparison", "Diagnosis", "Finding", "Unchecked", "compare_samples", "diagnose"]
