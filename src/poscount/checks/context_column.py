"""Columns that vary among the positives but hardly in the sample, such as the year or the site.

They say where or when rows are from. Positives from elsewhere look unlike all rows of the sample,
so the region of these is empty, and the estimate 0. Where enough positives are from the same
context, the sample is compared with these alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.checks.check import NOTE, TO_CHECK, Check
from poscount.checks.evidence import Evidence
from poscount.errors import join_names


class Context(NamedTuple):
    """Where samples are from, in the words of columns.

    Attributes
    ----------
    columns : list of str
    values : list of str
        What nearly all rows have in each of these, such as "above 2008.5".
    n_positives : int
        Positives that have the same.
    share : float
        Their share of all positives.
    compared : bool
        Whether the samples were compared with these alone.
    """

    columns: list[str]
    values: list[str]
    n_positives: int
    share: float
    compared: bool

    @property
    def in_words(self) -> str:
        """Columns and values."""
        return join_names(map(" ".join, zip(self.columns, self.values, strict=True)), 3)


def _sentence(evidence: Evidence, i: int) -> str:
    context = evidence.context
    percent = f"{100 * context.share:.0f} %"
    sentence = (
        f"Nearly all rows have {context.in_words}, as only {percent} of the positives have, and "
        "positives would vary more: this says where or when rows are from."
    )
    if context.compared:
        return f"{sentence} They were compared with these {context.n_positives} positives alone."
    return f"{sentence} The other positives look unlike all rows, so the estimate is too low."


def _advice(evidence: Evidence, i: int) -> str:
    context = evidence.context
    if context.compared:
        return ""
    return f"Leave out {join_names(context.columns)} when the model is fitted."


CONTEXT_COLUMN = Check(
    code="context-column",
    statistic=lambda evidence: 1 - evidence.context.share,
    severity=lambda evidence, statistic: np.where(
        statistic > 0, NOTE if evidence.context.compared else TO_CHECK, 0
    ),
    sentence=_sentence,
    advice=_advice,
    reason=lambda evidence, i: (
        f"column {evidence.context.columns[0]} hardly varies here, but among the positives"
    ),
)
