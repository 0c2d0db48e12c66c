"""AlphaMax: the prevalence at which the likelihood of positives plus a remainder starts to fall."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from poscount.base.constraints import StrOptions
from poscount.methods.pu.transductive_quantifier import ClassifierQuantifier, out_of_fold_scores
from poscount.results.estimates import Estimates, single_estimate

__all__ = ["AlphaMax"]

GRID = np.linspace(0.01, 0.99, 99)
MAX_BINS = 100
ROWS_IN_BIN = 10
# The tolerance changes slowly with r: a few r with many draws each are better than many with few.
KNOTS = np.linspace(0.01, 0.99, 15)
N_DRAWS = 500
# A fall smaller than this is rounding error of the exact search below.
ROUNDING = 1e-9


class AlphaMax(ClassifierQuantifier):
    r"""AlphaMax: how far the positives can be scaled up before the likelihood falls.

    The rows become one-dimensional: the score of each is the out-of-fold probability, by a
    classifier of L against U, that it is labelled, turned into what it would be if L and U were
    equally large. The scores are put into bins. With shares :math:`l_i` of L and :math:`v_i` of U
    in bin i of width :math:`\delta_i`, each bin of U is split, for every prevalence r = 0.01, 0.02,
    ..., 0.99, into a positive part :math:`w_i v_i` and a remainder such that

    .. math:: ll(r) = \max_{w \in [0, 1]^k,\ \sum w_i v_i = r}
              \sum_i v_i \log\frac{r l_i + (1 - w_i) v_i}{\delta_i} +
              \sum_i l_i \log\frac{w_i v_i}{r \delta_i}

    As long as the positives fit under the sample, ll(r) has its largest possible value; for larger
    r it falls, and the answer is where the fall starts (the knee).

    By default the fall starts where it exceeds what chance alone explains. For each r, a sample
    with a share r of positives is drawn from L, with all its negatives elsewhere, and another L is
    drawn from L; the tolerance is the lower quartile of the fall at r over 500 such pairs (at 15
    values of r, interpolated between them). It is the lower quartile because real negatives are not
    all elsewhere, so that fewer bins are full of positives and chance has less effect; it was
    chosen on simulated mixtures and on two data sets outside the paper's tables. The answer is
    interpolated between the last r within its tolerance and the next; it is 0 if even r = 0.01
    falls too far, and 1 if r = 0.99 does not.

    AlphaMax overestimates where negatives score like the most typical positives.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    classifier : estimator, optional
        Any scikit-learn classifier with `predict_proba`; logistic regression on standardised
        features if None.
    knee : {"bootstrap", "published"}, default="bootstrap"
        "published" finds the knee as the method's authors did: the curve is smoothed by a running
        median of 5 and made non-increasing, and of all r the one is taken with the largest change
        of slope between the line fits through the 10 points before and after it, relative to how
        far the curve has already fallen (plus a hundredth of its whole fall). Somebody has to check
        its result: it cannot answer below 0.1 or above 0.9 (except 1 if nothing falls at all), and
        it often mistakes a ripple for the knee, with a mean error of 13 points instead of 4 on the
        paper's Experiment #1.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of an unseeded classifier and of the tolerance.

    See Also
    --------
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    The `details` of an answer hold `grid` (the r), `curve` (their log-likelihoods), `knee` (the
    last r of the grid before the fall), `tolerance` (how far the curve may fall at each r; None for
    the published rule) and `edges` (of the bins). The bins have Scott's width, 3.49 sd n^(-1/3) of
    the scores of L, or a larger width if there would be more than 100 of them. From the highest
    scores down, neighbours are then joined until each bin has 10 rows of L, or a fifth of L if that
    is fewer, because ratios of a few rows are mostly noise. One row, spread over all bins, is added
    to L and to U, so that no bin is empty.

    The maximisation is exact: the problem is concave and separable apart from one linear
    constraint, whose multiplier is found by bisection, for all r at once.

    Degenerate samples: a sample identical to the positives gives 1 or somewhat less; one far from
    all of them gives 0. If all rows are equal, nothing distinguishes the sample from the positives,
    and the answer is 1. If U has a single row, its score is a matter of luck, and so is the answer.

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
        **ClassifierQuantifier._parameter_constraints,
        "knee": [StrOptions({"bootstrap", "published"})],
    }

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        *,
        knee: str = "bootstrap",
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.knee = knee
        self.random_state = random_state

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        probabilities = out_of_fold_scores(self.classifier, positives, sample, generator)
        odds = len(positives) / len(sample)
        scores = [p / (p + (1 - p) * odds) for p in probabilities]
        edges = bin_edges(*scores)
        counts = np.array([np.histogram(x, edges)[0] for x in scores])
        labeled, unlabeled = (_shares(x, x.sum()) for x in counts)
        fall = falls(labeled, unlabeled, GRID)
        top = sum(x @ np.log(x / np.diff(edges)) for x in (labeled, unlabeled))
        tolerance = None
        if self.knee == "published":
            value = knee = published_knee(GRID, top - fall)
        else:
            by_chance = falls_by_chance(counts[0], counts[1], KNOTS, generator)
            tolerance = np.interp(GRID, KNOTS, by_chance)
            value, knee = _crossing(fall, tolerance)
        details = {
            "grid": GRID,
            "curve": top - fall,
            "knee": knee,
            "tolerance": tolerance,
            "edges": edges,
        }
        return single_estimate(value, details)


