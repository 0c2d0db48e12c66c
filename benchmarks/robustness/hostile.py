"""Hostile files: whether each is refused in a sentence, or answered as it should be.

    python -m benchmarks.robustness.hostile --cases 5000 --seed 0

Files are read, and used, in another process. What can happen to one:

refused
    One of poscount's own errors, or the system's about a file that cannot be opened.
equal
    The answer of the file that it was made from.
otherwise
    Another answer, and one that somebody could have got without a hostile file: a parameter was
    changed to a value that users may choose (a confidence of .9), or a learned value to one that
    other positives would have given, and nothing else in the file depends on it; or the table was
    another one.
failed
    Any other error; another answer that no user could have got; an answer that is no prevalence
    with its interval; a process that ended without an answer; more than 500 MB, or 5 seconds of one
    processor.

The table shows the classes of attacks; failures are listed below it, and the exit status is 1 if
there are any. The peak of memory is what the process has taken besides what it started with.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import poscount
from benchmarks.robustness import hostile_files, hostile_models
from benchmarks.robustness.hostile_files import Case
from poscount import (
    BBE,
    PAT,
    RCQ,
    TRCQ,
    Counts,
    ExTIcE,
    Minimum,
    MultiRCQ,
    ODIn,
    SubclassRCQ,
)
from poscount.app.data_files import DataFiles
from poscount.app.estimates import quantify
from poscount.calibration.files import read_calibration, shipped, write_calibration
from poscount.errors import InputError
from poscount.results.target_shares import TargetShares

MOST_MB, MOST_SECONDS, MOST_WAITING = 500, 5.0, 120
# In one process.
AT_ONCE = 50
# Models that answer within milliseconds, for the tests.
QUICK = ("PAT", "PAT, table", "ODIn, table", "RCQ", "RCQ, kinds", "ExTIcE, table")


class Target(NamedTuple):
    """Something that hostile files are made from, and how it is used."""

    content: bytes
    use: Callable[[Path], Any]


class Outcome(NamedTuple):
    """What became of a file."""

    kind: str
    answer: Any = None
    words: str = ""


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Numbers, one of them with gaps, and words."""
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["size", "weight", "age"])
    frame.loc[::7, "weight"] = np.nan
    frame["site"] = rng.choice(["north", "south", "west"], n)
    frame.loc[::11, "site"] = None
    return frame


