"""Coverage of intervals if rows come in clusters, with and without `cluster=`.

    python -m benchmarks.accuracy.clusters > benchmarks/results/clusters.md  # needs POSCOUNT_DATA

On each of the paper's data sets 400 positives, or half of them, are labelled. A sample has 20 or 60
clusters of 5 to 50 rows (log-uniform). The share of positives of a cluster is drawn from a beta
distribution with a mean of .1, .3 or .6 and the stated intra-class correlation; then its rows are
drawn with replacement from the rest of the table. *Alike*: the rows of a class in a cluster are
also drawn from a fifth of it, by one of its columns. *Holds*: the share of the 95 % intervals that
hold the mean of the population; *of the rows*: that hold the share of positives in the sample.
Settled: 150 labels by `audit`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import poscount
from benchmarks.printing import print_rows
from poscount import PAT, RCQ, Prevalence
from poscount.seeds import stream
from research.datasets import load

DATASETS = ("A", "C", "L", "P", "R", "W", "q-g", "vowels")
MEANS, CORRELATIONS, N_CLUSTERS = (0.1, 0.3, 0.6), (0.0, 0.1, 0.3, 0.5), (20, 60)
N_LABELED, N_LABELS, PART = 400, 150, 0.2
WAYS = ("rows", "clusters")


class Line(NamedTuple):
    """One interval beside what it is to hold."""

    method: str
    correlation: float
    n_clusters: int
    alike: bool
    way: str
    table: str
    mean: float
    of_rows: float
    value: float
    low: float
    high: float


class Pools(NamedTuple):
    """Rows of both classes that are not labelled."""

    positives: np.ndarray
    negatives: np.ndarray


def sample_of(
    pools: Pools, mean: float, correlation: float, n: int, alike: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, which of them are positive, and their clusters."""
    sizes = np.exp(rng.uniform(np.log(5), np.log(51), n)).astype(int)
    share = np.full(n, mean)
    if correlation > 0:
        share = rng.beta(*(np.array([mean, 1 - mean]) * (1 - correlation) / correlation), n)
    cluster = np.repeat(np.arange(n), sizes)
    positive = rng.random(len(cluster)) < share[cluster]
    rows = np.empty((len(cluster), pools.positives.shape[1]))
    for pool, of_class in ((pools.positives, positive), (pools.negatives, ~positive)):
        place = rng.random(of_class.sum())
        if alike:
            # In a circle, so that all rows of the class are drawn equally often in the end.
            start = rng.random(n)[cluster[of_class]]
            place = (start + PART * place) % 1
            pool = pool[np.argsort(pool[:, 0], kind="stable")]
        rows[of_class] = pool[(place * len(pool)).astype(int)]
    return rows, positive, cluster


def lines_of(name: str, draw: int) -> list[Line]:
    """Lines of all samples of a draw from a data set."""
    warnings.simplefilter("ignore")
    data, rng = load(name), stream(draw, f"clusters {name}")
    labelled = rng.permutation(np.flatnonzero(data.is_positive))
    n_labeled = min(N_LABELED, len(labelled) // 2)
    features = data.features
    pools = Pools(features[labelled[n_labeled:]], features[~data.is_positive])
    models = [
        method(random_state=0).fit(frame_of(features[labelled[:n_labeled]]))
        for method in (RCQ, PAT)
    ]
    lines = []
    for correlation in CORRELATIONS:
        for n in N_CLUSTERS:
            for alike in (False, True):
                mean = MEANS[draw % len(MEANS)]
                rows, positive, cluster = sample_of(pools, mean, correlation, n, alike, rng)
                about = (correlation, n, alike)
                for method, way, p in answers(models, rows, positive, cluster, draw, alike):
                    assert p.interval is not None
                    truth = (mean, positive.mean(), float(p))
                    ends = (p.interval.low, p.interval.high)
                    lines.append(Line(method, *about, way, name, *truth, *ends))
    return lines


def frame_of(rows: np.ndarray) -> pd.DataFrame:
    """Rows with names of columns."""
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])


def answers(
    models: list,
    rows: np.ndarray,
    positive: np.ndarray,
    cluster: np.ndarray,
    draw: int,
    alike: bool,
) -> Iterator[tuple[str, str, Prevalence]]:
    """Answers of every method in both ways."""
    frame = frame_of(rows).assign(cluster=cluster)
    columns = dict(zip(WAYS, (None, "cluster"), strict=True))
    for model in models:
        for way, column in columns.items():
            yield type(model).__name__, way, model.quantify(frame, cluster=column)
    if alike:
        return
    to_label = poscount.audit(models[0], frame, N_LABELS, random_state=draw)
    to_label["label"] = positive[to_label["audit_row"]]
    for way, column in columns.items():
        found = poscount.settle(models[0], frame, to_label, cluster=column)
        yield "settled", way, found.prevalence


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=45)
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    pairs = [(name, draw) for name in DATASETS for draw in range(given.draws)]
    parts = Parallel(given.n_jobs)(delayed(lines_of)(*pair) for pair in pairs)
    found = pd.DataFrame([line for part in parts for line in part])
    found["holds"] = (found.low <= found["mean"]) & (found["mean"] <= found.high)
    found["holds_rows"] = (found.low <= found.of_rows) & (found.of_rows <= found.high)
    found["width"] = 100 * (found.high - found.low)
    found["error"] = 100 * (found.value - found["mean"]).abs()
    rows = []
    for key, part in found.groupby(["method", "alike", "correlation", "n_clusters"], sort=False):
        method, alike, correlation, n = key
        of_ways = [part[part.way == way] for way in WAYS]
        error = of_ways[0].error.mean()
        held = [f"{x.holds.mean():.3f} ({standard_error(x):.3f})" for x in of_ways]
        widths = [f"{x.width.mean():.1f}" for x in of_ways]
        rows.append(
            [
                *(method, "yes" if alike else "no", f"{correlation:g}", str(n), f"{error:.1f}"),
                *held,
                *widths,
                f"{of_ways[1].holds_rows.mean():.3f}",
            ]
        )
    heads = ["answer", "alike", "correlation", "clusters", "error", "holds without"]
    print_rows(rows, [*heads, "holds with", "width without", "width with", "of the rows with"])


def standard_error(part: pd.DataFrame) -> float:
    """Of the share that holds."""
    return float(np.sqrt(part.holds.mean() * (1 - part.holds.mean()) / len(part)))


if __name__ == "__main__":
    main()
