"""RanFocE, a random forest for c estimation."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from poscount.base import constraints
from poscount.methods.pu.by_region import RegionQuantifier
from poscount.methods.pu.region_search import random_trees
from poscount.results.estimates import Estimates, single_estimate
from poscount.results.prevalence import prevalence_from_label_frequency

__all__ = ["RanFocE"]


class RanFocE(RegionQuantifier):
    r"""Random forest for c estimation: the best node of random trees, by the median over trees.

    As for `TIcE`, the labelled share of a region without negatives is c, the share of all
    positives that are labelled. Here regions are the nodes of trees that are split at random:
    a random feature among those that can leave at least

    .. math:: l = \min(1000, \lfloor 0.5 + 0.1\,n_L \rfloor)

    labelled rows on both sides, at a threshold uniform between the l-th smallest and the l-th
    largest labelled value; categories are split into a random one and all others. There is no
    correction for chance: the largest labelled share of all nodes of a tree is its estimate of c,
    the median over the trees is the final c, and
    :math:`\hat p = \min(1, (n_L / c - n_L) / n_U)`.

    Because it is the largest of many shares, c is overestimated by chance, and the prevalence is
    too low: by about 8 to 14 points on the paper's data sets, and more where it is higher.

    Degenerate samples: a sample equal to the positives, or one whose features do not vary, gives 1,
    and one far from all positives gives 0. With a single positive nothing can be split, and the
    answer is 1. With one row in the sample the answer is meaningless.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    random_state : int, RandomState, Generator or None
        Seed of the trees.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_features)
        The positives; a category is stored as its index in `categories_`.
    categories_ : list
        For each feature its sorted categories as text, or None for numbers.

    Notes
    -----
    The `details` of an answer hold `label_frequency` (the median over the trees), `trees` (the
    estimate of each tree) and `region` (the best `Region` of the tree in the middle).

    The trees are grown by code that numba compiles, if it is installed
    (``pip install "poscount[fast]"``); without it the answers are the same but take longer. Text,
    booleans and frame columns of a categorical type are split by category; a category that no
    positive has counts as one more category.

    References
    ----------
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data", appendix.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import RanFocE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> RanFocE(random_state=0).fit(positives).quantify(sample)
    Prevalence(0.237, n=1000, RanFocE)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **RegionQuantifier._parameter_constraints,
        "n_trees": [constraints.Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_trees: int = 100,
        *,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        # With fewer than five positives this would be 0, which every split satisfies.
        least = max(1, min(1000, math.floor(0.5 + 0.1 * len(positives))))
        n_codes = self._n_codes(positives, sample)
        trees = random_trees(positives, sample, n_codes, least, self.n_trees, generator)
        shares = [tree.labeled / tree.size for tree in trees]
        estimates = np.array([share.max() for share in shares])
        middle = int(np.argsort(estimates, kind="stable")[(len(trees) - 1) // 2])
        c = float(np.median(estimates))
        details = {
            "label_frequency": c,
            "trees": estimates,
            "region": self._region(trees[middle], int(shares[middle].argmax())),
        }
        value = prevalence_from_label_frequency(c, len(positives), len(sample))
        return single_estimate(value, details)
