"""Counting what is not in memory yet: a lazy frame of polars, or a dataset of pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from poscount.base.batch_counter import BatchCounter
from poscount.engines.batches import AnyCounts, BatchSource, count_sources
from poscount.files.features import chosen_columns, wanted_columns


def is_lazy(source: Any) -> bool:
    """Tell whether rows come from such a source."""
    polars, dataset = sys.modules.get("polars"), sys.modules.get("pyarrow.dataset")
    return (polars is not None and isinstance(source, polars.LazyFrame)) or (
        dataset is not None and isinstance(source, dataset.Dataset)
    )


def count_lazy(counter: BatchCounter, source: Any, *, n_jobs: int = -1) -> AnyCounts:
    """Count a dataset batch by batch, or the columns of a lazy frame that the model needs.

    Parameters
    ----------
    counter : BatchCounter
        Of a model that was fitted on a frame.
    source : polars.LazyFrame or pyarrow.dataset.Dataset
    n_jobs : int
        Threads that count.
    """
    of_polars = hasattr(source, "collect")
    names = source.collect_schema().names() if of_polars else source.schema.names
    columns = wanted_columns(counter.model, counter.other_columns, names)
    what = "the lazy frame" if of_polars else "the dataset"
    chosen_columns(names, None, columns, what)

    def batches() -> Iterator[Any]:
        if of_polars:
            yield source.select(columns).collect()
        else:
            yield source.schema.empty_table().select(columns)
            yield from source.to_batches(columns=columns)

    return count_sources(counter, [BatchSource.of_batches(batches)], n_jobs=n_jobs)
