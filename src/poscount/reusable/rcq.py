"""RCQ, the region counting quantifier."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from poscount import constraints, container
from poscount.calibration.calibration import Answers, Calibration
from poscount.calibration.files import chosen_calibration, chosen_calibrations_with_kinds
from poscount.checks import (
    Evidence,
    RegionEvidence,
    model_cautions,
    sample_cautions,
)
from poscount.checks.core_differs import core_difference
from poscount.checks.overlap import core_excess
from poscount.counts import Counts
from poscount.errors import InputError
from poscount.intervals import half_width
from poscount.prevalence import Caution, Estimate, Interval
from poscount.reusable.kinds import Kinds, clustered_kinds, separation, take_column
from poscount.reusable.kinds_profile import profile_kinds
from poscount.reusable.pat import tail_ratios
from poscount.reusable.region_counter import PAT_SHARES, RegionCounter
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
from poscount.reusable.sum_of_kinds import (
    KindShare,
    answers_of_kind,
    answers_of_sum,
    estimate_of_sum,
    shares_of_kinds,
)
from poscount.validation import Rows

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
    subtypes : int, "auto" or str, optional
        Kinds of the positives, whose shares may differ between the labelled positives and a sample
        (seasons, stages, sites): a number of them, which are then found as clusters; "auto" for as
        many as there are positives for; or the name of the column of the positives that tells the
        kind of each, which then is no feature. Each kind is counted by a model of its own, and the
        prevalence is their sum. None counts the positives as one kind.
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
    kinds_ : list of RCQ
        A model for each kind; empty if the positives are counted as one kind.
    kind_names_ : list of str
        Names of the kinds; "kind 1", the one with most positives, and so on for clusters.
    separation_ : float
        How far apart the kinds are (`poscount.reusable.kinds.separation`).
    kinds_calibration_ : Calibration or None
        The calibration of the sum over kinds.
    core_freedom_ : float
        How many independent cuts the cuts of the features are worth, for the warning
        "core-differs".
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    A sample is seen through 8 score cells times (5 bins of each cut feature and 9 clusters), and
    the 52 cells of PAT along the same score: at most 14 kB, which add up.

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

    With `subtypes` there are in addition `kinds`, a list with the `name` of each kind, its number
    of `positives`, and its `prevalence`, `low` and `high`; `one_kind`, the prevalence if all
    positives are counted as one kind; and `heterogeneity`, which is about 1 if the kinds have the
    same shares in the sample as among the positives, and larger if they do not
    (`poscount.reusable.kinds_profile`). The prevalences of the kinds add up to the prevalence; its
    interval is calibrated by tasks of its own, with and without drift. Counting takes as much
    longer as there are kinds, up to 12 with "auto". With fewer than 80 positives "auto" counts them
    as one kind.

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

    In this sample, all positives are of the kind around 0:

    >>> sample = np.vstack([around(0, 400), around(9, 600)])
    >>> answer = RCQ(subtypes=2, random_state=0).fit(positives).quantify(sample)
    >>> one, other = (kind["prevalence"] for kind in answer.details["kinds"])
    >>> 0.4 in answer.interval, bool(min(one, other) < 0.05)
    (True, True)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "subtypes": [Integral, str, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        subtypes: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.subtypes = subtypes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, positives: Any, y: Any = None, *, features: Sequence[str] | None = None) -> Self:
        """Learn from labelled positives.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else.
        y : ignored
            Exists for compatibility with scikit-learn.
        features : sequence of str, optional
            Columns to use, if the positives are a frame with others as well.
        """
        self._validate_params()
        told = None
        if isinstance(self.subtypes, str) and self.subtypes != "auto":
            positives, features, told = take_column(positives, features, self.subtypes)
        super().fit(positives, features=features)
        self.kinds_: list[RCQ] = []
        if self.subtypes is not None:
            block = np.asarray(self._sample(positives).whole(), np.float64)
            self._learn_kinds(block, told or clustered_kinds(block, self.subtypes, self.seed_))
        return self

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        if self.subtypes is None:
            self.calibration_ = chosen_calibration(self.calibration, "RCQ")
        else:
            both = chosen_calibrations_with_kinds(self.calibration)
            self.calibration_, self.kinds_calibration_ = both
        self._regions = self._make_regions()

    def _learn_kinds(self, block: np.ndarray, kinds: Kinds) -> None:
        self.kind_names_ = kinds.names
        if len(kinds.names) == 1:
            return
        parts = []
        for code, name in enumerate(kinds.names):
            part = RCQ(confidence=self.confidence, calibration="null", random_state=self.seed_)
            rows = block[kinds.codes == code]
            varies = np.ptp(rows, axis=0).any()
            if varies and part.fit(rows).regions.enough_positives:
                parts.append(part)
            elif self.subtypes == "auto":
                self.kind_names_ = ["all"]
                return
            else:
                raise InputError(
                    f"The {len(rows)} positives of {name} are too much alike to be counted as a "
                    "kind of their own: put them together with another kind.",
                    option="subtypes",
                )
        self.kinds_ = parts
        self.separation_ = separation(block, kinds.codes, self.seed_)
        meta = {"all": self.hash_, "names": kinds.names, "kinds": [part.hash_ for part in parts]}
        self.hash_ = container.digest(meta, {})

    @property
    def _parts(self) -> list[RCQ]:
        """The models that count: this one, and those of the kinds."""
        # A model from a file of a version without kinds has none.
        return [self, *getattr(self, "kinds_", [])]

    @property
    def _n_cells(self) -> int:
        return sum(part.n_own_cells for part in self._parts)

    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        first = 0
        for part in self._parts:
            part.tally_from(first, block, groups, counted)
            first += part.n_own_cells

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
        _, pat_cells = self.split_cells(np.array([each.cells for each in counts]))
        return self.profile_in_regions(self.regions, counted, pat_cells)

    def profile_in_regions(
        self,
        regions: Regions,
        counts: RegionCounts,
        pat_cells: np.ndarray,
        beside: np.ndarray | None = None,
    ) -> np.ndarray:
        """The same as `profile`, for regions that need not be those of this model.

        Parameters
        ----------
        regions, counts, pat_cells
            As in `estimate_in_regions`.
        beside : ndarray of shape (n_samples, n_more), optional
            Further columns.
        """
        difference = self._core_difference(regions, counts)
        return self._lines(regions, regions.find(counts), counts, pat_cells, difference, beside)

    def _core_difference(self, regions: Regions, counts: RegionCounts) -> np.ndarray:
        return core_difference(*regions.core(counts.in_cuts), *regions.core_of_positives)

    def _lines(
        self,
        regions: Regions,
        found: RegionEstimates,
        counts: RegionCounts,
        pat_cells: np.ndarray,
        difference: np.ndarray,
        beside: np.ndarray | None,
    ) -> np.ndarray:
        lines = regions.profile.lines(
            found,
            counts.n_rows,
            self.n_features_in_,
            tail_ratios(pat_cells, PAT_SHARES),
            difference,
            self.core_freedom_,
            *regions.in_whole_cuts(counts.in_cuts),
        )
        return lines if beside is None else np.column_stack([lines, beside])

    def profile_of_kinds(self, *counts: Counts) -> np.ndarray:
        """What the kinds say about samples, a line each: what the sum's calibration learns from.

        Parameters
        ----------
        *counts : Counts
            Of the samples, by this model, which needs at least two kinds.

        Returns
        -------
        ndarray of shape (n_samples, len(KINDS_PROFILE))
            With the columns of `poscount.reusable.kinds_profile.KINDS_PROFILE`.
        """
        for each in counts:
            self._check_counts(each)
        cells, n_rows = (np.array([getattr(c, name) for c in counts]) for name in ("cells", "n"))
        return self._lines_of_kinds(self._lines_of_parts(cells, n_rows))

    def _lines_of_parts(self, cells: np.ndarray, n_rows: np.ndarray) -> list[np.ndarray]:
        """What the positives as one kind, and then each kind, say about samples."""
        lines, first = [], 0
        for part in self._parts:
            tables, pat_cells = part.split_cells(cells[:, first:])
            first += part.n_own_cells
            counts = part.regions.read_tables(tables, n_rows)
            lines.append(part.profile_in_regions(part.regions, counts, pat_cells))
        return lines

    def _lines_of_kinds(self, lines: list[np.ndarray]) -> np.ndarray:
        plain, *of_kinds = lines
        sizes = np.array([part.n_labeled_ for part in self.kinds_])
        told = isinstance(self.subtypes, str) and self.subtypes != "auto"
        return profile_kinds(plain, np.array(of_kinds), sizes, self.separation_, told)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Estimate]:
        estimates = []
        for start in range(0, len(cells), GROUPS_AT_ONCE):
            part = slice(start, start + GROUPS_AT_ONCE)
            tables, pat_cells = self.split_cells(cells[part])
            counts = self.regions.read_tables(tables, n_rows[part])
            found = self.estimate_in_regions(self.regions, counts, pat_cells, self.calibration_)
            if self.subtypes is not None:
                found = self._sum_kinds(found, cells[part], n_rows[part])
            estimates += found
        return estimates

    def _sum_kinds(
        self, plain: list[Estimate], cells: np.ndarray, n_rows: np.ndarray
    ) -> list[Estimate]:
        """Estimates as sums over kinds, given those of all positives as one kind."""
        if not self.kinds_:
            return [self._only_kind(estimate) for estimate in plain]
        lines = self._lines_of_parts(cells, n_rows)
        of_kinds = [answers_of_kind(part, self.calibration_, self.confidence) for part in lines[1:]]
        sums = self._lines_of_kinds(lines)
        answers = answers_of_sum(sums, self.kinds_calibration_, self.confidence)
        sizes = [part.n_labeled_ for part in self.kinds_]
        return [
            estimate_of_sum(
                estimate,
                answers,
                sums[i],
                i,
                shares_of_kinds(self.kind_names_, sizes, of_kinds, i, float(answers.value[i])),
                self.n_labeled_,
                self.confidence,
            )
            for i, estimate in enumerate(plain)
        ]

    def _only_kind(self, estimate: Estimate) -> Estimate:
        interval = estimate.interval
        assert interval is not None  # RCQ always has one
        share = KindShare(
            self.kind_names_[0], self.n_labeled_, estimate.value, interval.low, interval.high
        )
        return estimate._replace(details={**estimate.details, "kinds": [share._asdict()]})

    def estimate_in_regions(
        self,
        regions: Regions,
        counts: RegionCounts,
        pat_cells: np.ndarray,
        calibration: Calibration | None,
        beside: np.ndarray | None = None,
        names: Sequence[str] = PROFILE,
    ) -> list[Estimate]:
        """Estimate prevalences from counts in regions, which need not be those of this model.

        Parameters
        ----------
        regions : Regions
            Of the same positives.
        counts : RegionCounts
            Rows of the samples in them.
        pat_cells : ndarray of shape (n_samples, 52)
            Rows of the samples in PAT's cells.
        calibration : Calibration or None
            None for the null calibration.
        beside : ndarray of shape (n_samples, n_more), optional
            What the calibration looks at besides the regions.
        names : sequence of str
            Names of all columns that it looks at.
        """
        pat = np.median(tail_ratios(pat_cells, PAT_SHARES), axis=-1).tolist()
        of_model = model_cautions(
            Evidence(
                n_labeled=self.n_labeled_,
                feature_names=self.feature_names,
                scorer=self.scorer_,
                largest_tie=self.largest_tie_,
                answered_by_pat=not regions.enough_positives,
            )
        )
        n_rows = counts.n_rows.tolist()
        if not regions.enough_positives:
            return [
                self._estimate_by_pat(uncapped, n, of_model)
                for uncapped, n in zip(pat, n_rows, strict=True)
            ]
        found = regions.find(counts)
        differences = self._core_difference(regions, counts)
        answers = _by_null_calibration(found, self.confidence)
        if calibration is not None:
            lines = self._lines(regions, found, counts, pat_cells, differences, beside)
            answers = calibration.answer(lines, names, self.confidence).beside(answers)
        return [
            self._estimate_by_regions(
                regions, found, answers, i, n, pat[i], float(differences[i]), of_model
            )
            for i, n in enumerate(n_rows)
        ]

    def _estimate_by_pat(self, pat: float, n_rows: int, of_model: tuple[Caution, ...]) -> Estimate:
        p = min(1.0, pat)
        half = float(half_width(p, self.n_labeled_, n_rows, self.confidence))
        interval = Interval(max(0.0, p - half), min(1.0, p + half), self.confidence)
        excess = core_excess(pat, self.n_labeled_, n_rows)
        evidence = Evidence(n_labeled=self.n_labeled_, interval=interval, core_excess=excess)
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
            "expected_error": float(answers.expected_error[i]),
            "bound": max(float(answers.value[i]), min(1.0, region.high)),
            "pat": pat,
            "core_difference": difference,
            "disagreement": disagreement,
            "core_excess": excess,
        }
        interval = Interval(float(answers.low[i]), float(answers.high[i]), self.confidence)
        evidence = Evidence(
            n_labeled=self.n_labeled_,
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
        cells = np.concatenate([_joint_cell(self.place(block)[0]) for block in rows.blocks()])
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
    return Answers(p, low, high, unknown, np.zeros(len(p), bool))


def _joint_cell(binned: np.ndarray) -> np.ndarray:
    """Score cell and cluster, of four, in one number."""
    return binned[:, 0].astype(np.intp) * CLUSTERINGS[-1] + binned[:, -1]
