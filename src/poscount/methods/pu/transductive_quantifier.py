"""What all transductive methods share: they learn from the positives and the sample together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from joblib import Parallel, delayed

from poscount.base import constraints
from poscount.base.quantifier import TABLE_CONSTRAINTS, Quantifier
from poscount.checks import Evidence, ManyGapEvidence, gap_cautions
from poscount.counts.missing_counts import GapCounts, count_gaps, n_gap_cells
from poscount.data.rows import Rows
from poscount.methods.intervals import bootstrap_interval, estimate_from_halves
from poscount.results.prevalence import Estimate, Interval, Prevalence
from poscount.results.verdict import Caution
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, require

# Largest absolute values that are left alone.
_LEAST, _MOST = 2.0**-400, 2.0**400


class TransductiveQuantifier(Quantifier):
    """A quantifier that learns from the positives and the sample together, anew for each sample.

    A subclass only computes: `_estimate_from` gets both as float64 matrices, with categories and
    gaps as the columns of a design matrix (`poscount.data.columns`), and a generator. If it
    gives no interval, one is made by resampling on request (`bootstrap`). The subclass has an
    ``__init__`` of its own only if it has other parameters.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_design_columns)
        The positives.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "bootstrap": [constraints.Interval(Integral, 2, None, closed="left"), None],
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": constraints.N_JOBS,
        "verbose": ["verbose"],
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    # Whether values are squared, as in distances and variances; if not, they are only compared.
    depends_on_squares: ClassVar[bool] = True

    positives_: np.ndarray

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "positives_": Array("float64", ("positives", None), missing=True)
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        self._check_positives()

    def _check_positives(self) -> None:
        """Refuse positives that are not of this table: a design matrix with gaps as columns."""
        columns = self.block_columns
        fits = self.positives_.shape[1] == columns.n_design + len(columns.gapped)
        require(fits and np.isfinite(self.positives_).all(), "its positives are of other columns.")

    def __init__(
        self,
        *,
        bootstrap: int | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        missing: str = "value",
        text: str = "category",
        random_state: Any = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.missing = missing
        self.text = text
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        self.positives_ = np.array(self._matrix(rows), dtype=np.float64, order="C")

    def _matrix(self, rows: Rows) -> np.ndarray:
        """Finite numbers from rows of codes."""
        numbers = self.block_columns.design(rows.whole(), gaps=True)
        return np.asarray(numbers, dtype=np.float64, order="C")

    def _quantify(self, rows: Rows) -> Prevalence:
        positives, sample = self.positives_, self._matrix(rows)
        if self.depends_on_squares:
            positives, sample = in_range_of_squares(positives, sample)
        generator = stream(self.seed_, "estimate")
        estimate = self._estimate_from(positives, sample, generator)
        if estimate.interval is None and self.bootstrap:
            interval = self._bootstrap_interval(positives, sample, estimate.value)
            estimate = estimate._replace(interval=interval)
        warnings = (*estimate.warnings, *self._gap_cautions(rows))
        return self._prevalence(estimate._replace(warnings=warnings), len(rows))

    def _gap_cautions(self, rows: Rows) -> tuple[Caution, ...]:
        """Warnings about missing values and words that the positives do not have."""
        columns = self.block_columns
        cells = np.zeros(n_gap_cells(columns), np.int64)
        for block in rows.blocks():
            count_gaps(block, columns, None, cells)
        counted = GapCounts.of_cells(cells[np.newaxis], columns)
        (gaps,) = ManyGapEvidence(columns, *counted, np.array([len(rows)]))
        return gap_cautions(Evidence(n_labeled=self.n_labeled_, gaps=gaps))

    def _bootstrap_interval(
        self, positives: np.ndarray, sample: np.ndarray, value: float
    ) -> Interval:
        # The matrices are arguments of their own, so that processes share them in mapped memory.
        replicates = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(estimate_from_halves)(self._estimate_from, positives, sample, self.seed_, i)
            for i in range(cast(int, self.bootstrap))
        )
        return bootstrap_interval(value, np.array(replicates), self.confidence)

    @abstractmethod
    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimate:
        """Estimate the prevalence in the sample."""


def in_range_of_squares(positives: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale values whose squares would overflow or vanish, all by the same power of two.

    Examples
    --------
    >>> tiny = np.ldexp([[3.0], [1.0]], -1030)
    >>> in_range_of_squares(tiny, tiny)[0].tolist()
    [[0.75], [0.25]]
    """
    largest = max(np.abs(table).max(initial=0.0) for table in (positives, sample))
    if largest == 0 or _LEAST < largest < _MOST:
        return positives, sample
    exponent = -int(np.frexp(largest)[1])
    return np.ldexp(positives, exponent), np.ldexp(sample, exponent)
