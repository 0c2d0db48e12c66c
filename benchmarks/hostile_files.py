"""Hostile files: models, counts, calibrations, archives and tables with something wrong inside.

All have a correct checksum unless the checksum is what is wrong. `benchmarks/hostile.py` tries
them; `tests/test_hostile_files.py` tries a few of them.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poscount import container, persistence, registry, schema

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


# Models as trees of values


def open_model(path: Path) -> dict[str, Any]:
    """The description of a model, with its arrays in place."""
    meta, arrays = container.read(path, "model")
    used = dict.fromkeys(arrays, 0)

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        if not isinstance(value, dict):
            return value
        for kind in ("array", "skops"):
            if kind in value:
                name, shape = value[kind]
                start = used[name]
                used[name] += int(np.prod(shape, dtype=object))
                return {kind: arrays[name][start : used[name]].reshape(shape)}
        return {key: filled(item) for key, item in value.items()}

    return filled(meta["model"])


def close_model(tree: Any, **more: Any) -> bytes:
    """A model file of a description, whatever it says."""
    parts: dict[str, list[np.ndarray]] = {}

    def packed(value: Any) -> Any:
        if isinstance(value, list):
            return [packed(item) for item in value]
        if not isinstance(value, dict):
            return value
        for kind in ("array", "skops"):
            if isinstance(value.get(kind), np.ndarray):
                array = value[kind]
                parts.setdefault(array.dtype.name, []).append(array.ravel())
                return {kind: [array.dtype.name, list(array.shape)]}
        # In the order of the file, in which arrays are read.
        return {key: packed(value[key]) for key in sorted(value)}

    meta = {"kind": "model", "version": 2, "model": packed(tree), **more}
    return pack(meta, {name: np.concatenate(arrays) for name, arrays in parts.items()})


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
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, member in members:
            archive.writestr(zipfile.ZipInfo(name), member, compression)
        archive.comment = b"0" * 64
    return sealed(buffer.getvalue())


def sealed(content: bytes) -> bytes:
    """The same with a correct checksum."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


class Place(NamedTuple):
    """A value in a tree: where it is, and the description of the estimator that it belongs to."""

    holder: Any
    key: Any
    path: str
    state: dict[str, Any]


def places(tree: Any, path: str = "model", state: dict[str, Any] | None = None) -> list[Place]:
    """All values of a model, those in lists and nested models included."""
    found: list[Place] = []
    if isinstance(tree, dict) and "class" in tree:
        state = tree["state"]
        for name in state:
            found.append(Place(state, name, f"{path}.{name}", state))
            found += places(state[name], f"{path}.{name}", state)
    elif isinstance(tree, list) and state is not None:
        # A few items are as good as all.
        for i in range(min(len(tree), 3)):
            found.append(Place(tree, i, f"{path}[{i}]", state))
            found += places(tree[i], f"{path}[{i}]", state)
    return found


# Values


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
        lambda: array.astype(str(random.choice(["float32", "int64", "uint8", "<U8", "complex128"]))),
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
            values += [int(np.clip(int(flat[one]) + step, limits.min, limits.max)) for step in (-1, 1)]
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


def rehashed(tree: Any) -> None:
    """Give a spoilt model the hash of its new content, as somebody would who knows how."""
    states = {id(place.state): place.state for place in places(tree)}
    # Those inside first, because the hash of a model may contain theirs.
    for state in reversed(states.values()):
        with contextlib.suppress(Exception):
            if "hash_" in state:
                state["hash_"] = _object(_holder(tree, state))._recomputed_hash() or state["hash_"]


def _holder(tree: Any, state: dict[str, Any]) -> Any:
    if isinstance(tree, dict):
        if tree.get("state") is state:
            return tree
        tree = list(tree.values())
    if isinstance(tree, list):
        return next((found for item in tree if (found := _holder(item, state))), None)
    return None


