"""Which columns of a file to use; those that do not look like features are not used by default."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from poscount.base import Quantifier
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.text_cells import LooksLike, look_at_text

_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|uuid|guid|index|idx|key|rowid)$", re.IGNORECASE)
_NAMES_SHOWN = 20
_NOTES = {
    "holds dates": "Dates are not measurements, but rows can be grouped by them.",
    "holds words": "Without a column of words, what it says about a row is lost.",
}


def chosen_columns(
    names: list[str], columns: Sequence[str] | None, required: Sequence[str], source: str
) -> list[str]:
    """Choose from the names in a file, all of them by default, if the required ones are there."""
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
            raise InputError(
                f"the file has no such column; its columns are {shown}{more}.",
                file=source,
                column=name,
            )
    return names if columns is None else list(dict.fromkeys(columns))


def choose_features(
    table: Any, features: list[str] | None, exclude: list[str], path: str, decimal: str = "."
) -> list[str]:
    """Choose features by name, or all columns if each is a number and none an identifier.

    Where text is only another way to write numbers, the error says how to read or write it, and
    does not suggest to leave the column out.
    """
    chosen = chosen_columns(table.column_names, features, [*(features or []), *exclude], path)
    chosen = [name for name in chosen if name not in exclude]
    reasons: dict[str, str] = {}
    notes: dict[str, None] = {}
    for name in chosen:
        looks = _look(table[name], decimal)
        wanted = features is not None or not _named_as_identifier(name)
        if looks is not None and looks.is_measurement and wanted:
            raise looks.error(name).at(file=path)
        reason = _reason(table[name], name, looks)
        if reason is not None:
            reasons[name] = reason
            notes |= dict.fromkeys(note for sign, note in _NOTES.items() if sign in reason)
    if features is None and reasons:
        only = next(iter(reasons)) if len(reasons) == 1 else None
        columns = ", ".join(f"column {name!r} {reason}" for name, reason in reasons.items())
        sentence = columns if only is None else f"it {reasons[only]}"
        raise InputError(
            " ".join([f"{sentence}.", *notes]),
            file=path,
            column=only,
            option="exclude",
            value=[*exclude, *reasons],
        )
    return chosen


def why_not_feature(table: Any, name: str, decimal: str = ".") -> str | None:
    """Say why a column cannot be a feature as it is, or perhaps is none; None if it is one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"site": ["a", "b"], "row_id": [7, 9], "weight": [1.5, 2.5]})
    >>> [why_not_feature(table, name) for name in table.column_names]
    ["holds words such as 'a'", 'looks like an identifier', None]
    """
    return _reason(table[name], name, _look(table[name], decimal))


def _look(column: Any, decimal: str) -> LooksLike | None:
    """What a column of text looks like; None if it is not of text."""
    return look_at_text(column.to_pylist(), decimal) if is_text(column.type) else None


def _reason(column: Any, name: str, looks: LooksLike | None) -> str | None:
    if looks is not None:
        return looks.reason
    if is_number(column.type):
        return "looks like an identifier" if _is_identifier(column, name) else None
    if pyarrow().types.is_temporal(column.type):
        return "holds dates or times"
    return f"holds {column.type}"


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


def _named_as_identifier(name: str) -> bool:
    # The last two are what pandas writes for its index.
    named = _IDENTIFIER.search(name) or re.search("[a-z]I[dD]$", name)
    return bool(named) or name == "" or name.startswith("Unnamed:")


def _is_identifier(column: Any, name: str) -> bool:
    if _named_as_identifier(name):
        return True
    if not pyarrow().types.is_integer(column.type) or len(column) < 20 or column.null_count:
        return False
    ends = pyarrow().compute.min_max(column).as_py()
    n_distinct = pyarrow().compute.count_distinct(column).as_py()
    return n_distinct == len(column) == ends["max"] - ends["min"] + 1


def model_columns(model: Quantifier) -> list[str]:
    """Columns of a file or a table that a model uses."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            "This model was fitted on an array without column names, so it cannot find its columns "
            "in a file or a table: fit it on a frame or from a file."
        )
    return list(model.feature_names_in_)


def wanted_columns(model: Quantifier, by: Sequence[str]) -> list[str]:
    """Columns that a model uses and columns to group by, each once."""
    return list(dict.fromkeys([*model_columns(model), *by]))
