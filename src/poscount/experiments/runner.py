"""Run what is missing from a results file, on all cores or on a Dask cluster."""

from __future__ import annotations

import functools
import os
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from poscount import datasets
from poscount.datasets import DataSet, data_directory
from poscount.datasets.directory import VARIABLE
from poscount.experiments import methods, protocols
from poscount.experiments.evaluation import Unit, evaluate
from poscount.experiments.methods import Method
from poscount.experiments.protocols import Place
from poscount.experiments.store import Evaluation, Store


class Progress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Units of work of this run: a model fitted once, with its eleven samples.
    failed : int
        Evaluations of this run that failed; their message is in the file.
    seconds_left : float or None
        Estimate, from the time that units of the same model took; None before the first.
    """

    done: int
    total: int
    failed: int
    seconds_left: float | None


def run(
    store: Store,
    experiments: Sequence[str],
    dataset_names: Sequence[str],
    method_names: Sequence[str],
    *,
    seed: int,
    repetitions: int | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    command: str = "",
) -> Generator[Progress, None, None]:
    """Evaluate methods on the samples of experiments, and store each result as it arrives.

    Only what the file lacks is computed. Stop it at any moment and call it again to go on.

    Parameters
    ----------
    store : Store
    experiments : sequence of str
        Keys of `protocols.PROTOCOLS`.
    dataset_names : sequence of str
        As `poscount.datasets.load` takes them.
    method_names : sequence of str
        As `methods.names` takes them.
    seed : int
        Seed of the store.
    repetitions : int, optional
        The paper's, by default. Results do not depend on it: a higher number later adds to them.
    n_jobs : int, optional
        Processes; -1 for all cores. Results do not depend on it.
    client : dask.distributed.Client, optional
        A cluster to work on, instead of processes here.
    command : str
        What the file shall note as the command of this run.

    Yields
    ------
    Progress
        After each unit of work, and once at the start.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with Store(f"{directory}/results.sqlite", seed=0) as store:
    ...         for progress in run(store, ["4"], ["overlap-cluster"], ["pat"], seed=0):
    ...             pass
    ...         store.count()
    11
    """
    wanted = [methods.resolve(name) for name in methods.names(list(method_names))]
    loaded = {dataset.key: dataset for dataset in map(datasets.load, dataset_names)}
    places = list(_places(experiments, loaded, seed, repetitions))
    for dataset in loaded.values():
        store.note(dataset)
    missing = _missing(places, wanted, store)
    yield Progress(0, len(missing), 0, None)
    if not missing:
        return
    store.begin(command)
    if client is None:
        workers = effective_n_jobs(n_jobs)
        results = _on_this_machine(missing, loaded, seed, workers)
    else:
        workers = sum(client.nthreads().values())
        results = _on_dask(missing, loaded, seed, client)
    yield from _stored(store, missing, results, workers)


class _Result(NamedTuple):
    model: str
    rows: list[Evaluation]
    seconds: float


def _places(
    experiments: Sequence[str],
    loaded: Mapping[str, DataSet],
    seed: int,
    repetitions: int | None,
) -> Iterator[Place]:
    """All places, by repetition, so that an interrupted run has something of every data set."""
    for experiment in experiments:
        places = [
            place
            for dataset in loaded.values()
            for place in protocols.places(experiment, dataset, repetitions)
        ]
        for place in sorted(places, key=lambda place: place.repetition):
            protocols.check(loaded[place.dataset], place, seed)
            yield place


def _missing(places: list[Place], wanted: list[Method], store: Store) -> list[Unit]:
    bundles = defaultdict(list)
    for method in wanted:
        bundles[method.model].append(method)
    done = store.done()
    units = []
    for place in places:
        for bundle in bundles.values():
            lacking = tuple(method for method in bundle if (place, method.name) not in done)
            if lacking:
                units.append(Unit(place, lacking))
    return units


def _on_this_machine(
    units: list[Unit], loaded: Mapping[str, DataSet], seed: int, workers: int
) -> Iterator[_Result]:
    if workers == 1:
        for unit in units:
            yield _evaluate(loaded[unit.place.dataset], unit, seed)
        return
    directory = str(data_directory())
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(
        delayed(_evaluate_in_worker)(unit, seed, loaded[unit.place.dataset].sha256, directory)
        for unit in units
    )


def _on_dask(
    units: list[Unit], loaded: Mapping[str, DataSet], seed: int, client: Any
) -> Iterator[_Result]:
    from dask.distributed import as_completed

    # The workers may have no data directory of their own.
    sent = {key: client.scatter(dataset, broadcast=True) for key, dataset in loaded.items()}
    futures = [
        client.submit(_evaluate, sent[unit.place.dataset], unit, seed, pure=False) for unit in units
    ]
    for future in as_completed(futures):  # type: ignore[no-untyped-call]
        yield future.result()
        future.release()


def _evaluate_in_worker(unit: Unit, seed: int, sha256: str, directory: str) -> _Result:
    # joblib keeps workers for later; this one may be older than the caller's settings.
    os.environ[VARIABLE] = directory
    return _evaluate(_load(unit.place.dataset, sha256), unit, seed)


@functools.lru_cache(maxsize=16)
def _load(name: str, sha256: str) -> DataSet:
    """Load a data set; the checksum is here to tell a changed one from the one in memory."""
    return datasets.load(name)


def _evaluate(dataset: DataSet, unit: Unit, seed: int) -> _Result:
    start = time.perf_counter()
    rows = evaluate(dataset, unit, seed)
    return _Result(unit.model, rows, time.perf_counter() - start)


def _stored(
    store: Store, units: list[Unit], results: Iterator[_Result], workers: int
) -> Iterator[Progress]:
    left = Counter(unit.model for unit in units)
    spent: dict[str, float] = defaultdict(float)
    finished: Counter[str] = Counter()
    failed = 0
    for result in results:
        store.add(result.rows)
        left[result.model] -= 1
        finished[result.model] += 1
        spent[result.model] += result.seconds
        failed += sum(row.error is not None for row in result.rows)
        done = finished.total()
        typical = sum(spent.values()) / done
        ahead = sum(
            n * (spent[model] / finished[model] if finished[model] else typical)
            for model, n in left.items()
        )
        yield Progress(done, len(units), failed, ahead / workers)
