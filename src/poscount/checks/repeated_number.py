"""One number in many rows of a column, which hardly a positive has, where theirs rarely repeat.

Gaps that were filled with a mean look like that, and numbers that were rounded in one table only.
How often it is right, and how often it is not: `benchmarks/results/repeated.md`.
"""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, largest_first, levels
from poscount.checks.evidence import Evidence

# Rows with that number.
MOST, FEWEST_ROWS = 0.08, 8


def _shares(evidence: Evidence) -> np.ndarray:
    """Share of the rows with the most frequent number of each column, where it is no accident."""
    repeated = evidence.repeated_values
    return np.where(repeated.most >= FEWEST_ROWS, repeated.most / max(repeated.n_rows, 1), 0.0)


def _columns(evidence: Evidence) -> list[str]:
    places = largest_first(_shares(evidence), MOST)
    return [evidence.feature_names[evidence.repeated_values.columns[i]] for i in places]


def _sentence(evidence: Evidence, i: int) -> str:
    names, shares = _columns(evidence), _shares(evidence)
    others = f", and so in {len(names) - 1} more columns" if len(names) > 1 else ""
    return (
        f"In column {names[0]}, {100 * shares.max():.0f} % of the rows have one and the same number"
        f"{others}, but hardly a labelled positive has it: as if gaps had been filled, or numbers "
        "rounded, in the sample only."
    )


REPEATED_NUMBER = Check(
    code="repeated-number",
    statistic=lambda evidence: _shares(evidence).max(initial=0.0),
    severity=levels(MOST, MOST),
    sentence=_sentence,
    advice="Leave gaps empty, and prepare both tables in the same way.",
    reason=lambda evidence, i: f"column {_columns(evidence)[0]} repeats one number",
)
