"""A bank of what a method said about many tasks whose truth is known.

The bank is a folder with one file for every hundred tasks of a source. Each task has a random stream
of its own, so a bank that was interrupted goes on where it stopped, and the number of processes does
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from poscount import container
from poscount.errors import FileError
from poscount.experience.sources import Source
from poscount.experience.tasks import Task, draw_mixture, draw_real, draw_regression, draw_samples
from poscount.reusable.rcq import RCQ
from poscount.reusable.region_profile import PROFILE
from poscount.seeds import stream

PART = 100
FAMILIES: dict[str, Callable[[np.random.Generator], Task]] = {
    "mixture": draw_mixture,
    "regression": draw_regression,
}


class Bank(NamedTuple):
    """What a method said about samples, and the truth.

    Attributes
    ----------
    lines : ndarray of shape (n_samples, n_columns)
        What the regions said.
    truth : ndarray
        Prevalence of each sample.
    source, kin : ndarray of str
        Where its task came from, and which sources are of the same data.
    task : ndarray of int
        Number of the task within its source.
    """

    lines: np.ndarray
    truth: np.ndarray
    source: np.ndarray
    kin: np.ndarray
    task: np.ndarray

    def where(self, kept: np.ndarray) -> Bank:
        """The samples for which `kept` is true."""
        return Bank(*(column[kept] for column in self))


def draw_task(source: Source | str, seed: int, number: int) -> tuple[Task, np.random.Generator]:
    """A task by its number, and the stream that its samples are drawn from."""
    name = source if isinstance(source, str) else source.name
    rng = stream(seed, f"{name} {number}")
    return (FAMILIES[source](rng) if isinstance(source, str) else draw_real(source, rng)), rng


def make_bank(
    folder: Path,
    sources: Iterable[tuple[Source | str, int]],
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> None:
    """Make a bank, or what is missing of it.

    Parameters
    ----------
    folder : Path
    sources : iterable of pairs
        A source, or the name of a synthetic family, and the number of its tasks.
    seed : int
    n_jobs, verbose
        As in joblib.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        (source, start, min(start + PART, n_tasks))
        for source, n_tasks in sources
        for start in range(0, n_tasks, PART)
    ]
    Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_make_part)(folder, source, start, stop, seed) for source, start, stop in parts
    )


def _make_part(folder: Path, source: Source | str, start: int, stop: int, seed: int) -> None:
    name, kin = (source, source) if isinstance(source, str) else (source.name, source.kin)
    path = folder / f"{name}-{start:05d}-{stop:05d}.bank"
    meta = {"source": name, "kin": kin, "seed": seed, "columns": PROFILE}
    if path.exists():
        found, _ = container.read(path, "bank")
        if {key: found[key] for key in meta} != meta:
            raise FileError(
                "this part of the bank was made with another seed or another version: choose an "
                "empty folder.",
                file=str(path),
            )
        return
    lines, truth, numbers = [np.empty((0, len(PROFILE)))], [], []
    for number in range(start, stop):
        task, rng = draw_task(source, seed, number)
        samples = list(draw_samples(task, rng))
        try:
            model = RCQ(random_state=seed).fit(task.labeled)
        except ValueError:
            continue  # no column varies among the positives
        if not model.regions.enough_positives:
            continue
        lines.append(model.profile(*(model.count(sample.rows) for sample in samples)))
        truth += [sample.prevalence for sample in samples]
        numbers += [number] * len(samples)
    arrays = {
        "lines": np.concatenate(lines),
        "truth": np.array(truth),
        "task": np.array(numbers, np.int64),
    }
    container.write(path, "bank", meta, arrays)


def read_bank(folder: Path) -> Bank:
    """All parts of a bank."""
    parts = []
    for path in sorted(folder.glob("*.bank")):
        meta, arrays = container.read(path, "bank")
        n = len(arrays["truth"])
        names = (np.full(n, meta[key]) for key in ("source", "kin"))
        parts.append(Bank(arrays["lines"], arrays["truth"], *names, arrays["task"]))
    if not parts:
        raise FileError("there is no bank in this folder.", file=str(folder))
    return Bank(*(np.concatenate(column) for column in zip(*parts, strict=True)))
