"""Words of the sample that no positive has."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.errors import join_names
from poscount.verdict import Severity

# Of rows. Negatives often have words of their own: of the samples of `benchmarks/tables.py four`,
# in which nothing had changed, a third were warned, and their answers were as good as others. But a
# sample without any known word was written by other rules; and a word that is gone while others
# have come may have been renamed.
SMALLEST, HOPELESS = 0.02, 0.95
FEWEST_ROWS = 3
# Each word that few positives have lets us expect that another one was missed.
PER_RARE_WORD = 3.0


def _look(evidence: Evidence) -> Outcome | Missing:
    gaps = evidence.gaps
    if isinstance(gaps, Missing):
        return gaps
    columns, n_rows = gaps.columns, gaps.n_rows
    if columns.all_numbers:
        return Missing("No column holds words.")
    n_rare = np.array([len(rare) for rare in columns.rare_])
    expected = PER_RARE_WORD * (n_rare + 1) / columns.n_
    share = gaps.unseen / n_rows
    strange_share = np.where((share > expected) & (gaps.unseen >= FEWEST_ROWS), share, 0.0)
    worst = int(strange_share.argmax())
    largest = float(strange_share[worst])
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
    renamed = np.flatnonzero((strange_share > SMALLEST) & (gaps.absent > 0))
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
    return (gaps.unseen / gaps.n_rows[:, np.newaxis] > SMALLEST).any(axis=1)


UNSEEN_WORDS = Check(
    code="unseen-words",
    look=_look,
    concerns=_concerns,
    title="Words that no positive has",
    quantity="largest share of rows with such a word in one column",
    cannot_detect="a word that is used for something else now",
)
