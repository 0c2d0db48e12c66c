"""Hostile model files: any attribute of any class changed in any way, with a correct checksum."""

from __future__ import annotations

import contextlib
import copy
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.robustness.hostile_files import (
    Case,
    Random,
    npy,
    other_array,
    other_value,
    pack,
    shown,
)
from poscount import registry
from poscount.storage import container, schema
from poscount.storage.foreign_scorers import load_foreign
from poscount.storage.model_files import content_hash


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

    meta = {"kind": "model", "version": container.VERSION, "model": packed(tree), **more}
    return pack(meta, {name: np.concatenate(arrays) for name, arrays in parts.items()})


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


def rehashed(tree: Any) -> None:
    """Give a spoilt model the hash of its new content, as somebody would who knows how."""
    states = {id(place.state): place.state for place in places(tree)}
    # Those inside first, because the hash of a model may contain theirs.
    for state in reversed(states.values()):
        with contextlib.suppress(Exception):
            if "hash_" in state:
                state["hash_"] = content_hash(_object(_holder(tree, state)))


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
    return {
        "array": lambda: content,
        "tuple": lambda: tuple(content),
        "shipped": lambda: registry._shipped(content[0]),
        "skops": lambda: load_foreign(content.tobytes(), ()),
    }.get(kind, lambda: np.array(content, dtype=object))()


# Attributes whose every possible value some fitted model has, which nothing else in a file decides.
# The rest follows from other attributes or from the content hash.
FREE = {
    *("limit_", "max_tie_share_", "zeros_", "separation_", "positives_", "left_out_"),
    *("centres_", "scales_", "precision_", "missing_", "incomplete_", "n_", "shares_"),
    *("duplicate_share_", "values_", "exceptions_"),
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
        # Nobody can compute the hash of a model with a scorer of another library.
        foreign = "skops" in tree["state"].get("scorer_", {})
        chosen = parameter or hashed or foreign or attribute in FREE
        yield Case(attack, f"{place.path}: {shown(place.holder[place.key])}", name, content, chosen)


def structure_cases(name: str, tree: Any, random: Random) -> Iterator[Case]:
    """Models that lack something, or have something that does not belong there."""
    while True:
        spoilt = copy.deepcopy(tree)
        found = places(spoilt)
        place, other = (found[int(random.integers(len(found)))] for _ in range(2))
        way = int(random.integers(8))
        more: dict[str, Any] = {}
        if way == 0:
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
            more = {"version": random.choice([0, 2, 3, -1]).item()}
        else:
            spoilt["class"] = str(random.choice(sorted(registry.METHODS.values()))).partition(":")[
                2
            ]
        what = f"way {way}: {place.path}, {other.path}"
        try:
            # The positives of one method can be those of another.
            yield Case("structure of models", what, name, close_model(spoilt, **more), way == 7)
        except (TypeError, ValueError, RecursionError):
            continue


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
            what = f"array {i}: {shown(array)}"
        elif way == 4:
            compression, what = zipfile.ZIP_DEFLATED, "compressed"
        elif way == 5:
            changed += [(f"{k}.npy", b"") for k in range(int(random.choice([50, 50, 50, 25_000])))]
            what = "many members"
        elif way == 6:
            changed, what = [(m, _other_schema(c, random)) for m, c in members], "schema"
        else:
            cut = int(random.integers(len(inner)))
            spoilt = (
                inner[:cut] + bytes(random.integers(256, size=4, dtype=np.uint8)) + inner[cut + 4 :]
            )
            yield _with_scorer(name, tree, spoilt, f"bytes at {cut}")
            continue
        yield _with_scorer(name, tree, _archive(changed, compression), what)


def skops_bombs(name: str, tree: Any, megabytes: int = 1024) -> list[Case]:
    """Nested archives of a megabyte that unpack to a thousand, in three ways."""
    inner = tree["state"]["scorer_"]["skops"].tobytes()
    zeros = io.BytesIO()
    header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
    with (
        zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("data.npy", "w") as member,
    ):
        member.write((header % (megabytes * 2**17)).ljust(10 + 0x76 - 1) + b"\n")
        for _ in range(megabytes):
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
