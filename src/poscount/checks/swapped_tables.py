"""Tables in the wrong order: the positives given as the sample, and the sample as the positives.

Then the "sample" lies inside the "positives", which are the larger and broader table: nothing is
beyond them, hardly anything at their fringe, and yet some of their regions are empty. A clean
sample looks like that if it has few positives and its negatives look like a part of the positives;
so this is a question, and no proof.
"""

from __future__ import annotations

import numpy as np

from poscount.checks.broken_assumption import check_if_doubted
from poscount.checks.check import Check
from poscount.checks.evidence import Evidence

# Of the sample: rows farther away than all positives, and outside of their range in some column.
MOST_BEYOND = 0.02
# Rows among the tenth of the positives with the lowest scores, over what positives would have.
MOST_AT_FRINGE = 3.0
# Positives by the emptiest region at most, and by PAT at least: hardly any and many, or some and
# nearly all.
HARDLY_ANY, MANY = 0.1, 0.4
SOME, NEARLY_ALL = 0.6, 0.9


def _swapped(evidence: Evidence) -> np.ndarray:
    n_rows = evidence.unknown_values.n_rows
    most = evidence.estimate + evidence.region_gap
    outside = 1 - evidence.columns.inside.min(axis=1, initial=1.0)
    return (
        (n_rows < evidence.n_labeled)
        & (evidence.beyond <= MOST_BEYOND)
        & (outside <= MOST_BEYOND)
        & (evidence.at_fringe <= MOST_AT_FRINGE)
        & (
            (most < HARDLY_ANY) & (evidence.pat >= MANY)
            | (most < SOME) & (evidence.pat >= NEARLY_ALL)
        )
    )


def _sentence(evidence: Evidence, i: int) -> str:
    return (
        f"All {int(evidence.unknown_values.n_rows[i]):,} rows lie among the {evidence.n_labeled:,} "
        "positives, which are more and spread more widely, as if the two tables were exchanged."
    )


SWAPPED_TABLES = Check(
    code="swapped-tables",
    statistic=_swapped,
    severity=lambda evidence, swapped: check_if_doubted(evidence, swapped > 0),
    sentence=_sentence,
    advice="If they are, give the labelled positives first, and then the rows to be counted.",
    reason="perhaps the positives and the sample are exchanged",
    warning_rate=1 / 58,
)
