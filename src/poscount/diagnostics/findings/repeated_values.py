"""A single value that stands out in a feature whose other values hardly repeat."""

from __future__ import annotations

import numpy as np

from poscount.diagnostics.evidence import NOT_NUMBERS, Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked
from poscount.diagnostics.in_words import listed

ABOUT = About(
    "repeated-values",
    "Filled-in values",
    "largest share of rows with one value",
    0.0,
    "values filled in where all values are coarse, or filled in at random",
)
SMALLEST_SHARE = 0.1
FEWEST_ROWS = 20


def repeated_values(evidence: Evidence) -> Finding | Unchecked:
    """Look for values that may have been filled in where one was missing."""
    if evidence.sample is None:
        return ABOUT.unchecked(NOT_NUMBERS)
    parts = {"sample": evidence.sample_part}
    if evidence.positives is not None:
        parts["positives"] = evidence.positives_part
    spikes = [
        (
            share,
            f"{evidence.model._feature_name(j)} = {value:.6g} ({100 * share:.0f} % of the {where})",
        )
        for where, rows in parts.items()
        if len(rows) >= FEWEST_ROWS
        for j in range(rows.shape[1])
        for value, share in [_spike(rows[:, j])]
        if share > 0
    ]
    if not spikes:
        return ABOUT.found("ok", 0.0, None, "No single value stands out in any feature.")
    sentence = (
        f"One value stands out among others that hardly repeat: {listed(s for _, s in spikes)}."
    )
    advice = "look whether it stands for a missing value; remove such rows if it does."
    return ABOUT.found("notice", max(spikes)[0], None, sentence, advice)


def _spike(column: np.ndarray) -> tuple[float, float]:
    """The most frequent value and its share; a share of 0 if it does not stand out."""
    values, counts = np.unique(column, return_counts=True)
    top = int(counts.argmax())
    rest = len(column) - int(counts[top])
    share = counts[top] / len(column)
    alone = share >= SMALLEST_SHARE and rest > 0 and 2 * (len(values) - 1) >= rest
    return float(values[top]), float(share) if alone else 0.0
