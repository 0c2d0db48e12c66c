"""MAE and interval coverage on the paper's Experiment #1, beside the published numbers.

python benchmarks/experiment_1.py                        # PAT and ODIn, six sets, 5 repetitions
python benchmarks/experiment_1.py --datasets W --methods pat --repetitions 1
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed

import paper_data
from poscount import registry

PUBLISHED_AS = {"pat": "PAT_M", "odin": "ODIn_M"}


def evaluate(method: str, letter: str, repetition: int) -> list[tuple[float, float, float, float]]:
    rows = []
    previous = None
    for task in paper_data.experiment_1(letter, repetition):
        if task.fold != previous:
            model = registry.method(method)(random_state=repetition).fit(task.positives)
            previous = task.fold
        p = model.quantify(task.sample)
        rows.append((task.truth, float(p), p.interval.low, p.interval.high))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(PUBLISHED_AS))
    parser.add_argument("--datasets", nargs="+", default=list(paper_data.PAPER_SETS))
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    print("| method | set | MAE | sd | published | difference | coverage of 95 % | mean width |")
    print("|---|---|---|---|---|---|---|---|")
    for method in arguments.methods:
        reference = paper_data.published(PUBLISHED_AS[method])
        covered, widths = [], []
        for letter in arguments.datasets:
            parts = Parallel(n_jobs=-1)(
                delayed(evaluate)(method, letter, i) for i in range(arguments.repetitions)
            )
            truth, p, low, high = np.concatenate(parts).T
            errors = 100 * np.abs(truth - p)
            inside = (low <= truth) & (truth <= high)
            width = 100 * (high - low)
            covered.append(inside)
            widths.append(width)
            known = reference.get(letter, np.nan)
            print(
                f"| {method} | {letter} | {errors.mean():.2f} | {errors.std():.2f} | {known:.2f} "
                f"| {errors.mean() - known:+.2f} | {inside.mean():.3f} | {width.mean():.1f} |",
                flush=True,
            )
        pooled, mean_width = np.concatenate(covered).mean(), np.concatenate(widths).mean()
        print(f"| {method} | all | | | | | {pooled:.3f} | {mean_width:.1f} |")


if __name__ == "__main__":
    main()
