"""Missing values and words, of samples beside the positives: evidence that a register has drifted.

Negatives may well have other gaps and other words than positives. But from positives and sample
alone this cannot be told from a form, a code list or a habit that has changed since the positives
were labelled; and then true positives are taken for negatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.columns import Columns


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


def gap_evidence(
    columns: Columns,
    missing: np.ndarray,
    unseen: np.ndarray,
    incomplete: np.ndarray,
    n_rows: np.ndarray,
    absent: np.ndarray | None = None,
) -> list[GapEvidence]:
    """Evidence of samples, from counts of shape (n_samples, n_columns)."""
    if absent is None:
        absent = np.zeros(missing.shape)
    each = zip(missing, unseen, incomplete.tolist(), n_rows.tolist(), absent, strict=True)
    return [GapEvidence(columns, *one) for one in each]
