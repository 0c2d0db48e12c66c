"""MultiRCQ: the shares of several targets at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from poscount.base.batch_counter import Counted
from poscount.counts.counts import Counts, GroupedCounts
from poscount.data.grouping import with_groups
from poscount.data.validation import learn_rows
from poscount.errors import InputError
from poscount.methods.regions.labeled_groups import (
    LabeledGroups,
    require_enough,
    stack,
    take_column,
)
from poscount.methods.regions.target_estimates import (
    TargetFeatures,
    TargetsQuantifier,
    target_features,
)
from poscount.methods.regions.targets import TargetRegions
from poscount.results.estimates import Estimates
from poscount.results.groups import GroupAnswers
from poscount.results.target_shares import OTHER, TargetShares, columns_of
from poscount.seeds import seed_of
from poscount.storage.schema import Field, ListOf, Text, require


class MultiRCQ(TargetsQuantifier):
    r"""Shares of several targets in a sample, and of everything that is none of them.

    Each target has positives of its own, and the positives of one are known negatives of the
    others. In every region of the space, the sample's share is the sum of what the targets have
    there, each times its share of the sample, plus a rest that is unknown but not negative
    (`poscount.methods.regions.targets`). One `RCQ` for each target would count rows twice where
    targets overlap.

    Assumes that the labelled rows of each target are typical of those in the sample (SCAR), that
    all were recorded alike, and that the task resembles those of the calibration.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the intervals.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        How shares and intervals follow from the counts: as learned from tasks with several targets
        whose truth is known, or by chance alone.
    recognisable : bool or None, default=None
        As in `RCQ`.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of everything random.

    Attributes
    ----------
    targets_ : list of str
        Names of the targets, in the caller's order.
    groups_ : TargetRegions
        What was learned about them.
    group_calibration_, other_calibration_ : Calibration or None
        The calibrations of a target's share and of "other"; None for "null".
    n_labeled_ : int
        Positives of all targets together.
    seed_ : int
        Seed of everything random.

    See Also
    --------
    poscount.RCQ : For one target.
    poscount.RCQWithNegatives : For one target and labelled negatives.

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

    # Each has as many regions as there are targets, times those of RCQ.
    _groups_at_once = 64

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "targets_": ListOf(Text(), distinct=True),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless the targets have names of their own."""
        super().check_learned()
        require(sorted(self.targets_) == self.groups_.names_, "its targets have other names.")
        require(OTHER not in self.targets_, "a target has the name of the rest.")

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
        # In the order of their names, so that the caller's order changes nothing.
        names = sorted(groups.names)
        place = np.array([names.index(name) for name in groups.names])
        block = np.asarray(rows.to_array(), np.float64)
        self._learn_groups(block, place[groups.codes], names, "target", "targets")
        return self

    @property
    def _counters(self) -> Sequence[TargetRegions]:
        return [self.groups_]

    def _features(self, *counts: Counts) -> TargetFeatures:
        """What the calibrations look at, from the counts of samples."""
        return target_features(self.groups_, self.groups_.views(*self._rows_of(*counts)))

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

    def predict(self, X: Any, *, sample_weight: Any = None) -> TargetShares:  # type: ignore[override]
        """Same as `quantify`, in scikit-learn's words."""
        return self.quantify(X, weights=sample_weight)

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
        return super().quantify_groups(frame, by, weights=weights)  # type: ignore[return-value]

    def quantify_by(  # type: ignore[override]
        self, frame: Any, by: str | Sequence[str], *, weights: Any = None
    ) -> Any:
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
        groups, answers = self._answers_by_group(*with_groups(frame, by), weights)
        each = np.repeat(np.arange(len(groups)), len(self.targets_) + 1)
        return self._as_table(groups[each.tolist()], columns_of(answers))

    def _estimate(  # type: ignore[override]
        self, cells: np.ndarray, n_rows: np.ndarray
    ) -> list[Estimates]:
        return self._target_estimates(cells, n_rows)

    def _make_answers(
        self, estimates: list[Estimates], counted: Counted, n_effective: np.ndarray
    ) -> list[TargetShares]:
        *of_targets, of_other = estimates
        found = dict(zip(self.groups_.names_, of_targets, strict=True))
        sizes = dict(zip(self.groups_.names_, self.groups_.sizes_.tolist(), strict=True))
        # "other" is what remains of all labelled rows.
        found[OTHER], sizes[OTHER] = of_other, self.n_labeled_
        names = [*self.targets_, OTHER]
        make = super()._make_answers
        each = [make(found[name], counted, n_effective) for name in names]
        return [
            TargetShares(
                {
                    name: share.replace(
                        n_labeled=sizes[name], details={**share.details, "target": name}
                    )
                    for name, share in zip(names, shares, strict=True)
                }
            )
            for shares in zip(*each, strict=True)
        ]


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
        return take_column(positives, features, target_column, "target", "target_column")
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
