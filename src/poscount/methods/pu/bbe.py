"""BBE, the best bin of a classifier's scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.methods.pu.transductive_quantifier import ClassifierQuantifier, out_of_fold_scores
from poscount.results.estimates import Estimates, single_estimate

__all__ = ["BBE"]

DELTA = 0.1
GAMMA = 0.01


class BBE(ClassifierQuantifier):
    r"""Best bin estimation: the top of a classifier's scores, where only positives should be.

    A classifier of labelled against unlabeled rows scores every row out-of-fold (three folds).
    With :math:`q_L(z)` and :math:`q_U(z)` the shares of the positives and of the sample that
    score at least z, the prevalence is at most :math:`q_U(z) / q_L(z)` for every z, up to noise.
    The bin is the z with the smallest upper confidence bound,

    .. math:: \hat z = \arg\min_z \frac{q_U(z)}{q_L(z)} + \frac{1 + \gamma}{q_L(z)} \left(
              \sqrt{\frac{\log(4 / \delta)}{2 n_U}} + \sqrt{\frac{\log(4 / \delta)}{2 n_L}}
              \right), \qquad \hat p = \frac{q_U(\hat z)}{q_L(\hat z)}

    with :math:`\delta = 0.1` and :math:`\gamma = 0.01`. The answer never exceeds 1: the bin of all
    positives has a ratio of at most 1, and a smaller bin must have a smaller ratio to be better.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    classifier : estimator, optional
        Any classifier with `predict_proba`. It need not be calibrated, because only the order of
        its scores matters. Logistic regression on standardised features if None.
    random_state : int, RandomState, Generator or None
        Seed of the folds, and of an unseeded classifier.

    See Also
    --------
    poscount.DEDPUL : Looks at all scores.
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    `details` holds the best bin: `threshold` z, `share_labeled` and `share_unlabeled` (the two
    shares above), and `bound`, the upper confidence bound that was minimised.

    Degenerate samples: if all scores are equal (constant features, duplicates of one row), or the
    sample has a single row, nothing suggests that any row is negative, and the answer is 1. A
    sample that does not overlap with the positives gives 0. A sample equal to the positives gives
    somewhat less than 1, because the smallest of many noisy ratios is chosen.

    References
    ----------
    S. Garg, Y. Wu, A. Smola, S. Balakrishnan, Z. Lipton, "Mixture proportion estimation and PU
    learning: a modern approach", NeurIPS 2021. D. dos Reis, M. de Souto, E. de Sousa, G. Batista,
    "Quantifying With Only Positive Training Data", for the problem and the experiments.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import BBE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> BBE(random_state=0).fit(positives).quantify(sample)
    Prevalence(0.297, n=1000, BBE)
    """

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        best = best_bin(*out_of_fold_scores(self.classifier, positives, sample, generator))
        return single_estimate(best.ratio, best._asdict())


class Bin(NamedTuple):
    """The rows that score at least `threshold`."""

    threshold: float
    share_labeled: float
    share_unlabeled: float
    bound: float

    @property
    def ratio(self) -> float:
        """The estimated prevalence."""
        return self.share_unlabeled / self.share_labeled


def best_bin(labeled: np.ndarray, unlabeled: np.ndarray) -> Bin:
    """Bin with the smallest upper confidence bound on the ratio of its shares.

    Only scores of labelled rows can be thresholds: between two of them, a lower threshold adds
    nothing but unlabeled rows. Of equal bounds the lowest threshold is taken, because its bin has
    more rows.
    """
    thresholds = np.unique(labeled)
    share_labeled = _share_at_least(thresholds, labeled)
    share_unlabeled = _share_at_least(thresholds, unlabeled)
    noise = np.sqrt(np.log(4 / DELTA) / 2) * (len(labeled) ** -0.5 + len(unlabeled) ** -0.5)
    bounds = (share_unlabeled + (1 + GAMMA) * noise) / share_labeled
    i = int(np.argmin(bounds))
    return Bin(*(float(x[i]) for x in (thresholds, share_labeled, share_unlabeled, bounds)))


def _share_at_least(thresholds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return (len(scores) - below) / len(scores)