def _object(tree: Any) -> Any:
    """A model of a description, without any checks."""
    if isinstance(tree, list):
        return [_object(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "class" in tree:
        made = registry._class_named(tree["class"])()
        for name, value in tree["state"].items():
            setattr(made, name, _object(value))
        return made
    ((kind, content),) = tree.items()
    return {"array": lambda: content, "tuple": lambda: tuple(content)}.get(
        kind, lambda: np.array(content, dtype=object)
    )()


# Attributes whose every possible value some fitted model has, which nothing else in a file decides.
# The rest follows from other attributes or from the content hash.
FREE = {
    *("limit_", "largest_tie_", "zeros_", "separation_", "positives_", "left_out_"),
    *("centres_", "scales_", "precision_", "missing_", "incomplete_", "n_", "copied_"),
    *schema.fields_of(registry._class_named("Calibration")),
}


def model_cases(name: str, tree: Any, random: Random) -> Iterator[Case]:
    """Models with one value changed, without end."""
    while True:
        spoilt = copy.deepcopy(tree)
        found = places(spoilt)
        place = found[int(random.integers(len(found)))]
        attribute = place.path.rpartition(".")[2].partition("[")[0]
        parameter = not attribute.endswith("_")
        before = place.holder[place.key]
        place.holder[place.key] = other_value(before, random)
        hashed = not parameter and random.random() < 0.4
        attack = "parameters of models" if parameter else "learned values of models"
        if hashed:
            rehashed(spoilt)
            attack += ", hash recomputed"
        try:
            content = close_model(spoilt)
        except (TypeError, ValueError, OverflowError):
            continue
        chosen = parameter or hashed or attribute in FREE
        yield Case(attack, f"{place.path}: {_shown(place.holder[place.key])}", name, content, chosen)


def _shown(value: Any) -> str:
    return repr(value).replace("\n", " ")[:100]


def structure_cases(name: str, tree: Any, random: Random) -> Iterator[Case]:
    """Models that lack something, or have something that does not belong there."""
    while True:
        spoilt = copy.deepcopy(tree)
        found = places(spoilt)
        place, other = (found[int(random.integers(len(found)))] for _ in range(2))
        way = int(random.integers(8))
        more: dict[str, Any] = {}
        if way == 0 and isinstance(place.holder, dict):
            del place.holder[place.key]
        elif way == 1:
            place.state[str(random.choice(["fit", "extra_", "_regions", "__class__", "x"]))] = 1
        elif way == 2:
            one, two = place.holder[place.key], other.holder[other.key]
            place.holder[place.key], other.holder[other.key] = copy.deepcopy(two), one
        elif way == 3:
            for _ in range(int(random.choice([3, 9, 100]))):
                spoilt = {"class": "Minimum", "state": {**tree["state"], "quantifiers_": [spoilt]}}
        elif way == 4:
            spoilt = {**spoilt, "more": 1} if random.random() < 0.5 else [spoilt]
        elif way == 5:
            more = {"extra": spoilt}
        elif way == 6:
            more = {"version": random.choice([0, 1, 3, -1]).item()}
        else:
            spoilt["class"] = str(random.choice(sorted(registry.METHODS.values()))).partition(":")[2]
        what = f"way {way}: {place.path}, {other.path}"
        try:
            yield Case("structure of models", what, name, close_model(spoilt, **more))
        except (TypeError, ValueError, RecursionError):
            continue


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
    text = [
        b"[" * 100_000,
        b'{"kind": "model", "version": 2, "model": ' + b'{"tuple": [' * 20_000,
        b'{"kind": "model", "kind": "model", "version": 2, "model": null}',
        b'{"kind": "model", "version": NaN, "model": null}',
        b'{"kind": "model", "version": 2, "model": ' + b"9" * 5000 + b"}",
        b'{"kind": "model", "version": 1' + b"0" * 4000 + b', "model": null}',
        b'{"kind": "\\u001b[31m", "version": 2, "model": null}',
        b'{"kind": "model", "version": 2, "model": [' + b"[]," * 3_000_000 + b"[]]}",
        b"[" + b"{}," * 8_000_000 + b"{}]",
        b'"' + b"x" * 70_000_000 + b'"',
    ][int(random.integers(10))]
    rest = [(name, member) for name, member in members if name != "meta.npy"]
    headers = [b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }"]
    if random.random() < 0.3:
        shape = random.choice([b"1000000000000", b"-1", b"0, 99999999999", b"1, " * 40 + b"1"])
        header = headers[0] % shape
        lie = header.ljust(10 + 0x76 - 1) + b"\n"
        return zipped([*rest[1:], ("meta.npy", lie)]), f"shape {shape!r}"
    return zipped([*rest, ("meta.npy", npy(np.frombuffer(text, np.uint8)))]), f"meta {text[:60]!r}"


# Scorers of other libraries


def skops_cases(name: str, tree: Any, random: Random) -> Iterator[Case]:
    """Models whose nested skops archive holds something else, or much more than it seems to."""
    inner = tree["state"]["scorer_"]["skops"].tobytes()
    with zipfile.ZipFile(io.BytesIO(inner)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    arrays = [i for i, (member, _) in enumerate(members) if member.endswith(".npy")]
    while True:
        way = int(random.integers(8))
        changed, compression = list(members), zipfile.ZIP_STORED
        i = arrays[int(random.integers(len(arrays)))]
        if way < 4:
            array = np.load(io.BytesIO(members[i][1]))
            changed[i] = (members[i][0], npy(other_array(np.atleast_1d(array), random)))
            what = f"array {i}: {_shown(array)}"
        elif way == 4:
            compression, what = zipfile.ZIP_DEFLATED, "compressed"
        elif way == 5:
            changed += [(f"{k}.npy", b"") for k in range(int(random.choice([50, 25_000])))]
            what = "many members"
        elif way == 6:
            changed, what = [(m, _other_schema(c, random)) for m, c in members], "schema"
        else:
            cut = int(random.integers(len(inner)))
            spoilt = inner[:cut] + bytes(random.integers(256, size=4, dtype=np.uint8)) + inner[cut + 4 :]
            yield _with_scorer(name, tree, spoilt, f"bytes at {cut}")
            continue
        yield _with_scorer(name, tree, _archive(changed, compression), what)


def skops_bombs(name: str, tree: Any) -> list[Case]:
    """Nested archives of a megabyte that unpack to a gigabyte, in three ways."""
    inner = tree["state"]["scorer_"]["skops"].tobytes()
    zeros = io.BytesIO()
    header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
    with zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("data.npy", "w") as member:
            member.write((header % 2**27).ljust(10 + 0x76 - 1) + b"\n")
            for _ in range(2**10):
                member.write(bytes(2**20))
    packed = zeros.getvalue()
    with zipfile.ZipFile(io.BytesIO(inner)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    first = next(i for i, (member, _) in enumerate(members) if member.endswith(".npy"))
    bombs = {
        "compressed array": packed,
        "sparse matrix": _archive([*members, ("1.npz", packed)]),
        "claimed size": _archive(
            [
                (member, (header % 2**40).ljust(127) + b"\n" if i == first else content)
                for i, (member, content) in enumerate(members)
            ]
        ),
    }
    return [_with_scorer(name, tree, content, f"bomb: {what}") for what, content in bombs.items()]


def _archive(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def _other_schema(content: bytes, random: Random) -> bytes:
    if content[:1] != b"{":
        return content
    text = content.decode()
    swaps = [("OneClassSVM", "NuSVR"), ("sklearn.svm", "os"), ("float", "int"), ('"rbf"', '"poly"')]
    swaps += [('"rbf"', '"precomputed"'), ("n_features_in_", "n"), ("false", "true"), ("3", "-3")]
    old, new = swaps[int(random.integers(len(swaps)))]
    return text.replace(old, new, int(random.choice([1, -1]))).encode()


def _with_scorer(name: str, tree: Any, archive: bytes, what: str) -> Case:
    spoilt = copy.deepcopy(tree)
    spoilt["state"]["scorer_"] = {"skops": np.frombuffer(archive, np.uint8)}
    # The hash of such a model cannot be computed without its positives.
    return Case("scorers of other libraries", what, name, close_model(spoilt), chosen=True)


# Counts


def counts_cases(name: str, content: bytes, random: Random) -> Iterator[Case]:
    """Counts with something changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    meta = json.loads(np.load(io.BytesIO(members["meta.npy"])).tobytes())
    cells = np.load(io.BytesIO(members["cells.npy"]))
    while True:
        spoilt, changed = copy.deepcopy(meta), cells.copy()
        way = int(random.integers(6))
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
        elif way == 3:
            skipped = [[TEXTS[int(random.integers(len(TEXTS)))], "x"]]
            spoilt["skipped"], what = skipped, f"skipped {_shown(skipped)}"
        else:
            keys = [key for key in spoilt if key not in ("kind", "version")]
            key = str(random.choice(keys))
            holder = spoilt
            if isinstance(spoilt[key], dict):
                holder, key = spoilt[key], str(random.choice(sorted(spoilt[key])))
            holder[key] = other_value(holder[key], random)
            what = f"{key}: {_shown(holder[key])}"
        try:
            made = pack(spoilt, {"cells": changed})
        except (TypeError, ValueError, OverflowError):
            continue
        yield Case("counts", what, name, made)


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

CELLS = [b"1e400", b"-1e400", b"nan", b"inf", b"", b"\0", b'"', b'""""', b"1,5", b"\xff\xfe", b"0x10"]
CELLS += [b"9" * 400, b"1_000", "١٢٣".encode(), "1 000".encode(), b"=1+1", b"\x1b[31m", b"true"]
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
            spoilt[row] = random.choice([lines[row] + b",1", b",".join(cells[:-1]), b'"' + lines[row]])
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
        yield Case("tables (CSV)", f"way {way}, row {row}, column {column}", name, made, chosen=True)


assert persistence.MOST_NESTED < 100  # way 3 of structure_cases goes beyond it
