"""Coverage of the interval of `compare_samples`, and how often overlap and drift are told apart.

Run it with ``python -m research.tuning.two_samples``: positives of two clusters, 150 of them known,
two samples of 800 rows.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from poscount import RCQ
from poscount.diagnostics.two_samples import compare_samples

N_PAIRS = 40
PREVALENCES = [(0.6, 0.3), (0.3, 0.3), (0.9, 0.2), (0.1, 0.05)]
# Share of the first cluster among the positives of the samples; whether negatives are far away.
KINDS = {"clean": (0.5, True), "overlap": (0.5, False), "drift": (0.15, True)}


def clusters(rng: np.random.Generator, n: int, first: float) -> np.ndarray:
    rows = rng.normal(size=(n, 5))
    rows[rng.random(n) >= first, 0] += 4.0
    return rows


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| kind | p | coverage | width | width of both apart | bias | readings |")
    print("|---|---|---|---|---|---|---|")
    for kind, (first, far) in KINDS.items():
        for pair in PREVALENCES:
            rows = []
            readings: Counter[str] = Counter()
            for seed in range(N_PAIRS):
                rng = np.random.default_rng([seed, 7])
                model = RCQ(random_state=0).fit(clusters(rng, 150, 0.5))
                counts = []
                for p in pair:
                    n = round(800 * p)
                    negatives = clusters(rng, 800 - n, 0.0)
                    if far:
                        negatives += 12.0
                    counts.append(model.count(np.vstack([clusters(rng, n, first), negatives])))
                found = compare_samples(model, *counts)
                truth = round(pair[0] - pair[1], 9)
                apart = np.hypot(*(p.interval.width for p in found.prevalences))
                rows.append(
                    (truth in found.interval, found.interval.width, apart, found.difference - truth)
                )
                readings[found.reading] += 1
            coverage, width, apart, bias = np.mean(rows, axis=0)
            told = ", ".join(f"{name} {count}" for name, count in readings.most_common())
            cells = [kind, f"{pair[0]}, {pair[1]}", f"{coverage:.3f}", f"{width:.3f}"]
            cells += [f"{apart:.3f}", f"{bias:+.3f}", told]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
