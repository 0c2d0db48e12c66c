"""Samples of so few rows that hardly anything can be said about them, such as small groups."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check
from poscount.checks.evidence import Evidence

FEWEST_ROWS = 20


def _sentence(evidence: Evidence, i: int) -> str:
    n = int(evidence.unknown_values.n_rows[i])
    return f"Too few rows: {n} {'row says' if n == 1 else 'rows say'} little about a share."


FEW_ROWS = Check(
    code="few-rows",
    statistic=lambda evidence: evidence.unknown_values.n_rows,
    severity=lambda evidence, n_rows: (n_rows < FEWEST_ROWS) * NOTE,
    sentence=_sentence,
    advice="Use larger groups, or look at the answer for all rows together.",
    reason="too few rows",
)
