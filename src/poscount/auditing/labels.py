r"""What labels say of a share, however often one looks at them; and beside the model's answer.

Before each draw a stratum h is chosen with a probability :math:`q_h`, and then a row of it, without
replacement and in proportion to the weights. With the part :math:`W_h` of the weight of all rows
that is left in each stratum, and with the share of positives :math:`f_h` that is foretold there
from the model and the labels before, a row with the label y gives

.. math:: Z = \sum_g W_g f_g + \frac{W_h}{q_h} (y - f_h)

whose expectation is the share m of all rows less the positives drawn before, :math:`m_t = m - S_t`,
whatever is foretold: better foretelling only makes Z vary less. Who bets on Z against a wrong m
becomes rich. The capital, for bets c between 0 and 1, and the same below with signs turned,

.. math:: K^+(m) = \frac{1}{J} \sum_c \prod_t
          \left(1 + c \, \frac{Z_t - m_t}{m_t - \min Z_t}\right)

is a nonnegative martingale for the true m, with an expectation of 1. By Ville's inequality it ever
reaches 2 / alpha with a probability of alpha / 2 at most. So the m for which neither capital has
are a *confidence sequence*: at all looks together they hold the truth with a probability of
1 - alpha (Waudby-Smith and Ramdas, 2020 and 2024; with weights and a model, Shekhar, Xu, Lipton,
Liang and Ramdas, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from poscount.results.distribution import (
    INTERVAL_LEVELS,
    NORMAL,
    Distribution,
    quantiles_from_intervals,
)
from poscount.results.prevalence import Prevalence
from poscount.results.verdict import AnswerWarning

Agreement = Literal["agree", "unclear", "contradict"]

# c in the formula, chosen with simulated strata; small bets are for many labels, large ones for
# rare positives.
_BETS = np.linspace(0.03, 0.97, 12)
# So many labels of a stratum are worth as much as what the model expects of it, when bets are made
# and when the share is estimated; it is never believed to be certain.
_WORTH, _WORTH_AT_LAST, _SURE = 4.0, 0.5, 0.01
_STEPS_OF_BISECTION = 20
# Of positives that lie elsewhere, in standard deviations: from then on they explain the rest.
ELSEWHERE = 2.6


class Labels(NamedTuple):
    """Labels in the order in which their rows were drawn.

    Attributes
    ----------
    totals : ndarray of shape (n_strata,)
        Rows of each stratum, or their weight.
    expected : ndarray of shape (n_strata,)
        Share of positives in each, according to the model.
    chance : ndarray of shape (n_labels, n_strata)
        Probability that a row of each stratum came next; 0 where none was left.
    stratum : ndarray of int, shape (n_labels,)
    weight : ndarray of shape (n_labels,)
        Of the rows; 1 without weights.
    positive : ndarray of bool, shape (n_labels,)
    """

    totals: np.ndarray
    expected: np.ndarray
    chance: np.ndarray
    stratum: np.ndarray
    weight: np.ndarray
    positive: np.ndarray

    def in_strata(self, values: np.ndarray) -> np.ndarray:
        """Sums of values of the labels in each stratum."""
        return np.bincount(self.stratum, values, len(self.totals))

    @property
    def numbers(self) -> np.ndarray:
        """Number of labels in each stratum."""
        return np.bincount(self.stratum, minlength=len(self.totals))

    @property
    def shares(self) -> np.ndarray:
        """Share of positives in each stratum, after all labels."""
        found = self.in_strata(self.positive)
        return _foretold(self.expected, found, self.numbers, _WORTH_AT_LAST)

    def of_strata(self, chosen: np.ndarray) -> Labels:
        """Those of some strata, as a sample of its own."""
        there = chosen[self.stratum]
        chance = self.chance[there][:, chosen]
        return Labels(
            self.totals[chosen],
            self.expected[chosen],
            chance / chance.sum(axis=1, keepdims=True),
            (np.cumsum(chosen) - 1)[self.stratum[there]],
            self.weight[there],
            self.positive[there],
        )


def _foretold(
    expected: np.ndarray, positives: np.ndarray, n: np.ndarray, worth: float = _WORTH
) -> np.ndarray:
    sure = np.clip(expected, _SURE, 1 - _SURE)
    return (worth * sure + positives) / (worth + n)


class Evidence:
    """The share that labels speak for, and those that they reject.

    Attributes
    ----------
    value : float
        The share: rows with a label count as they are labelled, and the others of each stratum like
        those, or as the model expects where there are none.
    low, high : ndarray of shape (24,)
        Ends of the intervals at `INTERVAL_LEVELS`.

    Examples
    --------
    >>> row = np.arange(60)
    >>> labels = Labels(
    ...     np.array([1000.0]), np.array([0.1]), np.ones((60, 1)), 0 * row, row**0.0, row < 0
    ... )
    >>> found = Evidence(labels)
    >>> float(found.low[5]), float(found.high[5].round(3))
    (0.0, 0.082)
    """

    def __init__(self, labels: Labels) -> None:
        total = labels.totals.sum()
        one_hot = np.eye(len(labels.totals))[labels.stratum]
        positive = labels.positive.astype(float)
        ours = labels.weight * positive
        n_before, k_before, drawn_before = (
            np.cumsum(one_hot * each[:, np.newaxis], axis=0) - one_hot * each[:, np.newaxis]
            for each in (np.ones(len(positive)), positive, labels.weight)
        )
        left = np.maximum(labels.totals - drawn_before, 0) / total
        foretold = _foretold(labels.expected, k_before, n_before)
        possible = labels.chance > 0
        per_row = np.where(possible, left / np.where(possible, labels.chance, 1.0), 0.0)
        base = (left * foretold).sum(axis=1)
        here = (per_row * one_hot).sum(axis=1)
        self._z = base + here * (positive - (foretold * one_hot).sum(axis=1))
        self._least = base - (per_row * foretold).max(axis=1, initial=0.0)
        self._most = base + (per_row * (1 - foretold)).max(axis=1, initial=0.0)
        self._found = (np.cumsum(ours) - ours) / total
        # What the labelled rows themselves leave possible.
        certain = float(ours.sum() / total)
        possibly = max(certain, 1 - float((labels.weight - ours).sum() / total))
        rest = np.maximum(labels.totals - labels.in_strata(labels.weight), 0) / total
        self.value = float(np.clip(certain + rest @ labels.shares, certain, possibly))
        self.low = np.minimum(self._end(1, certain, possibly), self.value)
        self.high = np.maximum(self._end(-1, certain, possibly), self.value)

    def _end(self, side: int, certain: float, possibly: float) -> np.ndarray:
        """Where the capital of bets on more (1), or on less (-1), has become too large."""
        limit = np.log(2 / (1 - INTERVAL_LEVELS))
        low, high = np.full(len(limit), certain), np.full(len(limit), possibly)
        for _ in range(_STEPS_OF_BISECTION):
            middle = (low + high) / 2
            rejected = self._log_capital(middle, side) >= limit
            # More shares are rejected from below than from above, or the other way round.
            upwards = rejected if side > 0 else ~rejected
            low, high = np.where(upwards, middle, low), np.where(upwards, high, middle)
        return low if side > 0 else high

    def _log_capital(self, share: np.ndarray, side: int) -> np.ndarray:
        left = share[:, np.newaxis] - self._found
        away = left - self._least if side > 0 else self._most - left
        gain = side * (self._z - left) / np.maximum(away, np.finfo(float).tiny)
        logs = np.log1p(_BETS[:, np.newaxis, np.newaxis] * np.maximum(gain, -1.0)).sum(axis=-1)
        return logsumexp(logs, axis=0) - math.log(len(_BETS))


class Precision:
    r"""How precise labels drawn as these were would be, if there were another number of them.

    With the variance V of the mean of Z, the largest part B that a row has in it, and
    :math:`l = \log(2 / \alpha) + \frac{1}{4} \log n`, half of the width of the interval is about
    :math:`\sqrt{2 V l} + B l / 4`.
    """

    def __init__(self, labels: Labels, level: float) -> None:
        total, shares = labels.totals.sum(), labels.shares
        chance = labels.chance[0]
        possible = chance > 0
        weights = labels.totals[possible] / total
        self._spread = float((weights**2 / chance[possible]) @ (shares * (1 - shares))[possible])
        self._largest = float((weights / chance[possible]).max())
        self._level = level
        self.n_rows = total / labels.weight.mean()

    def half_width(self, n: int) -> float:
        """Half of the width with so many labels."""
        log, left = math.log(2 / (1 - self._level)) + math.log(n) / 4, 1 / n - 1 / self.n_rows
        return math.sqrt(2 * self._spread * left * log) + self._largest * left * log / 4

    def fewest(self, enough: Callable[[int], bool]) -> int:
        """The fewest labels that are enough, if more of them are, too."""
        low, high = 1, math.ceil(self.n_rows)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def labels_needed(labels: Labels, width: float, level: float) -> int:
    """About how many labels in all, drawn as these were, give an interval of a width."""
    precision = Precision(labels, level)
    return precision.fewest(lambda n: 2 * precision.half_width(n) <= width)


def distribution_of(lower: Evidence, upper: Evidence) -> tuple[float, Distribution]:
    """A share and its distribution, whose intervals are those of the confidence sequence.

    Parameters
    ----------
    lower, upper : Evidence
        The same, or with every doubtful row as a negative and as a positive.
    """
    value = (lower.value + upper.value) / 2
    found = quantiles_from_intervals(
        np.array([value]), lower.low[:, np.newaxis], upper.high[:, np.newaxis]
    )
    return value, Distribution(np.maximum.accumulate(found[0]))


def corrected(
    value: float, found: Distribution, errors: tuple[float, float], n_rows: int
) -> tuple[float, Distribution]:
    r"""What follows for the truth if the person who labels errs at known rates.

    A share r of rows that would be labelled as positive means
    :math:`p = (r - \alpha) / (1 - \alpha - \beta)`, with negatives that are called positive at the
    rate :math:`\alpha`, and positives called negative at :math:`\beta`. That errors fall on these
    rows by chance is in the spread.

    Parameters
    ----------
    errors : tuple of two floats
        alpha and beta.
    n_rows : int
        Rows of the sample.

    Examples
    --------
    >>> point = Distribution(np.full(49, 0.3))
    >>> value, found = corrected(0.3, point, (0.1, 0.1), 10**6)
    >>> round(value, 3), round(found.quantile(0.5), 3)
    (0.25, 0.25)
    """
    false_yes, false_no = errors
    power = 1 - false_yes - false_no
    sd = math.sqrt(max(e * (1 - e) for e in errors) / n_rows)
    moved = (found.quantiles + NORMAL * sd - false_yes) / power
    return (
        min(1.0, max(0.0, (value - false_yes) / power)),
        Distribution(np.clip(np.maximum.accumulate(moved), 0, 1)),
    )


def agreement(by_labels: Prevalence, by_model: Prevalence) -> Agreement:
    """Put into a word how two answers stand to each other.

    They contradict each other if their intervals have nothing in common, and agree if that of the
    labels holds the model's answer.
    """
    ours, theirs = by_labels.interval, by_model.interval
    assert ours is not None
    assert theirs is not None
    if theirs.high < ours.low or theirs.low > ours.high:
        return "contradict"
    return "agree" if float(by_model) in ours else "unclear"


class PositivesOutside(NamedTuple):
    """Where the positives among the labels lie, beside the labelled positives.

    Attributes
    ----------
    statistic : float
        Above 0 if more positives are outside than expected; 0 if no label is positive.
    found, expected : float
        Share of the positives that is outside, by the labels and among the labelled positives.
    """

    statistic: float
    found: float
    expected: float


def positives_outside(
    labels: Labels, outside: np.ndarray, expected: float, n_labeled: int
) -> PositivesOutside:
    r"""Compare where the positives lie: those that the labels found, and the labelled ones.

    Let a be the share of all rows that is positive and outside (`Strata.outside`), P that of all
    positives, and q the share of the labelled positives that is outside: the statistic is a - q P
    over its standard deviation, which includes that of q. It does not depend on the model's
    prevalence.

    Parameters
    ----------
    labels : Labels
    outside : ndarray of bool, shape (n_labels,)
        Whether each row is outside.
    expected : float
        q.
    n_labeled : int
        Number of labelled positives.
    """
    n = np.maximum(labels.numbers, 1)
    weights = labels.totals / labels.totals.sum()
    positives = labels.in_strata(labels.positive)
    there = labels.in_strata(labels.positive & outside)
    total, found = float(weights @ (positives / n)), float(weights @ (there / n))
    if total == 0:
        return PositivesOutside(0.0, 0.0, expected)
    # A quarter of a label more of either kind, because labels that are all the same have a spread.
    inside = positives - there
    squares = (there + 0.25) * (1 - expected) ** 2 + (inside + 0.25) * expected**2
    variance = float(weights**2 @ (squares / (n + 1) / n))
    variance += total**2 * expected * (1 - expected) / n_labeled
    statistic = (found - expected * total) / math.sqrt(variance)
    return PositivesOutside(statistic, found / total, expected)


def findings(
    labels: Labels,
    looks_positive: np.ndarray,
    by_labels: Prevalence,
    by_model: Prevalence,
    where: PositivesOutside,
) -> tuple[AnswerWarning, ...]:
    """That the labels contradict the model, and which of its assumptions broke."""
    direction = "much" if by_model > by_labels else "little"
    found = _doubt(
        "labels-contradict-model",
        float(by_model) - float(by_labels),
        f"The model says too {direction}: {100 * by_model:.1f} %, where the labels say "
        f"{100 * by_labels:.1f} %. Use the labels' answer.",
    )
    if abs(where.statistic) > ELSEWHERE:
        return found, _moved(where)
    if by_model > by_labels:
        core = looks_positive[labels.stratum]
        n, positive = int(core.sum()), int(labels.positive[core].sum())
        return found, _doubt(
            "negatives-like-positives",
            float(n - positive),
            f"Overlap: {n - positive} of {n} labelled rows that look like positives are "
            "negatives, more than the model takes into account. Features that tell them apart "
            "would help, and so would the labels as known negatives.",
        )
    return found, _doubt(
        "positives-underestimated",
        float(by_labels) - float(by_model),
        "The positives lie where the model looks for them, but there are more than it says: fit "
        "again with the positives among the labels, and audit a second sample.",
    )


def _moved(where: PositivesOutside) -> AnswerWarning:
    shares = (
        f"{100 * where.found:.0f} % of the positives found are at the edge of the labelled ones or "
        f"outside, against {100 * where.expected:.0f} % of the labelled ones themselves."
    )
    if where.statistic > 0:
        return _doubt(
            "positives-elsewhere",
            where.statistic,
            f"Drift: {shares} Positives of this sample are unlike the labelled ones, or measured "
            "differently; check units and columns, and fit again with the positives found.",
        )
    return _doubt(
        "positives-missing",
        where.statistic,
        f"{shares} Some labelled positives may be negatives, or are of a kind that this sample "
        "does not have.",
    )


def _doubt(code: str, value: float, sentence: str) -> AnswerWarning:
    return AnswerWarning(code, sentence, value, "check")
