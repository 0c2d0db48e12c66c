"""Weights of rows: read, checked, and added up."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from poscount.errors import InputError

# In a weight of 1.
UNITS = 2**20
# Sums below it add up without overflow as int64.
_LIMIT = 2**62
# A weight below it has fewer than 53 bits in units, so that float64 holds every multiple.
LARGEST = 2**32
# With a smaller mean, rounding to units would change the weights by more than half a thousandth.
SMALLEST_MEAN = 2**-10
# Of the effective number of rows: the last bits of float64 depend on the order of the rows.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class WeightSums:
    r"""Sums over the weights of rows.

    Weights that are all whole numbers are numbers of repetitions. Others are survey weights, and
    rows with such weights are worth as much as

    .. math:: n_{eff} = \sum w \, \min\left(\frac{\sum w}{\sum w^2},
              \frac{\sum_c w + \bar w}{\sum_c w^2 + \overline{w^2}}\right)

    rows of equal weight. The first is Kish's effective sample size. The second looks at the core c
    of the positives alone, the rows that score higher than a quarter of them, because a prevalence
    is counted there: heavy positives among light negatives are worth less than all rows together
    suggest. The means over all rows stand in for a core that is nearly empty.

    Attributes
    ----------
    total : int
        Sum of the weights, in units of 2^-20.
    fractional : int
        Number of rows whose weight is not a whole number.
    squares : float
        Sum of the squared weights.
    core_excess : float
        Sum of w^2 - w over the rows in the core. Rows without weights have none.

    Examples
    --------
    >>> two_and_a_half = WeightSums(5 * UNITS // 2, 1, 6.25)
    >>> both = WeightSums.of_rows(1) + two_and_a_half
    >>> both.weight, both.effective_rows(n=2, core=UNITS)
    (3.5, 1.68966)
    >>> (both - two_and_a_half).whole
    True
    """

    total: int = 0
    fractional: int = 0
    # Not compared, because their last bits depend on the order of the rows.
    squares: float = field(default=0.0, compare=False)
    core_excess: float = field(default=0.0, compare=False)

    @classmethod
    def of_rows(cls, n: int) -> WeightSums:
        """Sums over rows without weights: each weighs 1."""
        return cls(n * UNITS, 0, float(n))

    def __post_init__(self) -> None:
        _refuse_large(self.weight)

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: WeightSums) -> WeightSums:
        return WeightSums(*map(operator.sub, astuple(self), astuple(other)))

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers, and so are numbers of repetitions."""
        return self.fractional == 0

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return self.total / UNITS

    def effective_rows(self, n: int, core: int) -> float:
        """Number of rows of equal weight that `n` rows are worth; repetitions are rows.

        `core` is the sum of the weights in the core, in units.
        """
        if self.whole:
            return self.weight
        inside = core / UNITS
        # No sum of squares is smaller than that of equal weights; after subtractions, one of
        # floats may be.
        squares = max(self.squares, self.weight**2 / n)
        core_squares = max(self.core_excess + inside, inside**2 / n)
        ratio = min(
            self.weight / squares,
            (n * inside + self.weight) / (n * core_squares + squares),
        )
        return float(f"{self.weight * ratio:.{_DIGITS}g}")

    def could_be_of(self, n: int) -> bool:
        """Whether `n` rows can have this weight, and so many fractional ones."""
        return 0 <= self.fractional <= n <= self.total and bool(n) == bool(self.total)

    @property
    def finite(self) -> bool:
        """Whether the sums of squares, which files may hold, give a finite number of rows."""
        # The largest sum of squares has a single weight.
        largest = 1.001 * self.weight**2
        return 0 <= self.squares <= largest and abs(self.core_excess) <= largest + self.weight


def effective(
    cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums], core: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows per cell, and all rows, that the weighted rows of groups are worth, for a rule.

    They are whole numbers if all weights are. `core` is the weight in each core, in units.

    Examples
    --------
    >>> cells, n, core = np.array([[3 * UNITS, UNITS]]), np.array([2]), np.array([0])
    >>> effective(cells, n, [WeightSums(4 * UNITS, 0, 10.0)], core)
    (array([[3, 1]]), array([4]))
    >>> rows, n = effective(cells // 2, n, [WeightSums(2 * UNITS, 2, 2.5)], core)
    >>> rows.round(3), n
    (array([[1.2, 0.4]]), array([1.6]))
    """
    if all(sums.whole for sums in weights):
        return cells // UNITS, np.array([sums.total // UNITS for sums in weights], np.int64)
    n_effective = np.empty(len(weights))
    groups = zip(weights, n_rows.tolist(), core.tolist(), strict=True)
    for i, (sums, n, inside) in enumerate(groups):
        if not sums.whole and sums.weight < n * SMALLEST_MEAN:
            raise InputError(
                f"The mean weight is about {sums.weight / n:.1g}, but weights are counted in "
                "multiples of 2^-20, which is too coarse for it: multiply all weights by the same "
                "number, such as the number of rows over their sum, and count again."
            )
        n_effective[i] = sums.effective_rows(n, inside)
    factors = n_effective / np.array([sums.weight for sums in weights])
    # In multiples of a small power of two, so that sums of them are exact in any order.
    return np.rint(cells * factors[:, np.newaxis]) / UNITS, n_effective


def row_weights(frame: nw.DataFrame | None, weights: Any, n_rows: int) -> np.ndarray | None:
    """Weights of rows in units, from one number per row or from the column of that name.

    Examples
    --------
    >>> row_weights(None, [0, 0.5, 3], 3) / UNITS
    array([0. , 0.5, 3. ])
    >>> row_weights(None, [1.0, -1.0], 2)
    Traceback (most recent call last):
    poscount.errors.InputError: row 1: the weight is -1; a weight is a finite number of at least 0.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        return _as_units(_column(frame, weights), weights)
    values = np.asarray(weights)
    if values.dtype.kind not in "biuf":
        # Such as decimals, or None among numbers.
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "The weights are not numbers: give one number per row.", option="weights"
            ) from None
    if values.shape != (n_rows,):
        shape = " x ".join(map(str, values.shape))
        raise InputError(
            f"The weights must be one number per row: there are {n_rows} rows, and the weights "
            f"have the shape {shape or 'of a single number'}."
        )
    return _as_units(values, None)


def _column(frame: nw.DataFrame | None, name: str) -> np.ndarray:
    if frame is None:
        raise InputError(
            f"Rows without column names have no column {name!r} of weights: give a frame, or the "
            "weights themselves as an array."
        )
    if name not in frame.columns:
        raise InputError(
            f"there is no such column of weights; the columns are {', '.join(frame.columns)}.",
            column=name,
        )
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise InputError(
            f"it holds {column.dtype}, not numbers, and cannot be the weights.", column=name
        )
    missing = column.is_null().to_numpy()
    if missing.any():
        values = np.full(len(column), np.nan)
        values[~missing] = column.drop_nulls().to_numpy().astype(np.float64)
        return values
    return column.to_numpy()


def _as_units(values: np.ndarray, column: str | None) -> np.ndarray:
    """Round weights to whole units; a weight above 0 is at least one unit."""
    values = values.astype(np.float64)
    wrong = np.flatnonzero(~((values >= 0) & (values < LARGEST)))
    if len(wrong):
        row, value = int(wrong[0]), float(values[wrong[0]])
        if np.isnan(value):
            problem = "the weight is missing; fill in the value or remove the row."
        elif 0 <= value < np.inf:
            problem = (
                f"the weight is {value:g}, and weights of {LARGEST:.1e} or more cannot be added "
                "exactly: divide all weights by the same number."
            )
        else:
            problem = f"the weight is {value:g}; a weight is a finite number of at least 0."
        raise InputError(problem, column=column, row=row)
    return np.maximum(np.rint(values * UNITS), values > 0).astype(np.int64)


def add_weights(
    units: np.ndarray, core: np.ndarray, codes: np.ndarray, n_groups: int
) -> list[WeightSums]:
    """Sums over the weights of each group, in units, of which some are in the core.

    Examples
    --------
    >>> units, core = np.array([UNITS, UNITS, UNITS // 2]), np.array([True, False, True])
    >>> sums = add_weights(units, core, np.array([0, 0, 1]), 2)
    >>> [(one.weight, one.fractional, one.core_excess) for one in sums]
    [(2.0, 0, 0.0), (0.5, 1, -0.25)]
    """
    weight = units / UNITS
    # Before the whole numbers, which would overflow.
    _refuse_large(np.bincount(codes, weight, n_groups).max(initial=0.0))
    total = np.zeros(n_groups, np.int64)
    np.add.at(total, codes, units)
    fractional, squares, excess = (
        np.bincount(codes, values, n_groups).tolist()
        for values in (units % UNITS > 0, weight**2, np.where(core, weight**2 - weight, 0.0))
    )
    groups = zip(total.tolist(), map(int, fractional), squares, excess, strict=True)
    return [WeightSums(*sums) for sums in groups]


def _refuse_large(weight: float) -> None:
    if weight >= _LIMIT // UNITS:
        raise InputError(
            f"The weights add up to {weight:.3g}, and sums are exact only up to "
            f"{_LIMIT // UNITS:.1e}: divide all weights by the same number."
        )
