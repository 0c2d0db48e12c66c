"""What a model file may hold: every class declares what it has learned, and every value is checked.

A class that model files hold declares its learned attributes as ``LEARNED``, a mapping from names
to the fields below; a subclass adds to those of its bases. Sizes with a name, such as "features",
must be the same in all attributes of an object. What the fields cannot say (an attribute that
follows from others, say) is the task of a method ``check_learned``, which raises ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

# A named size, a fixed one, or any.
Size = str | int | None
_LARGEST = np.finfo(np.float64).max.item()


class Field(Protocol):
    """What a value may be."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Raise ValueError, whose message goes on after the name of the attribute."""


class Sizes(dict[str, int]):
    """Sizes that have a name, as they are met.

    Examples
    --------
    >>> sizes = Sizes()
    >>> sizes.require("features", 3, "columns")
    >>> sizes.require("features", 4, "columns")
    Traceback (most recent call last):
    ValueError: has 4 columns, and another attribute has 3
    """

    def require(self, size: Size, found: int, what: str) -> None:
        """Refuse a size that is not the one that was met before."""
        if size is None:
            return
        if isinstance(size, int):
            if found != size:
                raise ValueError(f"has {found} {what} instead of {size}")
        elif self.setdefault(size, found) != found:
            raise ValueError(f"has {found} {what}, and another attribute has {self[size]}")


@dataclass(frozen=True)
class Array:
    """An array of one dtype.

    Parameters
    ----------
    dtype : str
    shape : tuple of str and int
        Named sizes, and fixed ones.
    least, most : number, optional
        Limits of its values.
    infinite, missing : bool
        Whether it may hold infinite values, or NaN.
    ascending : bool
        Whether values may not fall along the last axis.

    Examples
    --------
    >>> Array("float64", ("edges",), ascending=True).check(np.array([2.0, 1.0]), Sizes())
    Traceback (most recent call last):
    ValueError: is not in ascending order
    """

    dtype: str
    shape: tuple[Size, ...]
    least: float | None = None
    most: float | None = None
    infinite: bool = False
    missing: bool = False
    ascending: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check dtype, shape, limits and order."""
        if type(value) is not np.ndarray or value.dtype.name != self.dtype:
            raise ValueError(f"is not an array of {self.dtype}")
        if value.ndim != len(self.shape):
            raise ValueError(f"has {value.ndim} dimensions instead of {len(self.shape)}")
        for i, size in enumerate(self.shape):
            sizes.require(size, value.shape[i], f"entries along axis {i}")
        if not value.size:
            return
        low, high = value.min(), value.max()
        if np.isnan(low):
            if not self.missing:
                raise ValueError("holds NaN")
            low, high = np.fmin.reduce(value, axis=None), np.fmax.reduce(value, axis=None)
            if np.isnan(low):
                return
        if not self.infinite and not np.isfinite([low, high]).all():
            raise ValueError("holds infinite values")
        _require_between(low, high, self.least, self.most)
        if self.ascending and (value[..., 1:] < value[..., :-1]).any():
            raise ValueError("is not in ascending order")


@dataclass(frozen=True)
class Whole:
    """A whole number.

    Parameters
    ----------
    least, most : int
    size : str, optional
        The size that it is.
    """

    least: int = 0
    most: int = 2**53
    size: str | None = None

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check type and limits."""
        if type(value) is not int:
            raise ValueError("is not a whole number")
        _require_between(value, value, self.least, self.most)
        if self.size is not None:
            sizes.require(self.size, value, self.size)


@dataclass(frozen=True)
class Number:
    """A finite number between two limits."""

    least: float | None = None
    most: float | None = None

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check type, finiteness and limits."""
        # Whole numbers of a file may be beyond all floats.
        if type(value) not in (int, float) or not -_LARGEST <= value <= _LARGEST:
            raise ValueError("is not a finite number")
        _require_between(value, value, self.least, self.most)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the type."""
        if type(value) is not bool:
            raise ValueError("is neither true nor false")


@dataclass(frozen=True)
class Text:
    """Text that can be written to a file; `among` limits it to some words.

    Names of columns and categories come from tables and may hold any characters, which are escaped
    where they are shown.
    """

    among: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the type, and that there are no halves of characters."""
        if type(value) is not str:
            raise ValueError("is not text")
        if self.among and value not in self.among:
            raise ValueError(f"is none of {', '.join(self.among)}")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("holds half a character") from None


@dataclass(frozen=True)
class Digest:
    """SHA-256 as 64 hexadecimal digits."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the digits."""
        if type(value) is not str or len(value) != 64 or set(value) - set("0123456789abcdef"):
            raise ValueError("is not a SHA-256 digest")


