"""Files that are valid in themselves, with parts of another valid file, signed again.

    python -m benchmarks.robustness.swapped --cases 3000 --seed 1

`benchmarks/robustness/hostile.py` spoils the bytes and values of one file. Here there are two files
of each sort, made from other rows: an attribute of one gets the value that it has in the other, or
a number is changed, and the checksum is right again. Half of the models get the hash of their new
content, too, as somebody would give them who knows how. Each case runs in a process of its own.

The hash of a case is what tells whoever uses its answer that it is another file: that of the model,
of counts (`Counts.content_id`), of the cells of a table of labels, or of files and their settings.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import os
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

import poscount
from poscount import PAT, RCQ, Counts, InputError, MultiRCQ, ODIn, RCQWithNegatives, SubclassRCQ
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import read_calibration, shipped, write_calibration
from poscount.files.read_options import ReadOptions
from poscount.storage import container, model_files

MOST_GB, MOST_SECONDS = 1.0, 5.0
TRUSTED = ["sklearn.tree._tree.Tree", "sklearn.neighbors._kd_tree.KDTree"]
TRUSTED += ["sklearn.metrics._dist_metrics.EuclideanDistance64"]
SORTS = ("model", "counts", "calibration", "labels", "session")
OUTCOMES = (
    *("refused", "equal", "otherwise, another hash", "otherwise, the same hash"),
    *("traceback", "over 1 GB", "over 5 CPU s"),
)
Random = np.random.Generator


class Original(NamedTuple):
    """Two valid things; how the first is changed by the second, written to a file, and used."""

    sort: str
    pair: tuple[Any, Any]
    change: Callable[[Any, Any, Random], tuple[Any, str]]
    write: Callable[[Any, Path], None]
    use: Callable[[Path], tuple[str, str]]


def rows(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Positives with words and gaps, and a sample of them and of others."""
    random = np.random.default_rng(seed)

    def table(n: int, shift: float) -> pd.DataFrame:
        frame = pd.DataFrame(random.normal(size=(n, 3)) + shift, columns=["size", "weight", "age"])
        frame.loc[:: 7 + seed, "weight"] = np.nan
        frame["site"] = random.choice(["north", "south"], n, p=[0.3 + 0.1 * seed, 0.7 - 0.1 * seed])
        return frame

    return table(120, 0.0), pd.concat([table(80, 0.0), table(120, 2.0)], ignore_index=True)


# Models and calibrations: objects


def places(owner: Any, other: Any, depth: int = 0) -> Iterator[tuple[Any, Any, str]]:
    """Objects that both models have, and the names of what they have learned or been told."""
    for name in sorted(vars(owner)):
        if name[0] == "_" or name not in vars(other):
            continue
        yield owner, other, name
        one, two = vars(owner)[name], vars(other)[name]
        for inner, outer in zip(one, two, strict=False) if isinstance(one, list) else [(one, two)]:
            ours = type(inner).__module__.startswith("poscount.") and depth < 3
            if ours and type(inner) is type(outer) and hasattr(inner, "get_params"):
                yield from places(inner, outer, depth + 1)


def tweaked(value: Any, random: Random) -> Any:
    """A value that is a little or very different."""
    factor = random.choice([0.0, 0.5, 1 + 1e-9, 2.0, -1.0, 1e6])
    if isinstance(value, np.ndarray) and value.dtype != object and value.size:
        changed = value.copy()
        at = np.unravel_index(int(random.integers(value.size)), value.shape)
        with np.errstate(all="ignore"):
            changed[at if random.random() < 0.5 else ...] = (value[at] * factor).astype(value.dtype)
        return changed
    if isinstance(value, bool) or value is None:
        return random.choice([None, True, False, 0.5])
    if isinstance(value, int | float):
        return type(value)(value * factor)
    if isinstance(value, str):
        return random.choice(["", "null", "RCQ", value[::-1]])
    if isinstance(value, list):
        return [value[i] for i in random.permutation(len(value))][: int(random.integers(1, 9))]
    return None


def change_object(one: Any, two: Any, random: Random) -> str:
    """Give one object a part of another."""
    owner, other, name = list(places(one, two))[int(random.integers(len(list(places(one, two)))))]
    swap = random.random() < 0.6
    value = vars(other)[name] if swap else tweaked(vars(owner)[name], random)
    setattr(owner, name, value)
    return f"{type(owner).__name__}.{name} {'swapped' if swap else 'changed'}"


