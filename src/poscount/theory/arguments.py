"""Checks of the formulas' arguments, which may be numbers or arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A float when every argument is a number, otherwise an array: as in the annotations of numpy's
# ufuncs, only `Any` lets both be used without a cast.
FloatOrArray: TypeAlias = Any


def checked_shares(
    name: str, values: ArrayLike, brackets: str = "[]", low: float = 0.0
) -> NDArray[np.float64]:
    """Values as floats, if they lie between `low` and 1; a round bracket leaves that end out."""
    x = np.asarray(values, dtype=np.float64)
    above = x >= low if brackets[0] == "[" else x > low
    below = x <= 1 if brackets[1] == "]" else x < 1
    if not np.all(above & below):
        wrong = x[~(above & below)].item(0)
        raise ValueError(f"{name} must be in {brackets[0]}{low:g}, 1{brackets[1]}, not {wrong:g}.")
    return x


def checked_counts(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values as floats, if they are whole numbers of at least 1."""
    x = np.asarray(values, dtype=np.float64)
    good = (x >= 1) & (x < np.inf) & (x == np.floor(x))
    if not np.all(good):
        raise ValueError(f"{name} must be a whole number of at least 1, not {x[~good].item(0):g}.")
    return x


def float_or_array(values: Any) -> FloatOrArray:
    """A number as a float; an array as it is."""
    return float(values) if np.ndim(values) == 0 else values
