"""ExTIcE, exhaustive tree induction for c estimation."""

from __future__ import annotations

import numpy as np

from poscount.methods.pu.by_region import RegionQuantifier
from poscount.results.estimates import Estimates

__all__ = ["ExTIcE"]


class ExTIcE(RegionQuantifier):
    r"""Exhaustive TIcE: as `TIcE`, but regions are split by every feature, not by one.

    Regions overlap and many more of them are searched, so that the best one comes closer to a
    region without any negatives. ExTIcE stays accurate where negatives look like part of the
    positives, as long as some region of the positives has no negatives.

    The search is that of `TIcE` (the same bound
    :math:`labelled / size - \sqrt{c (1-c) (1-\delta) / (\delta\;size)}`, folds and passes), with
    three differences: the two halves of *every* feature at its median are queued, regions have more
    than 30 rows, and the search ends at a region whose bound on the tree part is not positive.

    Degenerate samples: a sample equal to the positives, or one whose features do not vary, gives
    about 1. A sample far from all positives gives more than 0, by the width of the bound (0.1 for
    200 positives, 0.5 for 20). With fewer than 150 rows in all, no fold has 30 rows: nothing is
    searched, and the answer is about 1 whatever the rows are.

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
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data".

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import ExTIcE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> p = ExTIcE(random_state=0).fit(positives).quantify(sample)
    >>> p
    Prevalence(0.329, n=1000, ExTIcE)
    >>> print(p.details["region"])
    x2 <= 1.06423 and -0.0697955 < x1 <= 0.710291 (161 rows, 114 labelled)
    """

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        return self._two_passes(positives, sample, generator, exhaustive=True)
