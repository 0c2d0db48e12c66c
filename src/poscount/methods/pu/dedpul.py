"""DEDPUL, the ratio of the two densities of a classifier's scores."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter
from scipy.special import logit

from poscount.methods.pu.transductive_quantifier import ClassifierQuantifier, out_of_fold_scores
from poscount.results.estimates import Estimates, single_estimate

__all__ = ["DEDPUL"]

# Trees give probabilities of exactly 0 and 1, which must have a finite logit.
SMALLEST_PROBABILITY = 1e-6
BANDWIDTH = 0.1
# A smaller one would need a grid of millions of points.
SMALLEST_BANDWIDTH = 1e-5
GRID_STEPS_PER_BANDWIDTH = 6
KERNEL_RADIUS = 8
START_QUANTILE = 0.1
SMOOTHED_SHARE = 0.05
SLACK = 0.1


class DEDPUL(ClassifierQuantifier):
    r"""Difference of estimated densities: how much of the sample's scores the positives explain.

    A classifier of labelled against unlabeled rows scores every row out-of-fold (three folds).
    With densities :math:`f_L` and :math:`f_U` of the logit of the score,
    :math:`r = f_L / f_U` at each row of the sample, and prevalence :math:`\alpha`, a row is
    positive with probability :math:`\alpha r`. The mean of these probabilities over the sample is
    :math:`\alpha` as long as none exceeds 1; for larger :math:`\alpha` the mean is smaller than
    :math:`\alpha`. The answer is the largest :math:`\alpha` that the mean still equals,

    .. math:: \hat p = \max\left\{\alpha \in [0, 1] :
              \alpha - \frac{1}{n_U} \sum_{x \in U} \min(\alpha r(x), 1)
              \le 0.1 \sqrt{\frac{\alpha^2}{n_L} + \frac{\alpha}{n_U}} \right\}.

    The right side is the slack: a tenth of the standard error that :math:`\alpha` has in any case,
    because the numbers of positives and of rows are finite. Without it, a single row whose ratio is
    too large by chance would decide. With a slack from 0.01 to 0.2 standard errors, the mean error
    stays within 0.05 points.

    The densities are Gaussian kernel estimates with the same bandwidth, a tenth of the standard
    deviation of the positives' logits: with one kernel for both, the smoothed densities are still
    a mixture with the same prevalence. The ratio is made monotone in the score, starting at the
    tenth percentile of the positives' scores: above it by a running maximum, and below it, where
    positives are too rare to trust an increase, by a running minimum. It is then smoothed by a
    running median over a twentieth of the sample.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    classifier : estimator, optional
        Any classifier with `predict_proba`; it need not be calibrated. Logistic regression on
        standardised features if None.
    random_state : int, RandomState, Generator or None
        Seed of the folds, and of an unseeded classifier.

    See Also
    --------
    poscount.BBE : Looks at the top of the scores.
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    `details` holds `scores`, the out-of-fold scores of the sample in ascending order, `ratio`,
    the smoothed ratio r at each of them, and `bandwidth`, on the logit scale.

    Degenerate samples: if all scores are equal (constant features, duplicates of one row), or the
    sample has a single row, nothing suggests that any row is negative, and the answer is 1. A
    sample that does not overlap with the positives gives about 0, and a sample equal to the
    positives somewhat less than 1.

    References
    ----------
    D. Ivanov, "DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning",
    ICMLA 2020. D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive
    Training Data", for the problem and the experiments.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import DEDPUL
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> DEDPUL(random_state=0).fit(positives).quantify(sample)
    Prevalence(0.297, n=1000, DEDPUL)
    """

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        scores = out_of_fold_scores(self.classifier, positives, sample, generator)
        return estimate_from_scores(*scores)


def estimate_from_scores(scores: np.ndarray, sample_scores: np.ndarray) -> Estimates:
    """Estimate the prevalence from the scores of the positives and of the sample."""
    sample_scores = np.sort(sample_scores)
    labeled, unlabeled = _logit(scores), _logit(sample_scores)
    bandwidth = BANDWIDTH * float(labeled.std())
    if bandwidth < SMALLEST_BANDWIDTH or len(sample_scores) == 1:
        # There is no density to estimate, only rows that score like positives or do not.
        alike = unlabeled >= labeled.min()
        ratio = alike / max(alike.mean(), 1 / len(alike))
    else:
        ratio = density_ratio(labeled, unlabeled, bandwidth)
        ratio = smoothed(ratio, int(np.searchsorted(unlabeled, _start(labeled))))
    value = largest_consistent(ratio, len(scores))
    details = {"scores": sample_scores, "ratio": ratio, "bandwidth": bandwidth}
    return single_estimate(value, details)


def _logit(scores: np.ndarray) -> np.ndarray:
    return logit(np.clip(scores, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))


def _start(labeled: np.ndarray) -> float:
    return float(np.quantile(labeled, START_QUANTILE))


def density_ratio(labeled: np.ndarray, unlabeled: np.ndarray, bandwidth: float) -> np.ndarray:
    """Kernel density of `labeled` over that of `unlabeled`, at each value of `unlabeled`.

    The values are distributed linearly over a grid and the grid is smoothed, so that the time grows
    with the rows plus the grid, not with their product.
    """
    step = bandwidth / GRID_STEPS_PER_BANDWIDTH
    origin = min(labeled.min(), unlabeled.min()) - step
    n_points = int((max(labeled.max(), unlabeled.max()) - origin) / step) + 3
    grid = origin + step * np.arange(n_points)
    of_labeled, of_unlabeled = (
        np.interp(unlabeled, grid, _binned_density((x - origin) / step, n_points))
        for x in (labeled, unlabeled)
    )
    return of_labeled / of_unlabeled


def _binned_density(positions: np.ndarray, n_points: int) -> np.ndarray:
    left = positions.astype(np.int64)
    to_right = positions - left
    mass = np.bincount(left, 1 - to_right, n_points) + np.bincount(left + 1, to_right, n_points)
    # The grid needs no margin: values beyond it are not used.
    return gaussian_filter1d(
        mass / len(positions), GRID_STEPS_PER_BANDWIDTH, mode="constant", truncate=KERNEL_RADIUS
    )


def smoothed(ratio: np.ndarray, start: int) -> np.ndarray:
    """Make a ratio, ordered by score, monotone on both sides of `start`; then smooth it."""
    upwards = np.maximum.accumulate(ratio[start:])
    downwards = np.minimum.accumulate(ratio[:start][::-1])[::-1]
    width = 2 * int(SMOOTHED_SHARE * len(ratio) / 2) + 1
    return median_filter(np.concatenate([downwards, upwards]), width, mode="nearest")


def largest_consistent(ratio: np.ndarray, n_labeled: int) -> float:
    """Largest prevalence that the mean posterior still equals, up to the slack.

    The slack minus the shortfall is concave in the prevalence, zero at 0 and positive just above
    it, so that its sign changes only once.
    """
    n_unlabeled = len(ratio)

    def keeps_up(p: float) -> bool:
        shortfall = p - np.minimum(p * ratio, 1).mean()
        return bool(shortfall <= SLACK * np.sqrt(p**2 / n_labeled + p / n_unlabeled))

    if keeps_up(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps_up(middle) else (low, middle)
    return low
