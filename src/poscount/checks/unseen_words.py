"""Words of the sample that no positive has."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.checks.gaps import GapEvidence, ManyGapEvidence
from poscount.errors import join_names
from poscount.verdict import CAUTION_SEVERITIES, Severity

# Of rows. Negatives often have words of their own: of the samples of `benchmarks/accuracy/tables.py
# four`, in which nothing had changed, a third were warned, and their answers were as good as
# others. But a sample without any known word was written by other rules; and a word that is gone
# while others have come may have been renamed.
SMALLEST, HOPELESS = 0.02, 0.95
FEWEST_ROWS = 3
# Each word that few positives have lets us expect that another one was missed.
PER_RARE_WORD = 3.0


def _look(evidence: Evidence) -> Outcome | Missing:
    gaps = evidence.gaps
    if isinstance(gaps, Missing):
        return gaps
    columns = gaps.columns
    if columns.all_numbers:
        return Missing("No column holds words.")
    strange_share = _strange_shares(gaps)
    largest = float(strange_share.max())
    if largest <= SMALLEST:
        return Outcome("ok", largest, SMALLEST, "The sample has the words of the positives.")
    order = np.argsort(-strange_share, kind="stable")
    names = [columns.names_[j] for j in order[: np.count_nonzero(strange_share > SMALLEST)]]
    sentence = (
        f"In column {names[0]}, {100 * largest:.1f} % of the sample have words that no positive "
        "has."
    )
    if len(names) > 1:
        sentence += f" The same is true of {len(names)} columns: {join_names(names)}."
    renamed = np.flatnonzero(_renamed(gaps, strange_share))
    if len(renamed):
        j = int(renamed[gaps.absent[renamed].argmax()])
        sentence += (
            f" In column {columns.names_[j]}, hardly a row has the word of "
            f"{100 * gaps.absent[j]:.0f} % of the positives."
        )
    severity: Severity = "doubt" if len(renamed) else "note"
    return Outcome(
        "warning",
        largest,
        SMALLEST,
        sentence,
        "If these rows are negatives, the answer is right. If the words have changed, write them "
        "as in the positives.",
        caution=largest,
        caution_severity="do not use" if largest > HOPELESS else severity,
        reason=f"column {names[0]} has words that no positive has",
    )


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    gaps = samples.gaps
    if isinstance(gaps, Missing) or gaps.columns.all_numbers:
        return False
    return _strange_shares(gaps).max(axis=1) > SMALLEST


def _severities(samples: ManySamples) -> np.ndarray:
    gaps = samples.gaps
    assert isinstance(gaps, ManyGapEvidence)  # others do not concern it
    shares = _strange_shares(gaps)
    doubtful = _renamed(gaps, shares).any(axis=1)
    hopeless, doubt = (CAUTION_SEVERITIES.index(name) for name in ("do not use", "doubt"))
    return np.where(shares.max(axis=1) > HOPELESS, hopeless, np.where(doubtful, doubt, 0))


def _strange_shares(gaps: GapEvidence | ManyGapEvidence) -> np.ndarray:
    """Share of rows in each column that have unseen words, 0 if that was to be expected."""
    columns, unseen = gaps.columns, gaps.unseen
    n_rare = np.array([len(rare) for rare in columns.rare_])
    expected = PER_RARE_WORD * (n_rare + 1) / columns.n_
    share = unseen / np.asarray(gaps.n_rows)[..., np.newaxis]
    return np.where((share > expected) & (unseen >= FEWEST_ROWS), share, 0.0)


def _renamed(gaps: GapEvidence | ManyGapEvidence, strange_shares: np.ndarray) -> np.ndarray:
    """Columns in which words have come while others are gone."""
    return (strange_shares > SMALLEST) & (gaps.absent > 0)


UNSEEN_WORDS = Check(
    code="unseen-words",
    look=_look,
    concerns=_concerns,
    severities=_severities,
    title="Words that no positive has",
    quantity="largest share of rows with such a word in one column",
    cannot_detect="a word that is used for something else now",
)
