"""TIcE, tree induction for c estimation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from poscount.methods.pu.tice_kernel import MAX_POPS
from poscount.methods.pu.tice_search import N_FOLDS, Search, SearchTable, arrange, searcher
from poscount.methods.pu.tree_search import Nodes, Region, TreeQuantifier
from poscount.results.estimates import Estimates, single_estimate
from poscount.results.prevalence import prevalence_from_label_frequency

__all__ = ["TIcE"]

# Scores closer than this are tied, and a random number below it decides.
TIE = 1e-12


class TIcE(TreeQuantifier):
    r"""Tree induction for c estimation: the region where the largest share of rows is labelled.

    Of the positives a share c is labelled, in every region. In a region without negatives the
    labelled share of all rows is therefore c, and in any other region it is smaller: the largest
    share of any region is c. To allow for chance, a lower bound (Chebyshev's) is maximised,

    .. math:: \frac{labelled}{size} -
              \sqrt{\frac{c\,(1 - c)\,(1 - \delta)}{\delta\;size}},
              \qquad \delta = \max\left(0.025, \frac{1}{1 + 0.004\,n}\right).

    All rows are shuffled into five folds. One fold, the tree part, is searched: the region with
    the best bound is split at the median of the one feature whose better half has the largest
    labelled / (5 + size), or into the categories of a feature, and so on, up to 500 regions.
    The bounds themselves come from the other four folds (n rows), and the best bound is averaged
    over the five folds. All this is done twice, first with c = 1/2 and then with the c found.
    Regions with at most min(1000, a tenth of the tree part) rows are not split off. Finally
    :math:`\hat p = \min(1, (n_L / c - n_L) / n_U)`.

    The bound is low where rows are few, and so the prevalence is biased upwards, by 8 to 20
    points on the paper's data sets. `ExTIcE` searches further and is biased less.

    Degenerate samples: if the features do not vary, the answer is 1. A sample equal to the
    positives gives about 1 (0.83 for 20 positives: with fewer rows and more features, the best
    region is more a matter of chance, which lowers the answer). A sample far from all positives
    gives more than 0, by the width of the bound (0.01 for 200 positives, 0.14 for 20). With one row
    in the sample, or a single positive, the answer is meaningless.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        Seed of the folds, and of the choice between ties.

    See Also
    --------
    poscount.ExTIcE : Looks at all features.
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    The `details` of an answer hold `label_frequency` (c before the prevalence is capped at 1),
    `bounds` (the best bound of each fold), `regions` (the `Region` behind each, with its size in
    the estimation part) and `region` (the one with the highest bound).

    The search is compiled by numba if it is installed (``pip install "poscount[fast]"``), which
    takes about two seconds once and half a second in each later process; without numba the answers
    are the same but take much longer. Text, booleans and frame columns of a categorical type are
    split into their categories; a category that no positive has counts as one more category.

    References
    ----------
    J. Bekker, J. Davis, "Estimating the Class Prior in Positive and Unlabeled Data through
    Decision Tree Induction", AAAI 2018; with splits at the median as in D. dos Reis, M. de Souto,
    E. de Sousa, G. Batista, "Quantifying With Only Positive Training Data".

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import TIcE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> p = TIcE(random_state=0).fit(positives).quantify(sample)
    >>> p
    Prevalence(0.354, n=1000, TIcE)
    >>> print(p.details["region"])
    x0 <= 0.992473 and -0.0291494 < x1 (299 rows, 198 labelled)
    """

    _exhaustive: ClassVar[bool] = False

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        table = arrange(positives, sample, self._n_codes(positives, sample), generator)
        n_draws = MAX_POPS * int(table.offsets[-1])
        # One array of random numbers, in which each search starts at another place.
        noise = generator.random(2 * n_draws)
        noise *= TIE
        search = searcher(table)
        c = 0.5
        for _ in range(2):
            found = [
                self._best_region(table, fold, c, noise, int(generator.integers(n_draws)), search)
                for fold in range(N_FOLDS)
            ]
            bounds = np.array([bound for bound, _ in found])
            c = float(np.mean(bounds))
        regions = [region for _, region in found]
        details = {
            "label_frequency": c,
            "bounds": bounds,
            "regions": regions,
            "region": regions[int(np.argmax(bounds))],
        }
        value = prevalence_from_label_frequency(c, len(positives), len(sample))
        return single_estimate(value, details)

    def _best_region(
        self,
        table: SearchTable,
        fold: int,
        c: float,
        noise: np.ndarray,
        shift: int,
        search: Callable[[Search], Nodes],
    ) -> tuple[float, Region]:
        """Best bound of the regions found in one fold, and its region."""
        start, stop = table.starts[fold], table.starts[fold + 1]
        n_tree = int(stop - start)
        n_estimate = len(table.labeled) - n_tree
        labeled = int(table.labeled.sum() - table.labeled[start:stop].sum())
        delta = max(0.025, 1 / (1 + 0.004 * n_estimate))
        variance = c * (1 - c) * (1 - delta) / delta
        limit = min(1000, math.floor(0.5 + 0.1 * min(n_tree, n_estimate)))
        if self._exhaustive:
            limit = max(30, limit)
        whole = labeled / n_estimate, Region(n_estimate, labeled)
        if min(n_tree, n_estimate) < max(1, limit):
            return whole
        nodes = search(Search(table, fold, variance, limit, self._exhaustive, noise, shift))
        if not len(nodes.size):
            return whole
        bounds = nodes.labeled / nodes.size - np.sqrt(variance / nodes.size)
        best = int(bounds.argmax())
        if bounds[best] <= whole[0]:
            return whole
        return float(bounds[best]), self._region(nodes, best)
