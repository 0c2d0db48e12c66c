"""Scores of labelled positives and of a sample, and what follows from them at thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poscount.results.distribution import Distribution, Interval, Rate
from poscount.seeds import stream

N_DRAWS = 1000
# Numbers of positives for which areas are computed; those between are interpolated.
N_NUMBERS = 25
# Thresholds of a curve: at most so many, at quantiles of the scores.
MOST_THRESHOLDS = 200
# The positives score higher than those of the sample can: by so many standard errors.
TOO_GOOD = 4.0
RATES = ("recall", "precision", "false_positive_rate", "f1", "elusion")


@dataclass(frozen=True)
class Rates:
    """What follows if the rows that score at least `threshold` are called positive.

    Attributes
    ----------
    threshold : float
    n_above : int
        Rows of the sample that are called positive.
    recall : Rate
        Share of the sample's positives that are called positive.
    precision : Rate
        Share of the rows called positive that are.
    false_positive_rate : Rate
        Share of the sample's negatives that are called positive.
    f1 : Rate
        Harmonic mean of recall and precision.
    elusion : Rate
        Share of positives among the rows that are called negative.
    """

    threshold: float
    n_above: int
    recall: Rate
    precision: Rate
    false_positive_rate: Rate
    f1: Rate
    elusion: Rate

    def line(self) -> dict[str, float]:
        """Its numbers as a line of a table: each rate with the ends of its interval."""
        found: dict[str, float] = {"threshold": self.threshold, "n_above": self.n_above}
        for name in RATES:
            rate: Rate = getattr(self, name)
            found |= {name: rate.value, f"{name}_low": rate.interval.low}
            found[f"{name}_high"] = rate.interval.high
        return found


class Scores:
    """Sorted scores of both tables, and draws of what they may mean."""

    def __init__(
        self,
        ours: np.ndarray,
        theirs: np.ndarray,
        share: float,
        distribution: Distribution | None,
        level: float,
        seed: int,
    ) -> None:
        self.ours, self.theirs, self.share = ours, theirs, share
        self.level, self.seed = level, seed
        shares = np.full(N_DRAWS, share)
        if distribution is not None:
            shares = distribution.sample(N_DRAWS, random_state=seed)
        # Positives in the sample, of each draw.
        self.n_positive = np.rint(shares * len(theirs)).astype(np.int64)

    def thresholds(self) -> np.ndarray:
        """Where curves are drawn, descending: quantiles of all scores."""
        both = np.unique(np.concatenate([self.ours, self.theirs]))
        if len(both) > MOST_THRESHOLDS:
            places = np.linspace(0, len(both) - 1, MOST_THRESHOLDS).round().astype(int)
            both = both[places]
        return both[::-1]

    def _above(self, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        return len(scores) - np.searchsorted(scores, thresholds, side="left")

    def rates(self, thresholds: np.ndarray) -> list[Rates]:
        """The rates at each threshold."""
        above = self._above(self.theirs, thresholds)
        share_above = self._above(self.ours, thresholds) / len(self.ours)
        values = _rates(
            self.share * len(self.theirs) * share_above,
            self.share * len(self.theirs),
            above,
            len(self.theirs),
        )
        drawn = _rates(
            self._drawn_above(thresholds), self.n_positive[:, np.newaxis], above, len(self.theirs)
        )
        found = {name: self._with_interval(values[name], drawn[name]) for name in RATES}
        return [
            Rates(float(t), int(n), **{name: found[name][i] for name in RATES})
            for i, (t, n) in enumerate(zip(thresholds, above, strict=True))
        ]

    def _drawn_above(self, thresholds: np.ndarray) -> np.ndarray:
        """Positives of the sample above each threshold: shape (n_draws, n_thresholds)."""
        n = self._above(self.ours, thresholds)
        found = np.empty((N_DRAWS, len(thresholds)), np.int64)
        for j, k in enumerate(n.tolist()):
            # The same draws at every threshold, so that neighbours agree.
            rng = stream(self.seed, "evaluate a threshold")
            recall = rng.beta(k + 0.5, len(self.ours) - k + 0.5, N_DRAWS)
            found[:, j] = rng.binomial(self.n_positive, recall)
        return found

    def _with_interval(self, values: np.ndarray, drawn: np.ndarray) -> list[Rate]:
        ends = np.nanquantile(drawn, [(1 - self.level) / 2, (1 + self.level) / 2], axis=0)
        return [
            # The interval holds the value, which may be at the end of what is possible.
            Rate(value, Interval(min(low, value), max(high, value), self.level))
            for value, low, high in zip(values.tolist(), *ends.tolist(), strict=True)
        ]

    def roc_auc(self) -> Rate:
        r"""Area under the ROC curve.

        With the share F(l) of the sample's rows that score lower than a positive, or half of it at
        a tie, the area is :math:`(\overline{F} - p / 2) / (1 - p)`, exactly so for the positives of
        the sample. The labelled ones stand for them, so that the variance is that of F times
        :math:`(1 / n_L + p^{-1} / n_U) / (1 - p)^2` (DeLong, DeLong and Clarke-Pearson 1988).
        """
        below = np.searchsorted(self.theirs, self.ours, "left")
        place = (below + np.searchsorted(self.theirs, self.ours, "right")) / 2 / len(self.theirs)
        # What none of n positives does, one of n + 1 may: to score lowest of all.
        spread = float(np.append(place, 0.0).std(ddof=1))
        mean = float(place.mean())

        def area(n_positive: float) -> tuple[float, float]:
            share = n_positive / len(self.theirs)
            return (mean - share / 2) / (1 - share), spread / (1 - share)

        return self._area(area, "ROC")

    def average_precision(self) -> Rate:
        r"""Area under precision by recall: the mean precision at the scores of the positives.

        At the score of one of n positives in the sample, with a share G of the others and m rows
        of the sample at or above it, the precision is :math:`(1 + (n - 1) G) / (1 + m - G)`: the
        labelled positive stands for it. That is a U-statistic of pairs of positives, and the
        variance that of its projection on single ones (Hoeffding 1948).
        """
        n = len(self.ours)
        others = (n - 1 - np.searchsorted(self.ours, self.ours, "left")) / (n - 1)
        called = np.maximum(1 + self._above(self.theirs, self.ours) - others, 1)
        not_above = np.searchsorted(self.ours, self.ours, "right")

        def area(n_positive: float) -> tuple[float, float]:
            precision = (1 + (n_positive - 1) * others) / called
            # What a positive adds to the precision at the others, which are not above it.
            adds = (n_positive - 1) / called
            added = (np.append(0.0, np.cumsum(adds))[not_above] - adds) / n
            return float(np.minimum(precision, 1).mean()), float((precision + added).std(ddof=1))

        return self._area(area, "precision")

    def _area(self, area: Callable[[float], tuple[float, float]], name: str) -> Rate:
        """An area and its interval.

        Parameters
        ----------
        area : callable
            From the number of positives in the sample to the area, and to the standard deviation of
            what single positives add to it.
        name : str
            Of the draws.
        """
        n = len(self.theirs)
        drawn = np.clip(self.n_positive, 1, n - 1)
        # Areas change smoothly with the number of positives.
        numbers = np.unique(np.quantile(drawn, np.linspace(0, 1, N_NUMBERS)))
        values, spreads = np.array([area(number) for number in numbers.tolist()]).T
        noise = stream(self.seed, f"evaluate the area under {name}").standard_t(
            len(self.ours) - 1, N_DRAWS
        )
        sd = np.interp(drawn, numbers, spreads) * np.sqrt(1 / len(self.ours) + 1 / drawn)
        areas = np.clip(np.interp(drawn, numbers, values) + sd * noise, 0, 1)
        value = min(max(area(self.share * n)[0], 0.0), 1.0)
        return self._with_interval(np.array([value]), areas[:, np.newaxis])[0]

    def threshold(self, wanted: float, *, of_recall: bool) -> float | None:
        """The highest threshold with a recall, or the lowest with a precision."""
        if of_recall:
            n = len(self.ours)
            return float(self.ours[n - math.ceil(round(wanted * n, 9))])
        thresholds = np.unique(self.ours)
        good = np.flatnonzero(self._precision(thresholds) >= wanted)
        return float(thresholds[good[0]]) if len(good) else None

    def highest_precision(self) -> float:
        """At the threshold where precision is highest."""
        return float(self._precision(np.unique(self.ours)).max())

    def _precision(self, thresholds: np.ndarray) -> np.ndarray:
        above = self._above(self.theirs, thresholds)
        positive = self.share * len(self.theirs) * self._above(self.ours, thresholds)
        found = positive / len(self.ours) / np.maximum(above, 1)
        return np.where(above > 0, np.minimum(found, 1), 1.0)

    def caution(self) -> str:
        """Whether the positives score higher than those of the sample can."""
        thresholds = self.thresholds()
        ours, theirs = (self._above(x, thresholds) / len(x) for x in (self.ours, self.theirs))
        least = float(np.quantile(self.n_positive, 0.025)) / len(self.theirs)
        error = np.sqrt(
            least**2 * ours * (1 - ours) / len(self.ours)
            + least * ours * (1 - least * ours) / len(self.theirs)
        )
        if not (least * ours - theirs > TOO_GOOD * np.maximum(error, 1 / len(self.theirs))).any():
            return ""
        return (
            "The positives score higher than the positives of the sample can. Has the classifier "
            "learned from them? Judge it by positives that were held out."
        )


def _rates(positive: np.ndarray, n_positive: Any, above: np.ndarray, n: int) -> dict[str, Any]:
    """Rates from how many positives are above thresholds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = np.where(n_positive > 0, positive / n_positive, np.nan)
        # No more than there are rows, above the threshold and below.
        positive = np.maximum(np.minimum(positive, above), n_positive - (n - above))
        return {
            "recall": recall,
            "precision": np.where(above > 0, positive / above, 1.0),
            "false_positive_rate": np.where(
                n_positive < n, (above - positive) / (n - n_positive), 0.0
            ),
            "f1": 2 * positive / np.maximum(n_positive + above, 1),
            "elusion": np.where(above < n, (n_positive - positive) / (n - above), 0.0),
        }
