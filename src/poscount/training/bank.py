"""A bank of what a method said about many tasks whose truth is known.

The bank is a folder with one file for every dozen tasks of a source. Each task has a random
stream of its own, so a bank that was interrupted goes on where it stopped, and the number of
processes does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from poscount.calibration.calibration import RECOGNISABLE
from poscount.errors import FileError
from poscount.files.arrow import pyarrow
from poscount.methods.regions.features import feature_names
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.rcq import RCQ
from poscount.methods.regions.subclass_features import SUBCLASS_FEATURES
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.methods.regions.target_features import OTHER_FEATURES, TARGET_FEATURES
from poscount.seeds import stream
from poscount.storage import container
from poscount.training.drift_tasks import draw_drift_task
from poscount.training.recognisable import LEAST_AREA, MOST_ROWS, areas, recognisable
from poscount.training.recorded import draw_tolerance, record_differently
from poscount.training.sources import Source
from poscount.training.target_tasks import TargetTask, draw_target_samples, draw_target_task
from poscount.training.tasks import (
    Limits,
    Sample,
    Task,
    draw_gaps,
    draw_margins,
    draw_mixture,
    draw_parity,
    draw_real,
    draw_reference,
    draw_regression,
    draw_samples,
)

PART = 12
FAMILIES: dict[str, Callable[[np.random.Generator, Limits], Task]] = {
    "mixture": draw_mixture,
    "regression": draw_regression,
    "margins": draw_margins,
    "parity": draw_parity,
    "gaps": draw_gaps,
}
# Of a family with larger tasks than others have: so many times as many positives and rows.
LARGE, MORE_LABELED, MORE_ROWS = "gaps", 10, 2
COLUMNS = {
    "RCQ": [*feature_names(learned=False), RECOGNISABLE],
    "RCQ-reference": [*feature_names(learned=True), RECOGNISABLE],
    "RCQ-kinds": [*SUBCLASS_FEATURES, RECOGNISABLE],
    "RCQ-groups": [*TARGET_FEATURES, RECOGNISABLE],
    "RCQ-other": [*OTHER_FEATURES, RECOGNISABLE],
}
LIMITS = {
    "RCQ": Limits(n_labeled=5_000, n_rows=50_000, n_samples=2),
    # Learning a score takes half a second, for each sample and for a reference of other rows.
    "RCQ-reference": Limits(n_labeled=3_000, n_rows=20_000, n_samples=2),
    # A dozen models are learned for each task, three times.
    "RCQ-kinds": Limits(n_labeled=3_000, n_rows=3_000, n_samples=3, drift=True),
    # A model for each of up to ten groups, so that learning takes longer than many samples.
    "RCQ-groups": Limits(n_labeled=500, n_rows=3_000, n_samples=6),
}
# What is said about "other" is in the bank of the groups.
BANK_OF = {"RCQ-other": "RCQ-groups"}


@dataclass(frozen=True)
class Bank:
    """What a method said about samples, and the truth.

    Attributes
    ----------
    method : str
        A key of `COLUMNS`.
    columns : list of str
        Names of the columns of the lines.
    lines : ndarray of shape (n_samples, n_columns)
        What its regions said.
    truth : ndarray
        Prevalence of each sample.
    source, kin : ndarray of str
        Where its task came from, and which sources are of the same data.
    task : ndarray of int
        Number of the task within its source.
    """

    method: str
    columns: list[str]
    lines: np.ndarray
    truth: np.ndarray
    source: np.ndarray
    kin: np.ndarray
    task: np.ndarray

    def part(self, kept: np.ndarray) -> Bank:
        """The samples that `kept` chooses."""
        arrays = (self.lines, self.truth, self.source, self.kin, self.task)
        return Bank(self.method, self.columns, *(array[kept] for array in arrays))


def draw_task(
    source: Source | str, limits: Limits, seed: int, number: int
) -> tuple[Task, list[Sample]]:
    """A task and its samples, by its number."""
    name = source if isinstance(source, str) else source.name
    rng = stream(seed, f"{name} {number}")
    if source == LARGE:
        limits = limits._replace(
            n_labeled=MORE_LABELED * limits.n_labeled, n_rows=MORE_ROWS * limits.n_rows
        )
    if isinstance(source, str):
        task = FAMILIES[source](rng, limits)
    else:
        task = (draw_drift_task if limits.drift else draw_real)(source, rng, limits)
    return task, list(draw_samples(task, rng, limits))


def make_bank(
    folder: Path,
    method: str,
    sources: Iterable[tuple[Source | str, int]],
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Path]:
    """Make a bank, or what is missing of it.

    Parameters
    ----------
    folder : Path
    method : str
        A key of `COLUMNS`.
    sources : iterable of pairs
        A source, or the name of a synthetic family, and the number of its tasks.
    seed : int
    n_jobs, verbose
        As in joblib.

    Returns
    -------
    list of Path
        Its files; the folder may hold others, of other sources.
    """
    folder.mkdir(parents=True, exist_ok=True)
    method = BANK_OF.get(method, method)
    planned = [*sources]
    most = max(n_tasks for _, n_tasks in planned)
    # One part of each source after the other, so that an interrupted bank has some of each.
    return Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_make_part)(
            folder, method, LIMITS[method], source, range(start, min(start + PART, n_tasks)), seed
        )
        for start in range(0, most, PART)
        for source, n_tasks in planned
        if start < n_tasks
    )


def _make_part(
    folder: Path,
    method: str,
    limits: Limits,
    source: Source | str,
    numbers: range,
    seed: int,
) -> Path:
    name, kin = (source, source) if isinstance(source, str) else (source.name, source.kin)
    path = folder / f"{name}-{numbers.start:05d}-{numbers.stop:05d}.bank"
    columns = COLUMNS[method]
    # A table that has changed, or another one of this name, is another source.
    content = {} if isinstance(source, str) else {"x": source.features, "y": source.classes}
    if not isinstance(source, str) and source.words:
        content["words"] = np.array(source.words)
    meta = {
        "method": method,
        "source": name,
        "kin": kin,
        "content": container.digest({}, content),
        "seed": seed,
        "columns": columns,
    }
    if path.exists():
        found, _ = container.read(path, "bank")
        if {key: found.get(key) for key in meta} != meta:
            raise FileError(
                "this part of the bank was made for another method, with another seed, from other "
                "data or by another version: choose an empty folder.",
                file=str(path),
            )
        return path
    if method == "RCQ-groups":
        said = [_lines_of_groups(source, limits, seed, number) for number in numbers]
        arrays = _as_arrays(numbers, [groups for groups, _ in said], columns)
        of_other = _as_arrays(numbers, [other for _, other in said], COLUMNS["RCQ-other"])
        arrays |= {f"other {name}": array for name, array in of_other.items()}
    else:
        arrays = _as_arrays(
            numbers, [_lines_of_task(method, source, limits, seed, n) for n in numbers], columns
        )
    container.write(path, "bank", meta, arrays)
    return path


class Labelled(NamedTuple):
    """Lines about the samples of a task, and the truth of each."""

    lines: np.ndarray
    truth: list[float]


def _as_arrays(
    numbers: range, said: Sequence[Labelled], columns: Sequence[str]
) -> dict[str, np.ndarray]:
    """Arrays of a part of a bank, from what was said about each of its tasks."""
    return {
        "lines": np.concatenate([np.empty((0, len(columns))), *(each.lines for each in said)]),
        "truth": np.array([truth for each in said for truth in each.truth], np.float64),
        "task": np.repeat(np.array(numbers, np.int64), [len(each.truth) for each in said]),
    }


def _lines_of_task(
    method: str, source: Source | str, limits: Limits, seed: int, number: int
) -> Labelled:
    """Lines of the samples of one task; none if the method refuses the positives."""
    task, samples = draw_task(source, limits, seed, number)
    name = source if isinstance(source, str) else source.name
    rng = stream(seed, f"{name} {number} lines")
    lines, truth = [], []
    for features, of_samples in _LINES[method](task, samples, rng, seed):
        lines.append(features)
        truth += [sample.prevalence for sample in of_samples]
    if not lines:
        return Labelled(np.empty((0, len(COLUMNS[method]))), [])
    told = np.full(len(truth), recognisable(task, stream(seed, f"{name} {number} recognisable")))
    return Labelled(np.column_stack([np.concatenate(lines), told]), truth)


def _plain_lines(
    task: Task, samples: list[Sample], rng: np.random.Generator, seed: int
) -> Iterator[tuple[np.ndarray, list[Sample]]]:
    """Lines of all samples; and of the first one if the user allows for other recording."""
    model = _fit_rcq(task, None, seed)
    if model is None:
        return
    yield _features(model, task, samples), samples
    yield _tolerant_lines(model, task, samples[0], rng)


def _lines_with_reference(
    task: Task, samples: list[Sample], rng: np.random.Generator, seed: int
) -> Iterator[tuple[np.ndarray, list[Sample]]]:
    """Lines of the first sample with itself as the reference, and of all with one of other rows.

    In half of the tasks, the user of the first sample allows for other recording; and one more line
    is of such a user with a reference of other rows.
    """
    first, *_ = samples
    tolerance = draw_tolerance(rng) if rng.random() < 0.5 else 0.0
    seen = first
    if tolerance:
        seen = first._replace(rows=record_differently(task, first.rows, tolerance, rng))
    alone = _fit_rcq(task, seen.rows, seed)
    if alone is not None:
        yield _features(alone.set_params(tolerance=tolerance), task, [seen]), [seen]
    others = _fit_rcq(task, draw_reference(task, rng), seed)
    if others is not None:
        yield _features(others, task, samples), samples
        yield _tolerant_lines(others, task, samples[-1], rng)


def _tolerant_lines(
    model: RCQ, task: Task, sample: Sample, rng: np.random.Generator
) -> tuple[np.ndarray, list[Sample]]:
    tolerance = draw_tolerance(rng)
    seen = sample._replace(rows=record_differently(task, sample.rows, tolerance, rng))
    return _features(model.set_params(tolerance=tolerance), task, [seen]), [seen]


def _features(model: RCQ, task: Task, samples: list[Sample]) -> np.ndarray:
    counted = [model.count(as_given(task, sample.rows)) for sample in samples]
    return model._view(*counted).features


def _fit_rcq(task: Task, reference: np.ndarray | None, seed: int) -> RCQ | None:
    """A model; None if RCQ refuses the positives, or has no regions."""
    unlabeled = None if reference is None else as_given(task, reference)
    model = RCQ(calibration="null", tolerance=0.0, random_state=seed)
    try:
        model.fit(as_given(task, task.labeled), unlabeled=unlabeled)
    except ValueError:  # such as: no column varies
        return None
    return model if model.part_.rule.enough_positives else None


def _lines_of_kinds(
    task: Task, samples: list[Sample], rng: np.random.Generator, seed: int
) -> Iterator[tuple[np.ndarray, list[Sample]]]:
    """Lines of all samples without a reference and with one of other rows, if there are kinds.

    And of the first sample with itself as the reference.
    """
    first, *_ = samples
    given = np.asarray if task.kinds is None else table_of
    for reference, seen in (
        (None, samples),
        (first.rows, [first]),
        (draw_reference(task, rng), samples),
    ):
        model = _fit_kinds(task, None if reference is None else given(reference), seed)
        if model is not None:
            yield model._features(*(model.count(given(sample.rows)) for sample in seen)), seen


_LINES = {
    "RCQ": _plain_lines,
    "RCQ-reference": _lines_with_reference,
    "RCQ-kinds": _lines_of_kinds,
}


def _lines_of_groups(
    source: Source | str, limits: Limits, seed: int, number: int
) -> tuple[Labelled, Labelled]:
    """What is said about the groups of a task with several of them, and about "other"."""
    name = source if isinstance(source, str) else source.name
    rng = stream(seed, f"{name} {number} groups")
    task = draw_target_task(source, rng, limits)
    samples = draw_target_samples(task, rng, limits)
    # In the order of the model, which is that of the names.
    labeled = {f"group {k:02d}": rows for k, rows in enumerate(task.labeled)}
    try:
        model = MultiRCQ(calibration="null", random_state=seed).fit(labeled)
    except ValueError:  # such as: rows of a group are too much alike
        methods = ("RCQ-groups", "RCQ-other")
        none = [Labelled(np.empty((0, len(COLUMNS[name]))), []) for name in methods]
        return none[0], none[1]
    found = model._features(*(model.count(sample.rows) for sample in samples))
    told = _recognisable_groups(task, stream(seed, f"{name} {number} recognisable"))
    shares = np.array([sample.shares for sample in samples])
    of_groups, of_other = (
        np.column_stack([lines, np.full(len(lines), told)])
        for lines in (np.concatenate(found.groups), found.other)
    )
    return (
        Labelled(of_groups, shares.T.ravel().tolist()),
        Labelled(of_other, (1 - shares.sum(axis=1)).tolist()),
    )


def _recognisable_groups(task: TargetTask, rng: np.random.Generator) -> bool:
    """Whether every group can be told from everything else."""
    rows = [
        draw(min(MOST_ROWS, most), rng)
        for draw, most in zip(task.pools, task.available.tolist(), strict=True)
    ]
    classes = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    return bool(areas(np.concatenate(rows), classes, rng)[: len(task.labeled)].min() >= LEAST_AREA)


def _fit_kinds(task: Task, unlabeled: Any, seed: int) -> SubclassRCQ | None:
    """A model; None if the positives are refused, have no regions or are of one kind."""
    labeled, subclasses = task.labeled, "auto"
    if task.kinds is not None:
        labeled, subclasses = table_of(labeled).append_column("kind", [task.kinds]), "kind"
    model = SubclassRCQ(subclasses, calibration="null", random_state=seed)
    try:
        model.fit(labeled, unlabeled=unlabeled)
    except ValueError:  # such as: no column varies
        return None
    return model if model.part_.rule.enough_positives and model.subclass_parts_ else None


def as_given(task: Task, rows: np.ndarray) -> Any:
    """Rows of a task, as a table if some of its columns hold words."""
    return table_of(rows, task.words) if task.words else rows


def table_of(rows: np.ndarray, words: Sequence[int] = ()) -> Any:
    """A table of numbers, and of codes of words as words."""
    pa = pyarrow()
    columns = {}
    for j, values in enumerate(rows.T):
        if j in words:
            codes = pa.array(np.nan_to_num(values).astype(np.int32), mask=np.isnan(values))
            known = [f"word {code}" for code in range(int(np.nanmax(values, initial=0)) + 1)]
            columns[f"x{j}"] = pa.DictionaryArray.from_arrays(codes, known)
        else:
            columns[f"x{j}"] = values
    return pa.table(columns)


def read_bank(files: Sequence[Path], method: str | None = None) -> Bank:
    """The bank that these files hold; that of "RCQ-other" is in the files of "RCQ-groups"."""
    parts, made_for = [], []
    for path in files:
        meta, arrays = container.read(path, "bank")
        if method in BANK_OF:
            meta |= {"method": method, "columns": COLUMNS[method]}
            arrays = {name: arrays[f"other {name}"] for name in ("lines", "truth", "task")}
        n = len(arrays["truth"])
        names = (np.full(n, meta[key]) for key in ("source", "kin"))
        parts.append((arrays["lines"], arrays["truth"], *names, arrays["task"]))
        made_for.append((meta["method"], meta["columns"]))
    if not made_for or any(other != made_for[0] for other in made_for):
        raise ValueError("These files are no bank of one method and one version.")
    return Bank(*made_for[0], *(np.concatenate(part) for part in zip(*parts, strict=True)))
