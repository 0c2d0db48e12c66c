"""What the regions of one part say about samples: all that follows from counts, once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from poscount.checks import ColumnEvidence, Evidence, PositiveColumns, UnknownValues
from poscount.checks.columns import has_a_scale
from poscount.checks.overlap import core_excess
from poscount.methods.pat import tail_ratios
from poscount.methods.regions.core import core_difference
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.layout import (
    BANDS,
    LEARNED_QUANTILES,
    N_SCORE_CELLS,
    SCORE_QUANTILES,
)
from poscount.methods.regions.rule import RegionBounds, RegionCounts, RegionEstimates, RegionRule

if TYPE_CHECKING:
    from poscount.methods.regions.part import RegionPart, SideCounts


class PartView:
    """Samples as one part sees them; each thing is computed when it is first asked for.

    Parameters
    ----------
    part : RegionPart
    rule : RegionRule
    counts : RegionCounts
        Rows of the samples in these regions.
    side : SideCounts
        What else was counted of them.
    tolerance : float, default=0.0
        By how many standard deviations of the positives columns may have been recorded differently
        in the samples.
    """

    def __init__(
        self,
        part: RegionPart,
        rule: RegionRule,
        counts: RegionCounts,
        side: SideCounts,
        tolerance: float = 0.0,
    ) -> None:
        self.part = part
        self.rule = rule
        self.counts = counts
        self.side = side
        self.tolerance = tolerance

    def __len__(self) -> int:
        return len(self.counts.n_rows)

    def with_counts(self, counts: RegionCounts) -> PartView:
        """The same samples with other rows in the regions."""
        return PartView(self.part, self.rule, counts, self.side, self.tolerance)

    @functools.cached_property
    def found(self) -> RegionEstimates:
        """Ratios, bounds and the uncalibrated prevalence."""
        return self.rule.estimate(self.counts)

    @functools.cached_property
    def plain(self) -> RegionEstimates:
        """The same without the regions of a learned score."""
        if self.part.learned_score_ is None:
            return self.found
        return self._plain_rule.estimate(self._plain_counts)

    def tolerant(self, tolerance: float) -> RegionEstimates:
        """The same as `found` if columns may have been recorded differently.

        The positives of a sample, of which there are at most as many as PAT says, then have other
        shares in the regions than the labelled ones. Their variance is part of the bounds, so that
        regions which a small change empties are not trusted.

        Parameters
        ----------
        tolerance : float
            In standard deviations of the positives.
        """
        if tolerance == 0:
            return self.found
        return self.rule.estimate(self.counts._replace(noise=self._recording_noise(tolerance)))

    def plain_tolerant(self, tolerance: float) -> RegionEstimates:
        """The same without the regions of a learned score, which knows how rows were recorded."""
        if self.part.learned_score_ is None:
            return self.tolerant(tolerance)
        if tolerance == 0:
            return self.plain
        noise = _without_learned_cuts(self._recording_noise(tolerance))
        return self._plain_rule.estimate(self._plain_counts._replace(noise=noise))

    def _recording_noise(self, tolerance: float) -> np.ndarray:
        size = tolerance * np.minimum(1.0, self.pat)[:, np.newaxis, np.newaxis]
        return size**2 * self.part.recording_variance_

    @property
    def _plain_rule(self) -> RegionRule:
        return self.rule.without_learned_score

    @property
    def _plain_counts(self) -> RegionCounts:
        return self.counts._replace(in_cuts=_without_learned_cuts(self.counts.in_cuts))

    def most_informative_regions(self, n_regions: int = 15) -> list[RegionBounds]:
        """The regions with the smallest bounds for the first sample, smallest first.

        Empty if there are too few positives for regions.
        """
        if not self.rule.enough_positives:
            return []
        smallest = np.argsort(self.found.bounds[2][0], kind="stable")[:n_regions]
        return [self.bounds_of(0, region) for region in smallest.tolist()]

    def bounds_of(self, i: int, region: int) -> RegionBounds:
        """What a region, given by its place in the rule's `indices`, says about sample `i`."""
        share = float(self.rule.in_positives[region] / self.part.n_labeled_)
        ends = (float(values[i, region]) for values in self.found.bounds)
        return RegionBounds(self.rule.describe(region), share, *ends)

    @functools.cached_property
    def pat_curve(self) -> np.ndarray:
        """PAT's ratio at each of its thresholds, of shape (n_samples, 51)."""
        return tail_ratios(self.side.pat_cells, self.part.pat_shares)

    @functools.cached_property
    def pat(self) -> np.ndarray:
        """PAT's estimate with the same score, before its cap at 1."""
        return np.median(self.pat_curve, axis=-1)

    @functools.cached_property
    def core_excess(self) -> np.ndarray:
        """How overfull the core of the positives is (`poscount.checks.overlap`)."""
        return core_excess(self.pat, self.part.n_labeled_, self.counts.n_rows)

    @functools.cached_property
    def core_difference(self) -> np.ndarray:
        """How differently the cores of samples and positives are spread."""
        rule = self.rule
        return core_difference(*rule.core(self.counts.in_cuts), *rule.core_of_positives)

    @functools.cached_property
    def features(self) -> np.ndarray:
        """What a calibration looks at, a line for each sample."""
        lines = [self.of_regions, self.of_tolerance]
        if self.part.learned_score_ is not None:
            lines.append(self.of_learned_score)
        return np.column_stack(lines)

    @functools.cached_property
    def of_regions(self) -> np.ndarray:
        """Those of the features that are there for every method."""
        return self.rule.features.of_view(self)

    @functools.cached_property
    def of_tolerance(self) -> np.ndarray:
        """What a calibration sees of samples that may have been recorded differently."""
        return self.rule.features.of_tolerance(self)

    @functools.cached_property
    def of_learned_score(self) -> np.ndarray:
        """What a calibration looks at besides, where there is a learned score."""
        return self.rule.features.of_learned_score(self)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return feature_names(learned=self.part.learned_score_ is not None)

    @functools.cached_property
    def evidence(self) -> Evidence:
        """What the checks see of the samples before their prevalences are known."""
        part, missing = self.part, self.side.missing
        absent = np.zeros(missing.missing.shape)
        absent[:, part.categories_] = self.rule.vanished_categories(self.counts)
        inside = self.counts.in_cuts[:, BANDS.index((2, N_SCORE_CELLS)), 0] / self.counts.n_rows
        known = Evidence(
            len(self),
            n_labeled=part.n_labeled_,
            feature_names=part.columns_.design_names,
            unknown_values=UnknownValues(part.columns_, *missing, self.counts.n_rows, absent),
            core_share=self.rule.core_shares(self.counts),
            beyond=self.side.far[:, 0] / self.counts.n_rows,
            at_fringe=(1 - inside) / SCORE_QUANTILES[1],
        )
        return known if part.projected_ else known.having(columns=self._columns())

    def _columns(self) -> ColumnEvidence:
        part, n_labeled = self.part, self.part.n_labeled_
        # Derived numbers have no units that could be wrong. They are the last numbers, and the
        # design matrix begins with the numbers.
        n = len(part.range_limits_) - part.n_derived_
        given = part.features_ < n
        cut = part.features_[given]
        below, positives_below = (
            values[..., given, :] for values in self.rule.below(self.counts.in_cuts)
        )
        share, zeros = positives_below / n_labeled, part.zeros_[:n] / n_labeled
        varying = np.ones(n, bool)
        varying[part.scorer_.constant_[part.scorer_.constant_ < n]] = False
        judged = varying & has_a_scale(share, cut, zeros)
        # The limits that are nearest, below and above.
        ranges = part.range_limits_[:n, [0, part.range_limits_.shape[1] // 2]]
        signs = np.sign(part.scorer_.location_[cut])
        positives = PositiveColumns(ranges, zeros, varying, judged, cut, share, signs)
        in_ranges = self.side.ranges
        return ColumnEvidence(
            positives,
            in_ranges.farther[:, :n],
            in_ranges.zeros[:, :n],
            below,
            self.counts.n_rows,
        )


def _without_learned_cuts(of_cuts: np.ndarray) -> np.ndarray:
    """All but the cuts of the learned score, which are the last ones."""
    return of_cuts[..., : -len(LEARNED_QUANTILES)]
