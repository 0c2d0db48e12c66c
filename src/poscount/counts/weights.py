"""Weights of rows: read, checked, and added up exactly."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import narwhals as nw
import numpy as np

from poscount.errors import InputError

# In a weight of 1.
UNITS = 2**20
# Sums below it are exact as int64.
_LIMIT = 2**63
# A weight below it has fewer than 53 bits in units, so that float64 holds every multiple.
LARGEST = 2**32
# With a smaller mean, rounding to units would change the weights by more than half a thousandth.
SMALLEST_MEAN = 2**-10
# Weights are cut into two parts of so many bits, their squares into four.
_BITS = 26
_MASK = 2**_BITS - 1
_ROWS_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True)
class WeightSums:
    r"""Exact sums over the weights of rows, which are counted in units of 2^-20.

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
        Sum of the weights, in units.
    squares : int
        Sum of their squares, in squared units.
    fractional : int
        Number of rows whose weight is not a whole number.
    core_excess : int
        Sum of w^2 - w over the rows in the core, in squared units. Rows without weights have none.

    Examples
    --------
    >>> two_and_a_half = WeightSums(5 * UNITS // 2, 25 * UNITS**2 // 4, 1)
    >>> both = WeightSums.of_rows(1) + two_and_a_half
    >>> both.weight, round(both.effective_rows(n=2, core=UNITS), 3)
    (3.5, 1.69)
    >>> (both - two_and_a_half).whole
    True
    """

    total: int = 0
    squares: int = 0
    fractional: int = 0
    core_excess: int = 0

    @classmethod
    def of_rows(cls, n: int) -> WeightSums:
        """Sums over rows without weights: each weighs 1."""
        return cls(n * UNITS, n * UNITS**2)

    def __post_init__(self) -> None:
        if self.total >= _LIMIT:
            raise InputError(
                f"The weights add up to {self.weight:.3g}, and sums are exact only up to "
                f"{_LIMIT // UNITS:.1e}: divide all weights by the same number."
            )

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
        """Number of rows of equal weight that these are worth; repetitions are rows.

        Parameters
        ----------
        n : int
            Number of rows.
        core : int
            Sum of the weights in the core, in units.
        """
        rows, units = self._rows_per_units(n, core)
        return self.total * rows / units

    def rows_per_unit(self, n: int, core: int) -> float:
        """What a unit counts if all of them together are the effective rows."""
        rows, units = self._rows_per_units(n, core)
        return rows / units

    def _rows_per_units(self, n: int, core: int) -> tuple[int, int]:
        if self.whole:
            return 1, UNITS
        core_squares = self.core_excess + core * UNITS
        ratios = (
            (self.total, self.squares),
            (n * core + self.total, n * core_squares + self.squares),
        )
        return min(ratios, key=lambda ratio: ratio[0] / ratio[1])

    def to_meta(self) -> dict[str, int]:
        """For a file."""
        return {"units": UNITS, **asdict(self)}

    @classmethod
    def from_meta(cls, meta: object) -> WeightSums | None:
        """Read what `to_meta` gave; None if it is not that."""
        if not isinstance(meta, Mapping) or meta.get("units") != UNITS:
            return None
        sums: list[Any] = [meta.get(field.name) for field in fields(cls)]
        if any(type(value) is not int for value in sums) or sums[0] >= _LIMIT:
            return None
        return cls(*sums)

    def could_be_of(self, n: int, cells: np.ndarray) -> bool:
        """Whether there can be `n` rows with these sums and these counts."""
        whole_units = UNITS if self.whole else 1
        return (
            min(n, self.total, self.squares, self.fractional) >= 0
            and self.fractional <= n <= self.total
            and (n > 0 or self.total == 0)
            # The smallest sum of squares has equal weights, the largest a single weight.
            and self.total**2 <= n * self.squares
            and self.squares <= self.total**2
            and not self.total % whole_units
            and not self.squares % whole_units**2
            and not self.core_excess % whole_units**2
            # w^2 - w is smallest for a half.
            and -n * UNITS**2 <= 4 * self.core_excess <= 4 * self.squares
            and not (cells % whole_units).any()
            and int(cells.max(initial=0)) <= self.total
        )

    def core_could_be_of(self, n: int, core: int) -> bool:
        """Whether the core can have this sum of weights, in units."""
        squares = self.core_excess + core * UNITS
        return (
            core <= self.total and core**2 <= n * squares and squares <= min(self.squares, core**2)
        )


def effective(
    cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums], core: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows per cell, and all rows, that the weighted rows of groups are worth, for a rule.

    They are whole numbers if all weights are.

    Parameters
    ----------
    cells : ndarray of int64, shape (n_groups, n_cells)
    n_rows : ndarray of int64, shape (n_groups,)
    weights : sequence of WeightSums
        One of each group.
    core : ndarray of int64, shape (n_groups,)
        Sum of the weights in the core, in units.

    Examples
    --------
    >>> cells, n, core = np.array([[3 * UNITS, UNITS]]), np.array([2]), np.array([0])
    >>> effective(cells, n, [WeightSums(4 * UNITS, 10 * UNITS**2, 0)], core)
    (array([[3, 1]]), array([4]))
    >>> rows, n = effective(cells // 2, n, [WeightSums(2 * UNITS, 10 * UNITS**2 // 4, 2)], core)
    >>> rows.round(3), n
    (array([[1.2, 0.4]]), array([1.6]))
    """
    if all(sums.whole for sums in weights):
        return cells // UNITS, np.array([sums.total // UNITS for sums in weights], np.int64)
    groups = list(zip(weights, n_rows.tolist(), core.tolist(), strict=True))
    factors = np.array([sums.rows_per_unit(n, inside) for sums, n, inside in groups])
    # In multiples of a small power of two, so that sums of them are exact in any order.
    rows = np.rint(cells * (factors[:, np.newaxis] * UNITS)) / UNITS
    return rows, np.array([sums.effective_rows(n, inside) for sums, n, inside in groups])


def row_weights(frame: nw.DataFrame | None, weights: Any, n_rows: int) -> np.ndarray | None:
    """Weights of rows in units, from one number per row or from the column of that name.

    Parameters
    ----------
    frame : narwhals frame or None
        The rows, if their columns have names.
    weights : array-like, str or None
    n_rows : int

    Returns
    -------
    ndarray of int64, or None without weights

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
        return as_units(_column(frame, weights), weights)
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
    return as_units(values, None)


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


def as_units(values: np.ndarray, column: str | None) -> np.ndarray:
    """Round weights to whole units; a weight above 0 is at least one unit.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    column : str or None
        Name of the weights, for errors.
    """
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
    units: np.ndarray, core: np.ndarray, codes: np.ndarray | None, n_groups: int
) -> list[WeightSums]:
    """Sums over the weights of each group.

    Parameters
    ----------
    units : ndarray of int64, shape (n_rows,)
        Weights in units.
    core : ndarray of bool, shape (n_rows,)
        Which rows are in the core.
    codes : ndarray of int, shape (n_rows,), or None
        Group of each row, from 0 to `n_groups` - 1; None for one group.
    n_groups : int

    Examples
    --------
    >>> units, core = np.array([UNITS, UNITS, UNITS // 2]), np.array([True, False, True])
    >>> sums = add_weights(units, core, np.array([0, 0, 1]), 2)
    >>> [(one.weight, one.fractional, one.core_excess / UNITS**2) for one in sums]
    [(2.0, 0, 0.0), (0.5, 1, -0.25)]
    """
    total, squares = _exact_sums(units, codes, n_groups)
    in_core = None if codes is None else codes[core]
    core_total, core_squares = _exact_sums(units[core], in_core, n_groups)
    fractional = _sums_by_group(units % UNITS > 0, codes, n_groups).tolist()
    excess = [square - UNITS * one for square, one in zip(core_squares, core_total, strict=True)]
    return [WeightSums(*sums) for sums in zip(total, squares, fractional, excess, strict=True)]


def _exact_sums(
    units: np.ndarray, codes: np.ndarray | None, n_groups: int
) -> tuple[list[int], list[int]]:
    """Sums of weights and of their squares for each group, of any size."""
    # int64 holds the sums of each part over 2^35 rows.
    of_weights, of_squares = (np.zeros((n_parts, n_groups), np.int64) for n_parts in (2, 4))
    for start in range(0, len(units), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        groups = None if codes is None else codes[rows]
        parts = [*_parts(units[rows]), *_parts_of_squares(units[rows])]
        for sums, part in zip([*of_weights, *of_squares], parts, strict=True):
            sums += _sums_by_group(part, groups, n_groups)
    return _joined(of_weights), _joined(of_squares)


def _sums_by_group(values: np.ndarray, codes: np.ndarray | None, n_groups: int) -> np.ndarray:
    if codes is None:
        return np.array([values.sum()])
    # Sums of whole numbers below 2^53, which float64 adds exactly.
    return np.bincount(codes, values, n_groups).astype(np.int64)


def _joined(parts: np.ndarray) -> list[int]:
    """Whole numbers of any size from their parts, the lowest first."""
    return [sum(part << (_BITS * i) for i, part in enumerate(one)) for one in parts.T.tolist()]


def _parts(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights as low + high 2^26."""
    return units & _MASK, units >> _BITS


def _parts_of_squares(units: np.ndarray) -> tuple[np.ndarray, ...]:
    """Squares as a + b 2^26 + c 2^52 + d 2^78; none of the parts reaches 2^28."""
    low, high = _parts(units)
    lows, mixed, highs = low * low, 2 * low * high, high * high
    return (
        lows & _MASK,
        (lows >> _BITS) + (mixed & _MASK),
        (mixed >> _BITS) + (highs & _MASK),
        highs >> _BITS,
    )
