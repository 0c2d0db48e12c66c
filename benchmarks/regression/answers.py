"""The answers of everything that must stay, to compare one version with another.

``python -m benchmarks.regression.answers write FILE`` writes them, ``compare FILE`` compares those
of this version bit for bit and prints what differs; ``--tolerance 1e-9`` is for another machine,
whose linear algebra may differ in the last bits. Sentences are not compared, only codes and
numbers.
The cases are in ``answer_cases.py``, their rows in ``answer_tables.py``; what they call of poscount
is in ``answer_calls.py``, which follows when a call gets another name.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from benchmarks.regression.answer_cases import PARTS, Answers, cases
from poscount import Prevalence
from poscount.results.what_if import WhatIf

# Keys of `details`, codes and other single words that have changed since the file of answers was
# written: old to new.
RENAMED: dict[str, str] = {}
# Keys of what is said in sentences, which are not compared.
SENTENCES = ("advice",)
# What may differ from the file, and by how much: regular expressions for the beginnings of an
# answer's name and of the keys to what differs in it.
MAY_DIFFER: dict[str, float] = {
    # By the last bits of another processor's linear algebra: distances, which of two clusters comes
    # first, and the digits of KM's distances where they are next to 0.
    r".*: (en|pe|penl1)\b": 1e-9,
    "EN on its rows": 1e-9,
    r".*\bnegatives.* cells": math.inf,
    r".*\bkm[12]\b.* (curve|threshold)": 1e-6,
}
HASH = ": hash"
# The version of scikit-learn is an answer, too: those of its estimators hold for that version.
VERSION = "scikit-learn: version"


def answers(parts: Iterable[Callable[[], Answers]] = PARTS) -> dict[str, Any]:
    """Everything that is compared, by a name of its own."""
    found: dict[str, Any] = {VERSION: sklearn.__version__}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, answer in cases(parts):
            if name in found:
                raise ValueError(f"There are two answers named {name!r}.")
            found[name] = plain(answer)
    return found


def plain(value: Any) -> Any:
    """What a value says, in JSON that keeps every bit."""
    if isinstance(value, Prevalence):
        interval = value.interval
        return {
            "value": plain(float(value)),
            "interval": interval and plain([interval.low, interval.high, interval.level]),
            "count": plain(value.count),
            "n": [value.n_labeled, value.n_unlabeled],
            "verdict": value.verdict.status,
            "warnings": [[c.code, c.severity, plain(c.value)] for c in value.warnings],
            "details": plain(value.details),
        }
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Mapping):  # the order of targets is part of the answer
        return [[name, plain(item)] for name, item in value.items()]
    if isinstance(value, WhatIf):
        return plain([reading.to_dict() for reading in value])
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{value!r} is nothing that can be compared.")


def differences(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Say where the answers of two versions differ."""
    left_out = "scikit-learn: " if old[VERSION] != new[VERSION] else VERSION
    for name in sorted({*old, *new}):
        if name.startswith(left_out):
            continue
        if name not in old or name not in new:
            if not math.isinf(_may_differ(name)):
                yield f"{name}: only in the {'old' if name in old else 'new'}"
        elif not name.endswith(HASH):
            yield from _differences(old[name], new[name], tolerance, name)
    yield from _mixed_up_hashes(old, new)


def _may_differ(place: str) -> float:
    return max((most for start, most in MAY_DIFFER.items() if re.match(start, place)), default=0.0)


def _differences(old: Any, new: Any, tolerance: float, place: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        old = {RENAMED.get(key, key): value for key, value in old.items() if key not in SENTENCES}
        for key in sorted({*old, *new}):
            if key not in old or key not in new:
                if not math.isinf(_may_differ(f"{place} {key}")):
                    yield f"{place} {key}: only in the {'old' if key in old else 'new'}"
            else:
                yield from _differences(old[key], new[key], tolerance, f"{place} {key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from _differences(*pair, tolerance, f"{place} {i}")
    elif _renamed(old) != new:
        allowed = max(tolerance, _may_differ(place))
        if not math.isinf(allowed) and not (allowed and _near(old, new, allowed)):
            yield f"{place}: {old} became {new}"


def _renamed(value: Any) -> Any:
    """A value with its words renamed: frames have the codes of all warnings in one text."""
    if not isinstance(value, str):
        return value
    return " ".join(RENAMED.get(word, word) for word in value.split(" "))


def _mixed_up_hashes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Say which models have no longer the same hash as each other, or now have.

    Hashes contain the names of classes and of what is learned, so that they may change, but equal
    ones only to equal ones.
    """
    names = [name for name in sorted({*old} & {*new}) if name.endswith(HASH)]
    for one, other in ((old, new), (new, old)):
        became: dict[str, str] = {}
        for name in names:
            first = became.setdefault(one[name], name)
            if other[first] != other[name]:
                when = "were" if one is old else "are now"
                yield f"{name} and {first} {when} equal"


def _near(old: Any, new: Any, tolerance: float) -> bool:
    try:
        pair = float.fromhex(old), float.fromhex(new)
    except (TypeError, ValueError):
        return False
    return math.isclose(*pair, rel_tol=tolerance, abs_tol=tolerance)


def write(found: dict[str, Any], file: Path) -> None:
    """Write answers, equal ones as equal files."""
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        packed.write(json.dumps(found, indent=0).encode())


def read(file: Path) -> dict[str, Any]:
    """Read answers that `write` wrote."""
    with gzip.open(file) as packed:
        return json.load(packed)


def main() -> None:
    """Write the answers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.0)
    options = parser.parse_args()
    found = answers()
    if options.action == "write":
        write(found, options.file)
        return
    different = list(differences(read(options.file), found, options.tolerance))
    print(*different, f"{len(found)} answers compared, {len(different)} differences", sep="\n")
    if MAY_DIFFER:
        print(f"without the {len(MAY_DIFFER)} known changes that MAY_DIFFER lists")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
