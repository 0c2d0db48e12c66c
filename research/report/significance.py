"""Are the differences between methods larger than chance? Ranks and tests over data sets."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
import scikit_posthocs
from scipy import stats
from statsmodels.stats.multitest import multipletests

LEVEL = 0.1  # the paper's

# With this, two methods that never differ have a p-value of 1; otherwise they would have none.
_ZEROS = "zsplit"


class Ranking(NamedTuple):
    """Methods ranked on every data set, 1 for the lowest error.

    Attributes
    ----------
    ranks : DataFrame
        A row for each data set, a column for each method; ties get their mean rank.
    left_out : list of str
        Data sets and methods that are left out because of missing cells.
    """

    ranks: pd.DataFrame
    left_out: list[str]

    @property
    def average(self) -> pd.Series:
        """Average rank of each method, best first."""
        return self.ranks.mean().sort_values(kind="stable")

    @property
    def critical_difference(self) -> float:
        """Smallest difference of average ranks that is significant in Nemenyi's test at `LEVEL`."""
        n, k = self.ranks.shape
        q = stats.studentized_range.ppf(1 - LEVEL, k, math.inf) / math.sqrt(2)
        return float(q * math.sqrt(k * (k + 1) / (6 * n)))

    def friedman(self) -> tuple[float, float] | None:
        """Friedman's statistic and p-value, for three methods and two data sets or more."""
        if self.ranks.shape[0] < 2 or self.ranks.shape[1] < 3:
            return None
        statistic, p = stats.friedmanchisquare(*self.ranks.to_numpy().T)
        return float(statistic), float(p)

    def nemenyi(self) -> pd.DataFrame:
        """P-values of Nemenyi's test for every pair."""
        return scikit_posthocs.posthoc_nemenyi_friedman(self.ranks)

    def different(self) -> set[tuple[str, str]]:
        """Pairs that differ significantly in Nemenyi's test at `LEVEL`, the better one first."""
        average, limit = self.average, self.critical_difference
        pairs = combinations(average.index, 2)
        return {(one, two) for one, two in pairs if average[two] - average[one] > limit}


def rank(errors: pd.DataFrame, failed: pd.DataFrame) -> Ranking:
    """Rank methods on the data sets.

    A method that failed on a data set shares the last places there, as in the paper. A cell that
    is merely missing says nothing: the data sets or methods with the most missing cells are left
    out until none is missing.

    Parameters
    ----------
    errors : DataFrame
        A row for each data set, a column for each method; NaN for an empty cell.
    failed : DataFrame of bool
        Which of the empty cells are failures.
    """
    known = errors.where(~(errors.isna() & failed.reindex_like(errors).eq(True)), math.inf)
    left_out: list[str] = []
    while known.isna().to_numpy().any():
        rows, columns = known.isna().mean(axis=1), known.isna().mean(axis=0)
        by_row = rows.max() >= columns.max()
        worst = rows.idxmax() if by_row else columns.idxmax()
        known = known.drop(index=worst) if by_row else known.drop(columns=worst)
        left_out.append(str(worst))
    ranks = stats.rankdata(known.to_numpy(), axis=1) if known.size else known.to_numpy()
    return Ranking(pd.DataFrame(ranks, known.index, known.columns), left_out)


def against(errors: pd.DataFrame, method: str, family: list[str]) -> pd.DataFrame:
    """Test one method against each other one: signed ranks of the errors, paired by data set.

    Parameters
    ----------
    errors : DataFrame
        A row for each data set, a column for each method, without empty cells.
    method : str
    family : list of str
        The methods whose p-values are corrected together, by Holm.

    Returns
    -------
    DataFrame
        A row for each other method: on how many data sets `method` is `better`, `p`, and `holm`,
        the corrected p of the family, NaN for others.
    """
    others = [other for other in errors.columns if other != method]
    rows = {other: errors[[method, other]].to_numpy().tolist() for other in others}
    better = [sum(one < two for one, two in pairs) for pairs in rows.values()]
    p = pd.Series([two_tests(pairs)[1] for pairs in rows.values()], others, dtype=float)
    corrected = p[p.index.isin(family)].dropna()
    if len(corrected):
        corrected[:] = multipletests(corrected, method="holm")[1]
    return pd.DataFrame({"better": better, "p": p, "holm": corrected.reindex(others)}, others)


def two_tests(pairs: list[list[float]]) -> tuple[float, float]:
    """P-values of Wilcoxon's rank-sum and signed-rank tests, uncorrected; NaN for a single pair.

    Parameters
    ----------
    pairs : list of list of float
        Errors of two methods on each data set.
    """
    if len(pairs) < 2:
        return math.nan, math.nan
    first, second = np.array(pairs).T
    signed = stats.wilcoxon(first, second, zero_method=_ZEROS)
    return float(stats.ranksums(first, second).pvalue), float(signed.pvalue)
