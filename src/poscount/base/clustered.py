"""Answers from counts of clusters, for the population that these are from."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from poscount.base.batch_counter import BatchCounter
from poscount.counts.clusters import (
    ClusterSizes,
    cluster_numbers,
    for_population,
    require_clusters,
    variance_by_core,
)
from poscount.counts.counts import GroupedCounts
from poscount.counts.weights import UNITS
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence

if TYPE_CHECKING:
    from poscount.base.counting import CountingQuantifier


def quantify_clusters(
    model: CountingQuantifier, sample: Any, weights: Any, cluster: Any
) -> Prevalence:
    """Estimate from rows, with the column of their clusters or the cluster of each."""
    name = cluster if isinstance(cluster, str) else "cluster"
    counter = BatchCounter(model, name if isinstance(cluster, str) else (), weights)
    counter.seen = model._rows_seen()
    if isinstance(cluster, str):
        _, counts = counter.count_groups(sample)
    else:
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in cluster], np.intp)
        n_rows = len(model._sample(sample, allow_empty=False))
        if len(codes) != n_rows:
            raise InputError(
                f"There are {len(codes)} clusters for {n_rows} rows: give one for each row."
            )
        keys: list[tuple[Hashable, ...]] = [
            (None if value != value else value,) for value in numbers
        ]
        cells, n, sums = counter.count_codes(sample, codes, len(keys))
        counts = GroupedCounts((name,), keys, cells, n, model.hash_, sums).with_rows()
    answer = estimate_clusters(model, counts, name)
    return answer if counter.seen is None else model._told_of(counter.seen, answer)


def estimate_clusters(
    model: CountingQuantifier, counts: GroupedCounts, cluster: str | None
) -> Prevalence:
    """Estimate from counts of which one grouping column, or the only one, names the clusters."""
    number = cluster_numbers(counts, cluster)
    answer, n_clusters = model.estimate(counts.together), int(number.max(initial=-1)) + 1
    require_clusters(n_clusters)
    sizes = ClusterSizes.of_counts(counts, number)
    in_core = np.bincount(number, rows_in_core(model, counts))
    variance = variance_by_core(in_core, sizes, float(answer), model._core_share)
    return for_population(answer, variance, sizes, n_clusters - 1)


def estimate_clusters_by(
    model: CountingQuantifier, counts: GroupedCounts, cluster: str
) -> list[Prevalence]:
    """Estimate each group by the other grouping columns."""
    groups = counts.lines_by([name for name in counts.by if name != cluster])
    for key, lines in groups.items():
        require_clusters(len(lines), f" in {', '.join(map(str, key))}" if key else "")
    parts = (counts.of_groups(lines) for lines in groups.values())
    return [estimate_clusters(model, part, cluster) for part in parts]


def rows_in_core(model: CountingQuantifier, counts: GroupedCounts) -> np.ndarray:
    """Rows of each group in the core of the positives, or their weight."""
    in_core = model._score_cells(counts.cells)[:, model._first_core_cell :].sum(axis=1)
    return in_core / (1 if counts.weights is None else UNITS)
