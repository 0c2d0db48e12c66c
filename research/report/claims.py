"""Statements of the paper's text, recomputed from its own tables.

The page is ``docs/reproduction/close-reading.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from research import published
from research.report.significance import two_tests

# What the paper calls PU approaches, without the two methods of its authors.
PU = ("EN_auto", "EN_scale", "PE", "KM1", "KM2", "TIcE")


def p_values(table: str, first: str, second: str) -> tuple[float, float]:
    """P-values of the rank-sum and the signed-rank test over the paper's data sets.

    Examples
    --------
    >>> [round(p, 3) for p in p_values("1", "PAT_M", "ExTIcE")]
    [0.023, 0.006]
    """
    return two_tests([*published.errors(table, [first, second]).values()])


def lower_error(table: str, first: str, second: str) -> str:
    """Data sets on which the first of two methods has the lower error, by their letters.

    Examples
    --------
    >>> lower_error("3c", "ExTIcE", "PAT_M")
    'NIB'
    """
    errors = published.errors(table, [first, second])
    return "".join(letter for letter, (one, other) in errors.items() if one < other)


def beaten_by(table: str, method: str, others: Sequence[str]) -> list[tuple[str, str]]:
    """Data sets, and which of some methods have a lower error than one there.

    Examples
    --------
    >>> beaten_by("1", "PAT_M", [*PU, "ExTIcE"])
    [('N', 'KM1'), ('N', 'ExTIcE')]
    """
    better = [(letter, other) for other in others for letter in lower_error(table, other, method)]
    return sorted(better, key=lambda pair: "NIABCHLPRW".index(pair[0]))


def time_ranks(km_on_h: float = math.inf) -> dict[str, float]:
    """Average ranks of the seconds of Experiment #4.

    Parameters
    ----------
    km_on_h : float
        Seconds to take for KM on H, where it failed; the last place by default, as in the paper's
        tables of errors.

    Examples
    --------
    >>> round(time_ranks()["PAT_M"], 1)
    2.1
    """
    seconds = {("H", "KM"): km_on_h, **published.seconds()}
    letters, columns = (list(dict.fromkeys(key[i] for key in published.seconds())) for i in (0, 1))
    table = np.array([[seconds[letter, column] for column in columns] for letter in letters])
    return dict(zip(columns, rankdata(table, axis=1).mean(axis=0).tolist(), strict=True))


def time_ratio(slow: str, fast: str) -> tuple[float, float]:
    """Smallest and largest ratio of two methods' seconds over the data sets that both have.

    Examples
    --------
    >>> low, high = time_ratio("ExTIcE", "TIcE")
    >>> round(low), round(high)
    (14, 30)
    """
    seconds = published.seconds()
    letters = [letter for letter, column in seconds if column == slow and (letter, fast) in seconds]
    ratios = [seconds[letter, slow] / seconds[letter, fast] for letter in letters]
    return min(ratios), max(ratios)


def cells_above(points: float) -> int:
    """Number of cells of the paper's tables with a larger error.

    Examples
    --------
    >>> cells_above(50)
    4
    """
    return sum(
        cell.mae > points for (_, letter, _), cell in published.tables().items() if letter != "rank"
    )


def tree_cost(n_features: int, n_rows: float) -> float:
    """Cost of TIcE by the recurrence of the paper's appendix, F(m, n) = m n + 2 F(m - 1, n / 2).

    Examples
    --------
    >>> tree_cost(3, 8)  # 3 x 8 rows, then 2 x 8, then 1 x 8
    48.0
    """
    if n_features == 0:
        return 0
    return n_features * n_rows + 2 * tree_cost(n_features - 1, n_rows / 2)
