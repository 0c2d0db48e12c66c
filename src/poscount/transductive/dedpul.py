"""DEDPUL, the ratio of the two densities of a classifier's scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter
from scipy.special import logit
from sklearn.base import BaseEstimator

from poscount import constraints
from poscount.base import TransductiveQuantifier
from poscount.prevalence import Estimate
from poscount.transductive.classifier_scores import out_of_fold_scores

__all__ = ["DEDPUL"]

# Probabilities of exactly 0 and 1, which trees give, must have a finite logit.
SMALLEST_PROBABILITY = 1e-6
BANDWIDTH = 0.1
GRID_STEPS_PER_BANDWIDTH = 6
KERNEL_RADIUS = 8
START_QUANTILE = 0.1
SMOOTHED_SHARE = 0.05
SLACK = 0.1


class DEDPUL(TransductiveQuantifier):
    r"""Difference of estimated densities: how much of the sample's scores the positives explain.

    A classifier of labelled against unlabeled rows scores every row out-of-fold (three folds).
    With densities :math:`f_L` and :math:`f_U` of the logit of the score,
    :math:`r = f_L / f_U` at each row of the sample, and prevalence :math:`\alpha`, a row is
    positive with probability :math:`\alpha r`. The mean of it over the sample is
    :math:`\alpha` as long as no probability exceeds 1; beyond, the mean falls behind. The answer
    is the largest :math:`\alpha` that still keeps up,

    .. math:: \hat p = \max\left\{\alpha \in [0, 1] :
              \alpha - \frac{1}{n_U} \sum_{x \in U} \min(\alpha r(x), 1)
              \le 0.1 \sqrt{\frac{\alpha^2}{n_L} + \frac{\alpha}{n_U}} \right\}.

    The right side is the slack: a tenth of the standard error that :math:`\alpha` has anyway
    from the finite number of positives and of rows. Without it a single row whose ratio came out
    too large would decide. Between 0.01 and 0.2 standard errors the mean error stays within 0.05
    points.

    The densities are Gaussian kernel estimates with the same bandwidth, a tenth of the standard
    deviation of the positives' logits: with one kernel for both, the smoothed densities are still
    a mixture with the same prevalence. The ratio is made monotone in the score, outwards from the
    tenth percentile of the positives' scores (running maximum above, running minimum below, where
    positives are too rare to trust an increase), and smoothed by a running median over a
    twentieth of the sample.

    Parameters
    ----------
    classifier : estimator, optional
        Any classifier with `predict_proba`, calibrated or not. Logistic regression on
        standardised features if None.
    bootstrap : int, optional
        Number of replicates, on halves of the rows, for an interval; none if None.
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Processes for the replicates. The answer does not depend on it.
    verbose : int, default=0
        Progress of the replicates.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of an unseeded classifier and of the replicates.

    Attributes
    ----------
    positives_ : ndarray
        The positives, kept.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    `details` holds `scores`, the out-of-fold scores of the sample in ascending order, `ratio`,
    the smoothed ratio r at each of them, and `bandwidth`, on the logit scale.

    Degenerate samples: scores that are all equal (constant features, duplicates of one row) and a
    sample of a single row cannot speak against any row being positive: the answer is 1. A sample
    that does not overlap with the positives gives about 0, a sample equal to the positives about
    1, less some noise.

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

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **TransductiveQuantifier._parameter_constraints,
        "classifier": [constraints.HasMethods(["fit"]), None],
    }

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        *,
        bootstrap: int | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimate:
        scores, sample_scores = out_of_fold_scores(self.classifier, positives, sample, generator)
        sample_scores = np.sort(sample_scores)
        labeled, unlabeled = _logit(scores), _logit(sample_scores)
        bandwidth = BANDWIDTH * float(labeled.std())
        if bandwidth < 1e-9 or len(sample) == 1:
            # No density to speak of: all that remains is which rows score like positives.
            alike = unlabeled >= labeled.min()
            ratio = alike / max(alike.mean(), 1 / len(alike))
        else:
            ratio = density_ratio(labeled, unlabeled, bandwidth)
            ratio = smoothed(ratio, int(np.searchsorted(unlabeled, _start(labeled))))
        value = largest_consistent(ratio, len(positives))
        details = {"scores": sample_scores, "ratio": ratio, "bandwidth": bandwidth}
        return Estimate(value, details)


def _logit(scores: np.ndarray) -> np.ndarray:
    return logit(np.clip(scores, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))


def _start(labeled: np.ndarray) -> float:
    return float(np.quantile(labeled, START_QUANTILE))


def density_ratio(labeled: np.ndarray, unlabeled: np.ndarray, bandwidth: float) -> np.ndarray:
    """Kernel density of `labeled` over that of `unlabeled`, at each value of `unlabeled`.

    The values are dealt linearly onto a grid and the grid is smoothed, which takes time for the
    rows and for the grid, not for their product.
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
    # The grid needs no margin: what leaves it is not asked for.
    return gaussian_filter1d(
        mass / len(positions), GRID_STEPS_PER_BANDWIDTH, mode="constant", truncate=KERNEL_RADIUS
    )


def smoothed(ratio: np.ndarray, start: int) -> np.ndarray:
    """Make a ratio, ordered by score, monotone outwards from `start`, then take running medians."""
    upwards = np.maximum.accumulate(ratio[start:])
    downwards = np.minimum.accumulate(ratio[:start][::-1])[::-1]
    width = 2 * int(SMOOTHED_SHARE * len(ratio) / 2) + 1
    return median_filter(np.concatenate([downwards, upwards]), width, mode="nearest")


def largest_consistent(ratio: np.ndarray, n_labeled: int) -> float:
    """Largest prevalence whose mean posterior still equals it, up to the slack.

    The slack minus the shortfall is concave in the prevalence, zero at 0 and positive just above,
    so that it changes its sign once.
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
