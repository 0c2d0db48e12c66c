"""How often RCQ's warnings are false alarms, and what they see.

python -m benchmarks.accuracy.rcq_warnings                # eight real sets, two repetitions

Positives are real; negatives are made, so that it is known what is wrong with a sample:
clean     the set's own negatives, moved 20 standard deviations away
overlap   a share of the negatives (the strength) are positives of one half, others as in clean
inside    a share of the negatives lie around the positives' mean, with a quarter of their variance
drift     clean, but one half of the positives has the share .5 + strength among them, not .5
The halves are those below and above the median of the positives' first principal component.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from poscount import RCQ
from poscount.seeds import stream
from research.datasets import DataSet, load
from research.experiments.protocols import Place, draw

SETS = ["A", "C", "L", "P", "R", "W", "vowels", "q-g"]
CODES = ["core-differs", "pat-disagrees", "overlap", "wide-interval"]
PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9)
KINDS = [("clean", 0.0)] + [
    (kind, strength)
    for kind, strengths in {
        "overlap": (0.25, 0.5, 1.0),
        "inside": (0.25, 0.5, 1.0),
        "drift": (0.15, 0.25, 0.35),
    }.items()
    for strength in strengths
]


def samples(
    dataset: DataSet, place: Place, generator: np.random.Generator
) -> Iterator[tuple[tuple[str, float], float, np.ndarray, np.ndarray]]:
    """Kind, prevalence, positives to learn from, and sample."""
    labeled, drawn = draw(dataset, place, 0)
    *_, last = drawn
    pool = generator.permutation(last.rows)  # all of them positives
    others = dataset.features[~dataset.is_positive]
    for kind, p, sample in spoilt(pool, others, generator):
        yield kind, p, labeled, sample


def spread_and_half(pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread of each feature, and which rows are above the median of the first component."""
    spread = pool.std(axis=0)
    spread[spread == 0] = 1
    centred = (pool - pool.mean(axis=0)) / spread
    first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    return spread, first > np.median(first)


def spoilt(
    pool: np.ndarray, others: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[tuple[str, float], float, np.ndarray]]:
    """Kind, prevalence and sample, from positives and from negatives that are moved away."""
    spread, upper = spread_and_half(pool)
    for kind, strength in KINDS:
        for p in PREVALENCES:
            size = len(pool) // 2
            n_positives = round(p * size)
            share = 0.5 + (strength if kind == "drift" else 0.0)
            n_upper = round(share * n_positives)
            ups, downs = (generator.permutation(np.flatnonzero(x)) for x in (upper, ~upper))
            positives = pool[np.concatenate([ups[:n_upper], downs[: n_positives - n_upper]])]
            far = others[generator.integers(len(others), size=size - n_positives)] + 20 * spread
            n_strange = 0 if kind == "drift" else round(strength * len(far))
            if kind == "overlap":
                # With replacement: there may be more negatives than positives of one half.
                rest = ups[n_upper:] if n_upper < len(ups) else ups
                far[:n_strange] = pool[generator.choice(rest, n_strange)]
            elif kind == "inside":
                noise = pool[generator.integers(len(pool), size=n_strange)]
                far[:n_strange] = pool.mean(axis=0) + 0.5 * (noise - pool.mean(axis=0))
            yield (kind, strength), p, np.vstack([positives, far])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=SETS)
    parser.add_argument("--repetitions", type=int, default=2)
    arguments = parser.parse_args()
    n: Counter[tuple[tuple[str, float], float]] = Counter()
    alarms: dict[tuple[tuple[str, float], float], Counter[str]] = defaultdict(Counter)
    held: Counter[tuple[tuple[str, float], float]] = Counter()
    for name in arguments.datasets:
        dataset = load(name)
        for repetition in range(arguments.repetitions):
            for fold in range(5):
                place = Place("1", dataset.key, "", repetition, fold)
                generator = stream(0, f"warnings {name} {repetition} {fold}")
                model = None
                for kind, p, labeled, sample in samples(dataset, place, generator):
                    model = model or RCQ(random_state=repetition).fit(labeled)
                    answer = model.quantify(sample)
                    truth = round(p * len(sample)) / len(sample)
                    n[kind, p] += 1
                    held[kind, p] += answer.interval.low <= truth <= answer.interval.high
                    alarms[kind, p].update(caution.code for caution in answer.warnings)
    print("Share of samples (%) with each warning, and whose 95 % interval holds the truth.\n")
    print("| kind | strength | p | " + " | ".join(CODES) + " | holds | samples |")
    print("|---" * (len(CODES) + 5) + "|")
    for kind in KINDS:
        for ps in ([p] for p in PREVALENCES) if kind[0] != "clean" else [PREVALENCES]:
            total = sum(n[kind, p] for p in ps)
            shares = [100 * sum(alarms[kind, p][code] for p in ps) / total for code in CODES]
            shares.append(100 * sum(held[kind, p] for p in ps) / total)
            place_of = "all" if len(ps) > 1 else f"{ps[0]:g}"
            cells = [kind[0], f"{kind[1]:g}", place_of, *(f"{x:.0f}" for x in shares), str(total)]
            if kind[0] == "clean":
                cells[3:-1] = [f"{x:.1f}" for x in shares]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
