"""Series of weeks in which kinds of rows change: what differences were learned from, and judged by.

`research/tuning/change_split.md` has the split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poscount.methods.regions.partition import k_means
from poscount.training.sources import Source, read_table
from research.calibrations import as_numbers
from research.datasets import data_directory
from research.shipped_calibrations import BANK_TABLES, OTHER_LABELS, TABLES, bank_source

MOST_COLUMNS = 80
N_WEEKS, N_ROWS = 52, 500
PATTERNS = ("nothing", "negatives weekly", "negatives wave", "negatives step", "positives weekly")
FEWEST = 150


class Series(NamedTuple):
    """Labelled positives, weeks of rows, their truth, and other rows for a reference.

    The truth is the prevalence that each week was drawn with, and the share in its rows.
    """

    table: str
    pattern: str
    labeled: np.ndarray
    weeks: list[np.ndarray]
    truth: np.ndarray
    in_rows: np.ndarray
    other: np.ndarray


def halves() -> dict[str, list[str]]:
    """Names of tables that are tuned on and reported."""
    names = sorted({*TABLES, *BANK_TABLES})
    kin = {"sick": "hypothyroid", "lending_club": "loans_full"}
    families = sorted({kin.get(name, name) for name in names})
    order = np.random.default_rng(28).permutation(len(families))
    first = {families[i] for i in order[: len(families) // 2]}
    chosen = {"tuned": [], "reported": []}
    for name in names:
        chosen["tuned" if kin.get(name, name) in first else "reported"].append(name)
    return chosen


def table(name: str) -> Source | None:
    """A table as numbers; None if it has too many columns or no class large enough."""
    if name in TABLES:
        source = read_table(data_directory() / f"{name}.csv.gz", "class", OTHER_LABELS)
    else:
        source = bank_source(name)
    source = as_numbers(source)
    sizes = np.bincount(source.classes)
    large = ((sizes >= FEWEST) & (len(source.classes) - sizes >= FEWEST)).any()
    return source if source.features.shape[1] <= MOST_COLUMNS and large else None


def clusters(rows: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Number of the cluster of each row."""
    spread = rows.std(axis=0)
    points = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    centres = k_means(points[:2000], k, rng)
    return ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)


def shares_of(
    base: np.ndarray, pattern: str, concentration: float, rng: np.random.Generator
) -> np.ndarray:
    """Shares of kinds in each week."""
    if pattern == "weekly":
        return rng.dirichlet(concentration * base + 1e-3, N_WEEKS)
    if pattern == "wave":
        phase = rng.uniform(0, 2 * np.pi, len(base))
        wave = np.sin(2 * np.pi * np.arange(N_WEEKS)[:, np.newaxis] / N_WEEKS + phase)
        shares = base * np.exp(wave)
        return shares / shares.sum(axis=1, keepdims=True)
    if pattern == "step":
        before, after = rng.dirichlet(concentration * base + 1e-3, 2)
        late = np.arange(N_WEEKS) >= rng.integers(8, 45)
        return np.where(late[:, np.newaxis], after, before)
    return np.tile(base, (N_WEEKS, 1))


def draw(source: Source, rng: np.random.Generator, pattern: str, change: float) -> Series:
    """A series of one table."""
    sizes = np.bincount(source.classes)
    possible = np.flatnonzero((sizes >= FEWEST) & (len(source.classes) - sizes >= FEWEST))
    positive = source.classes == rng.choice(possible)
    ours = rng.permutation(np.flatnonzero(positive))
    n_labeled = min(500, len(ours) // 2)
    rest, theirs = ours[n_labeled:], np.flatnonzero(~positive)
    others = source.classes[theirs]
    if len(np.unique(others)) > 1:
        kinds = np.unique(others, return_inverse=True)[1]
    else:
        kinds = clusters(source.features[theirs], int(rng.integers(3, 7)), rng)
    of_rest = clusters(source.features[rest], int(rng.integers(2, 5)), rng)
    concentration = float(rng.choice([5, 20]))
    how = pattern.split()[-1]
    groups = [(rest, of_rest, how if pattern.startswith("positives") else "", 20.0)]
    groups += [(theirs, kinds, how if pattern.startswith("negatives") else "", concentration)]
    drawn = []
    for rows, kind, way, strength in groups:
        number = np.bincount(kind)
        base = number / number.sum()
        drawn.append((rows, kind, shares_of(base, way, strength, rng)))
    p = float(rng.choice([0.02, 0.1, 0.3, 0.5, 0.7]))
    truth = np.where(np.arange(N_WEEKS) >= rng.integers(12, 41), p + change, p)
    weeks, in_rows = [], []
    for t in range(N_WEEKS):
        n_positives = rng.binomial(N_ROWS, truth[t])
        in_rows.append(n_positives / N_ROWS)
        parts = []
        for (rows, kind, shares), n in zip(drawn, (n_positives, N_ROWS - n_positives), strict=True):
            for k, m in enumerate(rng.multinomial(n, shares[t])):
                pool = rows[kind == k]
                parts.append(rng.choice(pool, m) if len(pool) else rng.choice(rows, m))
        weeks.append(source.features[np.concatenate(parts)])
    n_other = rng.multinomial(2000, [truth.mean(), 1 - truth.mean()])
    other = np.concatenate([rng.choice(rest, n_other[0]), rng.choice(theirs, n_other[1])])
    labeled = source.features[ours[:n_labeled]]
    return Series(
        source.name, pattern, labeled, weeks, truth, np.array(in_rows), source.features[other]
    )


def all_series(half: str, n: int, constant: float = 0.6) -> Iterator[tuple[int, Series]]:
    """Series of a half, one table after the other; `constant` of them without change."""
    tables = [found for name in halves()[half] if (found := table(name)) is not None]
    for i in range(n):
        rng = np.random.default_rng([28, half == "reported", i])
        change = 0.0 if rng.random() < constant else float(rng.choice([0.05, 0.1]))
        source = tables[i % len(tables)]
        pattern = PATTERNS[int(rng.integers(len(PATTERNS)))]
        yield i, draw(source, rng, pattern, change)
