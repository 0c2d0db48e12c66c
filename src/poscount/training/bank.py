"""A bank of what a method said about many tasks whose truth is known.

The bank is a folder with one file for every dozen tasks of a source. Each task has a random
stream of its own, so a bank that was interrupted goes on where it stopped, and the number of
processes does not matter.
"""

from __future__ import annotations

import functools
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
from poscount.methods.regions.rcq import RCQ
from poscount.seeds import stream
from poscount.storage import container
from poscount.training.sources import Source
from poscount.training.tasks import (
    Limits,
    Sample,
    Task,
    draw_mixture,
    draw_real,
    draw_reference,
    draw_samples,
    draw_tolerance,
    recognisable,
    record_differently,
)

PART = 12


class Family(NamedTuple):
    """A synthetic source of tasks.

    Attributes
    ----------
    name : str
    draw : callable
        A task, of a generator and limits.
    more_labeled, more_rows : int
        How many times as many positives and rows its tasks may have as others.
    """

    name: str
    draw: Callable[[np.random.Generator, Limits], Task]
    more_labeled: int = 1
    more_rows: int = 1

    @property
    def kin(self) -> str:
        """Sources of the same data: itself."""
        return self.name


# By their names. `research.calibrations` adds families and methods to these.
FAMILIES = {"mixture": Family("mixture", draw_mixture)}
COLUMNS = {
    "RCQ": [*feature_names(learned=False), RECOGNISABLE],
    "RCQ-reference": [*feature_names(learned=True), RECOGNISABLE],
}
LIMITS = {
    "RCQ": Limits(n_labeled=5_000, n_rows=50_000, n_samples=2),
    # Learning a score takes half a second, for each sample and for a reference of other rows.
    "RCQ-reference": Limits(n_labeled=3_000, n_rows=20_000, n_samples=2),
}
# A method whose lines are in the bank of another one.
BANK_OF: dict[str, str] = {}


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
    source: Source | Family | str, limits: Limits, seed: int, number: int, draw: Any = draw_real
) -> tuple[Task, list[Sample]]:
    """A task and its samples, by its number; `draw` makes a task of a source of rows."""
    source = _source(source)
    rng = stream(seed, f"{source.name} {number}")
    if isinstance(source, Family):
        limits = limits._replace(
            n_labeled=source.more_labeled * limits.n_labeled,
            n_rows=source.more_rows * limits.n_rows,
        )
        task = source.draw(rng, limits)
    else:
        task = draw(source, rng, limits)
    return task, list(draw_samples(task, rng, limits))


def _source(source: Source | Family | str) -> Source | Family:
    return FAMILIES[source] if isinstance(source, str) else source


def make_bank(
    folder: Path,
    method: str,
    sources: Iterable[tuple[Source | Family | str, int]],
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
        # With what is found by names, which workers may not have.
        delayed(_make_part)(
            Path(folder),
            method,
            functools.partial(LINES[method], _source(source), LIMITS[method], seed),
            COLUMNS[method],
            _source(source),
            range(start, min(start + PART, n_tasks)),
            seed,
        )
        for start in range(0, most, PART)
        for source, n_tasks in planned
        if start < n_tasks
    )


def _make_part(
    folder: Path,
    method: str,
    lines: Callable[[int], tuple[Labelled, ...]],
    columns: list[str],
    source: Source | Family,
    numbers: range,
    seed: int,
) -> Path:
    path = folder / f"{source.name}-{numbers.start:05d}-{numbers.stop:05d}.bank"
    # A table that has changed, or another one of this name, is another source.
    content = {}
    if isinstance(source, Source):
        content = {"x": source.features, "y": source.classes}
        if source.words:
            content["words"] = np.array(source.words)
    meta = {
        "method": method,
        "source": source.name,
        "kin": source.kin,
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
    said = zip(*map(lines, numbers), strict=True)
    arrays = {
        f"{prefix}{name}": array
        for prefix, of_tasks in zip(("", "other "), said, strict=False)
        for name, array in _as_arrays(numbers, of_tasks).items()
    }
    container.write(path, "bank", meta, arrays)
    return path


class Labelled(NamedTuple):
    """Lines about the samples of a task, and the truth of each."""

    lines: np.ndarray
    truth: list[float]


def _as_arrays(numbers: range, said: Sequence[Labelled]) -> dict[str, np.ndarray]:
    """Arrays of a part of a bank, from what was said about each of its tasks."""
    return {
        "lines": np.concatenate([each.lines for each in said]),
        "truth": np.array([truth for each in said for truth in each.truth], np.float64),
        "task": np.repeat(np.array(numbers, np.int64), [len(each.truth) for each in said]),
    }


def lines_of_task(
    lines_of: Callable[..., Iterator[tuple[np.ndarray, list[Sample]]]],
    n_columns: int,
    draw: Any,
    source: Source | Family,
    limits: Limits,
    seed: int,
    number: int,
) -> tuple[Labelled]:
    """Lines of the samples of one task; none if the method refuses the positives.

    Parameters
    ----------
    lines_of : callable
        Lines and their samples: of a task, its samples, a generator and a seed.
    n_columns : int
        Of the lines, the last one included, which tells whether the task is recognisable.
    draw, source, limits, seed, number
        As in `draw_task`.
    """
    task, samples = draw_task(source, limits, seed, number, draw)
    rng = stream(seed, f"{source.name} {number} lines")
    lines, truth = [], []
    for features, of_samples in lines_of(task, samples, rng, seed):
        lines.append(features)
        truth += [sample.prevalence for sample in of_samples]
    if not lines:
        return (Labelled(np.empty((0, n_columns)), []),)
    generator = stream(seed, f"{source.name} {number} recognisable")
    told = np.full(len(truth), recognisable(task, generator))
    return (Labelled(np.column_stack([np.concatenate(lines), told]), truth),)


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


LINES: dict[str, Callable[..., tuple[Labelled, ...]]] = {
    "RCQ": functools.partial(lines_of_task, _plain_lines, len(COLUMNS["RCQ"]), draw_real),
    "RCQ-reference": functools.partial(
        lines_of_task, _lines_with_reference, len(COLUMNS["RCQ-reference"]), draw_real
    ),
}


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
    """The bank that these files hold, of a method whose lines may be in that of another one."""
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
