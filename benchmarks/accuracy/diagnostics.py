"""How often the findings of `diagnose` are false alarms, and what they see.

python -m benchmarks.accuracy.diagnostics  # simulated positives, a minute
python -m benchmarks.accuracy.diagnostics --pools 60 --datasets A C L P R W vowels q-g

Simulated positives have 2 to 40 features and are Gaussian, skewed, heavy-tailed, of two clusters,
or rounded; 60 to 400 of them are labelled, and samples have 200 to 2,000 rows. Of real sets the
labelled positives are those of a fold. Negatives are moved 20 standard deviations away, unless the
kind says otherwise.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.printing import print_rows
from poscount import RCQ, diagnose
from poscount.checks.second_sample import ADVICE
from poscount.diagnostics.assumption_report import Diagnosis
from poscount.results.verdict import SEVERITIES
from poscount.seeds import stream
from research.datasets import load
from research.experiments.protocols import Place, draw

CLEAN_PREVALENCES = (0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
PAIRS = ((0.7, 0.3), (0.5, 0.1), (0.9, 0.5), (0.3, 0.3))
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
DOUBTS = ("core-differs", "pat-disagrees", "overlap", "dedpul-disagrees")


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


class Pool(NamedTuple):
    """Rows to draw samples from: labelled positives, other positives, and negatives."""

    source: str
    labeled: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray

    def far(self) -> np.ndarray:
        """The negatives, moved away."""
        return self.negatives + 20 * spread_and_half(self.positives)[0]


def simulated_pools(n: int, seed: int) -> Iterator[Pool]:
    for i in range(n):
        rng = stream(seed, f"diagnostics simulated {i}")
        d = int(rng.choice([2, 5, 10, 20, 40]))
        n_labeled = int(rng.choice([60, 100, 200, 400]))
        n_rows = int(rng.choice([200, 500, 1000, 2000]))
        shape = SHAPES[i % len(SHAPES)]
        mixing = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
        rows = shape(rng, n_labeled + 2 * n_rows, d) @ mixing
        if i % 2:  # negatives in one place, or all around
            negatives = rng.normal(size=(n_rows, d)) * rng.uniform(0.5, 2, d)
        else:
            negatives = 30 * rng.normal(size=(n_rows, d))
        if shape is rounded:
            rows, negatives = rows.round(1), negatives.round(1)
        yield Pool("simulated", rows[:n_labeled], rows[n_labeled:], negatives)


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


def rounded(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


SHAPES: list[Callable[[np.random.Generator, int, int], np.ndarray]] = [
    gaussian,
    skewed,
    heavy_tailed,
    two_clusters,
    rounded,
]


def real_pools(names: list[str], repetitions: int, seed: int) -> Iterator[Pool]:
    for name in names:
        dataset = load(name)
        for repetition in range(repetitions):
            for fold in range(5):
                place = Place("1", dataset.key, "", repetition, fold)
                labeled, drawn = draw(dataset, place, seed)
                first, *_, last = drawn  # all negatives, and all positives
                yield Pool("real", labeled, last.rows, first.rows)


def mixed(
    rng: np.random.Generator, positives: np.ndarray, negatives: np.ndarray, p: float, size: int
) -> np.ndarray:
    n = round(p * size)
    drawn = [
        rng.choice(rows, k, replace=False) for rows, k in ((positives, n), (negatives, size - n))
    ]
    return np.vstack(drawn)


def clean(pool: Pool, rng: np.random.Generator) -> Iterator[tuple[str, float, np.ndarray]]:
    size = min(len(pool.positives) // 2, len(pool.negatives))
    for p in CLEAN_PREVALENCES:
        yield pool.source, p, mixed(rng, pool.positives, pool.far(), p, size)
        if pool.source == "real":
            yield "own negatives", p, mixed(rng, pool.positives, pool.negatives, p, size)


def damaged(pool: Pool, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Kind of damage, positives to learn from, and sample."""
    labeled, far = pool.labeled, pool.far()
    size = min(len(pool.positives) // 2, len(far))
    sample = mixed(rng, pool.positives, far, 0.5, size)
    yield "15 positives", labeled[:15], sample
    yield "40 rows", labeled, mixed(rng, pool.positives, far, 0.5, 40)
    half = len(labeled) // 2
    yield "half of the positives are copies", np.vstack([labeled[:half]] * 2), sample
    yield "every row comes twice", labeled, np.vstack([sample, sample])
    yield "all positives are in the sample", labeled, np.vstack([sample, labeled])
    third = len(labeled) // 3
    yield "a third of the positives are", labeled, np.vstack([sample, labeled[:third]])
    lost = sample.copy()
    lost[:, 0] = 0.0
    yield "a feature of the sample is 0", labeled, lost
    filled = sample.copy()
    filled[rng.random(size) < 0.2, 0] = -999.0
    yield "a feature is -999 in a fifth", labeled, filled


def pairs(
    pool: Pool, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[float, float], np.ndarray, np.ndarray]]:
    """Kind, prevalences, sample and reference."""
    is_upper = spread_and_half(pool.positives)[1]
    upper, lower = pool.positives[is_upper], pool.positives[~is_upper]
    size = min(len(upper), len(lower), len(pool.negatives)) // 2
    for pair in PAIRS:
        for kind in ("clean", "overlap", "drift"):
            both = []
            for p in pair:
                n = round(p * size)
                n_upper = round((0.8 if kind == "drift" else 0.5) * n)
                rows = [rng.choice(upper, n_upper, replace=False)]
                rows.append(rng.choice(lower, n - n_upper, replace=False))
                rows.append(rng.choice(upper if kind == "overlap" else pool.far(), size - n))
                both.append(np.vstack(rows))
            yield kind, pair, both[0], both[1]