def bin_edges(labeled: np.ndarray, unlabeled: np.ndarray) -> np.ndarray:
    """Edges of bins over the range of both scores, with enough rows of L in each."""
    low = min(labeled.min(), unlabeled.min())
    high = max(labeled.max(), unlabeled.max())
    if high - low <= ROUNDING:
        return np.array([low - ROUNDING, high + ROUNDING])
    scott = 3.49 * labeled.std() * len(labeled) ** (-1 / 3)
    n_bins = int(np.ceil((high - low) / max(scott, (high - low) / MAX_BINS)))
    edges = np.linspace(low, high, n_bins + 1)
    counts = np.array([np.histogram(x, edges)[0] for x in (labeled, unlabeled)])
    enough = min(ROWS_IN_BIN, np.ceil(len(labeled) / 5))
    kept, inside = [n_bins], np.zeros(2)
    for i in range(n_bins - 1, -1, -1):
        inside += counts[:, i]
        if inside[0] >= enough:
            kept.append(i)
            inside[:] = 0
    # The remaining rows are a bin of their own if there are enough of them, of either kind.
    if inside.sum() < enough:
        kept.pop()
    return edges[sorted({0, n_bins, *kept})]


def falls(labeled: np.ndarray, unlabeled: np.ndarray, r: np.ndarray) -> np.ndarray:
    """How far ll(r) is below its largest possible value, for shares without zeros.

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
    """The x_i at which the derivatives equal the multiplier, or v_i if that is smaller.

    They solve m x^2 - (m t + l + v) x + l t = 0, with t = r l + v; the smaller root is below t.
    """
    middle = multiplier * total + labeled + unlabeled
    root = np.sqrt((multiplier * total + unlabeled - labeled) ** 2 + 4 * labeled * unlabeled)
    # Two forms of the same root, each used where it has no cancellation.
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


def falls_by_chance(
    labeled: np.ndarray, unlabeled: np.ndarray, r: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Lower quartile of the fall at each r in samples with a share r of positives, drawn from L.

    `labeled` and `unlabeled` are the counts of L and of U in each bin.
    """
    n_labeled, n_unlabeled = labeled.sum(), unlabeled.sum()
    shares = labeled / n_labeled
    n_positives = np.rint(r * n_unlabeled).astype(int)
    drawn_labeled = generator.multinomial(n_labeled, shares, size=(N_DRAWS, 1))
    drawn_positives = generator.multinomial(n_positives, shares, size=(N_DRAWS, len(r)))
    component = _shares(drawn_labeled, n_labeled)
    positives = _shares(drawn_positives, n_positives[:, np.newaxis])
    # With the negatives elsewhere, x = v = r positives, and nothing is left to maximise.
    excess = r[:, np.newaxis] * positives - component
    fall = np.sum(excess * np.log(positives / component), axis=-1)
    return np.maximum(np.quantile(fall, 0.25, axis=0), ROUNDING)


def _shares(counts: np.ndarray, total: int | np.ndarray) -> np.ndarray:
    """Shares of a total, with one more row spread over all bins."""
    return (counts + 1 / counts.shape[-1]) / (total + 1)


def _crossing(fall: np.ndarray, tolerance: np.ndarray) -> tuple[float, float]:
    """Where the fall leaves the tolerance, and the last r of the grid before that."""
    excess = fall - tolerance
    within = np.flatnonzero(excess <= 0)
    if len(within) == 0:
        return 0.0, 0.0
    last = within[-1]
    knee = float(GRID[last])
    if knee == GRID[-1]:
        return 1.0, knee
    return float(np.interp(0.0, excess[last : last + 2], GRID[last : last + 2])), knee
