"""Missing values and new categories, of samples beside the positives: signs of another register.

Negatives may well have other gaps and other categories than positives. But from positives and
sample alone this cannot be told from a form, a code list or a habit that has changed since the
positives were labelled; and then true positives are taken for negatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.data.columns import Columns


class UnknownValues(NamedTuple):
    """Values of samples that the positives could not have.

    Attributes
    ----------
    columns : Columns
        Of the positives.
    missing, unseen : ndarray of shape (n_samples, n_columns)
        Rows without a value, and with a category that no positive has.
    incomplete : ndarray of shape (n_samples,)
        Rows that lack any value.
    n_rows : ndarray of shape (n_samples,)
        All rows.
    vanished : ndarray of shape (n_samples, n_columns), optional
        Largest share of the positives that have one category which hardly a row has; 0 if there is
        no such category. None if the method does not count categories.
    """

    columns: Columns
    missing: np.ndarray
    unseen: np.ndarray
    incomplete: np.ndarray
    n_rows: np.ndarray
    vanished: np.ndarray | None = None