def change_model(one: Any, two: Any, random: Random) -> tuple[Any, str]:
    """One model with a part of the other."""
    one = copy.deepcopy(one)
    what = change_object(one, two, random)
    if random.random() < 0.5:
        one.hash_ = model_files.content_hash(one)
        what += ", hash recomputed"
    return one, what


def write_model(model: Any, path: Path) -> None:
    """Write a model that may be impossible."""
    with mock.patch.object(model_files, "_check"):
        model_files.save(model, path)


def change_calibration(one: Any, two: Any, random: Random) -> tuple[Any, str]:
    """One calibration with a part of the other."""
    one = copy.deepcopy(one)
    return one, change_object(one, two, random)


def own_calibration(seed: int) -> Calibration:
    """Another calibration of the same method: leaves in another order, other ranges."""
    made = copy.deepcopy(shipped("RCQ"))
    random = np.random.default_rng(seed)
    made.leaf_ = random.permuted(made.leaf_, axis=2)
    made.temperature_ = 1.0 + seed
    made.least_ = made.least_ - seed
    return made


# Counts, labels and sessions: what is in the files


def change_counts(one: Any, two: Any, random: Random) -> tuple[Any, str]:
    """Counts with an entry of others, or with a changed one."""
    (meta, arrays), (meta_2, arrays_2) = ((dict(m), dict(a)) for m, a in (one, two))
    name = str(random.choice([*meta, *arrays]))
    place, other = (meta, meta_2) if name in meta else (arrays, arrays_2)
    swap = random.random() < 0.5
    place[name] = other[name] if swap else tweaked(place[name], random)
    return (meta, arrays), f"{name} {'swapped' if swap else 'changed'}"


def change_labels(one: Any, two: Any, random: Random) -> tuple[Any, str]:
    """A table of labels with cells, columns or rows of another."""
    one, way = one.copy(), int(random.integers(5))
    column, other = (str(name) for name in random.choice(one.columns, 2))
    row = int(random.integers(len(one)))
    if way == 0:
        one.loc[row, column] = two.loc[row, column]
    elif way == 1:
        one[column] = two[column]
    elif way == 2:
        one = pd.concat([one.iloc[: row + 1], two.iloc[row:]])
    elif way == 3:
        one.loc[row, column] = one.loc[row, other]
    else:
        one = one.sample(frac=random.choice([0.5, 1.0, 2.0]), replace=True, random_state=row)
    return one, f"way {way}, {column}, {other}"


def change_session(one: Any, two: Any, random: Random) -> tuple[Any, str]:
    """A session with files, roles or settings of another."""
    one = copy.deepcopy(one)
    which = str(random.choice(["files", "choices"]))
    if which == "files":
        mine, other = (each["files"][int(random.integers(2))] for each in (one, two))
        name = str(random.choice([*mine]))
        mine[name] = other[name] if random.random() < 0.6 else tweaked(mine[name], random)
    else:
        name = str(random.choice([*one["choices"]]))
        values = [two["choices"][name], tweaked(one["choices"][name], random), "x", -1, [], {}]
        one["choices"][name] = values[int(random.integers(len(values)))]
    return one, f"{which}.{name}"


def digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def use_session(path: Path) -> tuple[str, str]:
    """Do for a session what the server does for its page."""
    from pydantic import ValidationError

    from poscount.web import schemas
    from poscount.web.tasks import EstimateTask, InspectTask, Upload
    from poscount.web.worker import run

    told, folder = json.loads(path.read_text()), path.parent
    uploads: dict[str, Upload] = {}

    def done(task: Any) -> Any:
        outcome = run(task, lambda step, fraction: None)
        if "refused" in outcome:
            if "not your fault" in outcome["refused"]["message"]:
                raise AssertionError(outcome["refused"]["message"])
            raise InputError(outcome["refused"]["message"])
        return outcome["done"]

    for i, about in enumerate(told["files"]):
        if not isinstance(about["settings"], dict):
            raise InputError("The settings of a file are no settings.")  # the page sends them
        try:
            form = schemas.FileForm.model_validate({"role": about["role"], **about["settings"]})
        except ValidationError as error:
            raise InputError(str(error)) from error
        file, about_it = folder / f"{i}.csv", str(folder / f"{i}.json")
        file.write_text(str(about["content"]))
        options = ReadOptions(**form.said)
        upload = Upload(str(i), str(about["name"]), form.role, str(file), options)
        uploads[form.role] = Upload(*list(vars(upload).values())[:5], description=about_it)
        done(InspectTask(uploads[form.role], tuple(form.said), (), schemas.Limits()))
    try:
        wanted = schemas.EstimateRequest.model_validate(told["choices"])
    except ValidationError as error:
        raise InputError(str(error)) from error
    if set(uploads) != {"positives", "unlabeled"}:
        raise InputError("There is no file of one of the roles.")
    positives, unlabeled = uploads["positives"], uploads["unlabeled"]
    how = positives.read_options, unlabeled.read_options
    task = EstimateTask(str(folder), wanted, positives, (unlabeled,), *how, False, 1000)
    found = done(task)
    return json.dumps(found["results"], sort_keys=True, default=str), digest(told)


def answered(model: Any, sample: Any) -> tuple[str, str]:
    """An answer in full, and the hash of the model that gave it."""
    answer = model.quantify(sample)
    told = {name: p.to_dict() for name, p in answer.items()} if hasattr(answer, "items") else None
    return json.dumps(told or answer.to_dict(), sort_keys=True, default=str), model.hash_


def originals(folder: Path) -> list[Original]:
    """Pairs of every sort."""
    (p, sample), (p_2, _) = rows(0), rows(1)
    numbers, numbers_2 = (each[["size", "age"]] for each in (p, p_2))
    made: list[Original] = []
    pairs: list[tuple[Any, Any]] = [
        (make().fit(p), make().fit(p_2))
        for make in (
            lambda: RCQ(random_state=0),
            lambda: RCQ(calibration=own_calibration(1), random_state=0),
            lambda: SubclassRCQ(2, random_state=0),
            lambda: PAT(random_state=0),
            lambda: ODIn(random_state=0),
        )
    ]
    pairs += [
        (make().fit(numbers), make().fit(numbers_2))
        for make in (
            lambda: PAT(IsolationForest(n_estimators=20, random_state=0), random_state=0),
            lambda: PAT(LocalOutlierFactor(novelty=True), random_state=0),
        )
    ]
    pairs.append(tuple(RCQ(random_state=0).fit(x, unlabeled=sample) for x in (p, p_2)))
    pairs.append(tuple(MultiRCQ(random_state=0).fit({"a": x, "b": sample[150:]}) for x in (p, p_2)))
    pairs.append(
        tuple(RCQWithNegatives(random_state=0).fit(x, negatives=sample[150:]) for x in (p, p_2))
    )
    for pair in pairs:
        made.append(
            Original(
                *("model", pair, change_model, write_model),
                lambda path: answered(poscount.load(path, trusted=TRUSTED), sample),
            )
        )
    rcq, other = pairs[0]
    counts = [model.count(part) for model, part in ((rcq, sample), (other, sample[50:]))]
    for name, each in zip("ab", counts, strict=True):
        each.save(folder / name)
    opened = tuple(container.read(folder / name, "counts") for name in "ab")

    def use_counts(path: Path) -> tuple[str, str]:
        found = Counts.load(path)
        return json.dumps(rcq.estimate(found).to_dict(), default=str), found.content_id

    def write_counts(opened: Any, path: Path) -> None:
        container.write(path, "counts", *opened)

    made.append(Original("counts", opened, change_counts, write_counts, use_counts))
    made.append(
        Original(
            "calibration",
            (own_calibration(1), own_calibration(2)),
            change_calibration,
            write_calibration,
            lambda path: answered(
                RCQ(calibration=read_calibration(path), random_state=0).fit(p), sample
            ),
        )
    )
    tables = [
        poscount.audit(rcq, sample, 30, random_state=seed).assign(
            label=np.random.default_rng(seed).choice(["yes", "no"], 30)
        )
        for seed in (0, 1)
    ]

    def use_labels(path: Path) -> tuple[str, str]:
        table = pd.read_csv(path)
        settled = poscount.settle(rcq, sample, table)
        return json.dumps(settled.to_dict(), sort_keys=True, default=str), digest(table.to_csv())

    def write_labels(table: pd.DataFrame, path: Path) -> None:
        table.to_csv(path, index=False)

    made.append(Original("labels", (tables[0], tables[1]), change_labels, write_labels, use_labels))
    sessions = [
        {
            "files": [
                {"role": role, "name": f"{role}.csv", "settings": settings, "content": text}
                for role, settings, text in (
                    ("positives", {"na": "-" * (1 + seed)}, x.to_csv(index=False)),
                    ("unlabeled", {"units": ""}, sample.to_csv(index=False)),
                )
            ],
            "choices": {
                "method": ("pat", "odin")[seed],
                "features": [["size", "age"], ["weight", "site"]][seed],
                "by": [[], ["site"]][seed],
                "confidence": 0.9 + 0.05 * seed,
                "random_state": seed,
            },
        }
        for seed, x in enumerate((p, p_2))
    ]

    def write_session(session: Any, path: Path) -> None:
        path.write_text(json.dumps(session, default=str))

    pair = sessions[0], sessions[1]
    made.append(Original("session", pair, change_session, write_session, use_session))
    return made


