"""Counting along one score: the part that PAT and ODIn have in common."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from poscount import checks, constraints, container
from poscount.base import CountingQuantifier
from poscount.errors import InputError
from poscount.intervals import Resampler, half_width
from poscount.prevalence import Caution, Interval, Prevalence
from poscount.reusable.posterior import posterior_of_cells
from poscount.scorers import Mahalanobis, as_scorer, fit_scorer, score
from poscount.seeds import stream
from poscount.threads import one_blas_thread
from poscount.validation import InputSupport, Rows, input_support

MANY_GROUPS = 1000


class ScoreQuantifier(CountingQuantifier):
    """Cells are the intervals between edges along one score.

    A subclass puts the edges (`_place_edges`), knows the share of positives in each cell
    (`shares_`) and how far the finite number of positives leaves it open (`_concentration`), and
    turns counts and shares into prevalences (`_rule`).

    Attributes
    ----------
    scorer_ : estimator
        The scorer fitted on all positives.
    edges_ : ndarray
        Edges along the score; cell i holds the scores above edge i - 1 and up to edge i.
    shares_ : ndarray
        Share of the positives in each cell.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "scorer": [constraints.HasMethods("fit"), None],
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    scorer: BaseEstimator | None
    confidence: float
    edges_: np.ndarray
    shares_: np.ndarray

    def _input_support(self) -> InputSupport:
        return input_support(as_scorer(self.scorer))

    def _learn(self, rows: Rows) -> None:
        self.scorer_, training_scores = fit_scorer(self.scorer, rows, self.seed_)
        self._place_edges(training_scores)
        self.largest_tie_ = checks.largest_tie(training_scores, self.edges_)
        self.hash_ = self._content_hash(rows)

    def _content_hash(self, rows: Rows) -> str:
        if isinstance(self.scorer_, Mahalanobis):
            scorer = {"location": self.scorer_.location_, "whitening": self.scorer_.whitening_}
            precision = {"keep_float32": self.scorer_.keep_float32}
        else:
            # What a foreign scorer does, because what it holds may have no bytes to hash.
            scorer, precision = {"scores": score(self.scorer_, rows.whole())}, {}
        names = getattr(self, "feature_names_in_", np.array([], dtype=object))
        meta = {"method": type(self).__name__, "features": names.tolist(), **precision}
        return container.digest(meta, {"edges": self.edges_, "shares": self.shares_, **scorer})

    @property
    def _n_cells(self) -> int:
        return len(self.shares_)

    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        cells = self._cells_of(block)
        if groups is not None:
            cells = groups * self._n_cells + cells
        counted += np.bincount(cells, minlength=counted.size).reshape(counted.shape)

    def _cells_of(self, block: Any) -> np.ndarray:
        return np.searchsorted(self.edges_, score(self.scorer_, block))

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Prevalence]:
        values = self._rule(cells, self.shares_)
        margins = half_width(values, self.n_labeled_, n_rows, self.confidence)
        low, high = values - margins, values + margins
        if len(cells) <= MANY_GROUPS:
            generator = stream(self.seed_, "interval")
            resampler = Resampler(self._rule, self._concentration(), self.confidence, generator)
            ends = np.array([resampler.interval(row) for row in cells]).reshape(-1, 2)
            # The closed form is a floor, because resampling a cell without rows shows no spread.
            low, high = np.minimum(low, ends[:, 0]), np.maximum(high, ends[:, 1])
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return [
            self._answer(cells[i], int(n_rows[i]), values[i], low[i], high[i])
            for i in range(len(cells))
        ]

    def _answer(
        self, cells: np.ndarray, n_rows: int, value: float, low: float, high: float
    ) -> Prevalence:
        interval = Interval(float(low), float(high), self.confidence)
        cautions = [
            *checks.wide_interval(interval),
            *self._cautions(cells),
            *checks.few_positives(self.scorer_, self.n_labeled_),
            *checks.singular_covariance(self.scorer_, getattr(self, "feature_names_in_", None)),
            *checks.tied_scores(self.largest_tie_),
        ]
        return Prevalence(
            value,
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            method=type(self).__name__,
            interval=interval,
            warnings=cautions,
            details={"seed": self.seed_, **self._details(cells)},
        )

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability of each row of a sample to be positive.

        All rows of a cell share one probability, min(1, s share_L / share_U), with the shares of
        the positives and of the sample in the cell, and s such that the mean over the sample is
        the estimated prevalence.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values in [0, 1].

        Warns
        -----
        UserWarning
            If the mean cannot reach the prevalence, because too few rows lie where positives can.
        """
        rows = self._sample(sample)
        if len(rows) == 0:
            raise InputError("The sample has no rows (0 sample(s)): at least one is needed.")
        with one_blas_thread():
            cells = np.concatenate([self._cells_of(block) for block in rows.blocks()])
        counted = np.bincount(cells, minlength=len(self.shares_))
        value = float(self._rule(counted[np.newaxis], self.shares_)[0])
        return posterior_of_cells(self.shares_, counted / len(rows), value)[cells]

    @abstractmethod
    def _place_edges(self, training_scores: np.ndarray) -> None:
        """Set `edges_` and `shares_`."""

    @abstractmethod
    def _concentration(self) -> np.ndarray:
        """Dirichlet parameters of the shares, given the number of positives."""

    @abstractmethod
    def _rule(self, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Prevalence for each row of `cells`; `shares` is one row for all, or one for each."""

    def _cautions(self, cells: np.ndarray) -> list[Caution]:
        return []

    def _details(self, cells: np.ndarray) -> dict[str, Any]:
        return {}