@dataclass(frozen=True)
class ListOf:
    """A list, or an array of objects, whose items are all of one kind.

    Parameters
    ----------
    item : field
    size : str or int, optional
        Number of items.
    distinct : bool
        Whether no two items are equal.
    array : bool
        Whether it is an array, as scikit-learn keeps names.
    """

    item: Field
    size: Size = None
    distinct: bool = False
    array: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the type, the number of items, and every item."""
        if self.array:
            if type(value) is not np.ndarray or value.dtype != object or value.ndim != 1:
                raise ValueError("is not an array of objects")
        elif type(value) is not list:
            raise ValueError("is not a list")
        sizes.require(self.size, len(value), "items")
        for i, item in enumerate(value):
            try:
                self.item.check(item, sizes)
            except ValueError as error:
                raise ValueError(f"has an item, number {i + 1}, that {error}") from None
        if self.distinct and len(set(value)) < len(value):
            raise ValueError("has an item twice")


@dataclass(frozen=True)
class Part:
    """A fitted estimator of poscount that is part of another; it has been checked by itself.

    Parameters
    ----------
    names : str
        Names of the classes that it may be of; none for any method.
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the class."""
        ours = type(value).__module__.startswith("poscount.") and hasattr(type(value), "LEARNED")
        right = type(value).__name__ in self.names if self.names else hasattr(value, "n_labeled_")
        if not ours or not right or not is_fitted(value):
            raise ValueError(f"is not a fitted {' or '.join(self.names) or 'method'}")


@dataclass(frozen=True)
class OrNone:
    """A value, or None."""

    field: Field

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the value if there is one."""
        if value is not None:
            self.field.check(value, sizes)


@dataclass(frozen=True)
class MayLack:
    """An attribute that only some objects have."""

    field: Field

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check the value."""
        self.field.check(value, sizes)


@dataclass(frozen=True)
class Scorer:
    """A fitted scorer, of poscount or of another library, that gives rows scores."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Check that it can score."""
        methods = ("score_samples", "decision_function")
        if isinstance(value, type) or not any(
            callable(getattr(value, name, None)) for name in methods
        ):
            raise ValueError("is not a scorer")


def _require_between(low: Any, high: Any, least: float | None, most: float | None) -> None:
    if least is not None and low < least:
        raise ValueError(f"holds {_shown(low)}, and must be at least {_shown(least)}")
    if most is not None and high > most:
        raise ValueError(f"holds {_shown(high)}, and must be at most {_shown(most)}")


def _shown(number: Any) -> str:
    # Not every whole number of a file fits into a float.
    return "a huge number" if type(number) is int and abs(number) > 2**1000 else f"{number:.6g}"


def fields_of(kind: type) -> dict[str, Field]:
    """Attributes that objects of a class learn, those of its bases included."""
    found: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get("LEARNED", {})
    return found


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator has learned anything."""
    return any(name in vars(estimator) for name in fields_of(type(estimator)))


def check_estimator(estimator: Any) -> None:
    """Raise ValueError unless all that a fitted estimator has learned is as its class declares it.

    Examples
    --------
    >>> class Threshold:
    ...     LEARNED = {"edge_": Number(0, 1)}
    >>> threshold = Threshold()
    >>> threshold.edge_ = 2.0
    >>> check_estimator(threshold)
    Traceback (most recent call last):
    ValueError: edge_ of Threshold holds 2, and must be at most 1.
    """
    kind = type(estimator)
    fields = fields_of(kind)
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    # Attributes with a leading underscore are rebuilt on load.
    learned = {
        name: value
        for name, value in vars(estimator).items()
        if name not in parameters and not name.startswith("_")
    }
    check_fields(kind.__name__, fields, learned)
    if hasattr(estimator, "check_learned"):
        estimator.check_learned()


def check_fields(owner: str, fields: Mapping[str, Field], values: Mapping[str, Any]) -> None:
    """Raise ValueError unless these are the values that are declared, and as they are declared.

    Examples
    --------
    >>> check_fields("Circle", {"radius": Number(0)}, {"radius": -1})
    Traceback (most recent call last):
    ValueError: radius of Circle holds -1, and must be at least 0.
    """
    for name in values:
        if name not in fields:
            raise ValueError(f"{name!r} does not belong to {owner}.")
    sizes = Sizes()
    for name, field in fields.items():
        if name not in values:
            if isinstance(field, MayLack):
                continue
            raise ValueError(f"{name} of {owner} is missing.")
        try:
            field.check(values[name], sizes)
        except ValueError as error:
            raise ValueError(f"{name} of {owner} {error}.") from None


def require(condition: Any, sentence: str) -> None:
    """Raise ValueError with a sentence unless a condition of `check_learned` holds."""
    if not condition:
        raise ValueError(sentence)


def ascending_places(values: np.ndarray, n: int) -> bool:
    """Whether places are different, in ascending order, and below `n`.

    Examples
    --------
    >>> ascending_places(np.array([0, 2]), 3), ascending_places(np.array([2, 2]), 3)
    (True, False)
    """
    within = not len(values) or (values[0] >= 0 and values[-1] < n)
    return bool(within and (np.diff(values) > 0).all())


def same_learned(one: Any, other: Any) -> bool:
    """Whether two estimators have learned the same, bit for bit.

    Examples
    --------
    >>> class Edges:
    ...     LEARNED = {"edges_": Array("float64", (2,))}
    >>> one, other = Edges(), Edges()
    >>> one.edges_, other.edges_ = np.zeros(2), np.ones(2)
    >>> same_learned(one, one), same_learned(one, other)
    (True, False)
    """
    names = fields_of(type(one))
    return type(one) is type(other) and all(
        _same(getattr(one, name, None), getattr(other, name, None)) for name in names
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        nan = one.dtype.kind == "f"
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=nan)
    if hasattr(type(one), "LEARNED"):
        return same_learned(one, other)
    if isinstance(one, Sequence) and not isinstance(one, str) and isinstance(other, Sequence):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)
