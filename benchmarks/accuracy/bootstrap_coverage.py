"""Coverage of the 95 % intervals of transductive methods, for several ways to make them.

python -m benchmarks.accuracy.bootstrap_coverage                       # BBE and DEDPUL on four sets
python -m benchmarks.accuracy.bootstrap_coverage --methods tice --datasets W --replicates 100

The replicates are drawn with replacement ("bootstrap"), or are halves of the rows ("half"). An
interval is made of their percentiles, of these mirrored at the estimate ("basic"), of their
standard deviation ("normal"), or of their root mean square distance to the estimate ("rms").
"""

from __future__ import annotations

import argparse
from itertools import islice

import numpy as np
from scipy.special import ndtri

from benchmarks.accuracy.paper_samples import Task, experiment_1
from benchmarks.printing import print_rows
from poscount import registry
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.seeds import stream

CONFIDENCE = 0.95
FORMS = ("percentile", "basic", "normal", "rms")


def redraw(rows: np.ndarray, way: str, generator: np.random.Generator) -> np.ndarray:
    if way == "bootstrap":
        return rows[generator.integers(len(rows), size=len(rows))]
    return rows[generator.permutation(len(rows))[: (len(rows) + 1) // 2]]


def ends(value: float, replicates: np.ndarray, form: str) -> tuple[float, float]:
    low, high = np.quantile(replicates, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    if form == "percentile":
        return float(min(low, value)), float(max(high, value))
    if form == "basic":
        return max(0.0, min(2 * value - high, value)), min(1.0, max(2 * value - low, value))
    spread = (
        replicates.std(ddof=1) if form == "normal" else np.sqrt(np.mean((replicates - value) ** 2))
    )
    half_width = ndtri((1 + CONFIDENCE) / 2) * spread
    return max(0.0, value - half_width), min(1.0, value + half_width)


def evaluate(
    method: str, task: Task, n_replicates: int
) -> dict[tuple[str, str], tuple[bool, float]]:
    """Whether each kind of interval holds the truth, and its width."""
    model: TransductiveQuantifier = registry.method(method)(random_state=0)
    value = float(model.fit(task.positives).quantify(task.sample))
    results = {}
    for way in ("bootstrap", "half"):
        replicates = []
        for i in range(n_replicates):
            generator = stream(0, f"{way} {i}")
            redrawn = [redraw(rows, way, generator) for rows in (task.positives, task.sample)]
            replicates.append(model._estimate_from(*redrawn, generator).value[0])
        for form in FORMS:
            low, high = ends(value, np.array(replicates), form)
            results[way, form] = (low <= task.truth <= high, 100 * (high - low))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["bbe", "dedpul"])
    parser.add_argument("--datasets", nargs="+", default=["W", "P", "R", "L"])
    parser.add_argument("--every", type=int, default=5, help="take every n-th of 55 samples a set")
    parser.add_argument("--replicates", type=int, default=40)
    arguments = parser.parse_args()
    rows = []
    for method in arguments.methods:
        by_set = {
            letter: [
                evaluate(method, task, arguments.replicates)
                for task in islice(experiment_1(letter, 102), 0, None, arguments.every)
            ]
            for letter in arguments.datasets
        }
        for kind in next(iter(by_set.values()))[0]:
            found = {x: np.array([r[kind] for r in results]) for x, results in by_set.items()}
            covered, width = np.concatenate(list(found.values())).mean(axis=0)
            each = " ".join(f"{letter} {x[:, 0].mean():.2f}" for letter, x in found.items())
            rows.append([method, *kind, f"{covered:.3f}", f"{width:.1f}", each])
    head = ["method", "replicates", "interval", "coverage of 95 %", "mean width"]
    print_rows(rows, [*head, "coverage by set"])


if __name__ == "__main__":
    main()
