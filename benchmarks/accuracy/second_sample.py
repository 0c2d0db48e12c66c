"""Whether a second sample of another prevalence tells overlap from drift (`compare_samples`).

python -m benchmarks.accuracy.second_sample  # a minute; its table is in benchmarks/results

Positives are those of a fold of a real set, or simulated: of 2 to 40 features, Gaussian, skewed,
heavy-tailed or of two clusters, 60 to 400 of them labelled. Negatives are moved 20 standard
deviations away; under overlap they are positives of one half instead; under drift, four of five
positives of the samples are from that half.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.printing import print_rows
from poscount import RCQ, compare_samples
from poscount.seeds import stream
from research.datasets import load
from research.experiments.protocols import Place, evaluations

PAIRS = ((0.7, 0.3), (0.5, 0.1), (0.9, 0.5), (0.3, 0.3))
READINGS = ("overlap", "drift", "close", "clean")
SETS = ("A", "C", "L", "P", "R", "W", "vowels", "q-g")


class Pool(NamedTuple):
    """Rows to draw samples from: labelled positives, other positives, and negatives."""

    labeled: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray


def gaussian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def skewed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.exp(0.6 * rng.normal(size=(n, d)))


def heavy_tailed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(4, size=(n, d))


def two_clusters(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(n, d))
    rows[rng.random(n) < 0.5, 0] += 4
    return rows


Shape = Callable[[np.random.Generator, int, int], np.ndarray]
SHAPES: tuple[Shape, ...] = (gaussian, skewed, heavy_tailed, two_clusters)


def simulated_pools(n: int, seed: int) -> Iterator[Pool]:
    for i in range(n):
        rng = stream(seed, f"second sample, simulated {i}")
        d, n_labeled = int(rng.choice([2, 5, 10, 20, 40])), int(rng.choice([60, 100, 200, 400]))
        n_rows = int(rng.choice([200, 500, 1000, 2000]))
        mixing = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
        rows = SHAPES[i % len(SHAPES)](rng, n_labeled + 2 * n_rows, d) @ mixing
        yield Pool(rows[:n_labeled], rows[n_labeled:], rng.normal(size=(n_rows, d)))


def real_pools(names: list[str], seed: int) -> Iterator[Pool]:
    for name in names:
        dataset = load(name)
        for fold in range(5):
            place = Place("1", dataset.key, "", 0, fold)
            drawn = [sample.rows for _, sample in evaluations(dataset, place, seed)]
            labeled, _ = next(evaluations(dataset, place, seed))
            # All negatives, and all positives, but for those that are labelled.
            known = {row.tobytes() for row in labeled}
            positives = np.array([row for row in drawn[-1] if row.tobytes() not in known])
            yield Pool(labeled, positives, drawn[0])


def upper_half(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are above the median of the first component, and the spread of the features."""
    spread = rows.std(axis=0)
    spread[spread == 0] = 1
    centred = (rows - rows.mean(axis=0)) / spread
    first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    return first > np.median(first), spread


def readings(pool: Pool, seed: int, i: int) -> Iterator[tuple[tuple[str, str], str]]:
    """Kind and prevalences of each pair of samples, and how it is read."""
    rng = stream(seed, f"second sample {i}")
    is_upper, spread = upper_half(pool.positives)
    upper, lower = pool.positives[is_upper], pool.positives[~is_upper]
    model = RCQ(random_state=i).fit(pool.labeled)
    size = min(len(upper), len(lower), len(pool.negatives)) // 2
    for pair in PAIRS:
        for kind in ("clean", "overlap", "drift"):
            counts = []
            for p in pair:
                n = round(p * size)
                n_upper = round((0.8 if kind == "drift" else 0.5) * n)
                others = upper if kind == "overlap" else pool.negatives + 20 * spread
                parts = (
                    rng.choice(upper, n_upper, replace=False),
                    rng.choice(lower, n - n_upper, replace=False),
                    rng.choice(others, size - n),
                )
                counts.append(model.count(np.vstack(parts)))
            found = compare_samples(model, *counts)
            yield (kind, "{:g}, {:g}".format(*pair)), found.reading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pools", type=int, default=40, help="simulated sets of positives")
    parser.add_argument("--datasets", nargs="*", default=list(SETS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pools = [
        *simulated_pools(arguments.pools, arguments.seed),
        *real_pools(arguments.datasets, arguments.seed),
    ]
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for i, pool in enumerate(pools):
        for key, reading in readings(pool, arguments.seed, i):
            found[key][reading] += 1
    rows = [
        [*key, *(f"{100 * read[name] / read.total():.0f}" for name in READINGS), str(read.total())]
        for key, read in sorted(found.items())
    ]
    print_rows(rows, ["kind", "prevalences", *(f"{name} (%)" for name in READINGS), "pairs"])


if __name__ == "__main__":
    main()
