"""Which columns of a file to learn from: nothing that looks like no feature is taken unasked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from poscount.base import Quantifier
from poscount.errors import InputError
from poscount.files.arrow import pyarrow

_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|uuid|guid|index|idx|key|rowid)$", re.IGNORECASE)
_NAMES_SHOWN = 20


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
    table: Any, features: list[str] | None, exclude: list[str], path: str
) -> list[str]:
    """Choose features by name, or all columns if each is a number and none an identifier."""
    chosen = chosen_columns(table.column_names, features, [*(features or []), *exclude], path)
    chosen = [name for name in chosen if name not in exclude]
    if features is not None:
        return chosen
    doubts = {name: why_not_feature(table, name) for name in chosen}
    text = [name for name in chosen if doubts[name] == "holds text"]
    identifiers = [name for name in chosen if doubts[name] and name not in text]
    if text or identifiers:
        left_out = ",".join([*exclude, *text, *identifiers])
        doubtful = [f"column {name!r} {doubts[name]}" for name in [*text, *identifiers]]
        raise InputError(
            f"{', '.join(doubtful)}; choose the columns to learn from with --features, or leave "
            f"these out with --exclude {left_out!r}.",
            file=path,
        )
    return chosen


def why_not_feature(table: Any, name: str) -> str | None:
    """Say why a column may be no feature: "holds text", "looks like an identifier" or None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"site": ["a", "b"], "row_id": [7, 9], "weight": [1.5, 2.5]})
    >>> [why_not_feature(table, name) for name in table.column_names]
    ['holds text', 'looks like an identifier', None]
    """
    if not is_number(table[name].type):
        return "holds text"
    return "looks like an identifier" if _is_identifier(table[name], name) else None


def is_number(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of numbers."""
    types = pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _is_identifier(column: Any, name: str) -> bool:
    if _IDENTIFIER.search(name) or re.search("[a-z]I[dD]$", name):
        return True
    # What pandas writes for its index, and a running number under another name.
    if name == "" or name.startswith("Unnamed:"):
        return True
    if not pyarrow().types.is_integer(column.type) or len(column) < 20 or column.null_count:
        return False
    ends = pyarrow().compute.min_max(column).as_py()
    n_distinct = pyarrow().compute.count_distinct(column).as_py()
    return n_distinct == len(column) == ends["max"] - ends["min"] + 1


def model_columns(model: Quantifier) -> list[str]:
    """Columns that a model looks for in a file or a table."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            "This model was fitted on an array without column names, so that it cannot find its "
            "columns in a file or a table: fit it on a frame or from a file."
        )
    return list(model.feature_names_in_)


def wanted_columns(model: Quantifier, by: Sequence[str]) -> list[str]:
    """All columns that are needed, each once."""
    return list(dict.fromkeys([*model_columns(model), *by]))
