r"""Rows that come in clusters: the interval of the share in the population behind them.

Rows of one patient or trap are alike, so that the share of positives in the sample is further from
that in the population than as many independent rows would be. Let p be the estimated share, and
:math:`V` the variance that the clusters give it. The sample is then worth

.. math:: n_{eff} = p (1 - p) / V

independent rows (Kish 1965): at most as many as there are, and at least
:math:`(\sum_k m_k)^2 / \sum_k m_k^2`, as if all rows of a cluster, of which it has :math:`m_k`,
were of one class. What that leaves open is the beta distribution of
:math:`p n_{eff} + \frac12` positives and :math:`(1 - p) n_{eff} + \frac12` negatives, with
:math:`n_{eff}` times :math:`(z / t)^2` because V is an estimate with one degree of freedom less
than there are clusters (Korn and Graubard 1998). It is independent of what the method does not know
about the rows themselves, so the squares of both distances from p add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from poscount.counts.counts import GroupedCounts
from poscount.errors import InputError
from poscount.results.distribution import LEVELS, Distribution
from poscount.results.prevalence import Prevalence

# Differences between fewer say too little about all others.
FEWEST_CLUSTERS = 10
# The last bits of a sum depend on the order of the clusters.
_DIGITS = 6
_UPPER = 0.975


class ClusterSizes(NamedTuple):
    """How many rows clusters have, or their weight.

    Attributes
    ----------
    sizes : ndarray of shape (n_clusters,)
    squares : float
        Sum of the squared weights of all rows; without weights, the number of rows.
    """

    sizes: np.ndarray
    squares: float

    @classmethod
    def of_counts(cls, counts: GroupedCounts, number: np.ndarray) -> ClusterSizes:
        """Sizes from counts, of which each line has the number of its cluster."""
        if counts.weights is None:
            return cls(np.bincount(number, counts.n), float(counts.n.sum()))
        return cls(
            np.bincount(number, [sums.weight for sums in counts.weights]),
            sum(sums.weight if sums.whole else sums.squares for sums in counts.weights),
        )


def with_cluster(by: Sequence[str], cluster: str | None) -> list[str]:
    """Grouping columns and that of the clusters, if there is one, which cannot be one of them."""
    if cluster in by:
        raise InputError(
            "rows are grouped by their clusters, so that each group would be a single one: group "
            "by something else, or leave the clusters out.",
            column=cluster,
        )
    return [*by, *([] if cluster is None else [cluster])]


def cluster_numbers(counts: GroupedCounts, cluster: str | None) -> np.ndarray:
    """Number of the cluster of each line of some counts, which have a column that names it."""
    if cluster is None or cluster not in counts.by:
        raise InputError(
            f"These counts are of groups by {', '.join(counts.by)}: name the one of them that is "
            "the column of the clusters, or estimate each group.",
            option="cluster",
        )
    clusters = counts.lines_by([cluster])
    if (None,) in clusters:
        raise InputError("the cluster of some rows is missing: fill it in.", column=cluster)
    number = np.empty(len(counts), np.intp)
    for i, lines in enumerate(clusters.values()):
        number[lines] = i
    return number


def require_clusters(n: int, where: str = "") -> None:
    """Refuse clusters that are too few to say how much others differ."""
    if n < FEWEST_CLUSTERS:
        raise InputError(
            f"There are {n} clusters{where}, and how much clusters differ can be told from "
            f"{FEWEST_CLUSTERS} or more: leave the clusters out for the interval of these rows "
            "alone.",
            option="cluster",
            leave_out=True,
        )


def between_clusters(residuals: np.ndarray) -> float:
    """Variance of the sum of clusters' totals, from what these differ from what is expected."""
    n = len(residuals)
    return float(residuals @ residuals) * n / (n - 1)


def variance_by_core(
    in_core: np.ndarray, clusters: ClusterSizes, p: float, core_share: float
) -> float:
    r"""Variance that clusters give the share of positives, from their rows in a core.

    The core has a share a of the positives, a share b of the negatives, and so a share
    :math:`r = p a + (1 - p) b` of all rows; r moves by a - b as p moves by 1. Of the variance of r
    that clusters show, what independent rows of known classes would have is left out, because the
    method's own interval has it.

    Parameters
    ----------
    in_core : ndarray of shape (n_clusters,)
        Rows of each cluster in the core, or their weight.
    clusters : ClusterSizes
    p : float
        The estimated share.
    core_share : float
        a.

    Examples
    --------
    >>> clusters = ClusterSizes(np.full(20, 10.0), 200.0)
    >>> alike = np.repeat([10.0, 0.0], 10)  # all rows of a cluster are of one class
    >>> round(variance_by_core(alike, clusters, 0.5, 1.0), 4)  # 0.5 * 0.5 / 19
    0.0132
    >>> variance_by_core(np.full(20, 5.0), clusters, 0.5, 1.0)
    0.0
    """
    n = float(clusters.sizes.sum())
    r = float(in_core.sum()) / n
    if r == 0:
        # Nothing is known of differences: the rows of a cluster may be of one class.
        return np.inf
    false = min(max((r - p * core_share) / (1 - p), 0.0), 1.0) if p < 1 else 1.0
    slope = core_share - false
    if slope <= 0:
        return np.inf
    of_rows = p * core_share * (1 - core_share) + (1 - p) * false * (1 - false)
    found = between_clusters(in_core - r * clusters.sizes) - of_rows * clusters.squares
    return max(found, 0.0) / (n * slope) ** 2


