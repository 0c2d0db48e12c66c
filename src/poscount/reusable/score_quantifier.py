"""Counting along one score: what PAT and ODIn have in common, and the posterior of a row."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from poscount import constraints, container
from poscount.base import TABLE_CONSTRAINTS
from poscount.checks import (
    Evidence,
    GapEvidence,
    Missing,
    gap_evidence,
    model_cautions,
    sample_cautions,
)
from poscount.checks.tied_scores import largest_tie
from poscount.counting import CountingQuantifier
from poscount.intervals import Resampler, half_width
from poscount.prevalence import Estimate, Interval
from poscount.reusable.feature_ranges import add_to
from poscount.reusable.gap_counts import GapCounts, count_gaps, n_gap_cells
from poscount.rows import InputSupport, Rows
from poscount.scorers import Mahalanobis, as_scorer, fit_scorer, score
from poscount.seeds import stream
from poscount.threads import one_blas_thread
from poscount.validation import input_support

MANY_GROUPS = 1000
# The core of the positives is above this quantile of their scores.
CORE_QUANTILE = 0.25


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
        "n_jobs": [Integral, None],
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    scorer: BaseEstimator | None
    confidence: float
    edges_: np.ndarray
    shares_: np.ndarray

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

    def _content_hash(self, rows: Rows) -> str:
        if isinstance(self.scorer_, Mahalanobis):
            scorer = {"location": self.scorer_.location_, "whitening": self.scorer_.whitening_}
            precision = {"keep_float32": self.scorer_.keep_float32}
        else:
            # The scores of another library's scorer, because its contents may not be hashable.
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

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, : len(self.shares_)]

    def _cells_of(self, block: Any) -> np.ndarray:
        if hasattr(self, "columns_"):
            block = self.columns_.design(block)
        return np.searchsorted(self.edges_, score(self.scorer_, block))

    def _gaps(self, cells: np.ndarray, n_rows: np.ndarray) -> Sequence[GapEvidence | Missing]:
        """What the checks see of missing values and unseen words, for each sample."""
        if not hasattr(self, "columns_"):
            return [Missing()] * len(cells)
        counted = GapCounts.of_cells(cells[:, len(self.shares_) :], self.columns_)
        return gap_evidence(self.columns_, *counted, n_rows)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Estimate]:
        gaps = self._gaps(cells, n_rows)
        cells = cells[:, : len(self.shares_)]
        values, details = self._point_estimates(cells)
        margins = half_width(values, self.n_labeled_, n_rows, self.confidence)
        low, high = values - margins, values + margins
        if len(cells) <= MANY_GROUPS:
            generator = stream(self.seed_, "interval")
            resampler = Resampler(self._rule, self._concentration(), self.confidence, generator)
            ends = np.array([resampler.interval(row) for row in cells]).reshape(-1, 2)
            # The closed form is a lower limit, because resampling an empty cell shows no spread.
            low, high = np.minimum(low, ends[:, 0]), np.maximum(high, ends[:, 1])
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        of_model = model_cautions(
            Evidence(
                n_labeled=self.n_labeled_,
                feature_names=self._design_names,
                scorer=self.scorer_ if isinstance(self.scorer_, Mahalanobis) else Missing(),
                redundant=self.columns_.n_redundant if hasattr(self, "columns_") else 0,
                largest_tie=self.largest_tie_,
            )
        )
        estimates = []
        for value, start, stop, found, gap in zip(values, low, high, details, gaps, strict=True):
            interval = Interval(float(start), float(stop), self.confidence)
            evidence = Evidence(
                n_labeled=self.n_labeled_,
                interval=interval,
                gaps=gap,
                core_excess=found.get("core_excess", Missing()),
            )
            cautions = sample_cautions(evidence, of_model)
            estimates.append(Estimate(value, found, interval, cautions))
        return estimates

    @property
    def _design_names(self) -> list[str]:
        """Names of what the scorer gets."""
        return self.columns_.design_names if hasattr(self, "columns_") else self.feature_names

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability that each row of a sample is positive.

        All rows of a cell have the same probability, min(1, s share_L / share_U), with the shares
        of the positives and of the sample in the cell, and s such that the mean over the sample is
        the estimated prevalence.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values in [0, 1].

        Warns
        -----
        UserWarning
            If the mean cannot reach the prevalence, because too few rows lie where positives do.
        """
        rows = self._sample(sample, allow_empty=False)
        with one_blas_thread():
            cells = np.concatenate([self._cells_of(block) for block in rows.blocks()])
        counted = np.bincount(cells, minlength=len(self.shares_))
        value = float(self._rule(counted[np.newaxis], self.shares_)[0])
        return posterior_of_cells(self.shares_, counted / len(rows), value)[cells]

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

    def _point_estimates(self, cells: np.ndarray) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Prevalence and details for each row of `cells`."""
        return self._rule(cells, self.shares_), [{} for _ in cells]


def posterior_of_cells(shares: np.ndarray, sample_shares: np.ndarray, value: float) -> np.ndarray:
    """Probability of being positive in each cell, so that the mean is the prevalence.

    It is min(1, s share / sample share).

    Parameters
    ----------
    shares, sample_shares : ndarray of shape (n_cells,)
        Shares of the positives and of the sample in each cell.
    value : float
        The prevalence.

    Warns
    -----
    UserWarning
        If the mean cannot reach the prevalence; the warning points to the caller's caller.

    Examples
    --------
    >>> posterior_of_cells(np.array([0.2, 0.8]), np.array([0.6, 0.4]), 0.4).round(3).tolist()
    [0.133, 0.8]
    """
    possible = (shares > 0) & (sample_shares > 0)
    positives, sample = shares[possible], sample_shares[possible]
    # The mean over the sample is piecewise linear in s, with these knots.
    knots = np.concatenate([[0.0], np.sort(sample / positives)])
    means = np.minimum(sample, knots[:, np.newaxis] * positives).sum(axis=1)
    if value > means[-1] + 1e-9:
        warnings.warn(
            f"The mean posterior is {means[-1]:.4f}, not the prevalence {value:.4f}, because only "
            "that share of the sample lies where positives do.",
            stacklevel=3,
        )
    s = np.interp(value, means, knots)
    posterior = np.zeros(len(shares))
    posterior[possible] = np.minimum(1.0, s * positives / sample)
    return posterior
