"""Uploaded files before anything is done with them: what is in them, and may it be used."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.csv import CsvFormat, infer
from poscount.files.features import is_number, why_not_feature
from poscount.files.reading import read_batches, read_table
from poscount.web.limits import Limits
from poscount.web.refusals import size

_VALUES_SHOWN = 3
# A longer text is no name of a group.
_LONGEST_VALUE = 200
_CHUNK = 1 << 20


def inspect(path: str, role: str, layout: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Read a file through once.

    Parameters
    ----------
    path : str
    role : {"positives", "unlabeled"}
    layout : dict
        How CSV is written, as in `poscount.files.csv.CsvFormat`.
    limits : Limits

    Returns
    -------
    dict
        The number of `rows` and, for each of the `columns`: its `name`, whether it holds `numbers`,
        how many `distinct` values it has (None for too many to group by), a few `values`, and,
        among positives, the `doubt` whether it is a feature.
    """
    if path.endswith(".parquet"):
        _check_footer(path, limits)
    else:
        _check_unpacked(path, limits)
    columns: dict[str, _Column] = {}
    n_rows = 0
    for batch in read_batches(path, csv_format=CsvFormat(**layout)):
        if batch.num_columns > limits.columns:
            raise _too_many("columns", batch.num_columns, limits.columns, path)
        n_rows += batch.num_rows
        if n_rows > limits.rows:
            raise _too_many("rows", n_rows, limits.rows, path)
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            column = columns.setdefault(name, _Column(limits.groups))
            column.add(values, layout["decimal"])
    if n_rows == 0:
        raise InputError("the file has column names but no rows.", file=path)
    found = {name: column.summary() for name, column in columns.items()}
    if role == "positives":
        table = read_table(path, csv_format=CsvFormat(**layout))
        found = {name: {**found[name], "doubt": why_not_feature(table, name)} for name in found}
    return {"rows": n_rows, "columns": [{"name": name, **about} for name, about in found.items()]}


class _Column:
    """What is known of a column after some batches."""

    def __init__(self, most_distinct: int) -> None:
        self.most_distinct = most_distinct
        self.numbers = True
        self.values: dict[str, None] = {}
        self.many = False

    def add(self, values: Any, decimal: str) -> None:
        pa = pyarrow()
        if self.numbers:
            text = pa.types.is_string(values.type)
            self.numbers = is_number(infer(values, decimal).type if text else values.type)
        if self.many:
            return
        try:
            distinct = values.unique()
        except pa.ArrowException:
            self.many = True  # lists and the like make no groups
            return
        shown = distinct[: self.most_distinct + 1].to_pylist()
        self.values |= dict.fromkeys(str(value) for value in shown if value is not None)
        longest = max(map(len, self.values), default=0)
        self.many = len(self.values) > self.most_distinct or longest > _LONGEST_VALUE

    def summary(self) -> dict[str, Any]:
        return {
            "numbers": self.numbers,
            "distinct": None if self.many else len(self.values),
            "values": [value[:_LONGEST_VALUE] for value in list(self.values)[:_VALUES_SHOWN]],
            "doubt": None,
        }


def _check_unpacked(path: str, limits: Limits) -> None:
    """Refuse a small file that unpacks to a huge one, without keeping what comes out."""
    with open(path, "rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return
    n_bytes = 0
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(_CHUNK):
                n_bytes += len(chunk)
                if n_bytes > limits.unpacked_bytes:
                    raise InputError(
                        f"unpacked it is larger than {size(limits.unpacked_bytes)}, more than this "
                        "server takes; use the command line for it.",
                        file=path,
                    )
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return  # reading it says what is wrong


def _check_footer(path: str, limits: Limits) -> None:
    """Believe what a Parquet file says of itself where that is reason enough to refuse it."""
    pa = pyarrow()
    try:
        about = pa.parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return  # reading it says what is wrong
    if about.num_rows > limits.rows:
        raise _too_many("rows", about.num_rows, limits.rows, path)
    if about.num_columns > limits.columns:
        raise _too_many("columns", about.num_columns, limits.columns, path)
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if n_bytes > limits.unpacked_bytes:
        raise InputError(
            f"unpacked it has {size(n_bytes)}, more than the {size(limits.unpacked_bytes)} that "
            "this server takes; use the command line for it.",
            file=path,
        )


def _too_many(what: str, n: int, most: int, path: str) -> InputError:
    return InputError(
        f"it has {n:,} {what} or more, and this server takes {most:,}; use the command line for "
        "it, or cut it.",
        file=path,
    )
