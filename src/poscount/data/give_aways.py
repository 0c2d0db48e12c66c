"""Columns that give a row's group away: where rows are grouped, they are no features."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import numpy as np

from poscount.data.grouping import group_codes

# Rows that would have another value than most of their group if values fell by chance, so that
# finding none is no accident; and the share of these that may have one, by a slip of the pen.
FEWEST_EXPECTED, MOST_SLIPS = 20.0, 0.02


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
