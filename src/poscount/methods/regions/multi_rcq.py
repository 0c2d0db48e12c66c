"""MultiRCQ: the shares of several targets at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from poscount.base import constraints
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import TABLE_CONSTRAINTS
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.counts.counts import Counts, GroupedCounts
from poscount.counts.weights import WeightSums
from poscount.data.grouping import group_keys
from poscount.data.rows import InputSupport, Rows
from poscount.data.validation import learn_rows
from poscount.errors import InputError
from poscount.methods.regions.groups_profile import GroupsProfile, profile_groups
from poscount.methods.regions.joint_regions import JointRegions, check_joint
from poscount.methods.regions.kinds import take_column
from poscount.methods.regions.labeled_groups import (
    LabeledGroups,
    refuse_same_rows,
    require_enough,
    stack,
)
from poscount.methods.regions.shares_of_groups import (
    GroupCalibrations,
    check_calibrations,
    estimate_groups,
)
from poscount.results.groups import GroupAnswers
from poscount.results.prevalence import Estimate
from poscount.results.target_shares import OTHER, TargetShares, columns_of
from poscount.seeds import seed_of
from poscount.storage.schema import Field, ListOf, OrNone, Part, Text, require

GROUPS_AT_ONCE = 64


class MultiRCQ(CountingQuantifier):
    r"""Shares of several targets in a sample, and of everything that is none of them.

    Each target has positives of its own, and the positives of one are known negatives of the
    others. In every region of the space, the sample's share is the sum of what the targets have
    there, each times its share of the sample, plus a rest that is unknown but not negative
    (`poscount.methods.regions.joint_regions`). One `RCQ` for each target would count rows twice where
    targets overlap.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the intervals.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        How shares and intervals follow from the counts: as learned from tasks with several targets
        whose truth is known, or by chance alone. The path of a file that ``poscount calibrate``
        has made for "rcq-groups" or "rcq-other" is possible, too.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    missing : {"value", "error"}, default="value"
        Whether a missing value is a fact about a row like any other, or an error.
    text : {"category", "error"}, default="category"
        Whether words and booleans are categories, or an error.
    random_state : int, RandomState, Generator or None
        Seed of everything random.

    Attributes
    ----------
    targets_ : list of str
        Names of the targets, in the caller's order.
    joint_ : JointRegions
        What was learned about them.
    groups_calibration_, other_calibration_ : Calibration or None
        The calibrations of a target's share and of "other"; None for "null".
    n_labeled_ : int
        Positives of all targets together.
    seed_ : int
        Seed of everything random.

    Notes
    -----
    Counts take as much space and time as those of one `RCQ` for each target, with as many features
    more as there are targets. They add up, and all engines count with it.

    The answer does not depend on the order of the targets, of rows or of columns. Every share
    carries an interval and warnings; `details` of a target hold the share before the calibration
    (`uncalibrated`), and what its own regions say if nothing is known about the other targets
    (`alone`).

    Examples
    --------
    Two targets of which one lies next to the other, and rows of neither:

    >>> import numpy as np
    >>> from poscount import MultiRCQ
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 4)) + centre
    >>> model = MultiRCQ(random_state=0).fit({"aegypti": around(0, 300), "culex": around(2, 300)})
    >>> sample = np.vstack([around(0, 200), around(2, 500), around(-4, 300)])
    >>> shares = model.quantify(sample)
    >>> [name for name in shares], sum(shares.values())
    (['aegypti', 'culex', 'other'], 1.0)
    >>> 0.2 in shares["aegypti"].interval, 0.5 in shares["culex"].interval
    (True, True)
    >>> 0.3 in shares.other.interval
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "n_jobs": constraints.N_JOBS,
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        n_jobs: int | None = None,
        missing: str = "value",
        text: str = "category",
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.missing = missing
        self.text = text
        self.random_state = random_state

    def fit(
        self,
        positives: Any,
        y: Any = None,
        *,
        target_column: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Learn from the positives of all targets.

        Parameters
        ----------
        positives : mapping, array or frame
            A table for each target, by its name; or one table of all targets together.
        y : array-like of shape (n_rows,), optional
            The target of each row of one table.
        target_column : str, optional
            The column of one frame that names the target of each row; it is then no feature.
        features : sequence of str, optional
            Columns to use, if the positives are frames with others as well.
        """
        self._validate_params()
        self.seed_ = seed_of(self.random_state)
        groups, features = _labeled(positives, y, target_column, features)
        _check_names(groups.names)
        require_enough(groups.names, groups.codes, "target", "targets")
        rows = learn_rows(self, groups.rows, features, self._input_support())
        self.targets_ = groups.names
        self.n_labeled_ = len(rows)
        self.groups_calibration_, self.other_calibration_ = chosen_calibrations(
            self.calibration, "RCQ-groups", "RCQ-other"
        )
        self._learn_groups(rows, groups)
        return self

    def _learn_groups(self, rows: Rows, groups: LabeledGroups) -> None:
        block = np.asarray(rows.whole(), np.float64)
        # In the order of their names, so that the caller's order changes nothing.
        names = sorted(groups.names)
        place = np.array([names.index(name) for name in groups.names])
        codes = place[groups.codes]
        design = self.block_columns.design(block)
        refuse_same_rows(design, codes, names, "target", self.seed_)
        self.joint_ = JointRegions()
        self.joint_.learn(self.block_columns, block, codes, names, self.seed_, "targets")
        self.hash_ = self.joint_.hash_

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "targets_": ListOf(Text(), distinct=True),
        "joint_": Part("JointRegions"),
        "groups_calibration_": OrNone(Part("Calibration")),
        "other_calibration_": OrNone(Part("Calibration")),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        require(sorted(self.targets_) == self.joint_.names_, "its targets have other names.")
        require(OTHER not in self.targets_, "a target has the name of the rest.")
        check_joint(self.joint_, self.block_columns, self.seed_)
        given = sum(part.n_given_ for part in self.joint_.parts_)
        require(given == self.n_labeled_, "its targets do not add up to its positives.")
        calibrations = self.groups_calibration_, self.other_calibration_
        check_calibrations(calibrations, self.calibration == "null")

    def _recomputed_hash(self) -> str | None:
        return self.joint_.hash_

    def _could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        return self.joint_.could_count(cells, totals)

    # Counting

    @property
    def _n_cells(self) -> int:
        return self.joint_.n_cells

    def _tally(
        self,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        return self.joint_.tally_from(0, self.block_columns, block, groups, weights, counted)

    @property
    def _first_core_cell(self) -> int:
        return 1

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        return self.joint_.score_cells(cells)

    def profile(self, *counts: Counts) -> GroupsProfile:
        """What the regions say about samples: what the calibrations learn from.

        Parameters
        ----------
        *counts : Counts
            Of the samples, by this model.
        """
        counted = self.joint_.count(*self.rows_of(*counts))
        return profile_groups(self.joint_, counted, len(self.block_columns.kinds_))

    # Answers

    def quantify(self, sample: Any, *, weights: Any = None) -> TargetShares:  # type: ignore[override]
        """Estimate the share of every target in a sample.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows. The columns of a frame are chosen by name; others are ignored.
        weights : array-like or str, optional
            As in `RCQ.quantify`.
        """
        return super().quantify(sample, weights=weights)  # type: ignore[return-value]

    def predict(self, X: Any) -> TargetShares:  # type: ignore[override]
        """Same as `quantify`, for pipelines; as strict about column names as scikit-learn."""
        return super().predict(X)  # type: ignore[return-value]

    def estimate(self, counts: Counts) -> TargetShares:  # type: ignore[override]
        """Turn counts into shares, the same as `quantify` gives for the rows counted."""
        return super().estimate(counts)  # type: ignore[return-value]

    def estimate_by(self, counts: GroupedCounts) -> list[TargetShares]:  # type: ignore[override]
        """Turn the counts of groups into shares, in the order of ``counts.keys``."""
        return super().estimate_by(counts)  # type: ignore[return-value]

    def quantify_groups(  # type: ignore[override]
        self, frame: Any, by: str | Sequence[str], *, weights: Any = None
    ) -> GroupAnswers[TargetShares]:
        """Estimate the shares in each group of a frame; parameters as in `quantify_by`."""
        groups, answers = self._answers_by_group(frame, by, weights)
        shares = zip(group_keys(groups), answers, strict=True)
        return GroupAnswers(shares, groups.columns)  # type: ignore[arg-type]

    def quantify_by(self, frame: Any, by: str | Sequence[str], *, weights: Any = None) -> Any:
        """Estimate the share of every target in each group of a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        by : str or sequence of str
            As in `RCQ.quantify_by`.
        weights : array-like or str, optional
            As in `quantify`; groups in which all weights are 0 have no answer.

        Returns
        -------
        frame of the caller's kind
            One row for each group and target, and for "other" in each group: the grouping columns,
            then `target`, `prevalence`, `low`, `high`, `count`, `n`, `verdict` and `warnings`.
        """
        groups, answers = self._answers_by_group(frame, by, weights)
        each = np.repeat(np.arange(len(groups)), len(self.targets_) + 1)
        return self._as_table(groups[each.tolist()], columns_of(answers))  # type: ignore[arg-type]

    def _prevalences(  # type: ignore[override]
        self, cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums] | None = None
    ) -> list[TargetShares]:
        wrap, cells, rows = self._wrapping(cells, n_rows, weights)
        place = [*(self.joint_.names_.index(name) for name in self.targets_), -1]
        names = [*self.targets_, OTHER]
        # "other" is what remains of all labelled rows.
        sizes = [*self.joint_.sizes_.tolist(), self.n_labeled_]
        answers = []
        for i, estimates in enumerate(self._estimates(cells, rows)):
            shares = {}
            for name, k in zip(names, place, strict=True):
                details = {"target": name, **estimates[k].details}
                share = wrap(i, estimates[k]._replace(details=details))
                shares[name] = share.replace(n_labeled=sizes[k])
            answers.append(TargetShares(shares))
        return answers

    def _estimates(self, cells: np.ndarray, n_rows: np.ndarray) -> list[list[Estimate]]:
        calibrations = GroupCalibrations(self.groups_calibration_, self.other_calibration_)
        n_features = len(self.block_columns.kinds_)
        found = []
        for start in range(0, len(cells), GROUPS_AT_ONCE):
            part = slice(start, start + GROUPS_AT_ONCE)
            counted = self.joint_.count(cells[part], n_rows[part])
            found += estimate_groups(
                self.joint_, counted, n_features, calibrations, self.confidence
            )
        return found


def _labeled(
    positives: Any, y: Any, target_column: str | None, features: Sequence[str] | None
) -> tuple[LabeledGroups, Sequence[str] | None]:
    """Labelled rows of all targets, and the features, however the caller gives them."""
    if isinstance(positives, Mapping):
        for option, value in (("y", y), ("target_column", target_column)):
            if value is not None:
                raise InputError(
                    "Each target has a table of its own here, so nothing else can name targets.",
                    option=option,
                    leave_out=True,
                )
        return stack(positives, features, "target"), features
    if target_column is not None:
        taken = take_column(positives, features, target_column, "target", "target_column")
        return LabeledGroups(taken.positives, *taken.kinds), taken.features
    if y is None:
        raise InputError(
            "The positives are one table: give a table for each target instead, by its name, or "
            "say which column names the target of each row.",
            option="target_column",
        )
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != positives.shape[0]:
        raise InputError(f"y has the shape {labels.shape}: one label for each row is needed.")
    gone = np.array([label is None or label != label for label in labels.tolist()])
    if gone.any():
        raise InputError(
            "the target is missing; fill in the value or remove the row.", row=int(gone.argmax())
        )
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    return LabeledGroups(positives, names.tolist(), codes), features


def _check_names(names: Sequence[str]) -> None:
    if len(names) < 2:
        found = f"only {names[0]!r}" if names else "none"
        raise InputError(
            f"Several targets are needed, but there is {found}: use RCQ for a single one."
        )
    if OTHER in names:
        raise InputError(
            f"No target can be named {OTHER!r}, because that is the share of rows that belong to "
            "no target: rename it."
        )
