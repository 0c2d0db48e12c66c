"""KM1 and KM2: error on the paper's Experiment #1, CPU seconds, growth and memory.

python benchmarks/km_methods.py error                    # resumes from --results if it exists
python benchmarks/km_methods.py error --datasets W --lam-max 8
python benchmarks/km_methods.py speed                    # R, n_U = 2000, beside the plain version
python benchmarks/km_methods.py growth                   # in n_U and in features; peak memory
"""

from __future__ import annotations

import argparse
import csv
import gzip
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import paper_data
from poscount import KM1
from research.datasets import load

FIELDS = ["dataset", "lam_max", "repetition", "fold", "truth", "KM1", "KM2", "seconds"]
METHODS = ("KM1", "KM2")


def measure(arguments: argparse.Namespace) -> None:
    """Quantify sample after sample, and write each answer down as it comes."""
    path = Path(arguments.results)
    done = {tuple(row[name] for name in FIELDS[:5]) for row in read(path)}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for letter in arguments.datasets:
            for repetition in range(arguments.repetitions):
                for task in paper_data.experiment_1(letter, repetition):
                    for lam_max in arguments.lam_max:
                        key = (letter, f"{lam_max:g}", str(repetition), str(task.fold))
                        if (*key, f"{task.truth:.4f}") in done:
                            continue
                        model = KM1(lam_max=lam_max, random_state=repetition).fit(task.positives)
                        start = time.process_time()
                        details = model.quantify(task.sample).details
                        seconds = f"{time.process_time() - start:.3f}"
                        answers = [f"{details[name]:.5f}" for name in METHODS]
                        values = [*key, f"{task.truth:.4f}", *answers, seconds]
                        writer.writerow(dict(zip(FIELDS, values, strict=True)))
                        file.flush()


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def published_bias(method: str) -> dict[str, dict[int, float]]:
    """The authors' mean of truth - estimate in points, by data set and true tenth."""
    table: dict[str, dict[int, float]] = defaultdict(dict)
    path = paper_data.SHARED / "reference" / "authors_results.csv.gz"
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["experiment"] == "1" and row["method"] == method:
                table[row["dataset"]][round(float(row["true_pct"]) / 10)] = float(row["bias_pct"])
    return table


def error(arguments: argparse.Namespace) -> None:
    measure(arguments)
    rows = read(Path(arguments.results))
    print("| method | lam_max | set | n | MAE | sd | published | bound | inside | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for method in METHODS:
        reference = paper_data.published(method)
        for lam_max in arguments.lam_max:
            for letter in arguments.datasets:
                chosen = select(rows, letter, lam_max)
                truth, p, seconds = columns(chosen, "truth", method, "seconds")
                errors = 100 * np.abs(truth - p)
                known = reference[letter]
                bound = max(1.5, 0.15 * known)
                inside = "yes" if abs(errors.mean() - known) <= bound else "NO"
                print(
                    f"| {method} | {lam_max:g} | {letter} | {len(chosen)} | {errors.mean():.2f} "
                    f"| {errors.std():.2f} | {known:.2f} | {bound:.2f} | {inside} "
                    f"| {seconds.mean():.2f} |"
                )
    print("\nMean of truth - estimate in points by true prevalence 0, 10, ..., 100")
    for method in METHODS:
        bias = published_bias(method)
        for letter in arguments.datasets:
            line = " ".join(f"{bias[letter][tenth]:6.1f}" for tenth in range(11))
            print(f"{method} {letter} authors {line}")
            for lam_max in arguments.lam_max:
                truth, p = columns(select(rows, letter, lam_max), "truth", method)
                tenths = np.round(10 * truth).astype(int)
                means = [100 * (truth - p)[tenths == tenth].mean() for tenth in range(11)]
                print(f"{method} {letter} ours {lam_max:3g}" + "".join(f" {m:6.1f}" for m in means))


def select(rows: list[dict[str, str]], letter: str, lam_max: float) -> list[dict[str, str]]:
    return [r for r in rows if r["dataset"] == letter and r["lam_max"] == f"{lam_max:g}"]


def columns(rows: list[dict[str, str]], *names: str) -> list[np.ndarray]:
    return [np.array([float(row[name]) for row in rows]) for name in names]


def pulsars(n_labeled: int, n_sample: int, prevalence: float) -> tuple[np.ndarray, np.ndarray]:
    """Positives and a sample from R of any size; beyond the data set, rows come again."""
    data = load("R")
    rng = np.random.default_rng(0)
    positive = rng.permutation(np.flatnonzero(data.is_positive))
    negative = rng.permutation(np.flatnonzero(~data.is_positive))
    n_positives = int(prevalence * n_sample)
    drawn = [
        np.resize(positive[n_labeled:], n_positives),
        np.resize(negative, n_sample - n_positives),
    ]
    return data.features[positive[:n_labeled]], data.features[np.concatenate(drawn)]


def cpu(positives: np.ndarray, sample: np.ndarray, **parameters: float) -> float:
    model = KM1(random_state=0, **parameters).fit(positives)
    start = time.process_time()
    model.quantify(sample)
    return time.process_time() - start


def speed(arguments: argparse.Namespace) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from plain import km as plain

    cpu(*pulsars(50, 50, 0.5))
    print("CPU seconds a sample, KM1 and KM2 together, R, n_L = 330, n_U = 2000 (2000 rows used)")
    print("| prevalence | lam_max 8 | lam_max 100 |\n|---|---|---|")
    for prevalence in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        rows = pulsars(330, 2000, prevalence)
        print(f"| {prevalence} | {cpu(*rows, lam_max=8):.2f} | {cpu(*rows, lam_max=100):.2f} |")
    positives, sample = pulsars(60, arguments.plain_rows, 0.3)
    fast = cpu(positives, sample, lam_max=8)
    start = time.process_time()
    plain.kernel_means(positives, sample, 8.0)
    slow = time.process_time() - start
    print(
        f"plain version, n_L = 60, n_U = {arguments.plain_rows}: {slow:.2f} s against {fast:.3f} s"
    )
    print(f"ratio {slow / fast:.0f}")


def growth(arguments: argparse.Namespace) -> None:
    print("| n_U | CPU s | peak memory so far, MB |\n|---|---|---|")
    for n_sample in (500, 1000, 2000, 4000, 16000, 64000):
        seconds = cpu(*pulsars(330, n_sample, 0.3))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {n_sample} | {seconds:.2f} | {peak:.0f} |", flush=True)
    print("\n| features | CPU s |\n|---|---|")
    rng = np.random.default_rng(0)
    for n_features in (2, 8, 32, 128, 512):
        positives = rng.normal(size=(330, n_features))
        sample = rng.normal(size=(1670, n_features))
        sample[600:] += 6 / np.sqrt(n_features)
        print(f"| {n_features} | {cpu(positives, sample):.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["error", "speed", "growth"])
    parser.add_argument("--datasets", nargs="+", default=list(paper_data.PAPER_SETS))
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--lam-max", nargs="+", type=float, default=[8.0, 100.0])
    parser.add_argument("--results", default="km_results.csv")
    parser.add_argument("--plain-rows", type=int, default=300)
    arguments = parser.parse_args()
    {"error": error, "speed": speed, "growth": growth}[arguments.what](arguments)


if __name__ == "__main__":
    main()
