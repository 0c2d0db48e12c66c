"""The answers of every method on a fixed set of inputs, to compare one version with another.

``python -m benchmarks.regression.answers write FILE`` writes them, ``compare FILE`` compares those
of this version bit for bit and prints what differs; ``--tolerance 1e-9`` is for another machine,
whose linear algebra may differ in the last bits. Sentences are not compared, only codes and
numbers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.ensemble import IsolationForest

from poscount import PAT, RCQ, compare_samples, diagnose, estimate_contamination, registry
from poscount.example import load_example
from poscount.prevalence import Prevalence
from research.datasets import load

# Names in `details` that have changed since the file of answers was written: old to new.
RENAMED = {"H": "core_difference", "G": "disagreement", "O": "core_excess"}


def inputs() -> Iterator[tuple[str, Any, Any]]:
    """Names, positives and samples: easy, overlapping, few, degenerate, wide, of float32."""
    rng = np.random.default_rng(20261116)
    mixing = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, -0.5, 0.3]])

    def near(n: int, shift: float = 0.0) -> np.ndarray:
        return rng.normal(size=(n, 3)) @ mixing + shift

    yield "separate", near(200), np.vstack([near(120), near(180, 40.0)])
    yield "all positive", near(200), near(300)
    yield "none positive", near(200), near(300, 40.0)
    yield "few positives", near(12), np.vstack([near(100), near(100, 6.0)])
    yield "one row", near(60), near(1)
    constant = np.column_stack([near(150), np.ones(150)])
    yield "constant column", constant, np.vstack([constant[:70] + 0.01, constant[:80] + 9])
    rounded = near(150).round()
    yield "ties", rounded, np.vstack([near(80).round(), near(120, 8.0).round()])
    single = near(150).astype(np.float32)
    yield "float32", single, np.vstack([single[:50] + 0.01, near(90, 7.0)]).astype(np.float32)
    yield "wide", rng.normal(size=(80, 45)), rng.normal(size=(150, 45)) * 1.1
    overlap = load("overlap-half")
    is_positive = overlap.is_positive
    rows, others = overlap.features[is_positive], overlap.features[~is_positive]
    yield "overlap", rows[:300], np.vstack([rows[300:450], others[:350]])


def answers() -> dict[str, Any]:
    """Everything that is compared, by a name of its own."""
    found: dict[str, Any] = {}
    for title, positives, sample in inputs():
        for name in registry.METHODS:
            method = registry.method(name)
            try:
                model = method(random_state=3).fit(positives)
                found[f"{title}: {name}"] = plain(model.quantify(sample))
            except ValueError as error:
                found[f"{title}: {name}"] = type(error).__name__
                continue
            found[f"{title}: {name}: hash"] = getattr(model, "hash_", None)
            if name in ("pat", "rcq"):
                about = diagnose(model, sample, positives=positives, reference=sample[::2])
                found[f"{title}: {name}: diagnosis"] = {
                    f.code: plain([f.severity, f.number, f.threshold]) for f in about.findings
                } | {u.code: "unchecked" for u in about.unchecked}
            if hasattr(model, "posterior") and len(sample) > 1:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[f"{title}: {name}: posterior"] = plain(model.posterior(sample)[::7])
    found |= on_the_example()
    return found


def on_the_example() -> dict[str, Any]:
    """Groups, two samples compared, resampling and a foreign scorer."""
    found: dict[str, Any] = {}
    positives, trap, _ = load_example("pyarrow")
    for name in ("pat", "odin", "rcq"):
        model = registry.method(name)(random_state=3).fit(positives)
        for key, answer in model.quantify_groups(trap, "night").items():
            found[f"example: {name}: {key[0]}"] = plain(answer)
        many = trap.append_column("group", pa.array(np.arange(len(trap)) % 300))
        grouped = model.quantify_by(many, "group").select(["prevalence", "low", "high", "n"])
        found[f"example: {name}: 300 groups"] = plain([c.to_numpy() for c in grouped.columns])
    model = RCQ(random_state=3).fit(positives)
    halves = [model.count(trap[:4000]), model.count(trap[4000:])]
    compared = compare_samples(model, *halves)
    found["example: compared"] = plain(
        [compared.difference, compared.interval.low, compared.interval.high, compared.reading]
    )
    found["example: posterior"] = plain(model.posterior(trap)[::100])
    small = trap.select(positives.column_names)[:400]
    resampled = registry.method("tice")(bootstrap=20, random_state=3).fit(positives)
    found["example: tice, resampled"] = plain(resampled.quantify(small))
    forest = PAT(IsolationForest(n_estimators=10), random_state=3).fit(positives)
    found["example: forest"] = plain(forest.quantify(small))
    contamination = estimate_contamination(
        IsolationForest(n_estimators=10), positives, small, random_state=3
    )
    found["example: contamination"] = plain([float(contamination), contamination.interval.low])
    return found


def plain(value: Any) -> Any:
    """What a value says, in JSON that keeps every bit."""
    if isinstance(value, Prevalence):
        interval = value.interval
        return {
            "value": plain(float(value)),
            "interval": interval and plain([interval.low, interval.high, interval.level]),
            "n": [value.n_labeled, value.n_unlabeled],
            "method": value.method,
            "warnings": [[c.code, plain(c.value)] for c in value.warnings],
            "details": plain(value.details),
        }
    if isinstance(value, dict):
        return {RENAMED.get(key, key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def differences(old: Any, new: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Say where two answers differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        old = {RENAMED.get(key, key): value for key, value in old.items()}
        for key in sorted({*old, *new}):
            if key not in old or key not in new:
                yield f"{place} {key}: only in the {'old' if key in old else 'new'}"
            else:
                yield from differences(old[key], new[key], tolerance, f"{place} {key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, tolerance, f"{place} {i}")
    elif old != new and not (tolerance and _near(old, new, tolerance)):
        yield f"{place}: {old} became {new}"


def _near(old: Any, new: Any, tolerance: float) -> bool:
    try:
        pair = float.fromhex(old), float.fromhex(new)
    except (TypeError, ValueError):
        return False
    return math.isclose(*pair, rel_tol=tolerance, abs_tol=tolerance)


def main() -> None:
    """Write the answers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.0)
    options = parser.parse_args()
    found = answers()
    if options.action == "write":
        with gzip.GzipFile(options.file, "wb", mtime=0) as file:
            file.write(json.dumps(found, indent=0).encode())
        return
    with gzip.open(options.file) as file:
        old = json.load(file)
    different = list(differences(old, found, options.tolerance))
    print(*different, f"{len(found)} answers compared, {len(different)} differences", sep="\n")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
