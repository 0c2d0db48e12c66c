"""Are the differences between methods larger than chance? Ranks and tests over data sets."""

from __future__ import annotations

import itertools
import math
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


def wilcoxon_over_datasets(errors: pd.DataFrame) -> pd.DataFrame | None:
    """P-values of the signed-rank test over data sets for every pair, with Holm's correction.

    Parameters
    ----------
    errors : DataFrame
        A row for each data set, a column for each method, without empty cells.
    """
    if len(errors) < 2 or errors.shape[1] < 2:
        return None
    values = list(errors.to_numpy().T)
    p = scikit_posthocs.posthoc_wilcoxon(values, zero_method=_ZEROS, p_adjust="holm")
    return pd.DataFrame(p.to_numpy(), errors.columns, errors.columns)


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


def wilcoxon_over_folds(evaluations: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """P-values of the signed-rank test over folds, with Holm's correction, and numbers of pairs.

    An observation is the mean absolute error of one fold of one repetition over all prevalences.
    Each pair of methods is compared on the folds that both have.

    Parameters
    ----------
    evaluations : DataFrame
        Rows of one experiment.
    """
    keys = ["dataset", "negative", "repetition", "fold"]
    groups = evaluations.groupby([*keys, "method"], sort=True)["error"]
    means, n = groups.mean(), groups.count()
    observations = means.where(n == n.max()).unstack("method")
    names, values = observations.columns, observations.to_numpy()
    p, shared = np.eye(len(names)), np.zeros((len(names), len(names)), dtype=int)
    pairs = []
    for i, j in itertools.combinations(range(len(names)), 2):
        differences = values[:, i] - values[:, j]
        differences = differences[~np.isnan(differences)]
        shared[i, j] = shared[j, i] = len(differences)
        if len(differences) > 1:
            pairs.append((i, j, stats.wilcoxon(differences, zero_method=_ZEROS).pvalue))
        else:
            p[i, j] = p[j, i] = math.nan
    if pairs:
        first, second, raw = zip(*pairs, strict=True)
        p[first, second] = p[second, first] = multipletests(raw, method="holm")[1]
    return pd.DataFrame(p, names, names), pd.DataFrame(shared, names, names)
