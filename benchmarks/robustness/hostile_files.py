"""Hostile files: counts, calibrations, archives and tables with something wrong inside.

All have a correct checksum unless the checksum is what is wrong. `benchmarks/robustness/hostile.py`
tries them; `tests/test_hostile_files.py` tries a few of them. Models are in `hostile_models.py`.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Random = np.random.Generator


class Case(NamedTuple):
    """A hostile file.

    Attributes
    ----------
    attack : str
        The class of attack.
    what : str
        What is wrong, to find it again.
    target : str
        The model, counts or table that it was made from.
    content : bytes
    chosen : bool
        Whether another answer is one that a user could have got by other means: by another
        parameter, other positives or another table.
    """

    attack: str
    what: str
    target: str
    content: bytes
    chosen: bool = False


def pack(meta: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """A file with a correct checksum."""
    text = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    members = {"meta": text, **arrays}
    return zipped([(f"{name}.npy", npy(array)) for name, array in members.items()])


def npy(array: np.ndarray) -> bytes:
    """An array as an npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def zipped(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive that ends with a correct checksum, whatever is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        for name, member in members:
            archive.writestr(zipfile.ZipInfo(name), member, compression)
        archive.comment = b"0" * 64
    return sealed(buffer.getvalue())


def sealed(content: bytes) -> bytes:
    """The same with a correct checksum."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


# Values

DTYPES = ["float32", "int64", "uint8", "<U8", "complex128"]


def other_array(array: np.ndarray, random: Random) -> np.ndarray:
    """Spoil an array: its values, their order, its shape or its type."""
    flat = array.ravel().copy()
    ways: list[Callable[[], np.ndarray]] = [
        lambda: array[:0],
        lambda: array[..., np.newaxis],
        lambda: array.ravel()[:1] if array.size else np.zeros(1, array.dtype),
        lambda: np.concatenate([array, array]),
        lambda: array[:-1],
        lambda: array.T.copy(),
        lambda: array[::-1].copy(),
        lambda: random.permutation(flat).reshape(array.shape),
        lambda: array.astype(
            str(random.choice(["float32", "int64", "uint8", "<U8", "complex128"]))
        ),
        lambda: np.zeros_like(array),
        lambda: np.full_like(array, array.ravel()[0]) if array.size else array,
        lambda: np.negative(array) if array.dtype != bool else ~array,
    ]
    if array.size:
        one = int(random.integers(array.size))
        if array.dtype.kind == "f":
            values = [np.nan, np.inf, -np.inf, 0, -1, 1e38, -1e38, 5e-324, 0.5, 2.0]
            values += [float(np.nextafter(flat[one], np.inf)), -float(flat[one])]
        elif array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            values = [limits.min, limits.max, 0, 1, limits.max // 2]
            values += [
                int(np.clip(int(flat[one]) + step, limits.min, limits.max)) for step in (-1, 1)
            ]
        else:
            values = [True, False]
        for value in values:
            ways += [lambda value=value: _with(flat, one, value).reshape(array.shape)]
            ways += [lambda value=value: np.full_like(array, value)]
    with np.errstate(all="ignore"):
        return ways[int(random.integers(len(ways)))]()


def _with(flat: np.ndarray, place: int, value: Any) -> np.ndarray:
    flat[place] = value
    return flat


NUMBERS = [0, -1, 1, 2, 0.5, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, 10**30, -(10**30)]
OTHERS = [None, True, False, "", "x", "null", [], [1], ["a", "a"], {"tuple": [1, 2]}, {"set": []}]
TEXTS = ["", "\x1b[31m", "a\nb", "\ud800", "x" * 100_000, "[bold]", "../../x", "=1+1", "\0", "‮"]


def other_value(value: Any, random: Random) -> Any:
    """Another value in place of one."""
    if isinstance(value, dict) and isinstance(value.get("array"), np.ndarray):
        return {"array": other_array(value["array"], random)}
    options: list[Any] = [*NUMBERS, *OTHERS]
    if isinstance(value, str):
        options = [*TEXTS, value + " ", value[::-1], value.upper(), *OTHERS, *NUMBERS[:4]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        options += [value + 1, value - 1, 2 * value, -value, value / 2, str(value)]
    elif isinstance(value, list):
        options = [value[::-1], value[:-1], value + value, value[1:], [*value, None], [value], {}]
        options += [[*value, "extra"], "list", 5, None]
        if value:
            options.append([other_value(value[0], random), *value[1:]])
    elif isinstance(value, dict):
        options = [*OTHERS, *NUMBERS[:3], copy.deepcopy(value) | {"extra": 1}]
        if "class" in value:
            names = ["PAT", "RCQ", "TRCQ", "Columns", "Projection", "Calibration", "os.system", 5]
            options += [{**value, "class": name} for name in names]
    return options[int(random.integers(len(options)))]


def shown(value: Any) -> str:
    """A value in one short line."""
    return repr(value).replace("\n", " ")[:100]


# Archives


def container_cases(name: str, content: bytes, random: Random) -> Iterator[Case]:
    """Bytes changed, with and without a new checksum, and archives that lie."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    while True:
        way = int(random.integers(9))
        if way < 3:
            damaged = bytearray(content)
            for _ in range(int(random.integers(1, 9))):
                damaged[int(random.integers(len(damaged)))] = int(random.integers(256))
            cut = int(random.integers(len(damaged))) if way == 1 else len(damaged)
            made = bytes(damaged[:cut])
            made = sealed(made) if way == 2 else made
            what = "bytes, new checksum" if way == 2 else "bytes"
        elif way == 3:
            made, what = zipped([*members, members[int(random.integers(len(members)))]]), "twice"
        elif way == 4:
            extra = str(random.choice(["x.npy", "meta.txt", "../x.npy", "float64.npy", "\x1b.npy"]))
            made, what = zipped([*members, (extra, npy(np.zeros(3)))]), f"member {extra!r}"
        elif way == 5:
            made, what = zipped(members, zipfile.ZIP_DEFLATED), "compressed"
        elif way == 6:
            more = [(f"{i}.npy", npy(np.zeros(1))) for i in range(int(random.choice([70, 3000])))]
            made, what = zipped([*members, *more]), f"{len(more)} members"
        elif way == 7:
            made, what = _overlapping(members, random), "overlapping members"
        else:
            made, what = _with_meta(members, random)
        yield Case("container", what, name, made)


def _overlapping(members: list[tuple[str, bytes]], random: Random) -> bytes:
    content = bytearray(zipped(members))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        start, entries = archive.start_dir, archive.infolist()
    # The place of a member, in the list at the end: that of another one, or a little off.
    chosen, aim = (entries[int(random.integers(len(entries)))] for _ in range(2))
    place = bytes(content).index(chosen.filename.encode(), start) - 46 + 42
    offset = max(0, aim.header_offset + int(random.integers(-40, 40)))
    content[place : place + 4] = struct.pack("<L", offset)
    return sealed(bytes(content))


def _with_meta(members: list[tuple[str, bytes]], random: Random) -> tuple[bytes, str]:
    texts: list[Callable[[], bytes]] = [
        lambda: b"[" * 100_000,
        lambda: b'{"kind": "model", "version": 1, "model": ' + b'{"tuple": [' * 20_000,
        lambda: b'{"kind": "model", "kind": "model", "version": 1, "model": null}',
        lambda: b'{"kind": "model", "version": NaN, "model": null}',
        lambda: b'{"kind": "model", "version": 1, "model": ' + b"9" * 5000 + b"}",
        lambda: b'{"kind": "model", "version": 1' + b"0" * 4000 + b', "model": null}',
        lambda: b'{"kind": "\\u001b[31m", "version": 1, "model": null}',
        lambda: b'{"kind": "model", "version": 1, "model": [' + b"[]," * 1_900_000 + b"[]]}",
        lambda: b"[" + b"{}," * 8_000_000 + b"{}]",
        lambda: b'{"kind": "model", "version": 1, "model": [' + b'"aaa",' * 4_100_000 + b'""]}',
        lambda: b'"' + b"x" * 70_000_000 + b'"',
    ]
    # The last ones are long, and so are seldom.
    text = texts[int(random.integers(11 if random.random() < 0.2 else 7))]()
    rest = [(name, member) for name, member in members if name != "meta.npy"]
    headers = [
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }"
    ]
    if random.random() < 0.3:
        shape = random.choice([b"1000000000000", b"-1", b"0, 99999999999", b"1, " * 40 + b"1"])
        header = headers[0] % shape
        lie = header.ljust(10 + 0x76 - 1) + b"\n"
        return zipped([*rest[1:], ("meta.npy", lie)]), f"shape {shape!r}"
    return zipped([*rest, ("meta.npy", npy(np.frombuffer(text, np.uint8)))]), f"meta {text[:60]!r}"


