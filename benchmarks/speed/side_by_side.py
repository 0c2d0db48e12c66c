"""Rows per second and cost per sample, beside other libraries on the same rows.

Run it with ``python -m benchmarks.speed.side_by_side``; it needs pyod and quapy, and xgboost for
PULSCAR. Everything is fitted on 500 positives of 20 features. Detectors only score: a quantifier on
top of them would cost more. QuaPy's quantifiers need labelled negatives, which they get here, and
nobody else does. Methods that learn from the sample (DEDPUL, BBE, PULSCAR, TRCQ, ExTIcE) start anew
with each sample, so that their rows per second are those of one answer. PULSCAR is PULSNAR for
positives labelled at random, in our reading (`benchmarks/accuracy/peers.py` says how).

CPU seconds of one thread, the medians of runs that take turns. A method that takes longer than the
limit for one answer runs once. The first answer of each is not measured: it imports and compiles.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from pyod.models.ecod import ECOD
from pyod.models.iforest import IForest
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import OneClassSVM
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.paper_samples import Task
from benchmarks.accuracy.peers import pulscar
from poscount import registry

N_FEATURES, N_POSITIVES, SMALL = 20, 500, 2000
Answer = Callable[[np.ndarray], Any]


def data(n_rows: int, seed: int) -> np.ndarray:
    """Rows of which every second one is negative."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, N_FEATURES))
    rows[1::2] += 1
    return rows


POSITIVES = np.random.default_rng(0).standard_normal((N_POSITIVES, N_FEATURES))


def ours(name: str) -> Callable[[], Answer]:
    """A method of poscount: how to fit it, which gives how to ask it."""

    def fit() -> Answer:
        model = registry.method(name)(random_state=0).fit(POSITIVES)
        return model.quantify

    return fit


def detector(make: Callable[[], Any], scores: str) -> Callable[[], Answer]:
    """A detector of outliers, which scores rows."""

    def fit() -> Answer:
        fitted = make().fit(POSITIVES)
        return getattr(fitted, scores)

    return fit


def quapy() -> Answer:
    """Classify and count, the fastest of QuaPy's aggregative quantifiers."""
    from quapy.method.aggregative import CC

    rows = np.vstack([POSITIVES, POSITIVES + 1])
    labels = np.repeat([1, 0], N_POSITIVES)
    return CC(LogisticRegression()).fit(rows, labels).predict


def pulsnar() -> Answer:
    """PULSNAR's default pipeline, which has nothing to fit before it sees a sample."""
    answer = pulscar("xgboost")
    return lambda sample: answer(Task(np.nan, POSITIVES, sample))


METHODS: dict[str, Callable[[], Answer]] = {
    "poscount PAT": ours("pat"),
    "poscount RCQ": ours("rcq"),
    "QuaPy CC, logistic regression": quapy,
    "scikit-learn EllipticEnvelope": detector(
        lambda: EllipticEnvelope(random_state=0), "score_samples"
    ),
    "scikit-learn OneClassSVM": detector(OneClassSVM, "score_samples"),
    "scikit-learn IsolationForest": detector(
        lambda: IsolationForest(random_state=0), "score_samples"
    ),
    "PyOD ECOD": detector(ECOD, "decision_function"),
    "PyOD IForest": detector(lambda: IForest(random_state=0), "decision_function"),
    "poscount BBE": ours("bbe"),
    "poscount DEDPUL": ours("dedpul"),
    "PULSCAR, xgboost": pulsnar,
    "poscount TRCQ": ours("trcq"),
    "poscount ExTIcE": ours("extice"),
}


def seconds(task: Callable[..., Any], sample: np.ndarray | None, later: Any = None) -> float:
    """CPU seconds of an answer; or of a fit, which takes no sample, and its answer later."""
    start = time.process_time()
    if sample is None:
        task()(later)
    else:
        task(sample)
    return time.process_time() - start


def main() -> None:
    """Read the options, and measure in one thread."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of one answer")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Take turns, then print medians."""
    many, few = data(options.rows, 1), data(SMALL, 2)
    methods = dict(METHODS)
    if importlib.util.find_spec("xgboost") is None:
        print("PULSCAR: not installed; pip install xgboost\n")
        del methods["PULSCAR, xgboost"]
    answers = {name: fit() for name, fit in methods.items()}
    for answer in answers.values():
        answer(few)  # imports and compiles
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    for _ in range(options.turns):
        for name, found in times.items():
            if not found or found[0][0] <= options.limit:
                found.append((seconds(answers[name], many), seconds(methods[name], None, few)))
    print(f"| method | rows a second | CPU s, fit and answer for {SMALL:,} rows | runs |")
    print("|---|---|---|---|")
    for name, found in times.items():
        of_many, of_few = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"| {name} | {options.rows / of_many:,.0f} | {of_few:.3f} | {len(found)} |")


if __name__ == "__main__":
    main()
