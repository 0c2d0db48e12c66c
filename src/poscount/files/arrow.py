"""What the readers of files share: pyarrow itself, and the choice of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from poscount.errors import InputError

Progress = Callable[[int, int], None]
# From the names in a file to those that are read.
Choose = Callable[[list[str]], list[str]]

_NAMES_SHOWN = 20


def pyarrow() -> Any:
    """Give the module with the parts that are used here, or say what to install."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Reading files needs pyarrow: pip install "poscount[cli]" brings it.'
        ) from error
    return pyarrow


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


def one_batch(table: Any) -> Any:
    """Turn a table into one record batch."""
    arrays = [column.combine_chunks() for column in table.columns]
    return pyarrow().RecordBatch.from_arrays(arrays, schema=table.schema)
