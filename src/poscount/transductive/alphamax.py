"""AlphaMax: the prevalence at which the likelihood of positives plus a remainder starts to fall."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions

from poscount.base import TransductiveQuantifier
from poscount.transductive.classifier_scores import out_of_fold_scores

GRID = np.linspace(0.01, 0.99, 99)
MAX_BINS = 100
N_BOOTSTRAPS = 200
# Of the exact search below: a fall smaller than this is none.
ROUNDING = 1e-9


class AlphaMax(TransductiveQuantifier):
    r"""AlphaMax: how far the positives can be scaled up before the likelihood falls.

    The rows become one-dimensional: the score of each is the out-of-fold probability, by a
    classifier of L against U, that it is labelled, turned into what it would be if L and U were
    equally large. The scores are put into bins of equal width. With shares :math:`l_i` of L and
    :math:`v_i` of U in bin i, and for every prevalence r = 0.01, 0.02, ..., 0.99, each bin of U is
    split into a positive part :math:`w_i v_i` and a remainder such that

    .. math:: ll(r) = \max_{w \in [0, 1]^k,\ \sum w_i v_i = r}
              \sum_i v_i \log\frac{r l_i + (1 - w_i) v_i}{\delta} +
              \sum_i l_i \log\frac{w_i v_i}{r \delta}

    with the bin width :math:`\delta`. As long as the positives fit under the sample, ll(r) is as
    large as it can be at all; then it falls, and the answer is where the fall starts (the knee).

    By default that is where the fall exceeds a tolerance: the lower quartile, over 200 pairs of
    resamples of L of the sizes of L and U, of the fall at r = 1. A sample of nothing but positives
    falls by so much by chance. (The lower quartile, because in a mixture fewer bins are full of
    positives, so that chance has less to play with; it was settled on simulated mixtures and two
    data sets outside the paper's tables.) The answer is interpolated between the r on both sides;
    it is 0 if even r = 0.01 falls too far, and 1 if not even r = 0.99 does.

    AlphaMax overestimates where negatives score like the most typical positives.

    Parameters
    ----------
    classifier : estimator, optional
        Any scikit-learn classifier with `predict_proba`; logistic regression on standardised
        features if None.
    knee : {"bootstrap", "published"}, default="bootstrap"
        "published" finds the knee as the method's authors did: the curve is smoothed by a running
        median of 5 and made non-increasing, and of all r the one is taken with the largest change
        of slope between the line fits through the 10 points before and after it, relative to how
        far the curve has already fallen (plus a hundredth of its whole fall). It is meant to be
        watched by a human: unattended, it often takes a ripple for the knee, and the mean error on
        the paper's Experiment #1 is several times larger.
    bootstrap : int, optional
        Number of resamples for an interval; none by default.
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Processes for the resamples.
    verbose : int, default=0
        Progress of the resamples.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of an unseeded classifier and of the tolerance.

    Attributes
    ----------
    positives_ : ndarray
        The positives.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    The `details` of an answer hold `grid` (the r), `curve` (their log-likelihoods), `knee` (the
    last r of the grid before the fall), `tolerance` (None for the published rule), `n_bins` and
    `bin_width`. The width is Scott's, 3.49 sd n^(-1/3) of the scores of L, but never so small that
    there are more than 100 bins; one row, spread over all bins, is added to L and to U, so that no
    bin is empty.

    The maximisation is exact: it is concave and separable but for one linear constraint, whose
    multiplier is found by bisection, for all r at once.

    A sample identical to the positives gives 1, or nearly; one that is far from all of them
    gives 0. If all rows are equal, nothing tells the sample from the positives and the answer
    is 1. The score of a single row of U is a matter of luck, and so is the answer.

    References
    ----------
    S. Jain, M. White, M. Trosset, P. Radivojac, "Nonparametric semi-supervised learning of class
    proportions", 2016.
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data".

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import AlphaMax
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(300, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 4])
    >>> p = AlphaMax(random_state=0).fit(positives).quantify(sample)
    >>> 0.25 < p < 0.35
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **TransductiveQuantifier._parameter_constraints,
        "classifier": [HasMethods(["fit", "predict_proba"]), None],
        "knee": [StrOptions({"bootstrap", "published"})],
    }

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        *,
        knee: str = "bootstrap",
        bootstrap: int | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.knee = knee
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> tuple[float, dict[str, Any]]:
        probabilities = out_of_fold_scores(self.classifier, positives, sample, generator)
        odds = len(positives) / len(sample)
        scores = [p / (p + (1 - p) * odds) for p in probabilities]
        counts, width = binned(*scores)
        labeled, unlabeled = (_shares(x) for x in counts)
        fall = falls(labeled, unlabeled, GRID)
        top = sum(float(x @ np.log(x / width)) for x in (labeled, unlabeled))
        tolerance = None
        if self.knee == "published":
            value = knee = published_knee(GRID, top - fall)
        else:
            tolerance = max(ROUNDING, _fall_by_chance(counts, generator))
            value, knee = _crossing(fall, tolerance)
        details = {
            "grid": GRID,
            "curve": top - fall,
            "knee": knee,
            "tolerance": tolerance,
            "n_bins": counts.shape[1],
            "bin_width": width,
        }
        return value, details


