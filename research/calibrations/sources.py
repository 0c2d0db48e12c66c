"""Sources that come with scikit-learn, and sources as numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poscount.training.sources import Source

# Categories with fewer rows get no column of their own.
FEWEST_ROWS = 5
BUNDLED = ("digits", "breast_cancer", "iris", "wine")


def as_numbers(source: Source) -> Source:
    """The same with a column of zeros and ones for each frequent word."""
    columns = [part for j in range(source.features.shape[1]) for part in _column(source, j)]
    return source._replace(features=np.column_stack(columns), words=())


def _column(source: Source, j: int) -> Iterator[np.ndarray]:
    values = source.features[:, j]
    if j not in source.words:
        yield np.where(np.isnan(values), np.nanmean(values), values)
        return
    found, numbers = np.unique(values[~np.isnan(values)], return_counts=True)
    for code in found[numbers >= FEWEST_ROWS]:
        yield (values == code).astype(np.float64)


def bundled(name: str) -> Source:
    """One of the data sets that come with scikit-learn."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    return Source(f"sklearn_{name}", f"sklearn_{name}", data.data, data.target)
