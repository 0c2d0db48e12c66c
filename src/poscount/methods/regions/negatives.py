"""RCQWithNegatives: what labelled negatives explain is not counted as positives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.checks import BatchWarnings
from poscount.data.rows import Rows
from poscount.errors import InputError
from poscount.methods.regions.estimate import estimate_part
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.labeled_groups import (
    LabeledGroups,
    refuse_same_rows,
    require_enough,
    stack,
)
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.target_estimates import check_calibrations, target_estimates
from poscount.methods.regions.targets import TargetRegions
from poscount.results.estimates import Estimates
from poscount.results.target_shares import OTHER
from poscount.storage.schema import Field, OrNone, Part, require, same_learned

POSITIVES, NEGATIVES = "positives", "negatives"
# Warnings of the positives by themselves that are made anew, or that the negatives answer.
_REPLACED = ("unlike-experience", "broken-assumption")


class RCQWithNegatives(PositivesQuantifier):
    """RCQ for one target of which some negatives are labelled, too.

    The negatives may be of several kinds, and there may be others that nobody has labelled. Kinds
    of negatives are groups of labelled rows like the positives themselves, so the shares of all of
    them are found together (`poscount.methods.regions.targets`). The more of the sample's negatives
    are of known kinds, the more the known ones tell: with the share k of them among all negatives,
    the answer is k^2 times that of all groups together, and 1 - k^2 times that of the positives by
    themselves; so are the ends of the interval.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        As in `RCQ`; the path of a file that ``poscount calibrate`` has made for "rcq-groups" or
        "rcq-other" is possible, too.
    recognisable : bool or None, default=None
        As in `RCQ`.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of everything random.

    Attributes
    ----------
    part_ : RegionPart
        What was learned of the positives by themselves.
    groups_ : TargetRegions
        What was learned of the positives, the first group, and the negatives together.
    calibration_, group_calibration_, other_calibration_ : Calibration or None
        The calibrations of the positives by themselves, of shares with labelled negatives, and of
        what is neither.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    `details` are those of `RCQ`, and `without_negatives`, the prevalence if none were known; and
    `negatives`, a list with the `name` of each kind, and last "other", its `prevalence`, `low` and
    `high`.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import RCQWithNegatives
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> model = RCQWithNegatives(random_state=0).fit(around(0, 300), negatives=around(2, 300))
    >>> sample = np.vstack([around(0, 300), around(2, 700)])
    >>> 0.3 in model.quantify(sample).interval
    True
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "groups_": Part("TargetRegions"),
        "calibration_": OrNone(Part("Calibration")),
        "group_calibration_": OrNone(Part("Calibration")),
        "other_calibration_": OrNone(Part("Calibration")),
    }

    groups_: TargetRegions
    calibration_: Calibration | None
    group_calibration_: Calibration | None
    other_calibration_: Calibration | None

    def check_learned(self) -> None:
        """Raise ValueError unless the groups are of the model's own columns."""
        super().check_learned()
        same = same_learned(self.groups_.columns_, self.model_columns)
        require(same, "its groups are of other columns.")
        require(self.groups_.names_[0] == POSITIVES, "its first group is not the positives.")
        if self.calibration_ is not None:
            self.calibration_.check_for("RCQ", feature_names(learned=False))
        check_calibrations(self.group_calibration_, self.other_calibration_)

    def fit(
        self,
        positives: Any,
        y: Any = None,
        *,
        negatives: Any = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Learn from labelled positives and negatives.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else.
        y : ignored
            Exists for compatibility with scikit-learn.
        negatives : array or frame, or mapping of str to these
            Labelled negatives, of one kind or of several by name. There may be other negatives in
            a sample that are like none of them. What becomes of each column is learned from
            positives and negatives together.
        features : sequence of str, optional
            Columns to use, if the tables are frames with others as well.
        """
        if negatives is None:
            raise InputError("There are no negatives: use RCQ.", option="negatives")
        self._groups = _stack_with_negatives(positives, negatives, features)
        return super().fit(self._groups.rows, features=features)

    def _learn(self, rows: Rows) -> None:
        block = np.asarray(rows.to_array(), np.float64)
        names, codes = self._groups.names, self._groups.codes
        refuse_same_rows(self.model_columns.design(block), codes, names, "group", self.seed_)
        positives = block[codes == 0]
        columns, projected = self.model_columns, hasattr(self, "projection_")
        self._learn_part(positives, columns if projected else columns.of_group(positives))
        self.calibration_, self.group_calibration_, self.other_calibration_ = chosen_calibrations(
            self.calibration, "RCQ", "RCQ-groups", "RCQ-other"
        )
        # The positives come first; the negatives in the order of their names.
        order = [0, *(1 + np.argsort(names[1:])).tolist()]
        self.groups_ = TargetRegions().fit_codes(
            block,
            np.argsort(order)[codes],
            [names[k] for k in order],
            columns,
            self.seed_,
            "negatives",
            projected=projected,
        )
        self.hash_ = self._content_hash()

    @property
    def _counters(self) -> Sequence[RegionPart | TargetRegions]:
        return [self.part_, self.groups_]

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        of_part, of_groups = self._split(cells)
        view = self.part_.view(of_part, n_rows)
        alone = estimate_part(view, self.calibration_, self.confidence, self.recognisable)
        joint, *negatives = target_estimates(
            self.groups_,
            of_groups,
            n_rows,
            self.group_calibration_,
            self.other_calibration_,
            self.confidence,
            self.recognisable,
        )
        return _combined(alone, joint, dict(zip(self._negative_names, negatives, strict=True)))

    @property
    def _negative_names(self) -> list[str]:
        return [*self.groups_.names_[1:], OTHER]


def _stack_with_negatives(
    positives: Any, negatives: Any, features: Sequence[str] | None
) -> LabeledGroups:
    """Positives, and the kinds of negatives behind them, in one table."""
    kinds = negatives if isinstance(negatives, Mapping) else {NEGATIVES: negatives}
    if POSITIVES in kinds:
        raise InputError(
            f"No kind of negatives can be named {POSITIVES!r}: rename it.", option="negatives"
        )
    if not kinds:
        raise InputError("There are no negatives: use RCQ.", option="negatives")
    groups = stack({POSITIVES: positives, **kinds}, features, "group")
    require_enough(groups.names, groups.codes, "group", "negatives")
    return groups


def _combined(alone: Estimates, joint: Estimates, negatives: Mapping[str, Estimates]) -> Estimates:
    """Estimates for the positives, given those by themselves and those of all groups together.

    (The square of the known share was chosen on the tuning sets of
    `research/tuning/targets_split.md`.)

    Parameters
    ----------
    alone : Estimates
        As if no negatives were known.
    joint : Estimates
        Of the positives among all groups.
    negatives : mapping of str to Estimates
        Of each kind of negatives, and last of what belongs to no group.
    """
    assert alone.quantiles is not None
    assert joint.quantiles is not None  # by either calibration
    negative = 1 - joint.value
    some = negative > 0
    among_negatives = negatives[OTHER].value / np.where(some, negative, 1.0)
    known = np.where(some, 1 - among_negatives, 1.0) ** 2

    def mixed(one: Any, other: Any) -> np.ndarray:
        return known * one + (1 - known) * other

    value = mixed(joint.value, alone.value)
    # What is left for the negatives.
    factor = np.where(some, (1 - value) / np.where(some, negative, 1.0), 1.0)

    def negatives_of(i: int) -> list[dict[str, Any]]:
        shares = []
        for name, estimates in negatives.items():
            share, interval = float(factor[i] * estimates.value[i]), estimates.interval(i)
            assert interval is not None  # by either calibration
            shares.append(
                {
                    "name": name,
                    "prevalence": share,
                    "low": min(interval.low, share),
                    "high": max(interval.high, share),
                }
            )
        return shares

    # What regions without the negatives say under other assumptions is no reading of this answer.
    of_part = {name: column for name, column in alone.details.items() if name != "what_if"}
    details = {
        **of_part,
        **joint.details,
        "without_negatives": alone.value,
        "negatives": negatives_of,
    }
    return replace(
        joint,
        value=value,
        quantiles=mixed(joint.quantiles.T, alone.quantiles.T).T,
        details=details,
        warnings=_combined_warnings(alone.warnings, joint.warnings),  # type: ignore[arg-type]
    )


def _combined_warnings(alone: BatchWarnings, joint: BatchWarnings) -> BatchWarnings:
    """Those of all groups together, unless the positives by themselves have them, and these."""
    kept = alone.without(_REPLACED)
    new = [result.masked(~kept.fires(result.check.code)) for result in joint.results]
    return BatchWarnings(len(alone), new) + kept