def binned(labeled: np.ndarray, unlabeled: np.ndarray) -> tuple[np.ndarray, float]:
    """Counts of L and of U in bins of equal width, chosen on L, over the range of both."""
    low = min(labeled.min(), unlabeled.min())
    span = max(labeled.max(), unlabeled.max()) - low
    scott = 3.49 * labeled.std() * len(labeled) ** (-1 / 3)
    # A span of rounding errors is none.
    n_bins = 1
    if span > ROUNDING:
        n_bins = int(np.ceil(span / max(scott, span / MAX_BINS)))
    edges = np.linspace(low, low + max(span, ROUNDING), n_bins + 1)
    counts = np.array(
        [
            np.bincount(np.searchsorted(edges[1:-1], x, side="right"), minlength=n_bins)
            for x in (labeled, unlabeled)
        ]
    )
    return counts, float(edges[1] - edges[0])


def falls(labeled: np.ndarray, unlabeled: np.ndarray, r: np.ndarray) -> np.ndarray:
    """How far ll(r) is below the largest value it could have, for shares without zeros.

    With x_i = w_i v_i, the derivative of the i-th term is l_i / x_i - v_i / (r l_i + v_i - x_i); at
    the maximum it equals one multiplier in all bins, or exceeds it where x_i = v_i. The x_i fall
    with the multiplier, so that bisection finds the one at which they sum to r.
    """
    r = r[:, np.newaxis]
    total = r * labeled + unlabeled
    # The sum is at least 1 + 1/m for a negative multiplier m, and at most 1/m for a positive one.
    low, high = -1 / (1 - r), 1 / r
    for _ in range(60):
        middle = (low + high) / 2
        too_much = _parts(labeled, unlabeled, total, middle).sum(axis=1, keepdims=True) > r
        low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
    x = _parts(labeled, unlabeled, total, (low + high) / 2)
    gained = np.log((total - x) / unlabeled) @ unlabeled + np.log(x / (r * labeled)) @ labeled
    return np.maximum(0.0, -gained)


def _parts(
    labeled: np.ndarray, unlabeled: np.ndarray, total: np.ndarray, multiplier: np.ndarray
) -> np.ndarray:
    """The x_i at which the derivatives equal the multiplier, or v_i where that is smaller.

    They solve m x^2 - (m t + l + v) x + l t = 0, with t = r l + v; the smaller root is below t.
    """
    middle = multiplier * total + labeled + unlabeled
    root = np.sqrt((multiplier * total + unlabeled - labeled) ** 2 + 4 * labeled * unlabeled)
    # Two forms of the same root, each without cancellation where it is used.
    positive = middle >= 0
    x = 2 * labeled * total / np.where(positive, middle + root, 1.0)
    x = np.where(positive, x, (middle - root) / np.where(positive, 1.0, 2 * multiplier))
    return np.minimum(x, unlabeled)


def published_knee(r: np.ndarray, curve: np.ndarray) -> float:
    """Where the slope changes most, relative to how far the curve has already fallen."""
    padded = np.pad(curve, 2, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    smooth = np.minimum.accumulate(smooth)
    whole_fall = smooth[0] - smooth[-1]
    if whole_fall <= ROUNDING:
        return 1.0
    n = 10
    centred = r[:n] - r[:n].mean()
    slopes = np.lib.stride_tricks.sliding_window_view(smooth, n) @ centred / (centred @ centred)
    inner = np.arange(n - 1, len(r) - n + 1)
    change = slopes[inner - n + 1] - slopes[inner]
    fallen = smooth[0] - smooth[inner] + 0.01 * whole_fall
    return float(r[inner[np.argmax(change / fallen)]])


def _shares(counts: np.ndarray) -> np.ndarray:
    n_bins = counts.shape[-1]
    return (counts + 1 / n_bins) / (counts.sum(axis=-1, keepdims=True) + 1)


def _fall_by_chance(counts: np.ndarray, generator: np.random.Generator) -> float:
    """Lower quartile of the fall at r = 1 between resamples of L as large as L and as U."""
    n_labeled, n_unlabeled = counts.sum(axis=1)
    labeled, unlabeled = (
        _shares(generator.multinomial(n, counts[0] / n_labeled, size=N_BOOTSTRAPS))
        for n in (n_labeled, n_unlabeled)
    )
    # At r = 1 every row of U is positive, x = v, and nothing is left to maximise.
    fall = np.sum((unlabeled - labeled) * np.log(unlabeled / labeled), axis=1)
    return float(np.quantile(fall, 0.25))


def _crossing(fall: np.ndarray, tolerance: float) -> tuple[float, float]:
    """Where the fall reaches the tolerance, and the last r of the grid before that."""
    n_within = int(np.searchsorted(np.maximum.accumulate(fall), tolerance, side="right"))
    if n_within == 0:
        return 0.0, 0.0
    if n_within == len(GRID):
        return 1.0, float(GRID[-1])
    before, after = n_within - 1, n_within
    value = np.interp(tolerance, fall[[before, after]], GRID[[before, after]])
    return float(value), float(GRID[before])
