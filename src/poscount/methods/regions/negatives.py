"""RCQWithNegatives: what labelled negatives explain is not counted as positives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from poscount.calibration.files import chosen_calibrations
from poscount.checks import BatchWarnings
from poscount.data.rows import Rows
from poscount.errors import InputError
from poscount.methods.regions.estimate import estimate_part
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.labeled_groups import (
    LabeledGroups,
    require_enough,
    stack,
)
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.target_estimates import TargetsQuantifier
from poscount.methods.regions.targets import TargetRegions
from poscount.results.estimates import Estimates
from poscount.results.target_shares import OTHER
from poscount.storage.schema import Field, OrNone, Part, require

POSITIVES, NEGATIVES = "positives", "negatives"
# Warnings of the positives by themselves that are made anew, or that the negatives answer.
_REPLACED = ("unlike-experience", "broken-assumption")


class RCQWithNegatives(PositivesQuantifier, TargetsQuantifier):
    """RCQ for one target of which some negatives are labelled, too.

    The negatives may be of several kinds, and there may be others that nobody has labelled. Kinds
    of negatives are groups of labelled rows like the positives themselves, so the shares of all of
    them are found together (`poscount.methods.regions.targets`). The more of the sample's negatives
    are of known kinds, the more the known ones tell: with the share k of them among all negatives,
    the answer is k^2 times that of all groups together, and 1 - k^2 times that of the positives by
    themselves; so are the ends of the interval.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that all were
    recorded alike, and that the task resembles those of the calibration.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        As in `RCQ`.
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

    See Also
    --------
    poscount.RCQ : Without labelled negatives.
    poscount.MultiRCQ : For several targets at once.

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

    LEARNED: ClassVar[Mapping[str, Field]] = {"calibration_": OrNone(Part("Calibration"))}

    _calibrations = ("RCQ", "RCQ-groups", "RCQ-other")

    def check_learned(self) -> None:
        """Raise ValueError unless the first group is the positives."""
        super().check_learned()
        require(self.groups_.names_[0] == POSITIVES, "its first group is not the positives.")
        if self.calibration_ is not None:
            self.calibration_.check_for("RCQ", feature_names(learned=False))

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
        self._groups = _stack_with_negatives(positives, negatives, features)
        return super().fit(self._groups.rows, features=features)

    def _learn(self, rows: Rows) -> None:
        block = np.asarray(rows.to_array(), np.float64)
        names, codes = self._groups.names, self._groups.codes
        positives, columns = block[codes == 0], self.model_columns
        projected = hasattr(self, "projection_")
        self._learn_part(positives, columns if projected else columns.of_group(positives))
        self.calibration_, *_ = chosen_calibrations(self.calibration, *self._calibrations)
        # The positives come first; the negatives in the order of their names.
        order = [0, *(1 + np.argsort(names[1:])).tolist()]
        sorted_names = [names[k] for k in order]
        self._learn_groups(block, np.argsort(order)[codes], sorted_names, "group", "negatives")

    @property
    def _counters(self) -> Sequence[RegionPart | TargetRegions]:
        return [self.part_, self.groups_]

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        of_part, of_groups = self._split(cells)
        view = self.part_.view(of_part, n_rows)
        alone = estimate_part(view, self.calibration_, self.confidence, self.recognisable)
        joint, *negatives = self._target_estimates(of_groups, n_rows)
        names = [*self.groups_.names_[1:], OTHER]
        return _combined(alone, joint, dict(zip(names, negatives, strict=True)))


def _stack_with_negatives(
    positives: Any, negatives: Any, features: Sequence[str] | None
) -> LabeledGroups:
    """Positives, and the kinds of negatives behind them, in one table."""
    kinds = negatives if isinstance(negatives, Mapping) else {NEGATIVES: negatives}
    if negatives is None or not kinds:
        raise InputError("There are no negatives: use RCQ.", option="negatives")
    if POSITIVES in kinds:
        raise InputError(
            f"No kind of negatives can be named {POSITIVES!r}: rename it.", option="negatives"
        )
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
    kept = alone.warnings.without(_REPLACED)  # type: ignore[union-attr]
    results = joint.warnings.results  # type: ignore[union-attr]
    new = [result.masked(~kept.fires(result.check.code)) for result in results]
    # What is left for the negatives.
    factor = np.where(some, (1 - value) / np.where(some, negative, 1.0), 1.0)

    def negatives_of(i: int) -> list[dict[str, Any]]:
        shares = []
        for name, estimates in negatives.items():
            share = float(factor[i] * estimates.value[i])
            shares.append(estimates.part(i, name, share))
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
        # Those of all groups together, unless the positives by themselves have them, and these.
        warnings=BatchWarnings(len(alone), new) + kept,
    )
