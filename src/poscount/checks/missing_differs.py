"""Values that are missing in the sample more often, or less often, than in the positives."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check, above, largest_first
from poscount.checks.evidence import Evidence
from poscount.errors import join_names

# Of rows: a smaller difference moves no answer by more.
SMALLEST = 0.02
# In standard errors, because there may be many columns.
NOISE = 4.0


def _shares(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Shares of rows that lack each column, and last any: of the samples, and of the positives."""
    values = evidence.unknown_values
    columns = values.columns
    missing = np.concatenate([values.missing, values.incomplete[:, np.newaxis]], axis=1)
    of_positives = np.append(columns.missing_, columns.incomplete_)
    return missing / values.n_rows[:, np.newaxis], of_positives / columns.n_


def _differences(evidence: Evidence) -> np.ndarray:
    """Differences of the shares that are missing, 0 if noise explains them; last of any column."""
    of_sample, of_positives = _shares(evidence)
    n, n_labeled = evidence.unknown_values.n_rows[:, np.newaxis], evidence.unknown_values.columns.n_
    pooled = (n_labeled * of_positives + n * of_sample) / (n_labeled + n)
    noise = np.sqrt(pooled * (1 - pooled) * (1 / n_labeled + 1 / n))
    differs = np.abs(of_sample - of_positives)
    return np.where(differs <= NOISE * noise, 0.0, differs)


def _strange(evidence: Evidence, i: int) -> list[int]:
    """Columns with other gaps, the one that differs most first."""
    return largest_first(_differences(evidence)[i, :-1], SMALLEST)


def _sentence(evidence: Evidence, i: int) -> str:
    shares, of_positives = _shares(evidence)
    strange, names = _strange(evidence, i), evidence.unknown_values.columns.names_
    # The last place stands for all columns together.
    j = strange[0] if strange else -1
    what = f"Column {names[j]}" if strange else "Some value"
    sentence = (
        f"{what} is missing in {100 * shares[i, j]:.1f} % of the sample, and in "
        f"{100 * of_positives[j]:.1f} % of the positives."
    )
    if len(strange) > 1:
        sentence += f" Gaps differ in {len(strange)} columns: "
        sentence += f"{join_names(names[j] for j in strange)}."
    return sentence


def _reason(evidence: Evidence, i: int) -> str:
    strange = _strange(evidence, i)
    if not strange:
        return "other gaps than in the positives"
    name = evidence.unknown_values.columns.names_[strange[0]]
    return f"column {name} has other gaps than in the positives"


MISSING_DIFFERS = Check(
    code="missing-differs",
    statistic=lambda evidence: _differences(evidence).max(axis=1),
    severity=above(SMALLEST, NOTE),
    sentence=_sentence,
    advice="If only negatives differ, the answer is right. If it was recorded in another way, "
    "leave the column out, or label positives as they are recorded now.",
    reason=_reason,
)
