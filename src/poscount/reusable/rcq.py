"""RCQ, the region counting quantifier."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import _param_validation as constraints

from poscount import checks, container
from poscount.base import CountingQuantifier
from poscount.prevalence import Interval, Prevalence
from poscount.reusable.clusters import centres
from poscount.reusable.pat import tail_ratios
from poscount.reusable.posterior import posterior_of_cells
from poscount.reusable.region_rule import Findings, RegionRule, interval
from poscount.reusable.regions import (
    BANDS,
    CLUSTERINGS,
    CORE,
    FEATURE_QUANTILES,
    N_SCORE_CELLS,
    SCORE_QUANTILES,
    Layout,
    layout,
    place_cuts,
)
from poscount.scorers import Mahalanobis, fit_scorer, score
from poscount.scorers.products import products
from poscount.seeds import stream
from poscount.threads import one_blas_thread
from poscount.validation import BLOCK_ROWS, InputError, Rows

MOST_FEATURES = 40
DECIMALS = 6
GROUPS_AT_ONCE = 128

# The thresholds of PAT, of which the score cells use some, and two more below.
PAT_QUANTILES = np.linspace(0.25, 0.75, 51)
EDGE_QUANTILES = np.concatenate([SCORE_QUANTILES[:2], PAT_QUANTILES])
PAT_SHARES = np.diff(PAT_QUANTILES, prepend=0.0, append=1.0)
_IS_CELL_EDGE = np.isin(EDGE_QUANTILES.round(2), SCORE_QUANTILES)
# Score cell of the rows between two edges.
_CELL = np.concatenate([[0], np.cumsum(_IS_CELL_EDGE)]).astype(np.uint8)
_N_BELOW = len(EDGE_QUANTILES) - len(PAT_QUANTILES)


class RCQ(CountingQuantifier):
    r"""Region counting: the part of the positives' space that the sample fills least.

    Where a share m of the positives lives and only a share s of the sample, at most s / m of the
    sample is positive, whatever the negatives are. RCQ looks at many such regions at once, bands
    of the Mahalanobis score crossed with cuts along features and with clusters of the positives,
    and takes the ratio of those that bound the prevalence most, corrected for the luck of choosing
    among many (`poscount.reusable.region_rule` has the formulas). PAT, which looks at the bands
    alone, answers too much when negatives look like part of the positives; RCQ needs only one
    region that they avoid.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Threads that count; -1 uses all cores. The answer does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the clusters and of the calibration.

    Attributes
    ----------
    scorer_ : Mahalanobis
        The scorer, with a shrunk covariance, fitted on all positives.
    edges_ : ndarray
        Edges along the score.
    features_ : ndarray of int
        Features that are cut: those that vary, and 40 of them at random if there are more.
    cuts_ : ndarray of shape (n_cut_features, 4)
        Where they are cut.
    directions_, offsets_ : ndarray
        A row belongs to the cluster whose direction, times the row, minus the offset is largest.
    binned_ : ndarray of uint8, shape (n_labeled, 1 + n_cut_features + 3)
        The positives themselves, as score cell, bins of the features and clusters: the
        calibration redraws them. So a model file tells roughly where each positive lies.
    core_freedom_ : float
        How many independent cuts the features' cuts are worth, for the warning "core-differs".
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    A sample is seen through 8 score cells times (5 bins of each cut feature and 9 clusters), and
    the 52 cells of PAT along the same score: at most 14 kB, which add up.

    `details` of a prevalence: the `region` that bounds it most, in words, with its `share` of the
    positives, its `ratio` and its bounds `low` and `high`; the weighted `ratio` before and the
    `null_ratio` behind the calibration; `bound`, which at least 97.5 of 100 prevalences do not
    exceed, assuming nothing about the negatives; the `gap` between bound and ratio, behind the
    interval; `pat`, what PAT finds with the same score; and the statistics `H`, `G`, `O` behind
    the warnings (`poscount.checks`).

    Examples
    --------
    Half of the positives are around 0, half around 3; all negatives are around 3, too:

    >>> import numpy as np
    >>> from poscount import PAT, RCQ
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> positives = np.vstack([around(0, 250), around(3, 250)])
    >>> sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
    >>> round(float(PAT(random_state=0).fit(positives).quantify(sample)), 1)
    1.0
    >>> round(float(RCQ(random_state=0).fit(positives).quantify(sample)), 1)
    0.3
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Learning

    def _learn(self, rows: Rows) -> None:
        self.scorer_, training_scores = fit_scorer(Mahalanobis("ledoit-wolf"), rows, self.seed_)
        self.edges_ = np.quantile(training_scores, EDGE_QUANTILES)
        self.largest_tie_ = checks.largest_tie(training_scores, self.edges_)
        block = np.asarray(rows.whole(), np.float64)
        self._place_partitions(block)
        cells = _CELL[np.searchsorted(self.edges_, training_scores)]
        self.binned_ = self._with_bins(cells, block)
        self.core_freedom_ = self._core_freedom()
        self.hash_ = self._content_hash()
        self._rule = RegionRule(self._layout, self.binned_, self.seed_)

    def _place_partitions(self, block: np.ndarray) -> None:
        centred = block - self.scorer_.location_
        varying = np.setdiff1d(np.arange(block.shape[1]), self.scorer_.constant_)
        # In units of the largest value, so that no square can overflow or vanish.
        unit = np.abs(centred[:, varying]).max(axis=0)
        spread = unit * np.sqrt(((centred[:, varying] / unit) ** 2).mean(axis=0))
        # Rounded, so that values that differ by noise alone are one value.
        standardised = (centred[:, varying] / spread).round(DECIMALS)
        generator = stream(self.seed_, "features")
        chosen = np.arange(len(varying))
        if len(chosen) > MOST_FEATURES:
            chosen = np.sort(generator.choice(chosen, MOST_FEATURES, replace=False))
        self.features_ = varying[chosen]
        thresholds = np.array([place_cuts(standardised[:, j]) for j in chosen])
        location, scale = self.scorer_.location_[self.features_], spread[chosen]
        self.cuts_ = location[:, np.newaxis] + scale[:, np.newaxis] * thresholds
        generator = stream(self.seed_, "clusters")
        with one_blas_thread():
            points = np.vstack([centres(standardised, k, generator) for k in CLUSTERINGS])
        self.directions_ = np.zeros((block.shape[1], len(points)))
        self.directions_[varying] = (points / spread).T
        self.offsets_ = (points**2).sum(axis=1) / 2

    def _core_freedom(self) -> float:
        core = self.binned_[self.binned_[:, 0] >= BANDS[CORE][0]]
        bins = core[:, 1 : 1 + len(self.features_), np.newaxis]
        below = bins <= np.arange(len(FEATURE_QUANTILES))
        return checks.core_freedom(below.reshape(len(core), self.cuts_.size))

    def _content_hash(self) -> str:
        names = getattr(self, "feature_names_in_", np.array([], dtype=object))
        arrays = {
            "location": self.scorer_.location_,
            "whitening": self.scorer_.whitening_,
            "edges": self.edges_,
            "features": self.features_,
            "cuts": self.cuts_,
            "directions": self.directions_,
            "offsets": self.offsets_,
            "binned": self.binned_,
        }
        meta = {"method": type(self).__name__, "features": names.tolist(), "seed": self.seed_}
        return container.digest(meta, arrays)

    # Counting

    def _bins(self, block: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Bins of all partitions, a chunk of rows at a time: shape (n_partitions, n_rows)."""
        whole = len(self.features_) == block.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, product in products(block, self.scorer_.location_, self.directions_):
                # Columns in a row each, so that the comparisons run through memory.
                columns = block[rows] if whole else block[rows][:, self.features_]
                columns = np.ascontiguousarray(columns.T, dtype=np.float64)
                above = (columns > threshold[:, np.newaxis] for threshold in self.cuts_.T)
                features = next(above).view(np.uint8)
                for more in above:
                    features += more.view(np.uint8)
                yield rows, np.vstack([features, *_nearest((product - self.offsets_).T.copy())])

    def _tally(self, block: Any, groups: np.ndarray | None, n_groups: int) -> np.ndarray:
        n_entries = N_SCORE_CELLS * self._layout.n_columns
        counted = np.zeros((n_groups, n_entries + len(PAT_SHARES)), np.int64)
        if len(block) == 0:
            return counted
        flat = counted.reshape(-1)
        starts = np.zeros(len(block), np.intp) if groups is None else groups * counted.shape[1]
        between = np.searchsorted(self.edges_, score(self.scorer_, block))
        np.add.at(flat, starts + n_entries + np.maximum(between - _N_BELOW, 0), 1)
        first = _CELL[between].astype(np.uint16) * np.uint16(self._layout.n_columns)
        column = self._layout.offsets.astype(np.uint16)[:, np.newaxis]
        for rows, bins in self._bins(block):
            entries = first[rows] + (column + bins)
            if groups is None:
                flat[:n_entries] += np.bincount(entries.ravel(), minlength=n_entries)
            else:
                np.add.at(flat, starts[rows] + entries, 1)
        return counted

    @property
    def _layout(self) -> Layout:
        return layout(len(self.features_))

    # Estimating

    def _region_rule(self) -> RegionRule:
        if "_rule" not in vars(self):  # a model from a file
            self._rule = RegionRule(self._layout, self.binned_, self.seed_)
        return self._rule

    def _tables(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, : -len(PAT_SHARES)].reshape(len(cells), N_SCORE_CELLS, -1)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Prevalence]:
        pat = self._uncapped_pat(cells)
        return self._answers(
            self._region_rule(), self._tables(cells), n_rows, pat, type(self).__name__
        )

    def _uncapped_pat(self, cells: np.ndarray) -> np.ndarray:
        return np.median(tail_ratios(cells[:, -len(PAT_SHARES) :], PAT_SHARES), axis=-1)

    def _answers(
        self, rule: RegionRule, tables: np.ndarray, n_rows: np.ndarray, pat: np.ndarray, method: str
    ) -> list[Prevalence]:
        answers = []
        for start in range(0, len(tables), GROUPS_AT_ONCE):
            part = slice(start, start + GROUPS_AT_ONCE)
            found = rule.find(tables[part], n_rows[part])
            differences = self._core_differences(rule, found.in_cuts)
            answers += [
                self._answer(rule, found, i, float(differences[i]), float(pat[start + i]), method)
                for i in range(len(found.prevalence))
            ]
        return answers

    def _core_differences(self, rule: RegionRule, in_cuts: np.ndarray) -> np.ndarray:
        return checks.core_difference(
            *self._core(rule, in_cuts), *self._core(rule, rule.positives_in_cuts)
        )

    def _core(self, rule: RegionRule, in_cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the core below each cut that there is, and in all."""
        cuts = rule.layout.feature_cuts
        used = np.isfinite(self.cuts_.ravel())
        return in_cuts[..., CORE, cuts].compress(used, axis=-1), in_cuts[..., CORE, 0]

    def _answer(
        self,
        rule: RegionRule,
        found: Findings,
        i: int,
        difference: float,
        pat: float,
        method: str,
    ) -> Prevalence:
        p, gap, n_rows = float(found.prevalence[i]), float(found.gap[i]), int(found.n_rows[i])
        low, high = interval(p, gap, self.confidence)
        disagreement = (pat - p) / max(gap, np.finfo(float).tiny)
        excess = checks.core_excess(pat, self.n_labeled_, n_rows)
        cautions = [
            *checks.wide_gap(gap),
            *checks.shifted_core(difference, self.core_freedom_, p, pat),
            *checks.disagreement(disagreement, p, pat),
            *checks.crowded_core(excess, "PAT would answer too much, and RCQ may"),
            *checks.singular_covariance(self.scorer_, getattr(self, "feature_names_in_", None)),
            *checks.tied_scores(self.largest_tie_),
        ]
        details = {
            "seed": self.seed_,
            "region": self._region(rule, found, i),
            "ratio": float(found.decision.ratio[i]),
            "null_ratio": float(found.null_ratio[i]),
            "gap": gap,
            "bound": max(p, min(1.0, float(found.decision.its_high[i]))),
            "pat": pat,
            "H": difference,
            "G": disagreement,
            "O": excess,
        }
        return Prevalence(
            p,
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            method=method,
            interval=Interval(low, high, self.confidence),
            warnings=cautions,
            details=details,
        )

    def _region(self, rule: RegionRule, found: Findings, i: int) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" if names is None else str(names[j]) for j in self.features_.tolist()]
        decision = found.decision
        region = int(rule.regions[decision.region[i]])
        return {
            "where": rule.layout.words(region, names, self.cuts_),
            "share": float(decision.its_share[i]),
            "ratio": float(decision.its_ratio[i]),
            "low": float(decision.its_low[i]),
            "high": float(decision.its_high[i]),
        }

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability of each row of a sample to be positive.

        All rows of one score cell and one of four clusters share a probability,
        min(1, s share_L / share_U), with the shares of the positives and of the sample, and s such
        that the mean over the sample is the estimated prevalence.

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
        value = float(self._quantify(rows))
        starts = range(0, len(rows), BLOCK_ROWS)
        blocks = (rows.block(i, min(i + BLOCK_ROWS, len(rows))) for i in starts)
        cells = np.concatenate([_joint_cell(self._binned(block)) for block in blocks])
        n_cells = N_SCORE_CELLS * CLUSTERINGS[-1]
        shares, sample_shares = (
            np.bincount(x, minlength=n_cells) / len(x) for x in (_joint_cell(self.binned_), cells)
        )
        return posterior_of_cells(shares, sample_shares, value)[cells]

    def _binned(self, block: Any) -> np.ndarray:
        """Score cell and bins of rows, in the form of `binned_`."""
        with one_blas_thread():
            between = np.searchsorted(self.edges_, score(self.scorer_, block))
        return self._with_bins(_CELL[between], block)

    def _with_bins(self, cells: np.ndarray, block: Any) -> np.ndarray:
        with one_blas_thread():
            bins = np.concatenate([bins for _, bins in self._bins(block)], axis=1)
        return np.vstack([cells, bins]).T.copy()


def _joint_cell(binned: np.ndarray) -> np.ndarray:
    """Score cell and cluster, of four, in one number."""
    return binned[:, 0].astype(np.intp) * CLUSTERINGS[-1] + binned[:, -1]


def _nearest(scores: np.ndarray) -> Iterator[np.ndarray]:
    """Cluster with the largest score, for each clustering in turn."""
    first = 0
    for k in CLUSTERINGS:
        best = scores[first].copy()
        cluster = np.zeros(len(best), np.uint8)
        for i in range(1, k):
            closer = scores[first + i] > best
            cluster[closer] = i
            np.maximum(best, scores[first + i], out=best)
        yield cluster
        first += k