def tried(use: Callable[[Path], tuple[str, str]], path: Path) -> dict[str, Any]:
    """Use a file in a process of its own: what came of it, and what it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before, start, found = _memory("VmRSS"), time.process_time(), {}
        quiet = contextlib.redirect_stderr(io.StringIO())
        with warnings.catch_warnings(), quiet:
            warnings.simplefilter("ignore")
            try:
                found["answer"], found["hash"] = use(path)
            except (ValueError, OSError) as error:
                # Errors of ours and of the system are sentences.
                ours = isinstance(error, InputError | OSError)
                found["refused" if ours else "traceback"] = f"{type(error).__name__}: {error}"
            except BaseException as error:
                found["traceback"] = f"{type(error).__name__}: {error}"
        used = {"gb": (_memory("VmHWM") - before) / 2**20, "s": time.process_time() - start}
        with open(writing, "w") as pipe:
            json.dump({**found, **used}, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"traceback": "the process died", "gb": 0, "s": 30}


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def outcome_of(found: dict[str, Any], expected: dict[str, Any]) -> str:
    """The class of what came of a file."""
    if found["gb"] > MOST_GB:
        return "over 1 GB"
    if found["s"] > MOST_SECONDS:
        return "over 5 CPU s"
    for kind in ("refused", "traceback"):
        if kind in found:
            return kind
    if found["answer"] == expected["answer"]:
        return "equal"
    same = found["hash"] == expected["hash"]
    return f"otherwise, {'the same' if same else 'another'} hash"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    counted: dict[str, Counter[str]] = {sort: Counter() for sort in SORTS}
    bad = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made, path = originals(folder), folder / "case.csv"
        expected = []
        for each in made:
            each.write(each.pair[0], path)
            found = tried(each.use, path)
            if "answer" not in found:
                raise SystemExit(f"A valid file of sort {each.sort} gives {found}.")
            expected.append(found)
        share = np.array([1.0 if each.sort == "model" else 2.5 for each in made])
        while sum(sum(each.values()) for each in counted.values()) < arguments.cases:
            # There are ten sorts of models, and one of each of the others.
            i = int(random.choice(len(made), p=share / share.sum()))
            each = made[i]
            try:
                changed, what = each.change(*each.pair, random)
                each.write(changed, path)
            except (TypeError, ValueError, AttributeError, OverflowError, KeyError):
                continue  # nothing that can be written
            found = tried(each.use, path)
            kind = outcome_of(found, expected[i])
            counted[each.sort][kind] += 1
            if kind in OUTCOMES[3:]:
                told = found.get("traceback", f"{found['gb']:.1f} GB, {found['s']:.1f} s")
                bad.append(f"{each.sort} | {what} | {kind} | {told[:200]}")
    print(f"| file | cases | {' | '.join(OUTCOMES)} |")
    print("|---|---|" + "---|" * len(OUTCOMES))
    for sort, kinds in [*counted.items(), ("all", sum(counted.values(), Counter()))]:
        numbers = " | ".join(str(kinds[kind]) for kind in OUTCOMES)
        print(f"| {sort} | {sum(kinds.values())} | {numbers} |")
    print("\n".join(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
