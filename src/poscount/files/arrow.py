"""pyarrow itself, which is imported when the first file is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Called now and then with how much is done, and of how much.
OnProgress = Callable[[int, int], None]
# From the names in a file to those that are read.
ChooseColumns = Callable[[list[str]], list[str]]


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
