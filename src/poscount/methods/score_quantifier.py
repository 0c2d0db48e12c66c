"""Counting along one score: what PAT and ODIn have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from poscount.base import constraints
from poscount.base.counting import CountingQuantifier
from poscount.checks import (
    Evidence,
    UnknownValues,
    batch_warnings,
    model_results,
    row_warnings,
)
from poscount.checks.check import CheckResult
from poscount.checks.tied_scores import max_tie_share
from poscount.counts.missing_counts import (
    MissingCounts,
    add_to,
    count_different,
    count_missing,
    n_missing_cells,
)
from poscount.data.rows import InputSupport, Rows
from poscount.data.rows_seen import RowsSeen
from poscount.data.validation import input_support
from poscount.errors import InputError
from poscount.results.distribution import LEVELS_ABOVE
from poscount.results.estimates import Estimates
from poscount.results.verdict import AnswerWarning
from poscount.scorers import Mahalanobis, as_scorer, fit_scorer, score
from poscount.storage.model_files import content_hash
from poscount.storage.schema import Array, Field, Number, Scorer, require
from poscount.threads import one_blas_thread

# The core of the positives is above this quantile of their scores.
CORE_QUANTILE = 0.25

FARTHEST = 1e300


class ScoreQuantifier(CountingQuantifier):
    """Counts rows between edges along one score.

    A subclass places the edges (`_place_edges`), turns counts and shares into prevalences
    (`_rule`), and says how far chance may have moved them (`_interval`).

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
        "max_tie_share_": Number(0, 1),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every cell has a share: files may hold anything."""
        super().check_learned()
        fits = len(self.shares_) == len(self.edges_) + 1 and abs(self.shares_.sum() - 1) < 1e-9
        require(fits, "the shares of the positives are not those of its cells.")
        require(self.edges_[-1] < np.inf, "no score is above its last edge.")
        n_scored = getattr(self.scorer_, "n_features_in_", None)
        if n_scored is not None:
            coded = hasattr(self, "columns_")
            n_given = self.columns_.n_design if coded else self.n_features_in_
            require(n_scored == n_given, "its scorer is of other columns.")
        if hasattr(self, "columns_"):
            self._scores_by_scorer(np.zeros((1, self.columns_.n_design)))

    def _input_support(self) -> InputSupport:
        of_scorer = input_support(as_scorer(self.scorer))
        # A scorer that takes words or gaps gets the table as it is.
        if of_scorer.raw:
            return of_scorer
        return super()._input_support()._replace(sparse=of_scorer.sparse)

    def _learn(self, rows: Rows) -> None:
        alone = np.zeros(len(rows), bool)
        if rows.accepts.coded:
            codes = rows.to_array()
            alone |= self.columns_.constants_.exceptions_of(codes)
            design = self.columns_.design(codes)
            if not sparse.issparse(design):
                design = np.ascontiguousarray(design)
            rows = Rows(design, None, InputSupport(sparse=True))
        self.scorer_, training_scores = fit_scorer(self.scorer, rows, self.seed_)
        # Far is far enough: a quantile between infinite scores is no number.
        training_scores = self._settled(training_scores, rows).clip(-FARTHEST, FARTHEST)
        training_scores[alone] = training_scores.min()
        self._place_edges(training_scores)
        self.max_tie_share_ = max_tie_share(training_scores, self.edges_)
        self.hash_ = content_hash(self)

    def _row_warnings(self, seen: RowsSeen) -> Sequence[AnswerWarning]:
        return row_warnings(seen, len(self.known_rows_), self.feature_names)

    @property
    def _n_cells(self) -> int:
        # A scorer that takes tables as they are sees to gaps itself.
        n_missing = n_missing_cells(self.columns_) if hasattr(self, "columns_") else 0
        return len(self.shares_) + n_missing

    def _count_block(
        self,
        counted: np.ndarray,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> np.ndarray:
        score_cells = self._cells_of(block)
        if groups is None and weights is not None:
            groups = np.zeros(len(weights), np.intp)
        n_scores = len(self.shares_)
        # A view, because counts are in C order.
        out = counted.reshape(-1)
        starts = None if groups is None else groups * counted.shape[1]
        if starts is None:
            out[:n_scores] += np.bincount(score_cells, minlength=n_scores)
        elif weights is None:
            out += np.bincount(starts + score_cells, minlength=len(out))
        else:
            add_to(out, starts + score_cells, weights)
        if hasattr(self, "columns_") and not sparse.issparse(block):
            count_missing(block, self.columns_, starts, out[n_scores:], weights)
            different = self.columns_.constants_.differ(block)
            count_different(different, starts, out[self._n_cells - 1 :], weights)
        return score_cells

    @property
    def _first_core_cell(self) -> int:  # type: ignore[override]
        # The last bit of a sum must not decide.
        below = np.searchsorted(np.cumsum(self.shares_), CORE_QUANTILE - 1e-9)
        return min(int(below) + 1, len(self.shares_) - 1)

    @property
    def _core_share(self) -> float:  # type: ignore[override]
        return float(self.shares_[self._first_core_cell :].sum())

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, : len(self.shares_)]

    def _cells_of(self, block: Any) -> np.ndarray:
        return np.searchsorted(self.edges_, self._scores(block))

    def _scores(self, block: Any) -> np.ndarray:
        if not hasattr(self, "columns_"):
            return self._scores_by_scorer(block)
        scores = self._scores_by_scorer(self.columns_.design(block))
        return self.columns_.constants_.lower(scores, block)

    def _scores_by_scorer(self, block: Any) -> np.ndarray:
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

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        along_score = self._score_cells(cells)
        values, details = self._values_and_details(along_score)
        quantiles = self._quantiles(values, along_score, n_rows)
        if hasattr(self, "columns_"):
            constants = self.columns_.constants_
            quantiles = constants.raised(quantiles, self.n_labeled_, LEVELS_ABOVE)
        estimates = Estimates(
            value=values,
            quantiles=quantiles,
            level=self.confidence,
            details=details,
        )
        low, high = estimates.ends
        evidence = self._evidence(cells, n_rows).having(low=low, high=high, level=self.confidence)
        if "core_excess" in details:
            evidence = evidence.having(core_excess=details["core_excess"])
        return replace(estimates, warnings=batch_warnings(evidence, self._model_results))

    def _evidence(self, cells: np.ndarray, n_rows: np.ndarray) -> Evidence:
        """What the checks see of samples before their prevalences are known."""
        known = Evidence(len(cells), n_labeled=self.n_labeled_)
        if not hasattr(self, "columns_"):
            return known
        counted = MissingCounts.of_cells(cells[:, len(self.shares_) :], self.columns_)
        return known.having(unknown_values=UnknownValues(self.columns_, *counted, n_rows))

    @property
    def _model_results(self) -> Sequence[CheckResult]:
        """What the checks see in the positives alone, which holds for every sample."""
        coded = hasattr(self, "columns_")
        evidence = Evidence(
            1,
            n_labeled=self.n_labeled_,
            feature_names=self.columns_.design_names if coded else self.feature_names,
            n_redundant=self.columns_.n_redundant if coded else 0,
            constants_count=coded and self.columns_.constants_.places.size > 0,
            max_tie_share=self.max_tie_share_,
        )
        if isinstance(self.scorer_, Mahalanobis):
            evidence = evidence.having(scorer=self.scorer_)
        return model_results(evidence)

    @property
    def _posterior_shares(self) -> np.ndarray:
        return self.shares_

    def _posterior_cells(self, block: Any) -> np.ndarray:
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
    def _quantiles(self, values: np.ndarray, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        """Quantiles of prevalences at `LEVELS`, from counts along the score and numbers of rows."""

    @abstractmethod
    def _rule(self, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Prevalence for each row of `cells`; `shares` is one row for all, or one for each."""

    def _values_and_details(self, cells: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Prevalences of samples, and their details as columns, from counts along the score."""
        return self._rule(cells, self.shares_), {}
