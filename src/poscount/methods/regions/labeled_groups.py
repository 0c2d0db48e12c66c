"""Several groups of labelled rows, as callers give them: tables by name, or a column of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse

from poscount.checks.copies import duplicate_share, row_codes
from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.data.grouping import group_codes, refuse_missing
from poscount.data.rows import InputSupport, Rows, holds_numbers
from poscount.data.validation import as_frame
from poscount.errors import InputError, join_names

# If more rows of a group are also rows of another, the same rows were given twice.
MOST_SHARED = 0.5


class LabeledGroups(NamedTuple):
    """Labelled rows of several groups in one table.

    Attributes
    ----------
    rows : array or frame
    names : list of str
        Of the groups, in the caller's order.
    codes : ndarray of int, shape (n_rows,)
        Place of each row's group among the names.
    """

    rows: Any
    names: list[str]
    codes: np.ndarray


def take_column(
    positives: Any,
    features: Sequence[str] | None,
    column: str,
    noun: str,
    option: str,
) -> tuple[LabeledGroups, list[str] | None]:
    """Split the column that names the kinds off a frame of positives, and off the features.

    In errors, a kind is called by the noun, and the option is the parameter that names the column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": range(40), "season": ["dry"] * 20 + ["wet"] * 20})
    >>> taken, _ = take_column(frame, None, "season", "kind", "subclasses")
    >>> list(taken.rows.columns), taken.names
    (['x'], ['dry', 'wet'])
    """
    frame = as_frame(positives)
    if frame is None:
        raise InputError(
            f"The positives have no column names, so none of them can name the {noun}s; give a "
            "frame.",
            option=option,
        )
    if column not in frame.columns:
        raise InputError(
            f"this column is to name the {noun}s of the positives, but there is no such column; "
            f"the columns are {join_names(frame.columns)}.",
            column=column,
            option=option,
        )
    refuse_missing(frame[column], noun)
    groups, codes = group_codes(frame, (column,))
    names = [str(name) for (name,) in groups.rows()]
    for name, size in zip(names, np.bincount(codes).tolist(), strict=True):
        if size < FEWEST_POSITIVES:
            raise InputError(
                f"the {noun} {name!r} has {size} positives, but every {noun} needs at least "
                f"{FEWEST_POSITIVES}: put it together with another {noun}, or leave it out.",
                column=column,
                option=option,
            )
    chosen = None if features is None else [name for name in features if name != column]
    return LabeledGroups(frame.drop(column).to_native(), names, codes), chosen


def require_enough(names: Sequence[str], codes: np.ndarray, noun: str, option: str) -> None:
    """Refuse groups with too few rows, by name."""
    sizes = np.bincount(codes, minlength=len(names)).tolist()
    for name, size in zip(names, sizes, strict=True):
        if size < FEWEST_POSITIVES:
            raise InputError(
                f"The {noun} {name!r} has {size} labelled rows, but every {noun} needs at least "
                f"{FEWEST_POSITIVES}: label more of them, or leave it out.",
                option=option,
            )


def stack(tables: Mapping[str, Any], features: Sequence[str] | None, noun: str) -> LabeledGroups:
    """Put the tables of several groups on top of each other.

    Parameters
    ----------
    tables : mapping of str to array or frame
    features : sequence of str, optional
        The columns that are used; by default all, which must then be the same in all tables.
    noun : str
        What a group is called in errors.

    Examples
    --------
    >>> groups = stack({"cat": np.zeros((2, 3)), "dog": np.ones((1, 3))}, None, "target")
    >>> groups.rows.shape, groups.names, groups.codes.tolist()
    ((3, 3), ['cat', 'dog'], [0, 0, 1])
    """
    names = [str(name) for name in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"The {noun} {twice[0]!r} is there twice: give each a name of its own.")
    frames = {name: as_frame(table) for name, table in zip(names, tables.values(), strict=True)}
    rows: Any
    if any(frame is None for frame in frames.values()):
        rows = _stack_arrays(dict(zip(names, tables.values(), strict=True)), frames, noun)
        sizes = [table.shape[0] for table in map(_as_array, tables.values())]
    else:
        rows = _stack_frames(frames, features, noun)  # type: ignore[arg-type]
        sizes = [len(frame) for frame in frames.values()]  # type: ignore[arg-type]
    return LabeledGroups(rows, names, np.repeat(np.arange(len(names)), sizes))


def _as_array(table: Any) -> Any:
    array = table if sparse.issparse(table) else np.asarray(table)
    if array.ndim != 2:
        raise InputError(
            f"Labelled rows must be a table of rows and columns, but this has {array.ndim} "
            "dimension(s)."
        )
    return array


def _stack_arrays(tables: dict[str, Any], frames: dict[str, Any], noun: str) -> Any:
    named = [name for name, frame in frames.items() if frame is not None]
    if named:
        others = [name for name in tables if name not in named]
        raise InputError(
            f"The {noun} {named[0]!r} has column names and the {noun} {others[0]!r} has none: give "
            "frames for all, or arrays for all."
        )
    arrays = {name: _as_array(table) for name, table in tables.items()}
    (first, model), *rest = arrays.items()
    for name, array in rest:
        if array.shape[1] != model.shape[1]:
            raise InputError(
                f"The {noun} {first!r} has {model.shape[1]} columns and the {noun} {name!r} has "
                f"{array.shape[1]}: all need the same ones."
            )
    if any(map(sparse.issparse, arrays.values())):
        return sparse.vstack(list(arrays.values()), format="csr")
    return np.concatenate(list(arrays.values()))


def _stack_frames(
    frames: dict[str, nw.DataFrame], features: Sequence[str] | None, noun: str
) -> Any:
    first, model = next(iter(frames.items()))
    chosen = [features] if isinstance(features, str) else features
    columns = list(model.columns if chosen is None else chosen)
    for name, frame in frames.items():
        missing = [column for column in columns if column not in frame.columns]
        more = [] if chosen is not None else sorted(set(frame.columns) - set(columns))
        if missing:
            raise InputError(
                f"the rows of the {noun} {name!r} do not have this column; they have "
                f"{join_names(frame.columns)}.",
                column=missing[0],
            )
        if more:
            raise InputError(
                f"the rows of the {noun} {name!r} have this column and those of {first!r} do not; "
                "choose the columns that all have.",
                column=more[0],
                option="features",
            )
        if frame.implementation != model.implementation:
            raise TypeError(
                f"The {noun} {first!r} is a {model.implementation.name.lower()} frame and "
                f"{name!r} a {frame.implementation.name.lower()} frame: give frames of one kind."
            )
    parts = {name: frame.select(columns) for name, frame in frames.items()}
    for column in columns:
        dtypes = {name: part.schema[column] for name, part in parts.items()}
        if len(set(dtypes.values())) == 1:
            continue
        if all(holds_numbers(dtype) for dtype in dtypes.values()):
            parts = {
                name: part.with_columns(nw.col(column).cast(nw.Float64))
                for name, part in parts.items()
            }
            continue
        numbers = [name for name, dtype in dtypes.items() if holds_numbers(dtype)]
        if numbers:
            other = next(name for name in dtypes if name not in numbers)
            raise InputError(
                f"it holds numbers for the {noun} {numbers[0]!r}, but {dtypes[other]} for the "
                f"{noun} {other!r}; convert one of them.",
                column=column,
            )
        parts = {
            name: part.with_columns(nw.col(column).cast(nw.String)) for name, part in parts.items()
        }
    return nw.concat(list(parts.values())).to_native()


def refuse_same_rows(
    design: np.ndarray, codes: np.ndarray, names: Sequence[str], noun: str, seed: int
) -> None:
    """Refuse two groups that are made of the same rows.

    Parameters
    ----------
    design : ndarray of shape (n_rows, n_features)
        Finite numbers.
    codes, names
        As in `LabeledGroups`.
    noun : str
        What a group is called in errors.
    seed : int
    """
    rows = Rows(np.ascontiguousarray(design, np.float64), None, InputSupport())
    of_rows = row_codes(rows)
    groups = [np.sort(of_rows[codes == k]) for k in range(len(names))]
    # Where values are coarse, rows of different groups may well be equal.
    copied = duplicate_share(rows, seed) > 0
    for k, group in enumerate(groups):
        for j in range(k):
            same = np.array_equal(group, groups[j])
            if same or (copied and np.isin(group, groups[j]).mean() > MOST_SHARED):
                raise InputError(
                    f"The {noun}s {names[j]!r} and {names[k]!r} have the same rows, so nothing "
                    "can tell them apart: a row can belong to one of them only."
                )