# Counts


def counts_cases(name: str, content: bytes, random: Random) -> Iterator[Case]:
    """Counts with something changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    meta = json.loads(np.load(io.BytesIO(members["meta.npy"])).tobytes())
    cells = np.load(io.BytesIO(members["cells.npy"]))
    while True:
        spoilt, changed = copy.deepcopy(meta), cells.copy()
        way = int(random.integers(5))
        if way == 0:
            changed, what = other_array(cells, random), "cells"
        elif way == 1:
            # A row too many or too few somewhere, and perhaps elsewhere the reverse.
            places = random.integers(len(cells), size=2)
            changed[places[0]] += random.choice([1, -1, 2**62, -(2**62)])
            changed[places[1]] -= random.choice([0, 1])
            what = f"cells {places}"
        elif way == 2:
            size = int(random.choice([0, 1, 2, len(cells) - 1, len(cells) + 1, 2 * len(cells)]))
            changed, what = np.resize(cells, size), f"{size} cells"
        else:
            keys = [key for key in spoilt if key not in ("kind", "version")]
            key = str(random.choice(keys))
            holder = spoilt
            if isinstance(spoilt[key], dict):
                holder, key = spoilt[key], str(random.choice(sorted(spoilt[key])))
            holder[key] = other_value(holder[key], random)
            what = f"{key}: {shown(holder[key])}"
        try:
            made = pack(spoilt, {"cells": changed})
        except (TypeError, ValueError, OverflowError):
            continue
        # Other cells that add up are those of another sample, and so are other weights, or other
        # numbers of rows that can have them. A file that was left out is named in a warning.
        decided = what.startswith("model:") or (what.startswith("n:") and "weights" not in meta)
        yield Case("counts", what, name, made, chosen=not decided)


def calibration_cases(name: str, content: bytes, random: Random) -> Iterator[Case]:
    """Calibrations with one array or one name changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {entry.filename[:-4]: archive.read(entry) for entry in archive.infolist()}
    arrays = {member: np.load(io.BytesIO(data)) for member, data in members.items()}
    meta = json.loads(arrays.pop("meta").tobytes())
    while True:
        spoilt, changed = copy.deepcopy(meta), dict(arrays)
        if random.random() < 0.8:
            key = str(random.choice(sorted(arrays)))
            changed[key] = other_array(arrays[key], random)
        else:
            key = str(random.choice(["method", "columns", "provenance"]))
            spoilt[key] = other_value(meta[key], random)
        try:
            yield Case("calibrations", key, name, pack(spoilt, changed), chosen=True)
        except (TypeError, ValueError):
            continue


