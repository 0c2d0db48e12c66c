"""TIcE, tree induction for c estimation."""

from __future__ import annotations

import numpy as np

from poscount.methods.pu.by_region import RegionQuantifier
from poscount.results.estimates import Estimates

__all__ = ["TIcE"]


class TIcE(RegionQuantifier):
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

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the choice between ties.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_features)
        The positives; a category is stored as its index in `categories_`.
    categories_ : list
        For each feature its sorted categories as text, or None for numbers.

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

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        return self._two_passes(positives, sample, generator, exhaustive=False)
