"""Settled labels of rows that come in clusters, for the population that these are from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from poscount.auditing.batches import Source, count_batches
from poscount.auditing.label_table import LabelTable, places_in
from poscount.auditing.sampling import LabelSample
from poscount.base.batch_counter import BatchCounter
from poscount.base.clustered import estimate_clusters
from poscount.base.counting import CountingQuantifier
from poscount.counts.clusters import (
    ClusterSizes,
    cluster_numbers,
    for_population,
    require_clusters,
    variance_by_labels,
    with_cluster,
)
from poscount.counts.counts import GroupedCounts
from poscount.data.grouping import group_codes
from poscount.results.prevalence import Prevalence

if TYPE_CHECKING:
    from poscount.auditing.settlement import Settlement


def settle_clusters(
    settled: Settlement,
    model: CountingQuantifier,
    source: Source,
    drawn: LabelSample,
    table: LabelTable,
    cluster: str,
    rater_errors: tuple[float, float] | None = None,
) -> Settlement:
    """Make the answers of labels and model ones for the population, in one more pass."""
    design, labels = table.design, settled.labels
    counter = BatchCounter(model, with_cluster(design.by, cluster), design.weights)
    counts = count_batches(counter, source)
    _, number = group_codes(drawn.frame, (cluster,))
    given = [label is not None for label in table.labels]
    number = number[np.sort(places_in(drawn, table)[given])]
    stands_for = (labels.totals / np.maximum(labels.numbers, 1))[labels.stratum]
    power = 1 - sum(rater_errors or ())

    def answer(by_labels: Prevalence, lines: GroupedCounts, chosen: np.ndarray) -> Prevalence:
        sizes = ClusterSizes.of_counts(lines, cluster_numbers(lines, cluster))
        n_clusters = len(np.unique(number[chosen]))
        require_clusters(n_clusters, " among the labelled rows")
        found = variance_by_labels(
            *(each[chosen] for each in (stands_for, labels.weight, labels.positive, number))
        )
        return for_population(by_labels, found / power**2, sizes, n_clusters - 1)

    groups = {}
    if settled.groups:
        lines_of = counts.lines_by(design.by)
        of_label = drawn.strata.group[labels.stratum]
        for i, (key, by_labels) in enumerate(settled.groups.items()):
            groups[key] = answer(by_labels, counts.of_groups(lines_of[key]), of_label == i)
    return replace(
        settled,
        prevalence=answer(settled.prevalence, counts, np.ones(len(number), bool)),
        model=estimate_clusters(model, counts, cluster),
        groups=groups,
    )