# Tables

CELLS = [
    b"1e400",
    b"-1e400",
    b"nan",
    b"inf",
    b"",
    b"\0",
    b'"',
    b'""""',
    b"1,5",
    b"\xff\xfe",
    b"0x10",
]
CELLS += [b"9" * 400, b"1_000", "١٢٣".encode(), b"1 000", b"=1+1", b"\x1b[31m", b"true"]
CELLS += [b"x" * 300_000, b"1e-400", b"--1", b"1.2.3", b"\r", b"\n\n", b"5e-324", b"-0.0"]


def csv_cases(name: str, content: bytes, random: Random) -> Iterator[Case]:
    """CSV files with hostile cells, rows, names and bytes."""
    lines = content.split(b"\n")
    while True:
        spoilt = list(lines)
        way = int(random.integers(8))
        row = int(random.integers(1, len(lines) - 1))
        cells = lines[row].split(b",")
        column = int(random.integers(len(cells)))
        if way < 3:
            cells[column] = CELLS[int(random.integers(len(CELLS)))]
            spoilt[row] = b",".join(cells)
        elif way == 3:
            names = lines[0].split(b",")
            names[column] = random.choice([b"", names[0], b"\x1b[31m", b'"', b"\0", b"a" * 100_000])
            spoilt[0] = b",".join(names)
        elif way == 4:
            spoilt[row] = random.choice(
                [lines[row] + b",1", b",".join(cells[:-1]), b'"' + lines[row]]
            )
        elif way == 5:
            spoilt = [line + b"\r" for line in lines] if random.random() < 0.5 else lines[:row]
        made = b"\n".join(spoilt)
        if way == 6:
            encodings = ["utf-16", "utf-32", "utf-8-sig", "cp500"]
            made = content.decode().encode(str(random.choice(encodings)))
        elif way == 7:
            damaged = bytearray(made)
            for _ in range(int(random.integers(1, 30))):
                damaged[int(random.integers(len(damaged)))] = int(random.integers(256))
            made = bytes(damaged)
        yield Case(
            "tables (CSV)", f"way {way}, row {row}, column {column}", name, made, chosen=True
        )