class Record(NamedTuple):
    """The findings of one sample: which table and line they belong to, and severities by code."""

    table: str
    key: tuple
    severities: dict[str, str]
    reading: str


def record(table: str, key: tuple, diagnosis: Diagnosis) -> Record:
    severities = {finding.code: finding.severity for finding in diagnosis.findings}
    return Record(table, key, severities, reading_of(diagnosis))


def reading_of(diagnosis: Diagnosis) -> str:
    advice = [f.advice for f in diagnosis.findings if f.code == "second-sample"]
    return next((name for name, text in ADVICE.items() if text in advice), "clean")


def records_of(i: int, pool: Pool, seed: int, with_faults: bool) -> list[Record]:
    """Diagnose everything that is drawn from one pool."""
    rng = stream(seed, f"diagnostics {i}")
    model = RCQ(random_state=i).fit(pool.labeled)
    found = [
        record("clean", (source,), diagnose(model, sample, positives=pool.labeled))
        for source, _, sample in clean(pool, rng)
    ]
    if not with_faults:
        return found
    for (kind, strength), p, sample in spoilt(pool.positives, pool.negatives, rng):
        if kind != "clean":
            diagnosis = diagnose(model, sample, positives=pool.labeled)
            found.append(record("faults", (kind, strength, p), diagnosis))
    for kind, labeled, sample in damaged(pool, rng):
        learned = RCQ(random_state=i).fit(labeled)
        found.append(record("damage", (kind,), diagnose(learned, sample, positives=labeled)))
    for kind, pair, sample, reference in pairs(pool, rng):
        diagnosis = diagnose(model, sample, reference=reference)
        found.append(record("pairs", (kind, pair), diagnosis))
    return found


class Tally:
    """Severities of all codes, by what was done to the sample."""

    def __init__(self, records: list[Record], table: str) -> None:
        self.n: Counter[tuple] = Counter()
        self.found: dict[tuple, Counter[tuple[str, str]]] = defaultdict(Counter)
        self.readings: dict[tuple, Counter[str]] = defaultdict(Counter)
        for each in records:
            if each.table == table:
                self.n[each.key] += 1
                self.found[each.key].update(each.severities.items())
                self.readings[each.key][each.reading] += 1

    def share(self, key: tuple, code: str, severity: str) -> float:
        """In percent."""
        return 100 * self.found[key][code, severity] / self.n[key]

    def codes(self) -> list[str]:
        """All that were found, in the order of the report."""
        return list(dict.fromkeys(code for found in self.found.values() for code, _ in found))


def print_clean(tally: Tally) -> None:
    sources = list(dict.fromkeys(source for (source,) in tally.n))
    counted = ", ".join(f"{tally.n[source,]} {source}" for source in sources)
    print(f"**Clean samples**: share (%) with a warning, and in brackets a notice ({counted}).\n")
    rows = []
    for code in tally.codes():
        shares = ([tally.share((s,), code, x) for x in SEVERITIES[:0:-1]] for s in sources)
        rows.append([f"`{code}`", *("{:.1f} ({:.1f})".format(*each) for each in shares)])
    print_rows(rows, ["code", *sources])


def print_faults(tally: Tally) -> None:
    print("**Overlap and drift**: share (%) of samples with each warning.\n")
    rows = []
    for key in tally.n:
        kind, strength, p = key
        shares = [f"{tally.share(key, code, 'note'):.0f}" for code in DOUBTS]
        rows.append([kind, f"{strength:g}", f"{p:g}", *shares, str(tally.n[key])])
    print_rows(rows, ["kind", "strength", "p", *(f"`{code}`" for code in DOUBTS), "samples"])


def print_damage(tally: Tally) -> None:
    print("**Damaged data** (p = 0.5): share (%) of samples with a warning / a notice.\n")
    rows = []
    for key in tally.n:
        seen = [
            f"`{code}` {tally.share(key, code, 'note'):.0f} / "
            f"{tally.share(key, code, 'notice'):.0f}"
            for code in tally.codes()
            if tally.share(key, code, "check") + tally.share(key, code, "note") >= 20
        ]
        rows.append([key[0], ", ".join(seen), str(tally.n[key])])
    print_rows(rows, ["damage", "seen by at least a fifth", "samples"])


def print_pairs(tally: Tally) -> None:
    print("**With a reference**: share (%) of pairs with each reading, and with the warning.\n")
    names = ("overlap", "drift", "close", "clean")
    rows = []
    for key, n in tally.n.items():
        kind, pair = key
        shares = [f"{100 * tally.readings[key][name] / n:.0f}" for name in names]
        warned = f"{tally.share(key, 'second-sample', 'note'):.0f}"
        rows.append([kind, f"{pair[0]:g}, {pair[1]:g}", *shares, warned, str(n)])
    print_rows(rows, ["kind", "p of both", *names, "`second-sample`", "pairs"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pools", type=int, default=30, help="simulated sets of positives")
    parser.add_argument("--datasets", nargs="*", default=[])
    parser.add_argument("--repetitions", type=int, default=1, help="of the real sets")
    parser.add_argument("--every", type=int, default=3, help="faults go into every n-th set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    pools = [
        *simulated_pools(arguments.pools, arguments.seed),
        *real_pools(arguments.datasets, arguments.repetitions, arguments.seed),
    ]
    parts = Parallel(n_jobs=arguments.jobs)(
        delayed(records_of)(i, pool, arguments.seed, i % arguments.every == 0)
        for i, pool in enumerate(pools)
    )
    records = [each for part in parts for each in part]
    print_clean(Tally(records, "clean"))
    print_faults(Tally(records, "faults"))
    print_damage(Tally(records, "damage"))
    print_pairs(Tally(records, "pairs"))


if __name__ == "__main__":
    main()
