"""What all transductive methods share: they learn from the positives and the sample together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.checks import BatchWarnings, Evidence, UnknownValues, unknown_value_warnings
from poscount.data.rows import Rows
from poscount.results.estimates import Estimates
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, require

# Largest absolute values that are left alone.
_LEAST, _MOST = 2.0**-400, 2.0**400


class TransductiveQuantifier(Quantifier):
    """A quantifier that learns from the positives and the sample together, anew for each sample.

    A subclass only computes: `_estimate_from` gets both as float64 matrices, with categories and
    gaps as the columns of a design matrix (`poscount.data.columns`), and a generator. Most methods
    give no interval; `poscount.Bootstrap` makes one by resampling. The subclass has an ``__init__``
    of its own only if it has other parameters.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_design_columns)
        The positives.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
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
        columns = self.model_columns
        fits = self.positives_.shape[1] == columns.n_design + len(columns.gapped)
        require(fits and np.isfinite(self.positives_).all(), "its positives are of other columns.")

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        self.positives_ = np.array(self._matrix(rows), dtype=np.float64, order="C")

    def _matrix(self, rows: Rows) -> np.ndarray:
        """Finite numbers from rows of codes."""
        numbers = self.model_columns.design(rows.to_array(), gaps=True)
        return np.asarray(numbers, dtype=np.float64, order="C")

    def _matrices(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The positives and the rows of a sample as matrices."""
        positives, sample = self.positives_, self._matrix(rows)
        if self.depends_on_squares:
            return in_range_of_squares(positives, sample)
        return positives, sample

    def _quantify(self, rows: Rows) -> Prevalence:
        estimates = self._estimate_from(*self._matrices(rows), stream(self.seed_, "estimate"))
        if not estimates.warnings:
            estimates = replace(estimates, warnings=self._unknown_value_warnings(rows))
        return self._prevalence(estimates, 0, len(rows))

    def _unknown_value_warnings(self, rows: Rows) -> BatchWarnings:
        """Warnings about missing values and categories that the positives do not have."""
        unknown = UnknownValues.of_rows(rows, self.model_columns)
        return unknown_value_warnings(
            Evidence(1, n_labeled=self.n_labeled_, unknown_values=unknown)
        )

    @abstractmethod
    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
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
