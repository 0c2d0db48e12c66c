"""Missing values and words, of samples beside the positives: evidence that a register has drifted.

Negatives may well have other gaps and other words than positives. But from positives and sample
alone this cannot be told from a form, a code list or a habit that has changed since the positives
were labelled; and then true positives are taken for negatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.data.columns import Columns
from poscount.results.prevalence import MadeOnDemand


class GapEvidence(NamedTuple):
    """Gaps and words of one sample.

    Attributes
    ----------
    columns : Columns
        Of the positives.
    missing, unseen : ndarray of int, shape (n_columns,)
        Rows of the sample without a value, and with a word that no positive has.
    incomplete : int
        Rows of the sample that lack any value.
    n_rows : float
        All of its rows.
    absent : ndarray of shape (n_columns,)
        Largest share of the positives that have one word which hardly a row of the sample has; 0
        if there is no such word, or if the method does not count words.
    """

    columns: Columns
    missing: np.ndarray
    unseen: np.ndarray
    incomplete: int
    n_rows: float
    absent: np.ndarray


class ManyGapEvidence(MadeOnDemand[GapEvidence]):
    """Gaps and words of many samples; those of a single one are made when they are asked for.

    The arguments are those of `GapEvidence`, with an axis for the samples.
    """

    def __init__(
        self,
        columns: Columns,
        missing: np.ndarray,
        unseen: np.ndarray,
        incomplete: np.ndarray,
        n_rows: np.ndarray,
        absent: np.ndarray | None = None,
    ) -> None:
        self.columns = columns
        self.missing, self.unseen, self.incomplete = missing, unseen, incomplete
        self.n_rows = n_rows
        self.absent = np.zeros(missing.shape) if absent is None else absent

    def __len__(self) -> int:
        return len(self.missing)

    def _make(self, i: int) -> GapEvidence:
        return GapEvidence(
            self.columns,
            self.missing[i],
            self.unseen[i],
            self.incomplete[i].item(),
            self.n_rows[i].item(),
            self.absent[i],
        )
