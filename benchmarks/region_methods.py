"""TIcE, ExTIcE and RanFocE beside the paper's numbers, and their cost.

python benchmarks/region_methods.py accuracy              # Experiments #1 and #3, 5 repetitions
python benchmarks/region_methods.py accuracy --datasets W --repetitions 1
python benchmarks/region_methods.py speed                 # CPU seconds a sample, growth, memory
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

import paper_data
from poscount import registry
from research.datasets import load
from poscount.transductive import region_search

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from plain import region_search as plain

REFERENCE = {"tice": "TIcE", "extice": "ExTIcE", "ranfoce": "RanFocE"}


def error(method: str, task: paper_data.Task) -> float:
    model = registry.method(method)(random_state=task.repetition).fit(task.positives)
    return 100 * abs(model.quantify(task.sample) - task.truth)


def show(method: str, experiment: str, letter: str, mae: float, slack: tuple[float, float]) -> None:
    known = paper_data.published(REFERENCE[method], experiment)[letter]
    bound = max(slack[0], slack[1] * known)
    verdict = "ok" if abs(mae - known) <= bound else "MISSES"
    print(
        f"| {method} | #{experiment} | {letter} | {mae:.2f} | {known:.2f} | {mae - known:+.2f} "
        f"| {bound:.2f} | {verdict} |",
        flush=True,
    )


def accuracy(methods: list[str], datasets: list[str], repetitions: int) -> None:
    print("| method | experiment | set | MAE | published | difference | bound | |")
    print("|---|---|---|---|---|---|---|---|")
    for method in methods:
        for letter in datasets:
            if method != "ranfoce":
                errors = [
                    error(method, task)
                    for i in range(repetitions)
                    for task in paper_data.experiment_1(letter, i)
                ]
                show(method, "1", letter, float(np.mean(errors)), (0.7, 0.1))
            elif letter in "ALP":
                by_class: dict[str, list[float]] = {}
                for i in range(repetitions):
                    for negative, task in paper_data.experiment_3(letter, i):
                        by_class.setdefault(negative, []).append(error(method, task))
                mae = [float(np.mean(errors)) for errors in by_class.values()]
                show(method, "3a", letter, float(np.median(mae)), (1, 0.15))
                show(method, "3c", letter, max(mae), (1, 0.15))


def seconds(method: str, positives: np.ndarray, sample: np.ndarray, calls: int) -> float:
    model = registry.method(method)(random_state=0).fit(positives)
    model.quantify(sample)
    start = time.process_time()
    for _ in range(calls):
        model.quantify(sample)
    return (time.process_time() - start) / calls


def pulsar(n_unlabeled: int, n_features: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """HTRU2: 330 positives, and a sample of which 30 % are positive.

    Beyond 4000 rows rows are drawn again, and beyond 8 features features repeated, with noise.
    """
    data = load("R")
    rng = np.random.default_rng(0)
    positive = rng.permutation(np.flatnonzero(data.is_positive))
    negative = np.flatnonzero(~data.is_positive)
    again = n_unlabeled > 4000
    n_positives = round(0.3 * n_unlabeled)
    drawn = np.concatenate(
        [
            rng.choice(positive[330:], n_positives, replace=again),
            rng.choice(negative, n_unlabeled - n_positives, replace=again),
        ]
    )
    columns = np.arange(n_features) % data.features.shape[1]
    noise = 0.01 * data.features.std(axis=0)[columns] if again or n_features > 8 else 0.0

    def rows(chosen: np.ndarray) -> np.ndarray:
        wide = data.features[chosen][:, columns]
        return wide + noise * rng.normal(size=wide.shape)

    return rows(positive[:330]), rows(drawn)


def speed(methods: list[str]) -> None:
    positives, sample = pulsar(2000)
    print("| method | compiled, s | numpy, s | plain, s | plain / compiled |")
    print("|---|---|---|---|---|")
    for method in methods:
        fast = seconds(method, positives, sample, 20)
        region_search.can_compile = lambda: False
        numpy_only = seconds(method, positives, sample, 1)
        region_search.can_compile = lambda: True
        start = time.process_time()
        plain.label_frequency(method, positives, sample, seed=0)
        slow = time.process_time() - start
        print(f"| {method} | {fast:.4f} | {numpy_only:.3f} | {slow:.2f} | {slow / fast:.0f} |")
    print("\nCPU seconds a sample by rows of the sample (8 features):")
    for method in methods:
        row = [seconds(method, *pulsar(n), 3) for n in (500, 1000, 2000, 8000, 64000)]
        print(f"| {method} | " + " | ".join(f"{value:.4f}" for value in row) + " |", flush=True)
    print("\nCPU seconds a sample by features (2000 rows): 2, 8, 32, 128, 500")
    for method in methods:
        row = [seconds(method, *pulsar(2000, n), 3) for n in (2, 8, 32, 128, 500)]
        print(f"| {method} | " + " | ".join(f"{value:.4f}" for value in row) + " |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nLargest memory of this process: {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["accuracy", "speed"])
    parser.add_argument("--methods", nargs="+", default=list(REFERENCE))
    parser.add_argument("--datasets", nargs="+", default=list(paper_data.PAPER_SETS))
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "speed":
        speed(arguments.methods)
    else:
        accuracy(arguments.methods, arguments.datasets, arguments.repetitions)


if __name__ == "__main__":
    main()
