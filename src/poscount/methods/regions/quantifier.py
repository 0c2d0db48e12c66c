"""Quantifiers that count rows in regions: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from poscount.base import constraints
from poscount.base.counting import CountingQuantifier
from poscount.calibration.calibration import Calibration
from poscount.calibration.doubt import shipped_doubt_hash
from poscount.checks import row_warnings
from poscount.counts.counts import Counts
from poscount.data.columns import Columns
from poscount.data.learned_projection import learn_from_both
from poscount.data.projection import Projection
from poscount.data.rows import InputSupport, Rows
from poscount.data.rows_seen import RowsSeen
from poscount.errors import InputError
from poscount.methods.regions.layout import N_SCORE_CELLS, PAT_SHARES
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.targets import TargetRegions
from poscount.methods.regions.view import PartView
from poscount.results.verdict import AnswerWarning
from poscount.storage.model_files import content_hash, refuse_another_version
from poscount.storage.schema import Digest, Field, Part, require, same_learned


class RegionQuantifier(CountingQuantifier):
    """Counts rows in the regions of one or several parts, and combines what the parts say.

    A subclass learns the parts (`_learn`), lists them (`_counters`) and turns their counts into
    estimates (`_estimate`).
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "recognisable": ["boolean", None],
        "n_jobs": constraints.N_JOBS,
        "random_state": ["random_state", np.random.Generator],
    }

    # So many samples and their regions stay in the cache.
    _groups_at_once = 128
    # PAT's first cell is below the core.
    _first_core_cell = 1
    _core_share = float(PAT_SHARES[1:].sum())

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        recognisable: bool | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.recognisable = recognisable
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    @abstractmethod
    def _counters(self) -> Sequence[RegionPart | TargetRegions]:
        """What counts rows, in the order of the cells."""

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    def _row_warnings(self, seen: RowsSeen) -> Sequence[AnswerWarning]:
        return row_warnings(seen, len(self.known_rows_), self.feature_names)

    @property
    def _n_cells(self) -> int:
        return sum(counter.n_cells for counter in self._counters)

    def _count_block(
        self,
        counted: np.ndarray,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> np.ndarray:
        first_cell, score_cells = 0, []
        for counter in self._counters:
            score_cells.append(counter.count_into(counted, first_cell, block, groups, weights))
            first_cell += counter.n_cells
        return score_cells[0]

    def _split(self, cells: np.ndarray) -> list[np.ndarray]:
        """Cells of each counter, of shape (n_samples, n_cells)."""
        ends = np.cumsum([counter.n_cells for counter in self._counters])
        return np.split(cells, ends[:-1], axis=1)

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        return self._counters[0].score_cells(cells)


class PositivesQuantifier(RegionQuantifier):
    """A region quantifier with a part for the positives of one target.

    Attributes
    ----------
    part_ : RegionPart
        What was learned of the positives.
    doubt_hash_ : str
        Content hash of what poscount has learned about broken assumptions, which verdicts rest on.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "part_": Part("RegionPart"),
        "doubt_hash_": Digest(),
    }

    part_: RegionPart

    def check_learned(self) -> None:
        """Raise ValueError unless the part is of the model's own columns."""
        super().check_learned()
        refuse_another_version(self.doubt_hash_, shipped_doubt_hash())
        known = self.model_columns
        # The columns may be those of negatives as well.
        of_part = self.part_.columns_.with_constants(known.constants_)
        require(same_learned(of_part, known), "its regions are of other columns.")

    def _learn_part(
        self,
        codes: np.ndarray,
        columns: Columns | None = None,
        reference: np.ndarray | None = None,
    ) -> None:
        projected = hasattr(self, "projection_")
        self.part_ = RegionPart().fit_codes(
            codes,
            columns or self.model_columns,
            self.seed_,
            projected=projected,
            reference=reference,
        )
        self.n_labeled_ = self.part_.n_labeled_
        self.doubt_hash_ = shipped_doubt_hash()

    def _view(self, *counts: Counts) -> PartView:
        """What the regions of the positives say about samples, from their counts."""
        cells, n_rows = self._rows_of(*counts)
        return self._part_view(cells[:, : self.part_.n_cells], n_rows)

    def _part_view(self, cells: np.ndarray, n_rows: np.ndarray) -> PartView:
        return self.part_.view(cells, n_rows)

    def _scores(self, block: Any) -> np.ndarray:
        return self.part_.scores(block)

    @property
    def _posterior_shares(self) -> np.ndarray:
        cells = self._joint_cell(self.part_.binned_)
        return np.bincount(cells, minlength=N_SCORE_CELLS * self._n_last) / len(cells)

    def _posterior_cells(self, block: Any) -> np.ndarray:
        return self._joint_cell(self.part_.place(block))

    def _posterior_rows(self, cells: np.ndarray) -> np.ndarray:
        tables = self.part_.tables(cells)
        return tables[:, :, -self._n_last :].reshape(len(cells), -1)

    @property
    def _n_last(self) -> int:
        """Bins of the last partition: those of a learned score, or four clusters."""
        return int(self.part_.layout.widths[-1])

    def _joint_cell(self, binned: np.ndarray) -> np.ndarray:
        """Score cell, and bin of the last partition, in one number."""
        return binned[:, 0].astype(np.intp) * self._n_last + binned[:, -1]


class ReferenceQuantifier(PositivesQuantifier):
    """A quantifier of one target that also learns from unlabeled rows, if there are any at hand.

    A subclass learns from the positives and from the codes of such rows (`_learn_codes`).
    """

    def fit(
        self,
        positives: Any,
        y: Any = None,
        *,
        unlabeled: Any = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Learn from labelled positives and, if there are any at hand, from unlabeled rows.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else, unless `y` tells which rows they are.
        y : array-like of shape (n_rows,), optional
            1 for a labelled positive, anything else for an unlabeled row.
        unlabeled : array or frame, optional
            Unlabeled rows of the field: the sample itself, an earlier one, or a part of all that is
            to be counted. A score of the positives against them makes more regions. At most 5,000
            distinct rows are learned from.
        features : sequence of str, optional
            Columns to use, if the positives are a frame with others as well.
        """
        rows, others = self._take_in(positives, y, features)
        if others is not None and unlabeled is not None:
            raise InputError(
                "Give the unlabeled rows once: by y, or as unlabeled.", option="unlabeled"
            )
        self._learn(rows, others if unlabeled is None else unlabeled)
        return self

    def _learn(self, rows: Rows, unlabeled: Any = None) -> None:
        reference = None
        if unlabeled is not None:
            others = self._sample(unlabeled, allow_empty=False)
            if isinstance(rows.projection, Projection):
                both = rows.unprojected(), others.unprojected()
                learned = learn_from_both(rows.projection, *both, self.seed_)
                self.projection_ = rows.projection = others.projection = learned
            reference = others.to_array()
        self._learn_codes(rows.to_array(), reference)
        self.hash_ = content_hash(self)

    @abstractmethod
    def _learn_codes(self, codes: np.ndarray, reference: np.ndarray | None) -> None:
        """Learn from the codes of positives, and of unlabeled rows."""

    @property
    def _calibration_name(self) -> str:
        """Method of the calibration for all positives as one kind."""
        return "RCQ" if self.part_.learned_score_ is None else "RCQ-reference"