def make_targets(folder: Path, only: Collection[str] = ()) -> dict[str, Target]:
    """Small models of every class and their samples; counts, a calibration, and a table."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(80, 3)), rng.normal(size=(120, 3)) + np.repeat([[0], [3]], 60, axis=0)
    mixed = table(rng, 120), table(rng, 150)
    wide = rng.normal(size=(60, 250)), rng.normal(size=(80, 250))
    few = table(rng, 40), table(rng, 50)
    svm = make_pipeline(StandardScaler(), OneClassSVM())
    models = {
        "PAT": (PAT(random_state=0), plain),
        "PAT, table": (PAT(random_state=0), mixed),
        "PAT, one-class SVM": (PAT(svm, random_state=0), plain),
        "ODIn, table": (ODIn(random_state=0), mixed),
        "RCQ": (RCQ(random_state=0), plain),
        "RCQ, kinds": (SubclassRCQ(2, random_state=0), mixed),
        "RCQ, wide": (RCQ(random_state=0), wide),
        "TRCQ, table": (TRCQ(random_state=0), mixed),
        "ExTIcE, table": (ExTIcE(random_state=0), few),
        "BBE, table": (BBE(random_state=0), mixed),
        "Minimum": (Minimum([PAT(), RCQ()], random_state=0), plain),
        "MultiRCQ": (
            MultiRCQ(random_state=0),
            ({"one": plain[0], "other one": plain[0] + 3}, plain[1]),
        ),
    }
    targets = {}
    path = folder / "target"
    for name, (model, (positives, sample)) in models.items():
        if only and name not in only:
            continue
        model.fit(positives).save(path)
        targets[name] = Target(path.read_bytes(), _answering(sample))
        if name in ("PAT", "PAT, table", "RCQ", "RCQ, kinds"):
            weights = np.arange(len(sample)) % 3 + 0.5
            for label, counts in (
                ("counts", model.count(sample)),
                ("weighted counts", model.count(sample, weights=weights)),
            ):
                counts.save(path)
                targets[f"{name}: {label}"] = Target(path.read_bytes(), _counting(model))
    write_calibration(shipped("RCQ"), path)
    targets["calibration"] = Target(path.read_bytes(), _calibrating(*plain))
    model = models["PAT, table"][0]
    text = mixed[1].to_csv(index=False).encode()
    targets["table"] = Target(text, _reading(model))
    return targets


def _answering(sample: Any) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        model = poscount.load(path)
        answer = model.quantify(sample)
        str(model), list(getattr(model, "columns_", []))
        # Of several targets the last, which is what the others leave.
        return answer.other if isinstance(answer, TargetShares) else answer

    return use


def _counting(model: Any) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        counts = Counts.load(path)
        answer = model.estimate(counts)
        if model.estimate(counts + counts - counts if not counts.parts else counts) != answer:
            raise AssertionError("counts do not add up")
        return answer

    return use


def _calibrating(positives: Any, sample: Any) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        calibration = read_calibration(path)
        return RCQ(calibration=calibration, random_state=0).fit(positives).quantify(sample)

    return use


def _reading(model: Any) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        (result,) = quantify(model, DataFiles([str(path)]))
        return result.prevalence

    return use


def summary(answer: Any) -> str:
    """An answer in full, which must be a prevalence with its interval."""
    value, interval = float(answer), answer.interval
    ends = (0.0, 1.0) if interval is None else (interval.low, interval.high)
    if not 0 <= ends[0] <= value <= ends[1] <= 1:
        raise AssertionError(f"{value} in {ends} is no prevalence")
    if interval is not None and not 0 < interval.level < 1:
        raise AssertionError(f"an interval of level {interval.level}")
    repr(answer), str(answer), answer.verdict
    return json.dumps(answer.to_dict(), default=str, sort_keys=True)


def try_file(use: Callable[[Path], Any], path: Path) -> Outcome:
    """Use a file in this process."""
    quiet = contextlib.redirect_stderr(io.StringIO())
    with warnings.catch_warnings(), quiet:
        warnings.simplefilter("ignore")
        try:
            return Outcome("answered", summary(use(path)))
        except InputError as error:
            return Outcome("refused", words=str(error))
        except OSError as error:
            return Outcome("refused", words=str(error))
        except BaseException as error:
            return Outcome("failed", words=f"{type(error).__name__}: {error}")


class Measured(NamedTuple):
    """What became of a file, and what it took."""

    outcome: Outcome
    megabytes: float
    seconds: float


def try_apart(
    cases: Sequence[tuple[Case, Path | None]], targets: dict[str, Target], path: Path
) -> Iterator[Measured]:
    """Use files in another process, and go on in a new one if it crashes or takes too long.

    Parameters
    ----------
    cases : sequence of pairs
        Each with the file that it is, or None if its content is to be written to `path`.
    targets : dict
    path : path
    """
    done = 0
    while done < len(cases):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with open(writing, "w") as pipe:
                for case, special in cases[done:]:
                    if special is None:
                        path.write_bytes(case.content)
                    found = _measured(targets[case.target].use, special or path)
                    pipe.write(f"{json.dumps(found)}\n")
                    pipe.flush()
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            for line in pipe:
                outcome, *used = json.loads(line)
                yield Measured(Outcome(*outcome), *used)
                done += 1
        _, status = os.waitpid(child, 0)
        if status:
            yield Measured(Outcome("failed", words=f"the process ended with {status}"), 0.0, 0.0)
            done += 1


def _measured(use: Callable[[Path], Any], path: Path) -> Measured:
    # Far above the limit, so that a case fails by it and not the machine.
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
    # In time by the clock, because whatever waits for ever takes no other.
    signal.alarm(MOST_WAITING)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak of memory starts anew
    before, start = _memory_mb("VmRSS"), time.process_time()
    outcome = try_file(use, path)
    seconds = time.process_time() - start
    return Measured(outcome, max(_memory_mb("VmHWM") - before, 0.0), seconds)


def _memory_mb(name: str) -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))


def judged(case: Case, outcome: Outcome, expected: Any) -> Outcome:
    """Tell equal answers from others, and those that a user could have got from silent ones."""
    words = outcome.words
    # What is said about tables is up to their readers, and tested with them.
    said = outcome.kind == "refused" and "tables" not in case.attack
    if said and (len(words) > 1000 or not words.isprintable()):
        return Outcome("failed", words=f"a sentence that is none: {words[:200]!r}")
    if outcome.kind != "answered":
        return outcome
    if outcome.answer == expected:
        return outcome._replace(kind="equal")
    if case.chosen:
        return outcome._replace(kind="otherwise")
    return Outcome("failed", words=f"another answer: {_first_difference(outcome.answer, expected)}")


def _first_difference(one: str, other: str) -> str:
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"...{one[max(0, start - 40) : start + 40]}..."


def all_cases(targets: dict[str, Target], folder: Path, seed: int) -> Iterator[Case]:
    """Cases of all classes in turn, without end."""
    random = np.random.default_rng(seed)
    path, makers = folder / "opened", []
    for name, target in targets.items():
        path.write_bytes(target.content)
        if ": " in name:
            makers += [hostile_files.counts_cases(name, target.content, random)] * 2
        elif name == "table":
            makers += [hostile_files.csv_cases(name, target.content, random)] * 12
        elif name == "calibration":
            makers += [hostile_files.calibration_cases(name, target.content, random)] * 2
        else:
            tree = hostile_models.open_model(path)
            makers += [hostile_models.model_cases(name, tree, random)] * 6
            makers.append(hostile_models.structure_cases(name, tree, random))
            if "skops" in tree["state"].get("scorer_", {}):
                yield from hostile_models.skops_bombs(name, tree)
                makers += [hostile_models.skops_cases(name, tree, random)] * 6
        if name in ("PAT", "calibration", "PAT: counts"):
            makers += [hostile_files.container_cases(name, target.content, random)] * 3
    while True:
        for maker in makers:
            yield next(maker)


def special_files(folder: Path) -> dict[str, Path]:
    """Names that do not lead to a regular file of a sensible size."""
    pipe, endless, huge = (folder / name for name in ("pipe", "endless", "huge"))
    os.mkfifo(pipe)
    endless.symlink_to(endless)
    with open(huge, "wb") as file:
        file.truncate(3 * 2**30)
    names = ["/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", str(folder / "missing")]
    return {str(path): Path(path) for path in [*names, folder, pipe, endless, huge]}


def audit(n_cases: int, seed: int, folder: Path) -> Iterator[tuple[Case, Measured]]:
    """Try special files, and then as many others as make up the number."""
    targets, path = make_targets(folder), folder / "case.csv"
    originals = [(Case("", "", name, target.content), None) for name, target in targets.items()]
    expected = {}
    for (case, _), found in zip(originals, try_apart(originals, targets, path), strict=True):
        if found.outcome.kind != "answered":
            raise SystemExit(f"{case.target} itself gives {found.outcome}")
        expected[case.target] = found.outcome.answer
    specials: list[tuple[Case, Path | None]] = [
        (Case("special files", name, target, b""), file)
        for name, file in special_files(folder).items()
        for target in ("PAT", "PAT: counts", "calibration")
    ]
    made = ((case, None) for case in all_cases(targets, folder, seed))
    every = itertools.islice(itertools.chain(specials, made), n_cases)
    while batch := list(itertools.islice(every, AT_ONCE)):
        for (case, _), found in zip(batch, try_apart(batch, targets, path), strict=True):
            outcome = judged(case, found.outcome, expected[case.target])
            if outcome.kind != "failed" and found.megabytes > MOST_MB:
                outcome = Outcome("failed", words=f"{found.megabytes:.0f} MB")
            if outcome.kind != "failed" and found.seconds > MOST_SECONDS:
                outcome = Outcome("failed", words=f"{found.seconds:.1f} s")
            yield case, found._replace(outcome=outcome)


KINDS = ("refused", "equal", "otherwise", "failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files of cases that failed")
    arguments = parser.parse_args()
    rows: dict[str, list[Measured]] = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for case, found in audit(arguments.cases, arguments.seed, Path(folder)):
            rows.setdefault(case.attack, []).append(found)
            if found.outcome.kind == "failed":
                failures.append((case, found))
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"case-{len(failures)}").write_bytes(case.content)
    print("| attack | tries | refused | equal | otherwise | failed | peak MB | slowest s |")
    print("|---|---|---|---|---|---|---|---|")
    everything = [found for part in rows.values() for found in part]
    for name, part in [*sorted(rows.items()), ("all", everything)]:
        counted = [sum(found.outcome.kind == kind for found in part) for kind in KINDS]
        peak, slowest = max(f.megabytes for f in part), max(f.seconds for f in part)
        print(
            f"| {name} | {len(part)} | {' | '.join(map(str, counted))} | {peak:.0f} "
            f"| {slowest:.1f} |"
        )
    for case, found in failures:
        print(f"\n{case.attack} | {case.target} | {case.what}\n    {found.outcome.words[:300]}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
