"""From counts in regions to prevalences with their intervals and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poscount.calibration.calibration import Answers, Calibration
from poscount.checks import (
    Evidence,
    ManyGapEvidence,
    ManySamples,
    Missing,
    PositiveColumns,
    RegionEvidence,
    cautions_of_many,
    column_evidence,
    model_cautions,
)
from poscount.checks.columns import ManyColumnEvidence, has_a_scale
from poscount.checks.core_differs import core_difference
from poscount.checks.overlap import core_excess
from poscount.counts import Counts
from poscount.intervals import half_width
from poscount.prevalence import Estimates, Interval
from poscount.reusable.pat import tail_ratios
from poscount.reusable.region_counter import PAT_SHARES, CountsBeside, RegionCounter
from poscount.reusable.region_profile import PROFILE, RegionSets
from poscount.reusable.regions import (
    RegionBounds,
    RegionCounts,
    RegionEstimates,
    Regions,
    interval_from_gap,
)
from poscount.verdict import Caution

# Samples whose regions are looked at together, so that they stay in the cache.
SAMPLES_AT_ONCE = 128


class _SeenInCounts(NamedTuple):
    """What the checks see of samples before their prevalences are known."""

    columns: ManyColumnEvidence | Missing
    gaps: ManyGapEvidence
    core_shares: np.ndarray
    feature_names: Sequence[str]


class RegionEstimator(RegionCounter):
    """Turns counts in regions into prevalences; the attributes are those of `RCQ`."""

    confidence: float
    _regions: Regions

    def _make_regions(self) -> Regions:
        return Regions(self._layout, self.binned_, self.cut_names, self.seed_)

    @property
    def regions(self) -> Regions:
        """The regions of the positives, and the rule from counts in them to prevalences."""
        if "_regions" not in vars(self):  # a model from a file
            self._regions = self._make_regions()
        return self._regions

    def count_in_regions(self, *counts: Counts) -> RegionCounts:
        """Rows of samples in every region, from their counts."""
        cells, n_rows = self.rows_of(*counts)
        tables, _ = self.split_cells(cells)
        return self.regions.read_tables(tables, n_rows)

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
        _, beside = self.split_cells(self.rows_of(*counts)[0])
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
        found = regions.find(counts)
        sets = regions.profile.sets(found)
        return self._lines(regions, found, sets, counts, beside, difference, more)

    def _core_difference(self, regions: Regions, counts: RegionCounts) -> np.ndarray:
        return core_difference(*regions.core(counts.in_cuts), *regions.core_of_positives)

    def _lines(
        self,
        regions: Regions,
        found: RegionEstimates,
        sets: RegionSets,
        counts: RegionCounts,
        beside: CountsBeside,
        difference: np.ndarray,
        more: np.ndarray | None,
    ) -> np.ndarray:
        lines = regions.profile.lines(
            found,
            sets,
            counts,
            beside,
            len(self.block_columns.kinds_),
            tail_ratios(beside.pat_cells, PAT_SHARES),
            difference,
            self.core_freedom_,
            *regions.in_whole_cuts(counts.in_cuts),
        )
        return lines if more is None else np.column_stack([lines, more])

    def estimate_in_regions(
        self,
        regions: Regions,
        counts: RegionCounts,
        beside: CountsBeside,
        calibration: Calibration | None,
        more: np.ndarray | None = None,
        names: Sequence[str] = PROFILE,
    ) -> Estimates:
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
        pat = np.median(tail_ratios(beside.pat_cells, PAT_SHARES), axis=-1)
        excess = core_excess(pat, self.n_labeled_, counts.n_rows)
        of_model = model_cautions(
            Evidence(
                n_labeled=self.n_labeled_,
                feature_names=self.block_columns.design_names,
                largest_tie=self.largest_tie_,
                copied=self.copied_,
                n_given=self.n_given_,
                answered_by_pat=not regions.enough_positives,
            )
        )
        seen = self.seen_of(regions, counts, beside)
        if not regions.enough_positives:
            by_experience = calibration is not None
            return self._estimate_by_pat(
                pat, excess, counts.n_rows, seen, of_model, by_experience=by_experience
            )
        differences = self._core_difference(regions, counts)
        parts = []
        for first in range(0, len(counts.n_rows), SAMPLES_AT_ONCE):
            chosen = slice(first, first + SAMPLES_AT_ONCE)
            found = regions.find(counts.of_samples(chosen))
            sets = None if calibration is None else regions.profile.sets(found)
            parts.append((found.without_regions(), sets))
        found, sets = joined(parts)
        answers = null_answers(found.prevalence, found.decision.ratio, found.gap, self.confidence)
        if calibration is not None:
            lines = self._lines(regions, found, sets, counts, beside, differences, more)
            answers = calibration.answer(lines, names, self.confidence).beside(answers)
        return self._estimate_by_regions(
            regions, found, answers, pat, excess, differences, seen, of_model
        )

    def evidence(self, counts: Counts) -> Evidence:
        """What the checks can see of a sample before its prevalence is known, from its counts."""
        counted = self.count_in_regions(counts)
        _, beside = self.split_cells(self.rows_of(counts)[0])
        return self.evidence_of(self.seen_of(self.regions, counted, beside), 0)

    def seen_of(
        self, regions: Regions, counts: RegionCounts, beside: CountsBeside
    ) -> _SeenInCounts:
        """What the checks see of samples, before their prevalences are known."""
        absent = np.zeros(beside.gaps.missing.shape)
        absent[:, self.words_] = regions.absent_words(counts)
        return _SeenInCounts(
            # Sums of columns have neither units nor codes for missing values.
            Missing()
            if hasattr(self, "projection_")
            else self._column_evidence(regions, counts, beside),
            ManyGapEvidence(self.block_columns, *beside.gaps, counts.n_rows, absent),
            regions.core_shares(counts),
            self.block_columns.design_names,
        )

    def evidence_of(self, seen: _SeenInCounts, i: int) -> Evidence:
        """What they see of sample `i`."""
        return Evidence(
            n_labeled=self.n_labeled_,
            feature_names=seen.feature_names,
            columns=seen.columns if isinstance(seen.columns, Missing) else seen.columns[i],
            gaps=seen.gaps[i],
            core_share=float(seen.core_shares[i]),
        )

    def _column_evidence(
        self, regions: Regions, counts: RegionCounts, beside: CountsBeside
    ) -> ManyColumnEvidence:
        # Derived numbers have no units that could be wrong. They are the last numbers, and the
        # design matrix begins with the numbers.
        n = len(self.limits_) - self.n_derived_
        given = self.features_ < n
        cut = self.features_[given]
        below, positives_below = (values[..., given, :] for values in regions.below(counts.in_cuts))
        share = positives_below / self.n_labeled_
        zeros = self.zeros_[:n] / self.n_labeled_
        varying = np.ones(n, bool)
        varying[self.scorer_.constant_[self.scorer_.constant_ < n]] = False
        judged = varying & has_a_scale(share, cut, zeros)
        # The limits that are nearest, below and above.
        ranges = self.limits_[:n, [0, self.limits_.shape[1] // 2]]
        signs = np.sign(self.scorer_.location_[cut])
        positives = PositiveColumns(ranges, zeros, varying, judged, cut, share, signs)
        farther, zeros_there = beside.outside.farther[:, :n], beside.outside.zeros[:, :n]
        return column_evidence(positives, farther, zeros_there, below, counts.n_rows)

    def _estimate_by_pat(
        self,
        pat: np.ndarray,
        excess: np.ndarray,
        n_rows: np.ndarray,
        seen: _SeenInCounts,
        of_model: tuple[Caution, ...],
        *,
        by_experience: bool,
    ) -> Estimates:
        p = np.minimum(1.0, pat)
        half = half_width(p, self.n_labeled_, n_rows, self.confidence)
        # So few positives bound the prevalence from above only: with a lower end, intervals held in
        # .65 of 382 samples, without in .94 (`benchmarks/accuracy/calibration.py few-positives`).
        low = np.zeros(len(p)) if by_experience else np.maximum(0.0, p - half)
        high = np.minimum(1.0, p + half)

        def evidence_of(i: int) -> Evidence:
            interval = Interval(float(low[i]), float(high[i]), self.confidence)
            of_counts = self.evidence_of(seen, i)
            return replace(of_counts, interval=interval, core_excess=float(excess[i]))

        samples = ManySamples(
            width=high - low,
            core_excess=excess,
            columns=seen.columns,
            gaps=seen.gaps,
            core_share=seen.core_shares,
        )
        cautions = cautions_of_many(samples, evidence_of, of_model)

        def details_of(i: int) -> dict[str, Any]:
            return {"pat": float(pat[i]), "core_excess": float(excess[i])}

        return Estimates(p, low, high, self.confidence, details_of, cautions)

    def _estimate_by_regions(
        self,
        regions: Regions,
        found: RegionEstimates,
        answers: Answers,
        pat: np.ndarray,
        excess: np.ndarray,
        differences: np.ndarray,
        seen: _SeenInCounts,
        of_model: tuple[Caution, ...],
    ) -> Estimates:
        decision, gap = found.decision, found.gap
        disagreement = (pat - found.prevalence) / np.maximum(gap, np.finfo(float).tiny)
        of_regions = answers.value, pat, gap, differences, self.core_freedom_, disagreement

        def evidence_of(i: int) -> Evidence:
            estimate, pat_, gap_, difference, freedom, disagrees = (
                float(values if isinstance(values, float) else values[i]) for values in of_regions
            )
            return replace(
                self.evidence_of(seen, i),
                interval=Interval(float(answers.low[i]), float(answers.high[i]), self.confidence),
                gap=gap_,
                core_excess=float(excess[i]),
                regions=RegionEvidence(estimate, pat_, gap_, difference, freedom, disagrees),
                unlike_experience=bool(answers.outside[i]),
            )

        samples = ManySamples(
            width=answers.high - answers.low,
            gap=gap,
            core_excess=excess,
            regions=RegionEvidence(*of_regions),
            columns=seen.columns,
            gaps=seen.gaps,
            core_share=seen.core_shares,
            unlike_experience=answers.outside,
        )
        cautions = cautions_of_many(samples, evidence_of, of_model)

        def details_of(i: int) -> dict[str, Any]:
            region = RegionBounds(
                regions.words(int(decision.region[i])),
                float(decision.region_share[i]),
                float(decision.region_ratio[i]),
                float(decision.region_low[i]),
                float(decision.region_high[i]),
            )
            return {
                "region": region._asdict(),
                "ratio": float(decision.ratio[i]),
                "null_ratio": float(found.null_ratio[i]),
                "gap": float(gap[i]),
                "uncalibrated": float(found.prevalence[i]),
                "expected_error": number(answers.expected_error[i]),
                "likely_error": number(answers.likely_error[i]),
                "bound": max(float(answers.value[i]), min(1.0, region.high)),
                "pat": float(pat[i]),
                "core_difference": float(differences[i]),
                "disagreement": float(disagreement[i]),
                "core_excess": float(excess[i]),
            }

        return Estimates(
            answers.value,
            answers.low,
            answers.high,
            self.confidence,
            details_of,
            cautions,
            answers.likely_error,
        )


def null_answers(p: np.ndarray, ratio: np.ndarray, gap: np.ndarray, level: float) -> Answers:
    """Answers from what chance does to positives alone; without any bound, all is possible."""
    low, high = interval_from_gap(ratio, p, np.nan_to_num(gap, nan=1.0, posinf=1.0), level)
    unknown = np.full(len(p), np.nan)
    return Answers(p, low, high, unknown, unknown, np.zeros(len(p), bool))


def joined(parts: Sequence[Any]) -> Any:
    """Put the samples of nested tuples of arrays one after the other; None stays None."""
    first = parts[0]
    if len(parts) == 1 or first is None:
        return first
    if isinstance(first, tuple):
        values = [joined(each) for each in zip(*parts, strict=True)]
        return type(first)(*values) if hasattr(first, "_fields") else tuple(values)
    return np.concatenate(parts)


def number(value: np.floating) -> float | None:
    """As a float; None if it is not known."""
    return None if np.isnan(value) else float(value)
