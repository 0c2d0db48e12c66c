"""TRCQ, region counting with a score that is learned anew from each sample."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from poscount.base import constraints
from poscount.calibration.calibration import Calibration
from poscount.calibration.doubt import shipped_doubt_hash
from poscount.calibration.files import chosen_calibrations
from poscount.data.rows import InputSupport, Rows
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.regions.estimate import estimate_part
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.part import RegionPart, distinct_rows
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates
from poscount.results.user_knowledge import DEFAULT_TOLERANCE
from poscount.storage.model_files import refuse_another_version
from poscount.storage.schema import Digest, Field, OrNone, Part, require, same_learned
from poscount.threads import one_blas_thread

__all__ = ["TRCQ"]


class TRCQ(TransductiveQuantifier):
    """RCQ whose score is learned from the very sample that it counts, for one sample at a time.

    It is ``RCQ().fit(positives, unlabeled=sample).quantify(sample)``, anew for each sample, which
    takes tenths of a second instead of milliseconds; there are no counts that add up. Where
    several samples of one field are counted, RCQ with a part of all of them is better, faster and
    reusable.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that both were
    recorded alike, and that the task resembles those that the calibration has learned from.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        As in `RCQ` with unlabeled rows.
    recognisable : bool or None, default=None
        As in `RCQ`.
    tolerance : float, default=0.05
        By how many standard deviations of the positives columns may have been recorded differently
        in the sample: another sensor, night or laboratory. The null calibration does not use it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the classifiers and of all that RCQ draws.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_columns)
        Codes of the positives, in an order of their own.
    calibration_ : Calibration or None
        The calibration, as part of the model; None for "null".
    part_ : RegionPart
        What was learned of the positives: the bands and the other cuts.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    See Also
    --------
    poscount.RCQ : Fitted once, for many samples.

    Notes
    -----
    `details` and warnings are those of `RCQ`. The order of rows and columns does not change the
    answer. Of more than 5,000 distinct rows the score is learned from 5,000, and all are counted.

    Examples
    --------
    Negatives that differ from half of the positives in the sum of two features only:

    >>> import numpy as np
    >>> from poscount import TRCQ
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(400, 2))
    >>> negatives = rng.normal(size=(2000, 2))
    >>> negatives = negatives[negatives.sum(axis=1) > 0][:700]
    >>> sample = np.vstack([rng.normal(size=(300, 2)), negatives])
    >>> 0.3 in TRCQ(random_state=0).fit(positives).quantify(sample).interval
    True
    """

    # RCQ and the standardisation of its rows cope with any size.
    depends_on_squares = False

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "recognisable": ["boolean", None],
        "tolerance": [constraints.Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state", np.random.Generator],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "calibration_": OrNone(Part("Calibration")),
        "part_": Part("RegionPart"),
        "doubt_hash_": Digest(),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless the regions are of the model's own columns and positives."""
        super().check_learned()
        refuse_another_version(self.doubt_hash_, shipped_doubt_hash())
        if self.calibration_ is not None:
            self.calibration_.check_for("RCQ-reference", feature_names(learned=True))
        same = same_learned(self.part_.columns_, self.model_columns)
        require(same, "its regions are of other columns.")
        require(self.part_.n_labeled_ == self.n_labeled_, "its regions are of other positives.")

    def _check_positives(self) -> None:
        columns = self.model_columns
        fits = self.positives_.shape[1] == len(columns.kinds_)
        fits = fits and not np.isinf(self.positives_).any()
        require(fits, "its positives are of other columns.")
        gaps = np.isnan(self.positives_).sum(axis=0)
        require((gaps <= columns.missing_).all(), "positives lack more values than there are.")
        for j in columns.categorical.tolist():
            codes = self.positives_[:, j]
            known = np.isnan(codes) | np.isin(codes, np.arange(columns.n_values(j)))
            require(known.all(), "a positive has no category.")

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        recognisable: bool | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.recognisable = recognisable
        self.tolerance = tolerance
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        self.doubt_hash_ = shipped_doubt_hash()
        (self.calibration_,) = chosen_calibrations(self.calibration, "RCQ-reference")
        projected = hasattr(self, "projection_")
        self.part_ = RegionPart().fit_codes(
            self.positives_, self.model_columns, self.seed_, projected=projected
        )
        self.n_labeled_ = self.part_.n_labeled_
        if self.n_labeled_ < len(rows):
            self.positives_ = distinct_rows(self.positives_)
        # As the part orders them, because the learned bin of each is put beside its other bins.
        design = np.ascontiguousarray(self.model_columns.design(self.positives_))
        order = CanonicalOrder(design, self.seed_)
        self.positives_ = self.positives_[order.sorted_rows(design)]

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    def _matrix(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows.to_array(), dtype=np.float64, order="C")

    def _matrices(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self.positives_, self._matrix(rows)

    def _estimate_marked(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        # No row is marked, because the regions see to them.
        return self._estimate_from(positives, sample, generator)

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        view = self._view(positives, sample)
        return estimate_part(view, self.calibration_, self.confidence, self.recognisable)

    def _view(self, positives: np.ndarray, sample: np.ndarray) -> PartView:
        """A sample in regions that also use a score learned from it."""
        part = self.part_.with_reference(positives, sample)
        cells = np.zeros((1, part.n_cells), np.int64)
        with one_blas_thread():
            part.count_into(cells, 0, sample, None, None)
        return part.view(cells, np.array([len(sample)]), self.tolerance)
