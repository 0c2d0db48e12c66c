"""PE, pen-L1 and AlphaMax: error on the paper's Experiment #1, time against plain code, growth.

python benchmarks/kernel_methods.py accuracy [--datasets W P] [--repetitions 1]
python benchmarks/kernel_methods.py speed
python benchmarks/kernel_methods.py growth
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import paper_data
from poscount import PE, AlphaMax, PenL1
from research.datasets import load
from poscount.seeds import stream
from poscount.transductive import alphamax, pen_l1
from poscount.transductive.classifier_scores import out_of_fold_scores

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from plain import alphamax as plain_alphamax
from plain import pe as plain_pe
from plain import pen_l1 as plain_pen_l1

FORMS = {
    "PE, published": lambda seed: PE(published=True, random_state=seed),
    "PE": lambda seed: PE(random_state=seed),
    "PenL1": lambda seed: PenL1(random_state=seed),
    "AlphaMax": lambda seed: AlphaMax(random_state=seed),
    "AlphaMax, published knee": lambda seed: AlphaMax(knee="published", random_state=seed),
}


def cpu_seconds(task: Callable[[], object], repeats: int = 1) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return float(np.median(times))


def accuracy(forms: list[str], datasets: list[str], repetitions: int) -> None:
    references = {"PE, published": paper_data.published("PE")}
    better_en = min(
        np.mean([paper_data.published(name)[letter] for letter in paper_data.PAPER_SETS])
        for name in ("EN_auto", "EN_scale")
    )
    print("| form | set | MAE | sd | bias | published | bound | CPU s a sample |")
    print("|---|---|---|---|---|---|---|---|")
    for name in forms:
        means = []
        for letter in datasets:
            errors, seconds, previous = [], 0.0, None
            for repetition in range(repetitions):
                for task in paper_data.experiment_1(letter, repetition):
                    if (repetition, task.fold) != previous:
                        model = FORMS[name](repetition).fit(task.positives)
                        previous = (repetition, task.fold)
                    start = time.process_time()
                    p = float(model.quantify(task.sample))
                    seconds += time.process_time() - start
                    errors.append(100 * (p - task.truth))
            size, known = np.abs(errors), references.get(name, {}).get(letter)
            means.append(size.mean())
            beside = f"{known:.2f} | {max(1.5, 0.15 * known):.2f}" if known else " | "
            print(
                f"| {name} | {letter} | {size.mean():.2f} | {size.std():.2f} "
                f"| {np.mean(errors):+.2f} | {beside} | {seconds / len(errors):.3f} |",
                flush=True,
            )
        print(f"| {name} | mean | {np.mean(means):.2f} | | | | better EN {better_en:.2f} | |")


def htru2(n_labeled: int, n_unlabeled: int) -> tuple[np.ndarray, np.ndarray]:
    """Half positives; where the data run out of rows, they are drawn again with a little noise."""
    data = load("R")
    rng = np.random.default_rng(0)
    positives, negatives = (
        rng.permutation(data.features[data.labels == label]) for label in ("1", "0")
    )
    spread = 0.01 * data.features.std(axis=0)
    parts = []
    for rows in (positives[n_labeled:], negatives):
        size = n_unlabeled // 2
        rows = rows[:size] if size <= len(rows) else rows[rng.integers(len(rows), size=size)]
        parts.append(rows + spread * rng.normal(size=rows.shape) * (size > len(rows)))
    return positives[:n_labeled], np.vstack(parts)


def speed() -> None:
    positives, sample = htru2(330, 2000)
    print("| method | CPU s a sample | plain CPU s | ratio |")
    print("|---|---|---|---|")
    for name, plain in {
        "PE": lambda: plain_pe.estimate(positives, sample, stream(0, "estimate")),
        "PenL1": lambda: plain_pen_l1.curve(positives, sample, stream(0, "estimate"), pen_l1.GRID),
    }.items():
        model = FORMS[name](0).fit(positives)
        model.quantify(sample)
        fast = cpu_seconds(lambda model=model: model.quantify(sample), 7)
        slow = cpu_seconds(plain)
        print(f"| {name} | {fast:.3f} | {slow:.2f} | {slow / fast:.0f} |", flush=True)
    model = FORMS["AlphaMax"](0).fit(positives)
    model.quantify(sample)
    scores = out_of_fold_scores(None, positives, sample, stream(0, "estimate"))
    whole = cpu_seconds(lambda: model.quantify(sample), 7)
    classifier = cpu_seconds(
        lambda: out_of_fold_scores(None, positives, sample, stream(0, "estimate")), 7
    )
    edges = model.quantify(sample).details["edges"]
    shares = [np.histogram(x, edges)[0] + 1 / (len(edges) - 1) for x in scores]
    shares = [x / x.sum() for x in shares]
    fast = cpu_seconds(lambda: alphamax.falls(*shares, alphamax.GRID), 7)
    slow = cpu_seconds(lambda: [plain_alphamax.maximum(*shares, r) for r in alphamax.GRID])
    print(f"| AlphaMax's curve | {fast:.4f} | {slow:.2f} | {slow / fast:.0f} |")
    print(f"AlphaMax in all {whole:.3f} s, its classifier alone {classifier:.3f} s")


def growth() -> None:
    print("| method | n_L | n_U | features | CPU s | peak MB of the process |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    cases = [(*htru2(330, n), n) for n in (500, 1000, 2000, 4000, 16000, 64000)]
    for n_features in (2, 32, 128, 500):
        positives, sample = rng.normal(size=(330, n_features)), rng.normal(size=(2000, n_features))
        sample[1000:] += 2 / np.sqrt(n_features)
        cases.append((positives, sample, 2000))
    cases.append((rng.normal(size=(5000, 8)), rng.normal(size=(2000, 8)) + 0.5, 2000))
    for name in ("PE", "PenL1", "AlphaMax"):
        FORMS[name](0).fit(cases[0][0]).quantify(cases[0][1])
    for positives, sample, n in cases:
        for name in ("PE", "PenL1", "AlphaMax"):
            model = FORMS[name](0).fit(positives)
            seconds = cpu_seconds(lambda model=model, sample=sample: model.quantify(sample))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            shape = f"{len(positives)} | {n} | {positives.shape[1]}"
            print(f"| {name} | {shape} | {seconds:.3f} | {peak:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["accuracy", "speed", "growth"])
    parser.add_argument("--forms", nargs="+", default=list(FORMS))
    parser.add_argument("--datasets", nargs="+", default=list(paper_data.PAPER_SETS))
    parser.add_argument("--repetitions", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.what == "accuracy":
        accuracy(arguments.forms, arguments.datasets, arguments.repetitions)
    else:
        {"speed": speed, "growth": growth}[arguments.what]()


if __name__ == "__main__":
    main()
