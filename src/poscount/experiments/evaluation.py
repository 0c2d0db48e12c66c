"""One unit of work of an experiment: fit a model at one place, and ask it for all samples there."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from poscount.datasets import DataSet
from poscount.experiments import methods, protocols
from poscount.experiments.methods import Method
from poscount.experiments.protocols import Place, Sample
from poscount.experiments.store import Evaluation
from poscount.seeds import stream


class Unit(NamedTuple):
    """A place, and the methods that one model answers for."""

    place: Place
    methods: tuple[Method, ...]

    @property
    def model(self) -> str:
        """The model behind the methods."""
        return self.methods[0].model


def evaluate(dataset: DataSet, unit: Unit, seed: int) -> list[Evaluation]:
    """Rows of a unit: one for each sample and method; a failure is a row with its message."""
    positives, samples = protocols.draw(dataset, unit.place, seed)
    model = methods.make(unit.model, _model_seed(unit, seed))
    with warnings.catch_warnings():
        # What a method has to say is in the warnings of its answers; the rest is the libraries'.
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            model.fit(positives)
        except Exception as error:
            return list(_failures(unit, samples, len(positives), error))
        fit_seconds = time.process_time() - start
        if unit.place.experiment == "4":
            samples = _warmed_up(model, samples)
        return [
            row._replace(fit_seconds=fit_seconds)
            for sample in samples
            for row in _answers(unit, model, len(positives), sample)
        ]


def _model_seed(unit: Unit, seed: int) -> int:
    """One seed for a model at a place, that no order of work can change."""
    name = "/".join(map(str, unit.place[1:]))
    return int(stream(seed, f"{name}/{unit.model}").integers(2**32))


def _warmed_up(model: Any, samples: Iterator[Sample]) -> Iterator[Sample]:
    """Answer once before the clock matters: compiled code is loaded by its first call."""
    first = next(samples)
    with suppress(Exception):  # it is recorded when it fails again
        _ask(model, first.rows)
    yield first
    yield from samples


def _ask(model: Any, rows: np.ndarray) -> Any:
    return (model.quantify if hasattr(model, "quantify") else model.classify_and_count)(rows)


def _answers(unit: Unit, model: Any, n_labeled: int, sample: Sample) -> Iterator[Evaluation]:
    start = time.process_time()
    try:
        answer = _ask(model, sample.rows)
    except Exception as error:
        yield from _failures(unit, iter([sample]), n_labeled, error)
        return
    seconds = time.process_time() - start
    for method in unit.methods:
        row = _row(unit, method, sample, n_labeled)._replace(seconds=seconds)
        if isinstance(answer, np.ndarray):
            yield row._replace(curve=_bytes(answer))
            continue
        interval = answer.interval
        yield row._replace(
            estimate=float(answer.details[method.answer] if method.answer else answer),
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            warnings=" ".join(caution.code for caution in answer.warnings),
            curve=_bytes(answer.details["curve"]) if "q" in answer.details else None,
        )


def _failures(
    unit: Unit, samples: Iterator[Sample], n_labeled: int, error: Exception
) -> Iterator[Evaluation]:
    message = f"{type(error).__name__}: {error}"
    for sample in samples:
        for method in unit.methods:
            yield _row(unit, method, sample, n_labeled)._replace(error=message)


def _row(unit: Unit, method: Method, sample: Sample, n_labeled: int) -> Evaluation:
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
    )


def _bytes(curve: np.ndarray) -> bytes:
    return np.asarray(curve, dtype="<f8").tobytes()
