"""RCQ, the region counting quantifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from poscount import constraints, container
from poscount.base import TABLE_CONSTRAINTS, Quantifier
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibration, chosen_calibrations
from poscount.counts import Counts
from poscount.errors import InputError
from poscount.prevalence import Estimate
from poscount.reusable.joint_regions import JointRegions, check_joint
from poscount.reusable.kinds import Kinds, clustered_kinds, separation, take_column
from poscount.reusable.kinds_profile import KINDS_PROFILE, profile_kinds
from poscount.reusable.known_negatives import stack_with_negatives, with_negatives
from poscount.reusable.labeled_groups import LabeledGroups, refuse_same_rows
from poscount.reusable.region_estimator import RegionEstimator
from poscount.reusable.region_layout import CLUSTERINGS, N_SCORE_CELLS
from poscount.reusable.region_profile import PROFILE
from poscount.reusable.shares_of_groups import (
    GroupCalibrations,
    check_calibrations,
    estimate_groups,
)
from poscount.reusable.sum_of_kinds import (
    KindShare,
    answers_of_kind,
    answers_of_sum,
    estimate_of_sum,
    shares_of_kinds,
)
from poscount.rows import Rows
from poscount.schema import (
    Field,
    ListOf,
    MayLack,
    Number,
    OrNone,
    Part,
    Text,
    require,
    same_learned,
)
from poscount.seeds import seed_of

__all__ = ["RCQ"]

GROUPS_AT_ONCE = 512
_OTHER_CALIBRATION = "its calibration is another one than it was asked for."


class RCQ(RegionEstimator):
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
    missing : {"value", "error"}, default="value"
        Whether a missing value is a fact about a row like any other, or an error.
    text : {"category", "error"}, default="category"
        Whether words and booleans are categories, or an error.
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
    kinds_ : list of RCQ
        A model for each kind; empty if the positives are counted as one kind.
    kind_names_ : list of str
        Names of the kinds; "kind 1", the one with most positives, and so on for clusters.
    separation_ : float
        How far apart the kinds are (`poscount.reusable.kinds.separation`).
    kinds_calibration_ : Calibration or None
        The calibration of the sum over kinds.
    joint_ : JointRegions
        What was learned about positives and negatives together, if there are negatives.
    groups_calibration_, other_calibration_ : Calibration or None
        The calibrations of shares with labelled negatives, and of what is neither.
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
    from 30 on (``research/tuning/rcq_ablation.py --variants RCQ --positives 10 15 20 30``).

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

    With labelled `negatives` there are `without_negatives`, the prevalence if none were known; and
    `negatives`, a list with the `name` of each kind, and last "other", its `prevalence`, `low` and
    `high`.

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
        "n_jobs": constraints.N_JOBS,
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "calibration_": OrNone(Part("Calibration")),
        "kinds_": ListOf(Part("RCQ")),
        "kind_names_": MayLack(ListOf(Text(), distinct=True)),
        "separation_": MayLack(Number()),
        "kinds_calibration_": MayLack(OrNone(Part("Calibration"))),
        "joint_": MayLack(Part("JointRegions")),
        "groups_calibration_": MayLack(OrNone(Part("Calibration"))),
        "other_calibration_": MayLack(OrNone(Part("Calibration"))),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        require((self.calibration_ is None) == (self.calibration == "null"), _OTHER_CALIBRATION)
        if self.calibration_ is not None:
            self.calibration_.check_for("RCQ", PROFILE)
        told = [hasattr(self, name) for name in ("kind_names_", "kinds_calibration_")]
        require(told == [self.subtypes is not None] * 2, "it has kinds that nobody asked for.")
        require(hasattr(self, "separation_") == bool(self.kinds_), "its kinds are incomplete.")
        if self.subtypes is not None:
            self._check_kinds()
        told = [hasattr(self, f"{name}_calibration_") for name in ("groups", "other")]
        require(told == [hasattr(self, "joint_")] * 2, "its negatives are incomplete.")
        if hasattr(self, "joint_"):
            require(self.subtypes is None, "it has kinds of positives and negatives.")
            check_joint(self.joint_, self.block_columns, self.seed_)
            same = np.array_equal(self.joint_.sizes_[0], self.n_labeled_)
            require(same, "its positives are not the first of its groups.")
            calibrations = self.groups_calibration_, self.other_calibration_
            check_calibrations(calibrations, self.calibration_ is None)

    def _check_kinds(self) -> None:
        if self.kinds_calibration_ is not None:
            self.kinds_calibration_.check_for("RCQ-kinds", KINDS_PROFILE)
        both = (self.calibration_ is None) == (self.kinds_calibration_ is None)
        require(both, _OTHER_CALIBRATION)
        n_kinds = len(self.kinds_) or 1
        require(len(self.kind_names_) == n_kinds, "a kind of positives has no name.")
        if not self.kinds_:
            return
        require(n_kinds > 1, "there is only one kind of positives.")
        if isinstance(self.subtypes, int):
            require(n_kinds <= self.subtypes, "it has more kinds than it was asked for.")
        n_given = sum(part.n_given_ for part in self.kinds_)
        require(n_given == self.n_given_, "its kinds do not add up to its positives.")
        for part in self.kinds_:
            plain = part.calibration_ is None and part.subtypes is None
            same = same_learned(part.columns_, self.columns_) and part.seed_ == self.seed_
            require(plain and same and part.regions.enough_positives, "a kind is not one of its.")
            require(same_projection(part, self), "a kind has another projection.")

    def _recomputed_hash(self) -> str | None:
        own = str(super()._recomputed_hash())
        if hasattr(self, "joint_"):
            return self._hash_with_negatives()
        return self._hash_with_kinds(own) if self.kinds_ else own

    def _hash_with_kinds(self, own: str) -> str:
        kinds = [part.hash_ for part in self.kinds_]
        return container.digest({"all": own, "names": self.kind_names_, "kinds": kinds}, {})

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        subtypes: int | str | None = None,
        n_jobs: int | None = None,
        missing: str = "value",
        text: str = "category",
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.subtypes = subtypes
        self.n_jobs = n_jobs
        self.missing = missing
        self.text = text
        self.random_state = random_state

    def fit(
        self,
        positives: Any,
        y: Any = None,
        *,
        features: Sequence[str] | None = None,
        negatives: Any = None,
    ) -> Self:
        """Learn from labelled positives, and from labelled negatives if there are any.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else.
        y : ignored
            Exists for compatibility with scikit-learn.
        features : sequence of str, optional
            Columns to use, if the positives are a frame with others as well.
        negatives : array or frame, or mapping of str to these, optional
            Labelled negatives, of one kind or of several by name. There may be other negatives in
            a sample that are like none of them. What becomes of each column is then learned from
            positives and negatives together.
        """
        self._groups: LabeledGroups | None = None
        if negatives is not None:
            if self.subtypes is not None:
                raise InputError(
                    "Kinds of positives and labelled negatives cannot be used together: give each "
                    "kind as a target of MultiRCQ, and the negatives as further targets.",
                    option="subtypes",
                    leave_out=True,
                )
            self._groups = stack_with_negatives(positives, negatives, features)
            positives = self._groups.rows
        return super().fit(positives, features=features)

    def _set_apart(
        self, positives: Any, features: Sequence[str] | None
    ) -> tuple[Any, Sequence[str] | None]:
        self._told: Kinds | None = None
        if isinstance(self.subtypes, str) and self.subtypes != "auto":
            positives, features, self._told = take_column(positives, features, self.subtypes)
        return positives, features

    def learn_codes(self, positives: np.ndarray) -> None:
        """Learn from the codes of positives, as one kind; `columns_` and `seed_` are known."""
        super().learn_codes(positives)
        self._regions = self._make_regions()
        self.kinds_: list[RCQ] = []

    def fit_like(self, other: Quantifier, positives: np.ndarray) -> Self:
        """Learn from codes of another model's positives, with the null calibration.

        Parameters
        ----------
        other : Quantifier
            The model that has made the codes of its columns.
        positives : ndarray of shape (n_labeled, n_columns)
        """
        self.seed_ = seed_of(self.random_state)
        for name in ("columns_", "projection_", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self.learn_codes(positives)
        self.calibration_: Calibration | None = None
        return self

    def _learn(self, rows: Rows) -> None:
        self.__dict__.pop("joint_", None)
        if self._groups is not None:
            self._learn_with_negatives(rows.whole(), self._groups)
            return
        super()._learn(rows)
        if self.subtypes is None:
            self.calibration_ = chosen_calibration(self.calibration, "RCQ")
            return
        both = chosen_calibrations(self.calibration, "RCQ", "RCQ-kinds")
        self.calibration_, self.kinds_calibration_ = both
        block = np.asarray(rows.whole(), np.float64)
        design = np.ascontiguousarray(self.block_columns.design(block))
        kinds = self._told or clustered_kinds(design, self.subtypes, self.seed_)
        self._learn_kinds(block, design, kinds)

    def _learn_with_negatives(self, block: np.ndarray, groups: LabeledGroups) -> None:
        """Learn from codes of positives, which are the first group, and of negatives."""
        block = np.asarray(block, np.float64)
        names, codes = groups.names, groups.codes
        refuse_same_rows(self.block_columns.design(block), codes, names, "group", self.seed_)
        self.learn_codes(block[codes == 0])
        self.calibration_, self.groups_calibration_, self.other_calibration_ = chosen_calibrations(
            self.calibration, "RCQ", "RCQ-groups", "RCQ-other"
        )
        self.joint_ = JointRegions()
        # The positives come first; the negatives in the order of their names.
        order = [0, *(1 + np.argsort(names[1:])).tolist()]
        self.joint_.learn(
            self.block_columns,
            block,
            np.argsort(order)[codes],
            [names[k] for k in order],
            self.seed_,
            "negatives",
        )
        self.hash_ = self._hash_with_negatives()

    def _hash_with_negatives(self) -> str:
        return container.digest({"positives": self._content_hash(), "all": self.joint_.hash_}, {})

    def _learn_kinds(self, block: np.ndarray, design: np.ndarray, kinds: Kinds) -> None:
        self.kind_names_ = kinds.names
        if len(kinds.names) == 1:
            return
        parts = []
        for code, name in enumerate(kinds.names):
            part = RCQ(confidence=self.confidence, calibration="null", random_state=self.seed_)
            rows = block[kinds.codes == code]
            varies = np.ptp(design[kinds.codes == code], axis=0).any()
            if varies and part.fit_like(self, rows).regions.enough_positives:
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
        self.separation_ = separation(design, kinds.codes, self.seed_)
        self.hash_ = self._hash_with_kinds(self.hash_)

    @property
    def _parts(self) -> list[RCQ]:
        """The models that count: this one, and those of the kinds."""
        return [self, *self.kinds_]

    @property
    def _n_cells(self) -> int:
        of_parts = sum(part.n_own_cells for part in self._parts)
        return of_parts + (self.joint_.n_cells if hasattr(self, "joint_") else 0)

    def _could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        first = 0
        for part in self._parts:
            if not RegionEstimator._could_count(part, cells[:, first:], totals):
                return False
            first += part.n_own_cells
        return not hasattr(self, "joint_") or self.joint_.could_count(cells[:, first:], totals)

    @property
    def _n_gap_cells(self) -> int:
        # Counts of kinds from older files cannot be completed at their end.
        return 0 if self.kinds_ or hasattr(self, "joint_") else super()._n_gap_cells

    def _tally(
        self,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        places = super()._tally(block, groups, weights, counted)
        first = self.n_own_cells
        for part in self.kinds_:
            part.tally_from(first, block, groups, weights, counted)
            first += part.n_own_cells
        if hasattr(self, "joint_"):
            self.joint_.tally_from(first, self.block_columns, block, groups, weights, counted)
        return places

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
        return self._lines_of_kinds(self._lines_of_parts(*self.rows_of(*counts)))

    def _lines_of_parts(self, cells: np.ndarray, n_rows: np.ndarray) -> list[np.ndarray]:
        """What the positives as one kind, and then each kind, say about samples."""
        lines, first = [], 0
        for part in self._parts:
            tables, beside = part.split_cells(cells[:, first:])
            first += part.n_own_cells
            counts = part.regions.read_tables(tables, n_rows)
            lines.append(part.profile_in_regions(part.regions, counts, beside))
        return lines

    def _lines_of_kinds(self, lines: list[np.ndarray]) -> np.ndarray:
        plain, *of_kinds = lines
        sizes = np.array([part.n_labeled_ for part in self.kinds_])
        told = isinstance(self.subtypes, str) and self.subtypes != "auto"
        return profile_kinds(plain, np.array(of_kinds), sizes, self.separation_, told)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Sequence[Estimate]:
        if len(cells) > GROUPS_AT_ONCE:
            parts = range(0, len(cells), GROUPS_AT_ONCE)
            each = (slice(start, start + GROUPS_AT_ONCE) for start in parts)
            return [found for part in each for found in self._estimate(cells[part], n_rows[part])]
        tables, beside = self.split_cells(cells)
        counts = self.regions.read_tables(tables, n_rows)
        found = self.estimate_in_regions(self.regions, counts, beside, self.calibration_)
        if self.subtypes is not None:
            return self._sum_kinds(found, cells, n_rows)
        return self._with_negatives(found, cells, n_rows) if hasattr(self, "joint_") else found

    @property
    def _groups_at_once(self) -> int:
        return GROUPS_AT_ONCE

    def _with_negatives(
        self, plain: Sequence[Estimate], cells: np.ndarray, n_rows: np.ndarray
    ) -> list[Estimate]:
        """Estimates with what is known about negatives, given those without."""
        counted = self.joint_.count(cells[:, self.n_own_cells :], n_rows)
        calibrations = GroupCalibrations(self.groups_calibration_, self.other_calibration_)
        found = estimate_groups(
            self.joint_,
            counted,
            len(self.block_columns.kinds_),
            calibrations,
            self.confidence,
        )
        return [
            with_negatives(alone, groups, self.joint_.names_)
            for alone, groups in zip(plain, found, strict=True)
        ]

    def _sum_kinds(
        self, plain: Sequence[Estimate], cells: np.ndarray, n_rows: np.ndarray
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

    @property
    def _posterior_shares(self) -> np.ndarray:
        cells = _joint_cell(self.binned_)
        return np.bincount(cells, minlength=N_SCORE_CELLS * CLUSTERINGS[-1]) / len(cells)

    def _posterior_places(self, block: Any) -> np.ndarray:
        return _joint_cell(self.place(block))

    def _posterior_rows(self, cells: np.ndarray) -> np.ndarray:
        tables, _ = self.split_cells(cells)
        # The last columns are those of the last clustering.
        return tables[:, :, -CLUSTERINGS[-1] :].reshape(len(cells), -1)


def same_projection(one: Quantifier, other: Quantifier) -> bool:
    """Whether two models project rows in the same way, or not at all."""
    projections = [getattr(model, "projection_", None) for model in (one, other)]
    return projections == [None, None] or same_learned(*projections)


def _joint_cell(binned: np.ndarray) -> np.ndarray:
    """Score cell and cluster, of four, in one number."""
    return binned[:, 0].astype(np.intp) * CLUSTERINGS[-1] + binned[:, -1]
