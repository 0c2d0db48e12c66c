"""Run what a results file lacks, on all cores.

A unit of work is one model at one place: it is fitted for each sample there, because each has its
own positives.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from poscount.seeds import stream
from research import datasets
from research.datasets import DataSet
from research.experiments import methods, protocols
from research.experiments.acc import ACC
from research.experiments.methods import Method
from research.experiments.protocols import Place, Sample
from research.experiments.store import Evaluation, Store


class RunProgress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Units of work of this run: models fitted at one place, each with eleven samples.
    failed : int
        Evaluations of this run that failed; the results file has their messages.
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
    command: str = "",
) -> Generator[RunProgress, None, None]:
    """Evaluate methods on the samples of experiments, and store each result as it arrives.

    Only what the file lacks is computed. You can stop it at any moment and call it again to resume.

    Parameters
    ----------
    store : Store
    experiments : sequence of str
        Keys of `research.experiments.PROTOCOLS`.
    dataset_names : sequence of str
        As `research.datasets.load` takes them.
    method_names : sequence of str
        Names in the registry, also with parameters (``pat:q=0.5``); names of the paper's variants;
        or the groups "paper", "scorers" and "all".
    seed : int
        Seed of the store.
    repetitions : int, optional
        As many as in the paper by default. Results do not depend on it: a higher number later adds
        to them.
    n_jobs : int, optional
        Processes; -1 for all cores. Results do not depend on it.
    command : str
        The command to record for this run in the file.

    Yields
    ------
    RunProgress
        Once at the start, and after each unit of work.

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
    wanted = methods.select(method_names)
    loaded = {dataset.key: dataset for dataset in map(datasets.load, dataset_names)}
    places = list(_places(experiments, loaded, seed, repetitions))
    for dataset in loaded.values():
        store.note(dataset)
    missing = _missing(places, wanted, store)
    yield RunProgress(0, len(missing), 0, None)
    if not missing:
        return
    store.begin(command)
    workers = effective_n_jobs(n_jobs)
    yield from _stored(store, missing, _finished(missing, loaded, seed, workers), workers)


class Unit(NamedTuple):
    """A place, and the methods that one model answers for."""

    place: Place
    methods: tuple[Method, ...]

    @property
    def model(self) -> str:
        """The model behind the methods."""
        return self.methods[0].model


def evaluate(dataset: DataSet, unit: Unit, seed: int) -> list[Evaluation]:
    """Evaluate a unit: a row for each sample and method; a failure is a row with its message."""
    name = "/".join(map(str, unit.place[1:]))
    # A seed of its own, so that results do not depend on the order of the work.
    model_seed = int(stream(seed, f"{name}/{unit.model}").integers(2**32))
    model = methods.make(unit.model, model_seed, dataset.key)
    ask = model.quantify if hasattr(model, "quantify") else model.classify_and_count
    needs_negatives = isinstance(model, ACC)
    rows: list[Evaluation] = []
    with warnings.catch_warnings():
        # Our own warnings are part of the answers; these are other libraries'.
        warnings.simplefilter("ignore")
        for positives, sample in protocols.evaluations(dataset, unit.place, seed):
            known = [positives]
            if needs_negatives:
                known.append(protocols.negatives(dataset, unit.place, seed, sample.point))
            if unit.place.experiment == "4" and not rows:
                # The first calls load compiled code, which is not part of the time.
                with suppress(Exception):  # the second ones fail as well, and are recorded
                    model.fit(*known)
                    ask(sample.rows)
            start = time.process_time()
            try:
                model.fit(*known)
            except Exception as error:
                rows += _failed(unit, sample, len(positives), error)
                continue
            fit_seconds = time.process_time() - start
            start = time.process_time()
            try:
                answer = ask(sample.rows)
            except Exception as error:
                rows += _failed(unit, sample, len(positives), error, fit_seconds)
                continue
            times = {"fit_seconds": fit_seconds, "seconds": time.process_time() - start}
            rows += [
                _row(unit, method, sample, len(positives), **_answer(method, answer), **times)
                for method in unit.methods
            ]
    return rows


def _answer(method: Method, answer: Any) -> dict[str, Any]:
    """The columns that hold an answer: a prevalence, or the oracle's shares by threshold."""
    if isinstance(answer, np.ndarray):
        return {"curve": _bytes(answer)}
    interval = answer.interval
    return {
        "estimate": float(answer.details[method.answer] if method.answer else answer),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "warnings": " ".join(caution.code for caution in answer.warnings),
        "curve": _bytes(answer.details["curve"]) if "q" in answer.details else None,
    }


def _bytes(curve: np.ndarray) -> bytes:
    return np.asarray(curve, dtype="<f8").tobytes()


def _failed(
    unit: Unit,
    sample: Sample,
    n_labeled: int,
    error: Exception,
    fit_seconds: float | None = None,
) -> list[Evaluation]:
    columns = {"error": f"{type(error).__name__}: {error}", "fit_seconds": fit_seconds}
    return [_row(unit, method, sample, n_labeled, **columns) for method in unit.methods]


def _row(unit: Unit, method: Method, sample: Sample, n_labeled: int, **columns: Any) -> Evaluation:
    place = unit.place
    return Evaluation(
        place.experiment,
        place.dataset,
        method.name,
        place.negative,
        place.repetition,
        place.fold,
        sample.point,
        truth=sample.truth,
        n_labeled=n_labeled,
        n_unlabeled=len(sample.rows),
        **columns,
    )


def _places(
    experiments: Iterable[str],
    loaded: Mapping[str, DataSet],
    seed: int,
    repetitions: int | None,
) -> Iterator[Place]:
    """All places by repetition, so that an interrupted run has something of every data set."""
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


class _Finished(NamedTuple):
    model: str
    rows: list[Evaluation]
    seconds: float


def _finished(
    units: list[Unit], loaded: Mapping[str, DataSet], seed: int, workers: int
) -> Iterator[_Finished]:
    if workers == 1:
        for unit in units:
            yield _timed(loaded[unit.place.dataset], unit, seed)
        return
    # joblib lets the workers share the arrays of a data set.
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(
        delayed(_timed)(loaded[unit.place.dataset], unit, seed) for unit in units
    )


def _timed(dataset: DataSet, unit: Unit, seed: int) -> _Finished:
    start = time.perf_counter()
    rows = evaluate(dataset, unit, seed)
    return _Finished(unit.model, rows, time.perf_counter() - start)


def _stored(
    store: Store, units: list[Unit], results: Iterator[_Finished], workers: int
) -> Iterator[RunProgress]:
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
        yield RunProgress(done, len(units), failed, ahead / workers)
