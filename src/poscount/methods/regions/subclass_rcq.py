"""SubclassRCQ: kinds of positives whose shares may change, counted one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.checks import Evidence, batch_warnings
from poscount.counts.counts import Counts
from poscount.errors import InputError
from poscount.methods.regions.estimate import (
    by_calibration,
    estimate_part,
    null_estimates,
    what_if,
)
from poscount.methods.regions.features import FEATURE_NAMES, feature_names
from poscount.methods.regions.labeled_groups import LabeledGroups, take_column
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.quantifier import ReferenceQuantifier
from poscount.methods.regions.subclass_features import (
    SUBCLASS_FEATURES,
    reference_features,
    subclass_features,
)
from poscount.methods.regions.subclasses import clustered_subclasses, separation
from poscount.methods.regions.view import PartView
from poscount.results.distribution import widened
from poscount.results.estimates import Estimates
from poscount.results.what_if import WhatIf
from poscount.storage.schema import (
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

__all__ = ["SubclassRCQ"]

# Of the score of a kind: a third of RCQ's, because a dozen scores are learned. On nine samples of
# four tables, sums over kinds by the null calibration were off by 3.17 points with 60 trees, by
# 3.17 with 30 and by 3.12 with 20; RCQ's own score is worse with fewer.
N_TREES = 20
# Warnings of the positives as one kind that the sum makes anew, and those that it answers: a kind
# that has become more frequent is no longer a reason to doubt.
_REPLACED = ("unlike-experience", "broken-assumption")


class SubclassRCQ(ReferenceQuantifier):
    """RCQ for positives of several kinds, whose shares may change between positives and sample.

    Seasons, stages, sites: if a kind is more frequent in the sample than among the labelled
    positives, `RCQ` is misled. Here each kind is counted by regions of its own, and the prevalence
    is a calibrated sum over kinds. It assumes that nothing else looks like any of the kinds: a sum
    cannot tell a kind that has become frequent from a look-alike. With unlabeled rows to learn
    from, each kind has a score of its own positives against all of them (`fit`).

    Assumes that the labelled positives of each kind are typical of that kind, that each kind is
    somewhere free of negatives, and that all were recorded alike; the shares of kinds may change.

    Parameters
    ----------
    subclasses : int, "auto" or str, default="auto"
        A number of kinds, which are then found as clusters; "auto" for as many as there are
        positives for; or the name of the column of the positives that names the kind of each,
        which is then not used as a feature.
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        As in `RCQ`; that of the sum over kinds has been learned from tasks with and without drift.
    recognisable : bool or None, default=None
        As in `RCQ`.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of everything random.

    Attributes
    ----------
    part_ : RegionPart
        What was learned of all positives together.
    subclass_parts_ : list of RegionPart
        What was learned of each kind; empty if the positives are counted as one kind.
    subclass_names_ : list of str
        Names of the kinds; "kind 1", the one with most positives, and so on for clusters.
    separation_ : float
        How far apart the kinds are (`poscount.methods.regions.subclasses.separation`).
    calibration_, sum_calibration_ : Calibration or None
        The calibrations of one kind, and of the sum over kinds.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    See Also
    --------
    poscount.RCQ : For positives that are typical.

    Notes
    -----
    `details` are those of `RCQ`, and `kinds`, a list with the `name` of each kind, its number of
    `positives`, and its `prevalence`, `low` and `high`; `one_kind`, the prevalence if all positives
    are counted as one kind; and `heterogeneity`, which is about 1 if the kinds have the same shares
    in the sample as among the positives, and larger if they do not
    (`poscount.methods.regions.subclass_features`). The prevalences of the kinds add up to the
    prevalence. Counting takes as much longer as there are kinds, up to 12 with "auto". With fewer
    than 80 positives "auto" counts them as one kind.

    Examples
    --------
    Half of the positives are around 0, half around 3, but all those in the sample around 0:

    >>> import numpy as np
    >>> from poscount import SubclassRCQ
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> positives = np.vstack([around(0, 250), around(3, 250)])
    >>> sample = np.vstack([around(0, 400), around(9, 600)])
    >>> answer = SubclassRCQ(2, random_state=0).fit(positives).quantify(sample)
    >>> one, other = (kind["prevalence"] for kind in answer.details["kinds"])
    >>> 0.4 in answer.interval, bool(min(one, other) < 0.05)
    (True, True)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **ReferenceQuantifier._parameter_constraints,
        "subclasses": [Integral, str],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "subclass_parts_": ListOf(Part("RegionPart")),
        "subclass_names_": ListOf(Text(), distinct=True),
        "separation_": MayLack(Number()),
        "calibration_": OrNone(Part("Calibration")),
        "sum_calibration_": OrNone(Part("Calibration")),
    }

    def __init__(
        self,
        subclasses: int | str = "auto",
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        recognisable: bool | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.subclasses = subclasses
        self.confidence = confidence
        self.calibration = calibration
        self.recognisable = recognisable
        self.n_jobs = n_jobs
        self.random_state = random_state

    def check_learned(self) -> None:
        """Raise ValueError unless every kind has a name and regions of the model's own columns."""
        super().check_learned()
        n_parts = len(self.subclass_parts_)
        require(len(self.subclass_names_) == max(n_parts, 1), "a kind of positives has no name.")
        require(
            n_parts != 1 and hasattr(self, "separation_") == bool(n_parts), "a kind is missing."
        )
        learned = self.part_.learned_score_ is not None
        for part in self.subclass_parts_:
            same = same_learned(part.columns_, self.model_columns) and part.rule.enough_positives
            require(same, "a kind is not one of its own.")
            same = (part.learned_score_ is not None) == learned
            require(same, "a learned score of kinds is missing.")
        if self.calibration_ is not None:
            self.calibration_.check_for(self._calibration_name, feature_names(learned=learned))
        if self.sum_calibration_ is not None:
            self.sum_calibration_.check_for("RCQ-kinds", SUBCLASS_FEATURES)

    @property
    def _column(self) -> str | None:
        """The column of the positives that names kinds, if there is one."""
        named = isinstance(self.subclasses, str) and self.subclasses != "auto"
        return str(self.subclasses) if named else None

    def _split_labels(
        self, positives: Any, features: Sequence[str] | None
    ) -> tuple[Any, Sequence[str] | None]:
        self._named_by_user: LabeledGroups | None = None
        if self._column is None:
            return positives, features
        taken, features = take_column(positives, features, self._column, "kind", "subclasses")
        self._named_by_user = taken._replace(rows=None)
        return taken.rows, features

    def _learn_codes(self, codes: np.ndarray, reference: np.ndarray | None) -> None:
        codes = np.asarray(codes, np.float64)
        self._learn_part(codes, reference=reference)
        both = chosen_calibrations(self.calibration, self._calibration_name, "RCQ-kinds")
        self.calibration_, self.sum_calibration_ = both
        design = np.ascontiguousarray(self.model_columns.design(codes))
        found = self._named_by_user or clustered_subclasses(design, self.subclasses, self.seed_)
        self._learn_subclasses(codes, design, found, reference)

    def _learn_subclasses(
        self,
        codes: np.ndarray,
        design: np.ndarray,
        found: LabeledGroups,
        reference: np.ndarray | None,
    ) -> None:
        self.__dict__.pop("separation_", None)
        self.subclass_names_, self.subclass_parts_ = found.names, []
        if len(found.names) == 1:
            return
        parts = []
        for k, name in enumerate(found.names):
            chosen = found.codes == k
            varies = np.ptp(design[chosen], axis=0).any()
            if varies:
                part = RegionPart().fit_codes(
                    codes[chosen],
                    self.model_columns,
                    self.seed_,
                    projected=hasattr(self, "projection_"),
                    reference=reference,
                    n_trees=N_TREES,
                )
            if varies and part.rule.enough_positives:
                parts.append(part)
            elif self.subclasses == "auto":
                self.subclass_names_ = ["all"]
                return
            else:
                raise InputError(
                    f"The {np.count_nonzero(chosen)} positives of {name} are too much alike to be "
                    "counted as a kind of their own: put them together with another kind.",
                    option="subclasses",
                )
        self.subclass_parts_ = parts
        self.separation_ = separation(design, found.codes, self.seed_)

    @property
    def _counters(self) -> Sequence[RegionPart]:
        return [self.part_, *self.subclass_parts_]

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        views = self._views(cells, n_rows)
        as_one = estimate_part(views[0], self.calibration_, self.confidence, self.recognisable)
        if not self.subclass_parts_:
            return self._of_one_kind(as_one)
        features = self._sum_features(views)
        total, unfamiliar = self._sum_estimates(features, self.recognisable)
        of_kinds = [self._kind_estimates(view) for view in views[1:]]
        column = SUBCLASS_FEATURES.index
        low, high = total.ends
        evidence = Evidence(
            len(n_rows),
            n_labeled=self.n_labeled_,
            low=low,
            high=high,
            level=self.confidence,
            gap=features[:, column("kinds_gap")],
            unlike_training=unfamiliar,
        )
        bound = np.minimum(1.0, features[:, column("kinds_high")])
        details = {
            **as_one.details,
            **total.details,
            "bound": np.maximum(total.value, bound),
            "one_kind": as_one.value,
            "heterogeneity": np.expm1(features[:, column("log_heterogeneity")]),
            "kinds": lambda i: self._shares_of_kinds(of_kinds, i, float(total.value[i])),
        }
        if self.sum_calibration_ is not None:
            of_sum = what_if({"recognisable": lambda: self._sum_estimates(features, True)[0]})
            of_one = details["what_if"]
            details["what_if"] = lambda i: WhatIf(lambda: [*of_one(i), *of_sum(i)])
        kept = as_one.warnings.without(_REPLACED)  # type: ignore[union-attr]
        return replace(total, details=details, warnings=batch_warnings(evidence) + kept)

    def _views(self, cells: np.ndarray, n_rows: np.ndarray) -> list[PartView]:
        pairs = zip(self._counters, self._split(cells), strict=True)
        return [part.view(of_part, n_rows) for part, of_part in pairs]

    def _sum_features(self, views: Sequence[PartView]) -> np.ndarray:
        """What the sum's calibration looks at, a line for each sample."""
        one_kind, *kinds = views
        return subclass_features(
            one_kind.of_regions,
            np.array([view.of_regions for view in kinds]),
            reference_features(one_kind, kinds),
            np.array([part.n_labeled_ for part in self.subclass_parts_]),
            self.separation_,
            self._column is not None,
        )

    def _features(self, *counts: Counts) -> np.ndarray:
        """What the sum's calibration looks at, from the counts of samples."""
        return self._sum_features(self._views(*self._rows_of(*counts)))

    def _sum_estimates(
        self, features: np.ndarray, recognisable: bool | None
    ) -> tuple[Estimates, np.ndarray]:
        """Estimates for all kinds together, and which samples are unlike all training.

        Whatever was trained, intervals reach up to the sum over kinds, which is right if kinds have
        drifted: no sample rules that out.
        """
        p, total, ratio, gap = (
            features[:, SUBCLASS_FEATURES.index(name)]
            for name in ("prevalence", "kinds", "kinds_ratio", "kinds_gap")
        )
        null = null_estimates(p, ratio, gap, self.confidence)
        found, unfamiliar = by_calibration(
            self.sum_calibration_, features, SUBCLASS_FEATURES, null, recognisable
        )
        assert found.quantiles is not None  # by either calibration
        quantiles = widened(found.quantiles, total[:, np.newaxis], below=False)
        return replace(found, quantiles=quantiles), unfamiliar

    def _kind_estimates(self, view: PartView) -> Estimates:
        """Estimates for one kind by itself, from its features, which are rounded."""
        p, ratio, gap = (
            view.of_regions[:, FEATURE_NAMES.index(name)] for name in ("prevalence", "ratio", "gap")
        )
        null = null_estimates(p, ratio, gap, self.confidence)
        trained, unfamiliar = by_calibration(
            self.calibration_, view.features, view.feature_names, null, self.recognisable
        )
        return trained.widened_by(null, below=unfamiliar)

    def _of_one_kind(self, estimates: Estimates) -> Estimates:
        def kinds_of(i: int) -> list[dict[str, Any]]:
            share, (name,) = float(estimates.value[i]), self.subclass_names_
            return [estimates.part(i, name, share, positives=self.n_labeled_)]

        return replace(estimates, details={**estimates.details, "kinds": kinds_of})

    def _shares_of_kinds(
        self, of_kinds: Sequence[Estimates], i: int, total: float
    ) -> list[dict[str, Any]]:
        """Shares of all kinds in sample `i`, which add up to `total`.

        What each kind's own regions say is stretched, because the sum knows better: the regions of
        neighbouring kinds count some rows twice. Ends stay where they are, unless the share would
        be outside.
        """
        sizes = [part.n_labeled_ for part in self.subclass_parts_]
        ends = [kind.interval(i) for kind in of_kinds]
        values = np.array([kind.value[i] for kind in of_kinds])
        if not values.any():
            values = np.array([end.high for end in ends if end])
        if not values.any():
            values = np.array(sizes, float)
        values = np.minimum(values * (total / values.sum()), total)
        each = zip(of_kinds, self.subclass_names_, values, sizes, strict=True)
        return [
            kind.part(i, name, float(value), positives=int(size))
            for kind, name, value, size in each
        ]
