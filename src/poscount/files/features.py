"""Which columns of a file to use; those that do not look like features are not used by default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.data.give_aways import (
    FEW_ROWS,
    MOSTLY_DIFFERENT,
    is_numbering,
    named_as_comments,
    named_as_identifier,
)
from poscount.data.grouping import group_columns
from poscount.errors import InputError, ask_about_similar, similar_name
from poscount.files.arrow import pyarrow
from poscount.files.read_options import DEFAULT_OPTIONS, ColumnDescription, ReadOptions
from poscount.files.text_cells import look_at_text
from poscount.files.text_numbers import without_marks

_NAMES_SHOWN = 20
# Of a file, whatever is done with it: its description, and a model of it, stay within memory.
MOST_COLUMNS = 100_000
# Different keys in JSON lines: each takes a cell in every line, whether or not the line has it.
MOST_KEYS = 5000
# A longer name is a sentence, or a row of data.
LONGEST_NAME, _NAME_SHOWN = 200, 40


def check_names(names: Collection[str], most: int, source: str) -> None:
    """Refuse a file with too many columns, or with a name that nobody has given to a column."""
    if len(names) > most:
        raise InputError(
            f"the file has more than {most:,} columns.",
            file=source,
            option="limits" if most < MOST_KEYS else None,
        )
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST_NAME:
        raise InputError(
            f"the name of a column has {len(longest):,} characters, and may have {LONGEST_NAME}: "
            f"it begins with {longest[:_NAME_SHOWN]!r}.",
            file=source,
        )


def chosen_columns(
    names: list[str],
    columns: Sequence[str] | None,
    required: Sequence[str],
    source: str,
    *,
    renamable: Collection[str] = (),
) -> list[str]:
    """Choose from the names in a file, all of them by default, if the required ones are there.

    The error of a missing one says how to rename those that have other names, as far as they are
    `renamable`.
    """
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(
                f"the file has {times} columns of this name; rename them.",
                file=source,
                column=name,
            )
    for name in required:
        if name not in names:
            shown = ", ".join(map(repr, names[:_NAMES_SHOWN]))
            more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            free = [each for each in names if each not in required]
            rest = ask_about_similar(name, free, f"its columns are {shown}{more}.")
            missing = [each for each in required if each not in names and each in renamable]
            renames = {similar_name(each, free): each for each in missing}
            known = {old: new for old, new in renames.items() if old is not None}
            raise InputError(
                f"the file has no such column; {rest}",
                file=source,
                column=name,
                option="rename" if name in known.values() else None,
                value=known,
            )
    return names if columns is None else list(dict.fromkeys(columns))


def describe_column(
    column: Any, name: str, read_options: ReadOptions = DEFAULT_OPTIONS
) -> ColumnDescription:
    """Say what a column holds, and whether it is a feature by default.

    Parameters
    ----------
    column : pyarrow.ChunkedArray or pyarrow.Array
        As `poscount.files.reading.read_table` reads it, so that numbers are numbers.
    name : str
    read_options : ReadOptions
        With what the file was read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = describe_column(pa.array(["north", None, "south", "north"]), "site")
    >>> found.kind, found.missing
    ('category', 0.25)
    >>> describe_column(pa.array([7, 9]), "row_id").why_not_used
    'looks like an identifier'
    >>> describe_column(pa.array(["1,5", "2,25"]), "weight").problem.option
    'decimal'
    """
    found = ColumnDescription(name, "number", share_missing(column))
    looks = None
    if is_text(column.type):
        text = without_marks(column.cast(pyarrow().string()), name, read_options)
        looks = look_at_text(text.to_pylist(), read_options.decimal)
    if looks is not None and looks.kind == "date":
        return found._replace(kind="date", why_not_used=looks.reason)
    if pyarrow().types.is_temporal(column.type):
        return found._replace(kind="date", why_not_used="holds dates or times")
    # A dictionary's values are categories, even if they are written like numbers.
    if looks and looks.is_measurement and not pyarrow().types.is_dictionary(column.type):
        found = found._replace(problem=looks.error(name, read_options))
    if _is_identifier(column, name):
        why_not = "looks like an identifier" if name else "has no name and may number the rows"
        return found._replace(kind="identifier", why_not_used=why_not)
    if looks is None:
        if is_number(column.type):
            is_boolean = pyarrow().types.is_boolean(column.type)
            return found._replace(kind="category" if is_boolean else "number")
        if pyarrow().types.is_dictionary(column.type):
            return found._replace(kind="category")
        return found._replace(kind="other", why_not_used=f"holds {column.type}")
    if found.problem:
        return found
    # Arrow cannot count what is different in a dictionary.
    words, count_distinct = column.cast(pyarrow().string()), pyarrow().compute.count_distinct
    n_values = len(words) - words.null_count
    if n_values >= FEW_ROWS and count_distinct(words).as_py() >= MOSTLY_DIFFERENT * n_values:
        why_not = f"holds text that differs in nearly every row, such as {looks.shown}"
        return found._replace(kind="free text", why_not_used=why_not)
    if named_as_comments(name):
        return found._replace(kind="free text", why_not_used="looks like comments")
    return found._replace(kind="category")


class ChosenFeatures(NamedTuple):
    """Names of the features, and what each column that was left out by default holds."""

    features: list[str]
    left_out: dict[str, str]


def choose_features(
    table: Any,
    features: list[str] | None,
    exclude: list[str],
    path: str,
    read_options: ReadOptions = DEFAULT_OPTIONS,
) -> ChosenFeatures:
    """Choose features by name, or all numbers and categories if no column is doubtful.

    By default columns of dates, identifiers, running numbers and text that differs in nearly every
    row are left out, and said to be. Where text is only another way to write numbers, the error
    says how to read or write it, and does not suggest to leave the column out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"night": ["2026-01-12", "2026-01-13"], "weight": [1.5, 2.5]})
    >>> choose_features(table, None, [], "trap.csv")
    ChosenFeatures(features=['weight'], left_out={'night': "holds dates or times such as ..."})
    >>> choose_features(table, ["night"], [], "trap.csv").features
    ['night']
    """
    chosen = chosen_columns(table.column_names, features, [*(features or []), *exclude], path)
    columns = [
        describe_column(table[name], name, read_options) for name in chosen if name not in exclude
    ]
    for column in columns:
        if column.problem and (features is not None or column.kind == "number"):
            raise column.problem.at(file=path)
    if features is not None:
        return ChosenFeatures([column.name for column in columns], {})
    if columns and all(column.why_not_used for column in columns):
        raise _nothing_left(columns).at(file=path)
    return ChosenFeatures(
        [column.name for column in columns if column.why_not_used is None],
        {column.name: column.why_not_used for column in columns if column.why_not_used},
    )


def _nothing_left(columns: list[ColumnDescription]) -> InputError:
    alone = len(columns) == 1
    why_not = ", ".join(f"column {column.name!r} {column.why_not_used}" for column in columns)
    return InputError(
        f"it {columns[0].why_not_used}, and there is no other column to use as a feature."
        if alone
        else f"no column looks like a feature: {why_not}.",
        column=columns[0].name if alone else None,
        option="features",
    )


def share_missing(column: Any) -> float:
    """Share of the rows in which a column has no value."""
    n_missing = column.null_count
    if pyarrow().types.is_floating(column.type):
        n_missing = pyarrow().compute.sum(column.is_null(nan_is_null=True)).as_py() or 0
    return n_missing / max(len(column), 1)


def is_text(kind: Any) -> bool:
    """Tell whether a type of pyarrow is text, also if it is encoded by a dictionary."""
    types = pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of numbers."""
    types = pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _is_identifier(column: Any, name: str) -> bool:
    types = pyarrow().types
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        return named_as_identifier(name, fractions=False)
    numbers = column.drop_null().cast(pyarrow().float64(), safe=False).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    fractions = bool((numbers % 1).any())
    if named_as_identifier(name, fractions=fractions):
        return True
    # Positives are often picked from a numbered table: then there are gaps, but the order is kept.
    increasing = not fractions and len(numbers) >= FEW_ROWS and (np.diff(numbers) > 0).all()
    return bool(increasing) or is_numbering(numbers)


def model_columns(model: Quantifier) -> list[str]:
    """Columns of a file or a table that a model uses."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            "This model was fitted on an array without column names, so it cannot find its columns "
            "in a file or a table: fit it on a frame or from a file."
        )
    return list(model.feature_names_in_)


def wanted_columns(
    model: Quantifier, by: Sequence[str], names: Collection[str] | None = None
) -> list[str]:
    """Columns that a model uses and columns to group by, each once.

    Parameters
    ----------
    model : Quantifier
    by : sequence of str
        Such as ``site`` or ``month(date)``.
    names : collection of str, optional
        Columns of the table, which tell whether ``month(date)`` is one of them.
    """
    return list(dict.fromkeys([*model_columns(model), *group_columns(by, names or ())]))
