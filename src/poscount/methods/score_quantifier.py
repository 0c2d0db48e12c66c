"""Counting along one score: what PAT and ODIn have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from poscount.base import constraints
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import TABLE_CONSTRAINTS
from poscount.checks import (
    Evidence,
    ManyGapEvidence,
    ManySamples,
    Missing,
    cautions_of_many,
    model_cautions,
)
from poscount.checks.tied_scores import check_tie, largest_tie
from poscount.counts.counts import adds_up
from poscount.counts.missing_counts import GapCounts, add_to, count_gaps, n_gap_cells
from poscount.data.rows import InputSupport, Rows
from poscount.data.validation import input_support
from poscount.errors import InputError
from poscount.methods.intervals import Resampler, half_width
from poscount.results.prevalence import Estimate, Estimates, Interval
from poscount.results.verdict import Caution
from poscount.scorers import Mahalanobis, as_scorer, fit_scorer, score
from poscount.seeds import stream
from poscount.storage import container
from poscount.storage.schema import Array, Field, Number, Scorer, require
from poscount.threads import one_blas_thread

MANY_GROUPS = 1000
# The core of the positives is above this quantile of their scores.
CORE_QUANTILE = 0.25


class PointEstimates(NamedTuple):
    """Prevalences of many samples, before their intervals.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
    details_of : callable
        From the number of a sample to its details.
    core_excess : ndarray of shape (n_samples,) or Missing
        For the check "overlap".
    """

    value: np.ndarray
    details_of: Callable[[int], dict[str, Any]]
    core_excess: np.ndarray | Missing = Missing()


class ScoreQuantifier(CountingQuantifier):
    """Counts rows between edges along one score.

    A subclass places the edges (`_place_edges`), says how uncertain the positives' share of each
    cell is (`_concentration`), and turns counts and shares into prevalences (`_rule`).

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
        "n_jobs": constraints.N_JOBS,
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    scorer: BaseEstimator | None
    confidence: float
    edges_: np.ndarray
    shares_: np.ndarray

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "scorer_": Scorer(),
        # Some scorers give minus infinity.
        "edges_": Array("float64", ("edges",), infinite=True, ascending=True),
        "shares_": Array("float64", (None,), least=0, most=1),
        "largest_tie_": Number(0, 1),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        fits = len(self.shares_) == len(self.edges_) + 1 and abs(self.shares_.sum() - 1) < 1e-9
        require(fits, "the shares of the positives are not those of its cells.")
        require(self.edges_[-1] < np.inf, "no score is above its last edge.")
        check_tie(self.largest_tie_, self.n_labeled_)
        n_scored = getattr(self.scorer_, "n_features_in_", None)
        if n_scored is not None:
            coded = hasattr(self, "columns_")
            n_given = self.columns_.n_design if coded else self.n_features_in_
            require(n_scored == n_given, "its scorer is of other columns.")

    def _recomputed_hash(self) -> str | None:
        # Scores of the positives are part of the hash if the scorer is of another library.
        return self._content_hash(None) if isinstance(self.scorer_, Mahalanobis) else None

    def _input_support(self) -> InputSupport:
        of_scorer = input_support(as_scorer(self.scorer))
        # A scorer that takes words or gaps gets the table as it is.
        if of_scorer.raw:
            return of_scorer
        return super()._input_support()._replace(sparse=of_scorer.sparse)

    def _learn(self, rows: Rows) -> None:
        if rows.accepts.coded:
            design = self.columns_.design(rows.whole())
            if not sparse.issparse(design):
                design = np.ascontiguousarray(design)
            rows = Rows(design, None, InputSupport(sparse=True))
        self.scorer_, training_scores = fit_scorer(self.scorer, rows, self.seed_)
        training_scores = self._settled(training_scores, rows)
        self._place_edges(training_scores)
        self.largest_tie_ = largest_tie(training_scores, self.edges_)
        self.hash_ = self._content_hash(rows)

    def _content_hash(self, rows: Rows | None) -> str:
        scorer: dict[str, np.ndarray]
        precision: dict[str, bool]
        if isinstance(self.scorer_, Mahalanobis):
            scorer = {"location": self.scorer_.location_, "whitening": self.scorer_.whitening_}
            precision = {"keep_float32": self.scorer_.keep_float32}
        else:
            # The scores of another library's scorer, because its contents may not be hashable.
            assert rows is not None
            scorer, precision = {"scores": score(self.scorer_, rows.whole())}, {}
        names = getattr(self, "feature_names_in_", np.array([], dtype=object))
        meta = {"method": type(self).__name__, "features": names.tolist(), **precision}
        if hasattr(self, "columns_"):
            meta |= self.columns_.described()
        return container.digest(meta, {"edges": self.edges_, "shares": self.shares_, **scorer})

    @property
    def _n_cells(self) -> int:
        return len(self.shares_) + self._n_gap_cells

    @property
    def _n_gap_cells(self) -> int:
        # A scorer that takes tables as they are sees to gaps itself.
        return n_gap_cells(self.columns_) if hasattr(self, "columns_") else 0

    def _tally(
        self,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        places = self._cells_of(block)
        if groups is None and weights is not None:
            groups = np.zeros(len(weights), np.intp)
        n_scores = len(self.shares_)
        # A view, because counts are in C order.
        flat = counted.reshape(-1)
        starts = None if groups is None else groups * counted.shape[1]
        if starts is None:
            flat[:n_scores] += np.bincount(places, minlength=n_scores)
        elif weights is None:
            flat += np.bincount(starts + places, minlength=len(flat))
        else:
            add_to(flat, starts + places, weights)
        if hasattr(self, "columns_") and not sparse.issparse(block):
            if starts is None:
                count_gaps(block, self.columns_, None, flat[n_scores:])
            else:
                count_gaps(block, self.columns_, starts + n_scores, flat, weights)
        return places

    @property
    def _first_core_cell(self) -> int:
        # The last bit of a sum must not decide.
        below = np.searchsorted(np.cumsum(self.shares_), CORE_QUANTILE - 1e-9)
        return min(int(below) + 1, len(self.shares_) - 1)

    def _could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        possible = adds_up(self._score_cells(cells), totals)
        if hasattr(self, "columns_"):
            gaps = GapCounts.of_cells(cells[:, len(self.shares_) :], self.columns_)
            possible = possible and gaps.could_be_of(totals)
        return possible

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, : len(self.shares_)]

    def _cells_of(self, block: Any) -> np.ndarray:
        return np.searchsorted(self.edges_, self._scores(block))

    def _scores(self, block: Any) -> np.ndarray:
        if hasattr(self, "columns_"):
            block = self.columns_.design(block)
        if isinstance(self.scorer_, Mahalanobis):
            return score(self.scorer_, block)
        # A scorer of another library may be one of a file, with anything in it.
        problem: Exception | str = "it gives another number of scores"
        try:
            scores = score(self.scorer_, block)
            if len(scores) == block.shape[0]:
                return scores
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            problem = error
        name = type(self.scorer_).__name__
        raise InputError(f"The scorer {name} cannot score these rows: {problem}")

    def _gaps(self, cells: np.ndarray, n_rows: np.ndarray) -> ManyGapEvidence | Missing:
        """What the checks see of missing values and unseen words, for each sample."""
        if not hasattr(self, "columns_"):
            return Missing()
        counted = GapCounts.of_cells(cells[:, len(self.shares_) :], self.columns_)
        return ManyGapEvidence(self.columns_, *counted, n_rows)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Sequence[Estimate]:
        return self._estimate_some(cells, n_rows, len(cells))

    def _estimate_some(
        self, cells: np.ndarray, n_rows: np.ndarray, n_groups: int
    ) -> Sequence[Estimate]:
        gaps = self._gaps(cells, n_rows)
        cells = cells[:, : len(self.shares_)]
        values, details_of, excess = self._point_estimates(cells)
        margins = half_width(values, self.n_labeled_, n_rows, self.confidence)
        low, high = values - margins, values + margins
        if n_groups <= MANY_GROUPS:
            generator = stream(self.seed_, "interval")
            resampler = Resampler(self._rule, self._concentration(), self.confidence, generator)
            ends = np.array([resampler.interval(row) for row in cells]).reshape(-1, 2)
            # The closed form is a lower limit, because resampling an empty cell shows no spread.
            low, high = np.minimum(low, ends[:, 0]), np.maximum(high, ends[:, 1])
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)

        def evidence_of(i: int) -> Evidence:
            return Evidence(
                n_labeled=self.n_labeled_,
                interval=Interval(float(low[i]), float(high[i]), self.confidence),
                gaps=gaps if isinstance(gaps, Missing) else gaps[i],
                core_excess=excess if isinstance(excess, Missing) else float(excess[i]),
            )

        samples = ManySamples(width=high - low, core_excess=excess, gaps=gaps)
        cautions = cautions_of_many(samples, evidence_of, self._model_cautions())
        return Estimates(values, low, high, self.confidence, details_of, cautions)

    def _model_cautions(self) -> tuple[Caution, ...]:
        return model_cautions(
            Evidence(
                n_labeled=self.n_labeled_,
                feature_names=self._design_names,
                scorer=self.scorer_ if isinstance(self.scorer_, Mahalanobis) else Missing(),
                redundant=self.columns_.n_redundant if hasattr(self, "columns_") else 0,
                largest_tie=self.largest_tie_,
            )
        )

    @property
    def _design_names(self) -> list[str]:
        """Names of what the scorer gets."""
        return self.columns_.design_names if hasattr(self, "columns_") else self.feature_names

    @property
    def _posterior_shares(self) -> np.ndarray:
        return self.shares_

    def _posterior_places(self, block: Any) -> np.ndarray:
        with one_blas_thread():
            return self._cells_of(block)

    def _posterior_rows(self, cells: np.ndarray) -> np.ndarray:
        return self._score_cells(cells)

    def _settled(self, training_scores: np.ndarray, rows: Rows) -> np.ndarray:
        """Scores by which the edges are placed."""
        return training_scores

    @abstractmethod
    def _place_edges(self, training_scores: np.ndarray) -> None:
        """Set `edges_` and `shares_`."""

    @abstractmethod
    def _concentration(self) -> np.ndarray:
        """Dirichlet parameters of the shares, given the number of positives."""

    @abstractmethod
    def _rule(self, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Prevalence for each row of `cells`; `shares` is one row for all, or one for each."""

    def _point_estimates(self, cells: np.ndarray) -> PointEstimates:
        """Prevalence and details for each row of `cells`."""
        return PointEstimates(self._rule(cells, self.shares_), lambda i: {})
