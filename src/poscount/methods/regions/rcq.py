"""RCQ, the region counting quantifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from poscount.base import constraints
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.methods.regions.context import estimate_in_context
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.quantifier import ReferenceQuantifier
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates
from poscount.results.user_knowledge import DEFAULT_TOLERANCE
from poscount.storage.schema import Field, OrNone, Part

__all__ = ["RCQ"]


class RCQ(ReferenceQuantifier):
    r"""Finds where positives are common but the sample is sparse, and scales up from there.

    The region counting quantifier: if a region holds a share m of the positives but only a share s
    of the sample, at most s / m of the sample is positive, whatever the negatives are. RCQ looks at
    many regions at once, bands of the Mahalanobis score crossed with cuts along features and with
    clusters of the positives. It takes the ratio of those with the smallest bounds, corrected for
    choosing among many (`poscount.methods.regions.rule` has the formulas). PAT, which looks at the
    bands alone, gives too high an estimate when negatives look like part of the positives; RCQ
    needs only one region without them. With unlabeled rows to learn from, there are also regions
    along a score of the positives against them (`fit`).

    Assumes that the labelled positives are typical of those in the sample (SCAR), that both were
    recorded alike, and that the task resembles those that the calibration has learned from.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        How the prevalence and its interval follow from the counts. "experience" has learned from
        thousands of tasks whose truth is known (`poscount.calibration`). "null" looks only at what
        chance does to samples of positives alone, and its intervals fail under overlap. The path
        of a file that ``poscount calibrate`` has made of your own field's past is possible, too.
    recognisable : bool or None, default=None
        Whether somebody who knows the field could nearly always tell a positive from these columns:
        True, False, or None if that is not known. Data cannot say it. It chooses which past tasks
        the calibration learns from: those that are recognisable, the others, or all.
    tolerance : float, default=0.05
        By how many standard deviations of the positives columns may have been recorded differently
        in the sample: another sensor, night or laboratory. The null calibration does not use it.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the clusters and of the null calibration.

    Attributes
    ----------
    part_ : RegionPart
        What was learned of the positives: the scorer, the cuts, where each of them lies.
    calibration_ : Calibration or None
        The calibration, as part of the model; None for "null". With unlabeled rows it is another
        one, which has learned from tasks that had such rows.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    See Also
    --------
    poscount.TRCQ : Learns anew from each sample.
    poscount.SubclassRCQ : For kinds of positives whose shares may change.
    poscount.MultiRCQ : For several targets at once.
    poscount.RCQWithNegatives : Where some negatives are labelled.

    Notes
    -----
    A sample is seen through 8 score cells times (5 bins of each cut feature and 9 clusters), the 52
    cells of PAT along the same score, 3 counts of rows far away, and 9 of rows outside of the
    range of each feature: at most 14 kB and 72 bytes a feature, which add up. A learned score adds
    9 bins to each score cell.

    With fewer than 20 positives, or if no region holds between 8 and 90 % of them, RCQ uses PAT's
    rule with the same score, and the warning "few-positives-for-rcq" says so: without overlap,
    PAT's error was smaller by 1 to 4 points for 10 to 15 positives, equal for 20 to 25, and larger
    from 30 on (``benchmarks/results/rcq.md``, "Few positives").

    `details` of a prevalence: `broken`, how likely each assumption is broken; `what_if`, what
    `Prevalence.what_if` gives; the `region` with the
    smallest bound, in words, with its `share` of the positives, its `ratio` and its bounds `low`
    and `high`; the weighted `ratio` before the calibration, and the `null_ratio` of samples of
    positives alone; `bound`, which at least 97.5 of 100 prevalences do not exceed, for any
    negatives; the `gap` between bound and ratio, from which the interval is made; `pat`, PAT's
    estimate with the same score, before its cap at 1; and the statistics of the warnings,
    `core_difference`, `disagreement` and `core_excess` (`poscount.checks`). With a learned score:
    `learned_high` and `learned_ratio`, the smallest upper bound along it and its ratio;
    `learned_above_0.2` and so on, the ratios above quantiles; `rcq` and `rcq_high`, the prevalence
    by the null calibration and the bound without it, and `rcq_tolerant` and `rcq_tolerant_high`,
    both within the tolerance; `skill` and `skill_in_sample`, by how much the area under the ROC
    curve, of the positives against the unlabeled rows and the sample, is above that of a guess;
    `log_reference`, the logarithm of the number of unlabeled rows learned from. With a tolerance:
    `tolerant` and `tolerant_high`, the prevalence by the null calibration and the smallest upper
    bound within it.

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
        **ReferenceQuantifier._parameter_constraints,
        "tolerance": [constraints.Interval(Real, 0, 1, closed="both")],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {"calibration_": OrNone(Part("Calibration"))}

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        recognisable: bool | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            confidence=confidence,
            calibration=calibration,
            recognisable=recognisable,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.tolerance = tolerance

    def check_learned(self) -> None:
        """Raise ValueError unless the calibration is one for RCQ."""
        super().check_learned()
        if self.calibration_ is not None:
            names = feature_names(learned=self.part_.learned_score_ is not None)
            self.calibration_.check_for(self._calibration_name, names)

    def _learn_codes(self, codes: np.ndarray, reference: np.ndarray | None) -> None:
        self._learn_part(codes, reference=reference)
        (self.calibration_,) = chosen_calibrations(self.calibration, self._calibration_name)

    @property
    def _counters(self) -> Sequence[RegionPart]:
        return [self.part_]

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        view = self._part_view(cells, n_rows)
        return estimate_in_context(
            view, cells, self.calibration_, self.confidence, self.recognisable
        )

    def _part_view(self, cells: np.ndarray, n_rows: np.ndarray) -> PartView:
        return self.part_.view(cells, n_rows, self.tolerance)
