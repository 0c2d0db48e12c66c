"""Filled-in values: one that stands out in a feature whose other values hardly repeat."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check, above
from poscount.checks.evidence import Evidence
from poscount.errors import join_names

SMALLEST_SHARE = 0.1
FEWEST_ROWS = 20


def _spikes(evidence: Evidence) -> list[tuple[float, str]]:
    """Shares of rows with one value that stands out, and what that value is."""
    tables = [("sample", evidence.some_rows)]
    if evidence.has("some_positives"):
        tables.append(("positives", evidence.some_positives))
    return [
        (share, f"{name} = {value:.6g} ({100 * share:.0f} % of the {where})")
        for where, rows in tables
        if len(rows) >= FEWEST_ROWS
        for name, column in zip(evidence.feature_names, rows.T, strict=True)
        for value, share in [_spike(column)]
        if share > 0
    ]


def _spike(column: np.ndarray) -> tuple[float, float]:
    """The most frequent value and its share; a share of 0 if it does not stand out."""
    values, counts = np.unique(column, return_counts=True)
    top = int(counts.argmax())
    rest = len(column) - int(counts[top])
    share = counts[top] / len(column)
    alone = share >= SMALLEST_SHARE and rest > 0 and 2 * (len(values) - 1) >= rest
    return float(values[top]), float(share) if alone else 0.0


def _sentence(evidence: Evidence, i: int) -> str:
    names = join_names(what for _, what in _spikes(evidence))
    return f"One value stands out where others hardly repeat: {names}."


REPEATED_VALUES = Check(
    code="repeated-values",
    statistic=lambda evidence: max((share for share, _ in _spikes(evidence)), default=0.0),
    severity=above(0, NOTE),
    sentence=_sentence,
    advice="Check whether it stands for a missing value; if so, remove these rows.",
    in_order="No single value stands out in any feature.",
    title="Filled-in values",
    quantity="largest share of rows with one value",
    cannot_detect="values filled in where all values are coarse, or filled in at random",
)
