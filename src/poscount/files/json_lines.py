"""JSON lines: one object in each line, batch by batch, as columns of text."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.arrow import ChooseColumns, OnProgress, pyarrow
from poscount.files.features import MOST_KEYS, check_names
from poscount.files.read_options import ReadOptions
from poscount.files.streams import (
    LONGEST_RECORD,
    Utf8Stream,
    not_utf8,
    size_of,
    source_name,
    unpacked,
)


class _Objects(NamedTuple):
    """Some objects of a file, the row of the first, and how many bytes have been read."""

    objects: list[dict[str, Any]]
    first_row: int
    done: int


def json_batches(
    path: str,
    choose: ChooseColumns,
    required: Sequence[str] | None,
    numeric: Sequence[str],
    read_options: ReadOptions,
    most_columns: int,
    progress: OnProgress | None,
) -> Iterator[Any]:
    """Yield the chosen keys as columns of text; a key that a line does not have is null.

    Numbers are text, as in CSV, so that no type depends on what the first lines happen to be. In
    columns that must hold numbers they may stay numbers.

    Parameters
    ----------
    required : sequence of str, optional
        Keys that the file must have. Without, the file is read through once for its keys, because
        one may appear in the last line only.
    numeric : sequence of str
        Keys whose values must be numbers.
    most_columns : int
        A file with more different keys, or with more than `MOST_KEYS`, is refused.
    """
    pa = pyarrow()
    size, source = size_of(path) if progress else 0, source_name(path)
    names: dict[str, None] = {}
    for block in _blocks(path, read_options):
        names |= dict.fromkeys(key for record in block.objects for key in record)
        check_names(names, min(most_columns, MOST_KEYS), source)
        if required is not None and set(required) <= set(names):
            break
    if not names:
        raise InputError("the file is empty.", file=source)
    chosen = choose(list(names))
    for block in _blocks(path, read_options):
        arrays = [_column(block, name, name in numeric, source) for name in chosen]
        yield pa.RecordBatch.from_arrays(arrays, names=chosen)
        if progress and size:
            progress(block.done, size)
    if progress and block.done < size:
        # A zip archive has a directory behind its files.
        progress(size, size)


def _blocks(path: str, read_options: ReadOptions) -> Iterator[_Objects]:
    with unpacked(path) as (stream, raw):
        source = source_name(path)
        text = Utf8Stream(stream, source, read_options.encoding)
        rest, line, row, done = b"", 1, 0, 0
        while chunk := text.read():
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LONGEST_RECORD:
                raise InputError(f"line {line + len(lines)} has no end.", file=source)
            objects = _parsed(lines, line, source)
            done = raw.tell()
            if objects:
                yield _Objects(objects, row, done)
            line, row = line + len(lines), row + len(objects)
        objects = _parsed([rest], line, source)
        if objects:
            yield _Objects(objects, row, done)


def _parsed(lines: list[bytes], first_line: int, path: str) -> list[dict[str, Any]]:
    objects = []
    for number, line in enumerate(lines, start=first_line):
        if not line.strip():
            continue
        try:
            found = json.loads(line.decode())
        except UnicodeDecodeError:
            raise not_utf8(number, path) from None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise InputError(
                f"line {number} is not a JSON object; every line must be one, such as "
                '{"size": 1.5}.',
                file=path,
            )
        objects.append(found)
    return objects


def _column(block: _Objects, key: str, numeric: bool, path: str) -> Any:
    pa = pyarrow()
    values = [record.get(key) for record in block.objects]
    kinds = set(map(type, values)) - {type(None)}
    if numeric and kinds <= {int, float}:
        # Whole numbers beyond the range of float64 are left to the text.
        with contextlib.suppress(pa.ArrowInvalid, OverflowError):
            return pa.array(values, pa.float64())
    for nested, what in ((list, "list"), (dict, "object")):
        if nested in kinds:
            raise InputError(
                f"the value is a nested {what}; write its parts under keys of their own.",
                file=path,
                column=key,
                row=block.first_row + [type(value) for value in values].index(nested),
            )
    if kinds <= {str}:
        return pa.array(values, pa.string())
    return pa.array(map(_text, values), pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    # In the spelling of JSON: true, not True.
    return str(value).lower() if isinstance(value, bool) else repr(value)
