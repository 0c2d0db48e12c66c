"""Columns that give away which row it is, or its group: no features unless they are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

import narwhals as nw
import numpy as np

from poscount.data.categories import Categorical
from poscount.data.grouping import group_codes

_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|uuid|guid|rowid)$", re.IGNORECASE)
# Measurements may be called an index, too, but they have fractions.
_NUMBERING = re.compile(
    r"(^|[\W_])(index|idx|key)$|^(#|row)$"
    r"|^(row|record|sample|specimen|case|line|serial|running)[\W_]*(no|nr|num|number|#)\.?$",
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"(^|[\W_])(comment|note|remark)s?$", re.IGNORECASE)
# Fewer rows do not tell, and text is taken for identifiers if this share of it is different.
FEW_ROWS, MOSTLY_DIFFERENT = 20, 0.9
# Rows that would have another value than most of their group if values fell by chance, so that
# finding none is no accident; and the share of these that may have one, by a slip of the pen.
FEWEST_EXPECTED, MOST_SLIPS = 20.0, 0.02


def named_as_identifier(name: str, *, fractions: bool) -> bool:
    """Tell whether a name is one of identifiers or running numbers, or of an index without a name.

    Parameters
    ----------
    name : str
    fractions : bool
        Whether the column has numbers that are not whole, as no running number has.

    Examples
    --------
    >>> names = ("patient_id", "sampleID", "Unnamed: 0", "__index_level_0__", "Sample No.", "width")
    >>> [named_as_identifier(name, fractions=False) for name in names]
    [True, True, True, True, True, False]
    >>> named_as_identifier("body_mass_index", fractions=True)
    False
    """
    if not fractions and _NUMBERING.search(name):
        return True
    # What pandas writes for its index: into Arrow and Parquet, and into CSV.
    if name == "" or name.startswith(("__index_level_", "Unnamed:")):
        return True
    return bool(_IDENTIFIER.search(name) or re.search("[a-z]I[dD]$", name))


def named_as_comments(name: str) -> bool:
    """Tell whether a column of text with this name holds what somebody remarked about each row.

    Examples
    --------
    >>> [named_as_comments(name) for name in ("Comments", "color_notes", "notebook")]
    [True, True, False]
    """
    return bool(_COMMENTS.search(name))


def looks_like_identifier(name: str, column: np.ndarray | Categorical) -> bool:
    """Tell whether a column says which row it is, or what somebody remarked about it.

    By its name; or because its numbers are consecutive, or nearly all of its words are different.
    """
    if isinstance(column, Categorical):
        n = int(np.count_nonzero(column.places >= 0))
        different = n >= FEW_ROWS and len(column.distinct) >= MOSTLY_DIFFERENT * n
        return different or named_as_comments(name) or named_as_identifier(name, fractions=False)
    known = column[np.isfinite(column)]
    return named_as_identifier(name, fractions=bool((known % 1 != 0).any())) or is_numbering(known)


def is_numbering(numbers: np.ndarray) -> bool:
    """Tell whether numbers are consecutive whole ones, in any order, and not just a few.

    Examples
    --------
    >>> is_numbering(np.arange(30)[::-1]), is_numbering(np.arange(19)), is_numbering(np.zeros(30))
    (True, False, False)
    """
    n = len(numbers)
    if n < FEW_ROWS or np.ptp(numbers) + 1 != n:
        return False
    return len(np.unique(numbers)) == n and not (numbers % 1).any()


def give_aways(frame: nw.DataFrame, features: Sequence[str], by: tuple[str, ...]) -> list[str]:
    """Find the features that have one value in each group, such as the site of a night.

    Among the positives such a column varies, but not within a group. So it would tell all positives
    of other groups from the rows of this one, and bring the estimate down to 0.

    Parameters
    ----------
    frame : narwhals frame
        Unlabeled rows.
    features : sequence of str
    by : tuple of str
        What makes the groups, as in `poscount.data.grouping.group_codes`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = {"night": [1, 2, 3] * 20, "site": ["a", "b", "a"] * 20, "size": range(60)}
    >>> give_aways(nw.from_native(pd.DataFrame(table)), ["site", "size"], ("night",))
    ['site']
    """
    groups = group_codes(frame, by)[1]
    return [name for name in features if _has_one_value(group_codes(frame, (name,))[1], groups)]


def _has_one_value(values: np.ndarray, groups: np.ndarray) -> bool:
    """Whether values hardly vary within groups, but between them; both are numbers from 0."""
    n_rows, n_values = len(values), values.max(initial=0) + 1
    # Rows of the same value as another one, among all of two rows.
    shares = np.bincount(values) / max(n_rows, 1)
    pairs, sizes = np.unique(groups * n_values + values, return_counts=True)
    most = np.zeros(groups.max(initial=-1) + 1, np.int64)
    np.maximum.at(most, pairs // n_values, sizes)
    slips = n_rows - most.sum()
    expected = (1 - (shares**2).sum()) * (n_rows - len(most))
    return bool(expected >= FEWEST_EXPECTED and slips <= MOST_SLIPS * expected)