def variance_by_labels(
    stands_for: np.ndarray, weight: np.ndarray, positive: np.ndarray, number: np.ndarray
) -> float:
    """Variance that clusters give the share of positives, from labels of some of their rows.

    What choosing these rows adds is left out, because the interval of the labels has it.

    Parameters
    ----------
    stands_for : ndarray of shape (n_labels,)
        Weight of the rows that each label stands for: that of its row over its chance.
    weight : ndarray of shape (n_labels,)
        Of the rows themselves; 1 without weights.
    positive : ndarray of bool, shape (n_labels,)
    number : ndarray of int, shape (n_labels,)
        The cluster of each.

    Examples
    --------
    >>> number, ones = np.repeat(np.arange(20), 3), np.ones(60)
    >>> round(variance_by_labels(ones, ones, number < 10, number), 4)  # 0.5 * 0.5 / 19
    0.0132
    """
    share = float(np.average(positive, weights=stands_for))
    if share in (0, 1):
        return np.inf
    away = positive - share
    found = between_clusters(np.bincount(number, stands_for * away))
    found -= float(np.sum(stands_for * (stands_for - weight) * away**2))
    return max(found, 0.0) / float(stands_for.sum()) ** 2


def for_population(
    answer: Prevalence, variance: float, clusters: ClusterSizes, freedom: int
) -> Prevalence:
    """An answer for the rows of a sample as one for the population that its clusters are from.

    Parameters
    ----------
    answer : Prevalence
    variance : float
        Of its share, by the clusters.
    clusters : ClusterSizes
    freedom : int
        Degrees of freedom of the variance.
    """
    assert answer.distribution is not None  # methods that count always have one
    p, total = float(answer), clusters.sizes.sum()
    least, most = total**2 / np.sum(clusters.sizes**2), total**2 / clusters.squares
    worth = p * (1 - p) / variance if variance > 0 else most
    worth = float(f"{min(max(worth, least), most):.{_DIGITS}g}")
    n = worth * float(ndtri(_UPPER) / stdtrit(freedom, _UPPER)) ** 2
    drawn = betaincinv(p * n + 0.5, (1 - p) * n + 0.5, LEVELS) - p
    own = answer.distribution.quantiles - p
    below, above = (np.hypot(side(own, 0), side(drawn, 0)) for side in (np.minimum, np.maximum))
    return answer.replace(
        distribution=Distribution(np.clip(p - below + above, 0, 1)),
        details={
            **answer.details,
            "clusters": len(clusters.sizes),
            "rows_worth": worth,
        },
    )


def design_effect(counts: GroupedCounts, cluster: str, in_core: np.ndarray) -> float:
    """How many times as much groups vary as ones of independent rows would, by their clusters.

    One number for all groups, of which each may have few clusters.

    Parameters
    ----------
    counts : GroupedCounts
        By the groups, and by the clusters in each.
    cluster : str
        The column of the clusters.
    in_core : ndarray of shape (n_lines,)
        Rows of each line of the counts in the core, or their weight.
    """
    cluster_numbers(counts, cluster)
    clusters = ClusterSizes.of_counts(counts, np.arange(len(counts)))
    groups = counts.lines_by([name for name in counts.by if name != cluster])
    require_clusters(len(counts) - len(groups) + 1)
    found = independent = 0.0
    for lines in groups.values():
        sizes, inside = clusters.sizes[lines], in_core[lines]
        r = inside.sum() / sizes.sum()
        if len(lines) > 1:
            found += between_clusters(inside - r * sizes)
            independent += sizes.sum() * r * (1 - r)
    independent *= clusters.squares / clusters.sizes.sum()
    most = float(np.sum(clusters.sizes**2) / clusters.squares)
    return float(f"{min(max(found / max(independent, 1e-300), 1.0), most):.{_DIGITS}g}")
