"""Hashes of rows: by content, whatever the order of rows, columns, files and batches."""

from __future__ import annotations

import hashlib

import narwhals as nw
import numpy as np

from poscount.data.categories import CATEGORIES, DATES, Words, words_of, words_of_values
from poscount.seeds import stream

_MISSING = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def content_hashes(frame: nw.DataFrame) -> np.ndarray:
    """Hash of each row by the names and values of its columns.

    Numbers are compared as float64, everything else as text without blanks around it.

    Returns
    -------
    ndarray of uint64

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"a": [1, 2, 1], "b": ["x", "y", "x "]})
    >>> one, two, three = content_hashes(nw.from_native(rows))
    >>> bool(one == three), bool(one == two)
    (True, False)
    >>> turned = pd.DataFrame({"b": ["x"], "a": [1.0]})
    >>> bool(content_hashes(nw.from_native(turned))[0] == one)
    True
    """
    total = np.zeros(len(frame), np.uint64)
    for column in frame.iter_columns():
        # A sum, so that the order of the columns does not matter.
        total += _mixed(_of_values(column) ^ _of_text(column.name))
    return _mixed(total)


def seed_number(seed: int) -> np.uint64:
    """A number by which the keys of one draw differ from those of another."""
    return stream(seed, "audit").integers(2**64, dtype=np.uint64)


def keys(content: np.ndarray, occurrence: np.ndarray | int, number: np.uint64) -> np.ndarray:
    """Random number of a row, uniform in 0 to 2^64, from its content and a seed.

    Rows of the same content are told apart by their number, `occurrence`, from 0 on.

    Parameters
    ----------
    content : ndarray of uint64
    occurrence : ndarray of int, or int
    number : uint64
        Made by `seed_number`.
    """
    # An array, because numpy warns of scalars that overflow.
    times = np.atleast_1d(occurrence).astype(np.uint64) + np.uint64(1)
    return _mixed(content ^ _mixed(times * _STEP + number))


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every bit depends on all."""
    values = values + _MISSING
    values = (values ^ (values >> np.uint64(30))) * _STEP
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))


def _of_values(column: nw.Series) -> np.ndarray:
    if column.dtype.is_numeric():
        values = np.array(column.cast(nw.Float64).to_numpy(), np.float64)
        # Zero has two signs, and NaN many forms.
        values[values == 0] = 0.0
        return np.where(np.isnan(values), _MISSING, values.view(np.uint64))
    words = _words(column)
    known = np.array([*map(_of_text, words.distinct), _MISSING], np.uint64)
    return known[words.places]


def _words(column: nw.Series) -> Words:
    if column.dtype in (*CATEGORIES, *DATES) and column.null_count() < len(column):
        return words_of(column)
    return words_of_values(
        [value if value is None or value != value else str(value) for value in column.to_list()]
    )


def _of_text(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"))
