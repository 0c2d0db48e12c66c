"""RCQ, the region counting quantifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from poscount import constraints
from poscount.calibration.calibration import Answers, Calibration
from poscount.calibration.files import chosen_calibration
from poscount.checks import (
    ColumnEvidence,
    Evidence,
    PositiveColumns,
    RegionEvidence,
    column_evidence,
    model_cautions,
    sample_cautions,
)
from poscount.checks.columns import has_a_scale
from poscount.checks.core_differs import core_difference
from poscount.checks.overlap import core_excess
from poscount.counts import Counts
from poscount.intervals import half_width
from poscount.prevalence import Estimate, Interval
from poscount.reusable.pat import tail_ratios
from poscount.reusable.region_counter import PAT_SHARES, CountsBeside, RegionCounter
from poscount.reusable.region_layout import CLUSTERINGS, N_SCORE_CELLS
from poscount.reusable.region_profile import PROFILE
from poscount.reusable.regions import (
    RegionBounds,
    RegionCounts,
    RegionEstimates,
    Regions,
    interval_from_gap,
)
from poscount.reusable.score_quantifier import posterior_of_cells
from poscount.validation import Rows
from poscount.verdict import Caution

__all__ = ["RCQ"]

GROUPS_AT_ONCE = 128


class RCQ(RegionCounter):
    r"""Finds where positives are common but the sample is sparse, and scales up from there.

    The region counting quantifier: if a region holds a share m of the positives but only a share s
    of the sample, at most s / m of the sample is positive, whatever the negatives are. RCQ looks at
    many regions at once, bands of the Mahalanobis score crossed with cuts along features and with
    clusters of the positives. It takes the ratio of those with the smallest bounds, corrected for
    choosing among many (`poscount.reusable.regions` has the formulas). PAT, which looks at the
    bands alone, gives too high an estimate when negatives look like part of the positives; RCQ
    needs only one region without them.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        How the prevalence and its interval follow from the counts. "experience" has learned from
        thousands of tasks whose truth is known (`poscount.calibration`). "null" looks only at what
        chance does to samples of positives alone, and its intervals fail under overlap. The path
        of a file that ``poscount calibrate`` has made of your own field's past is possible, too.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the clusters and of the null calibration.

    Attributes
    ----------
    scorer_ : Mahalanobis
        The scorer, with a shrunk covariance, fitted on all positives.
    edges_ : ndarray
        Edges along the score.
    features_ : ndarray of int
        Features that are cut: those that vary, or 40 of them at random if there are more.
    cuts_ : ndarray of shape (n_cut_features, 4)
        Thresholds at which they are cut.
    directions_, offsets_ : ndarray
        A row belongs to the cluster whose direction, times the row, minus the offset is largest.
    binned_ : ndarray of uint8, shape (n_labeled, 1 + n_cut_features + 3)
        Score cell, bins of the features and clusters of every positive; the calibration redraws
        them. So a model file tells roughly where each positive lies.
    calibration_ : Calibration or None
        The calibration, as part of the model; None for "null".
    far_ : ndarray of shape (3,)
        Scores of rows that are as far away as the farthest positive, or twice or four times as far.
    limits_ : ndarray of shape (n_features, 8)
        Limits outside of each feature's range (`poscount.reusable.feature_ranges`).
    zeros_ : ndarray of int, shape (n_features,)
        Positives whose value is exactly 0.
    copied_ : float
        Share of the positives given that are copies of others, 0 where values are coarse. If it is
        above 0.2, each distinct positive is used once.
    n_given_ : int
        Number of positives given, copies included.
    core_freedom_ : float
        How many independent cuts the cuts of the features are worth, for the warning
        "core-differs".
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    A sample is seen through 8 score cells times (5 bins of each cut feature and 9 clusters), the 52
    cells of PAT along the same score, 3 counts of rows far away, and 9 of rows outside of the
    range of each feature: at most 14 kB and 72 bytes a feature, which add up.

    With fewer than 20 positives, or if no region holds between 8 and 90 % of them, RCQ uses PAT's
    rule with the same score, and the warning "few-positives-for-rcq" says so: without overlap,
    PAT's error was smaller by 1 to 4 points for 10 to 15 positives, equal for 20 to 25, and larger
    from 30 on (``benchmarks/rcq_ablation.py --variants RCQ --positives 10 15 20 30``).

    `details` of a prevalence: the `region` with the smallest bound, in words, with its `share` of
    the positives, its `ratio` and its bounds `low` and `high`; the weighted `ratio` before the
    calibration, and the `null_ratio` of samples of positives alone; `bound`, which at least 97.5 of
    100 prevalences do not exceed, for any negatives; the `gap` between bound and ratio, from which
    the interval is made; `pat`, PAT's estimate with the same score, before its cap at 1; and the
    statistics of the warnings, `core_difference`, `disagreement` and `core_excess`
    (`poscount.checks`).

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
    >>> 0.3 in RCQ(random_state=0).fit(positives).quantify(sample).interval
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        self.calibration_ = chosen_calibration(self.calibration, "RCQ")
        self._regions = self._make_regions()

    def _make_regions(self) -> Regions:
        names = self.feature_names
        cut = [names[j] for j in self.features_.tolist()]
        return Regions(self._layout, self.binned_, self.cuts_, cut, self.seed_)

    @property
    def regions(self) -> Regions:
        """The regions of the positives, and the rule from counts in them to prevalences."""
        if "_regions" not in vars(self):  # a model from a file
            self._regions = self._make_regions()
        return self._regions

    def count_in_regions(self, *counts: Counts) -> RegionCounts:
        """Rows of samples in every region, from their counts."""
        for each in counts:
            self._check_counts(each)
        tables, _ = self.split_cells(np.array([each.cells for each in counts]))
        return self.regions.read_tables(tables, np.array([each.n for each in counts]))

    def most_informative_regions(self, counts: Counts, n_regions: int = 15) -> list[RegionBounds]:
        """The regions with the smallest upper bounds on the prevalence, smallest first.

        Parameters
        ----------
        counts : Counts
            Of the sample, by this model.
        n_regions : int, default=15
            Largest number of regions.

        Returns
        -------
        list of RegionBounds
            Empty if there are too few positives for regions.

        Examples
        --------
        >>> import numpy as np
        >>> from poscount import RCQ
        >>> rng = np.random.default_rng(0)
        >>> model = RCQ(random_state=0).fit(rng.normal(size=(300, 2)))
        >>> sample = rng.normal(size=(500, 2)) + [3, 0]
        >>> first, *_ = model.most_informative_regions(model.count(sample))
        >>> first._asdict() == model.quantify(sample).details["region"]
        True
        """
        counted = self.count_in_regions(counts)
        if not self.regions.enough_positives:
            return []
        ratio, low, high = (values[0] for values in self.regions.bounds(counted))
        share = self.regions.in_positives / self.n_labeled_
        return [
            RegionBounds(
                self.regions.words(i),
                float(share[i]),
                float(ratio[i]),
                float(low[i]),
                float(high[i]),
            )
            for i in np.argsort(high, kind="stable")[:n_regions].tolist()
        ]

    def profile(self, *counts: Counts) -> np.ndarray:
        """What the regions say about samples, a line each: what a calibration learns from.

        Parameters
        ----------
        *counts : Counts
            Of the samples, by this model, which needs at least 20 positives.

        Returns
        -------
        ndarray of shape (n_samples, len(PROFILE))
            With the columns of `poscount.reusable.region_profile.PROFILE`.
        """
        counted = self.count_in_regions(*counts)
        _, beside = self.split_cells(np.array([each.cells for each in counts]))
        return self.profile_in_regions(self.regions, counted, beside)

    def profile_in_regions(
        self,
        regions: Regions,
        counts: RegionCounts,
        beside: CountsBeside,
        more: np.ndarray | None = None,
    ) -> np.ndarray:
        """The same as `profile`, for regions that need not be those of this model.

        Parameters
        ----------
        regions, counts, beside, more
            As in `estimate_in_regions`.
        """
        difference = self._core_difference(regions, counts)
        return self._lines(regions, regions.find(counts), counts, beside, difference, more)

    def _core_difference(self, regions: Regions, counts: RegionCounts) -> np.ndarray:
        return core_difference(*regions.core(counts.in_cuts), *regions.core_of_positives)

    def _lines(
        self,
        regions: Regions,
        found: RegionEstimates,
        counts: RegionCounts,
        beside: CountsBeside,
        difference: np.ndarray,
        more: np.ndarray | None,
    ) -> np.ndarray:
        lines = regions.profile.lines(
            found,
            counts,
            beside,
            self.n_features_in_,
            tail_ratios(beside.pat_cells, PAT_SHARES),
            difference,
            self.core_freedom_,
            *regions.in_whole_cuts(counts.in_cuts),
        )
        return lines if more is None else np.column_stack([lines, more])

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Estimate]:
        estimates = []
        for start in range(0, len(cells), GROUPS_AT_ONCE):
            part = slice(start, start + GROUPS_AT_ONCE)
            tables, beside = self.split_cells(cells[part])
            counts = self.regions.read_tables(tables, n_rows[part])
            estimates += self.estimate_in_regions(self.regions, counts, beside, self.calibration_)
        return estimates

    def estimate_in_regions(
        self,
        regions: Regions,
        counts: RegionCounts,
        beside: CountsBeside,
        calibration: Calibration | None,
        more: np.ndarray | None = None,
        names: Sequence[str] = PROFILE,
    ) -> list[Estimate]:
        """Estimate prevalences from counts in regions, which need not be those of this model.

        Parameters
        ----------
        regions : Regions
            Of the same positives.
        counts : RegionCounts
            Rows of the samples in them.
        beside : CountsBeside
            What else was counted of the samples.
        calibration : Calibration or None
            None for the null calibration.
        more : ndarray of shape (n_samples, n_more), optional
            What the calibration looks at besides all that.
        names : sequence of str
            Names of all columns that it looks at.
        """
        pat = np.median(tail_ratios(beside.pat_cells, PAT_SHARES), axis=-1).tolist()
        of_model = model_cautions(
            Evidence(
                n_labeled=self.n_labeled_,
                feature_names=self.feature_names,
                largest_tie=self.largest_tie_,
                copied=self.copied_,
                n_given=self.n_given_,
                answered_by_pat=not regions.enough_positives,
            )
        )
        n_rows = counts.n_rows.tolist()
        seen = self._evidence_of(regions, counts, beside)
        if not regions.enough_positives:
            return [
                self._estimate_by_pat(uncapped, n, evidence, of_model)
                for uncapped, n, evidence in zip(pat, n_rows, seen, strict=True)
            ]
        found = regions.find(counts)
        differences = self._core_difference(regions, counts)
        answers = _by_null_calibration(found, self.confidence)
        if calibration is not None:
            lines = self._lines(regions, found, counts, beside, differences, more)
            answers = calibration.answer(lines, names, self.confidence).beside(answers)
        return [
            self._estimate_by_regions(
                regions, found, answers, i, n, pat[i], float(differences[i]), evidence, of_model
            )
            for i, (n, evidence) in enumerate(zip(n_rows, seen, strict=True))
        ]

    def evidence(self, counts: Counts) -> Evidence:
        """What the checks can see of a sample before its prevalence is known, from its counts."""
        counted = self.count_in_regions(counts)
        _, beside = self.split_cells(counts.cells[np.newaxis])
        return next(self._evidence_of(self.regions, counted, beside))

    def _evidence_of(
        self, regions: Regions, counts: RegionCounts, beside: CountsBeside
    ) -> Iterator[Evidence]:
        names = self.feature_names
        columns = self._column_evidence(regions, counts, beside)
        for of_columns, core in zip(columns, regions.core_shares(counts).tolist(), strict=True):
            yield Evidence(
                n_labeled=self.n_labeled_, feature_names=names, columns=of_columns, core_share=core
            )

    def _column_evidence(
        self, regions: Regions, counts: RegionCounts, beside: CountsBeside
    ) -> list[ColumnEvidence]:
        below, positives_below = regions.below(counts.in_cuts)
        share = positives_below / self.n_labeled_
        zeros = self.zeros_ / self.n_labeled_
        varying = np.ones(self.n_features_in_, bool)
        varying[self.scorer_.constant_] = False
        judged = varying & has_a_scale(share, self.features_, zeros)
        # The limits that are nearest, below and above.
        ranges = self.limits_[:, [0, self.limits_.shape[1] // 2]]
        signs = np.sign(self.scorer_.location_[self.features_])
        cut = self.features_
        positives = PositiveColumns(ranges, zeros, varying, judged, cut, share, signs)
        outside = beside.outside
        return column_evidence(positives, outside.farther, outside.zeros, below, counts.n_rows)

    def _estimate_by_pat(
        self, pat: float, n_rows: int, seen: Evidence, of_model: tuple[Caution, ...]
    ) -> Estimate:
        p = min(1.0, pat)
        half = float(half_width(p, self.n_labeled_, n_rows, self.confidence))
        interval = Interval(max(0.0, p - half), min(1.0, p + half), self.confidence)
        excess = core_excess(pat, self.n_labeled_, n_rows)
        evidence = replace(seen, interval=interval, core_excess=excess)
        details = {"pat": pat, "core_excess": excess}
        return Estimate(p, details, interval, sample_cautions(evidence, of_model))

    def _estimate_by_regions(
        self,
        regions: Regions,
        found: RegionEstimates,
        answers: Answers,
        i: int,
        n_rows: int,
        pat: float,
        difference: float,
        seen: Evidence,
        of_model: tuple[Caution, ...],
    ) -> Estimate:
        decision = found.decision
        p, gap, ratio = float(found.prevalence[i]), float(found.gap[i]), float(decision.ratio[i])
        region = RegionBounds(
            regions.words(int(decision.region[i])),
            float(decision.region_share[i]),
            float(decision.region_ratio[i]),
            float(decision.region_low[i]),
            float(decision.region_high[i]),
        )
        disagreement = (pat - p) / max(gap, np.finfo(float).tiny)
        excess = core_excess(pat, self.n_labeled_, n_rows)
        details = {
            "region": region._asdict(),
            "ratio": ratio,
            "null_ratio": float(found.null_ratio[i]),
            "gap": gap,
            "uncalibrated": p,
            "expected_error": _number(answers.expected_error[i]),
            "likely_error": _number(answers.likely_error[i]),
            "bound": max(float(answers.value[i]), min(1.0, region.high)),
            "pat": pat,
            "core_difference": difference,
            "disagreement": disagreement,
            "core_excess": excess,
        }
        interval = Interval(float(answers.low[i]), float(answers.high[i]), self.confidence)
        evidence = replace(
            seen,
            interval=interval,
            gap=gap,
            core_excess=excess,
            regions=RegionEvidence(
                float(answers.value[i]), pat, gap, difference, self.core_freedom_, disagreement
            ),
            unlike_experience=bool(answers.outside[i]),
        )
        return Estimate(
            float(answers.value[i]), details, interval, sample_cautions(evidence, of_model)
        )

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability that each row of a sample is positive.

        All rows in the same score cell and the same one of four clusters have the same probability,
        min(1, s share_L / share_U), with the shares of the positives and of the sample, and s such
        that the mean over the sample is the estimated prevalence.

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
        value = float(self._quantify(rows))
        cells = np.concatenate([_joint_cell(self.place(block)) for block in rows.blocks()])
        n_cells = N_SCORE_CELLS * CLUSTERINGS[-1]
        shares, sample_shares = (
            np.bincount(x, minlength=n_cells) / len(x) for x in (_joint_cell(self.binned_), cells)
        )
        return posterior_of_cells(shares, sample_shares, value)[cells]


def _by_null_calibration(found: RegionEstimates, level: float) -> Answers:
    """Answers from what chance does to positives alone."""
    ratio, p, gap = found.decision.ratio, found.prevalence, found.gap
    low, high = interval_from_gap(ratio, p, gap, level)
    unknown = np.full(len(p), np.nan)
    return Answers(p, low, high, unknown, unknown, np.zeros(len(p), bool))


def _number(value: np.floating) -> float | None:
    """As a float; None if it is not known."""
    return None if np.isnan(value) else float(value)


def _joint_cell(binned: np.ndarray) -> np.ndarray:
    """Score cell and cluster, of four, in one number."""
    return binned[:, 0].astype(np.intp) * CLUSTERINGS[-1] + binned[:, -1]
