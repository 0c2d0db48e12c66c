"""Filled-in values: one that stands out in a feature whose other values hardly repeat."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, Missing, Outcome
from poscount.errors import join_names

SMALLEST_SHARE = 0.1
FEWEST_ROWS = 20


def _look(evidence: Evidence) -> Outcome | Missing:
    if isinstance(evidence.some_rows, Missing):
        return evidence.some_rows
    spikes = [
        (share, f"{name} = {value:.6g} ({100 * share:.0f} % of the {where})")
        for where, rows in (("sample", evidence.some_rows), ("positives", evidence.some_positives))
        if not isinstance(rows, Missing) and len(rows) >= FEWEST_ROWS
        for name, column in zip(evidence.feature_names, rows.T, strict=True)
        for value, share in [_spike(column)]
        if share > 0
    ]
    if not spikes:
        return Outcome("ok", 0.0, None, "No single value stands out in any feature.")
    sentence = (
        f"One value stands out where others hardly repeat: {join_names(s for _, s in spikes)}."
    )
    advice = "Check whether it stands for a missing value; if so, remove these rows."
    return Outcome("notice", max(spikes)[0], None, sentence, advice)


def _spike(column: np.ndarray) -> tuple[float, float]:
    """The most frequent value and its share; a share of 0 if it does not stand out."""
    values, counts = np.unique(column, return_counts=True)
    top = int(counts.argmax())
    rest = len(column) - int(counts[top])
    share = counts[top] / len(column)
    alone = share >= SMALLEST_SHARE and rest > 0 and 2 * (len(values) - 1) >= rest
    return float(values[top]), float(share) if alone else 0.0


REPEATED_VALUES = Check(
    code="repeated-values",
    look=_look,
    title="Filled-in values",
    quantity="largest share of rows with one value",
    cannot_detect="values filled in where all values are coarse, or filled in at random",
)
