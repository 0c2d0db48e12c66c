"""Categories of the sample that no positive has."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, TO_CHECK, Check, largest_first
from poscount.checks.evidence import Evidence, MissingEvidenceError, UnknownValues
from poscount.errors import join_names

# Of rows. Negatives often have words of their own: of the samples of `benchmarks/tables.py four`,
# in which nothing had changed, a third were warned, and their answers were as good as others. But a
# sample without any known word was written by other rules; and a word that is gone while others
# have come may have been renamed.
SMALLEST, HOPELESS = 0.02, 0.95
FEWEST_ROWS = 3
# Each word that few positives have lets us expect that another one was missed.
PER_RARE_WORD = 3.0


def _strange_shares(evidence: Evidence) -> np.ndarray:
    """Share of rows in each column that have unseen words, 0 if that was to be expected."""
    values = evidence.unknown_values
    columns, unseen = values.columns, values.unseen
    if columns.all_numbers:
        raise MissingEvidenceError("No column holds words.")
    n_rare = np.array([len(rare) for rare in columns.rare_])
    expected = PER_RARE_WORD * (n_rare + 1) / columns.n_
    share = unseen / values.n_rows[:, np.newaxis]
    return np.where((share > expected) & (unseen >= FEWEST_ROWS), share, 0.0)


def _renamed(values: UnknownValues, strange_shares: np.ndarray) -> np.ndarray:
    """Columns in which words have come while others are gone."""
    if values.vanished is None:
        return np.zeros(strange_shares.shape, bool)
    return (strange_shares > SMALLEST) & (values.vanished > 0)


def _severity(evidence: Evidence, largest: np.ndarray) -> np.ndarray:
    doubtful = _renamed(evidence.unknown_values, _strange_shares(evidence)).any(axis=1)
    found = np.where(doubtful | (largest > HOPELESS), TO_CHECK, NOTE)
    return np.where(largest > SMALLEST, found, 0)


def _names(evidence: Evidence, i: int) -> list[str]:
    """Columns with such words, the one with most rows first."""
    shares, names = _strange_shares(evidence)[i], evidence.unknown_values.columns.names_
    return [names[j] for j in largest_first(shares, SMALLEST)]


def _sentence(evidence: Evidence, i: int) -> str:
    shares, names = _strange_shares(evidence), _names(evidence, i)
    sentence = (
        f"In column {names[0]}, {100 * shares[i].max():.1f} % of the sample have words that no "
        "positive has."
    )
    if len(names) > 1:
        sentence += f" The same is true of {len(names)} columns: {join_names(names)}."
    values = evidence.unknown_values
    renamed = np.flatnonzero(_renamed(values, shares)[i])
    if len(renamed) and values.vanished is not None:
        j = int(renamed[values.vanished[i, renamed].argmax()])
        sentence += (
            f" In column {values.columns.names_[j]}, hardly a row has the word of "
            f"{100 * values.vanished[i, j]:.0f} % of the positives."
        )
    return sentence


UNSEEN_CATEGORIES = Check(
    code="unseen-words",
    statistic=lambda evidence: _strange_shares(evidence).max(axis=1),
    severity=_severity,
    sentence=_sentence,
    advice="If these rows are negatives, the answer is right. If the words have changed, write "
    "them as in the positives.",
    reason=lambda evidence, i: f"column {_names(evidence, i)[0]} has words that no positive has",
)
