"""The front door of the engines: one call for every place where rows can be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from poscount.base import CountingQuantifier
from poscount.engines.arrow import Progress
from poscount.engines.batches import AnyCounts, Source, count_sources
from poscount.engines.file_set import count_files
from poscount.validation import as_frame

Engine = Literal["auto", "duckdb", "dask", "spark"]
ENGINES = ("auto", "duckdb", "dask", "spark")


def count(
    model: CountingQuantifier,
    source: Any,
    *,
    by: str | Sequence[str] | None = None,
    engine: Engine = "auto",
    on_error: Literal["raise", "skip"] = "raise",
    progress: Progress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    **layout: Any,
) -> Any:
    """Count rows wherever they are, with the result of counting them in memory.

    Parameters
    ----------
    model : CountingQuantifier
        A fitted reusable quantifier. For files and tables it must have been fitted on a frame, so
        that it knows its columns by name.
    source : object
        One of these:

        - a path, or a list of paths: CSV (also gzipped), Parquet and Arrow files, globs,
          directories; what stands in their folders, ``night=3``, can be grouped by;
        - a DuckDB relation, or a pair of a DuckDB connection (or database file) and a query;
        - a Dask dataframe or array;
        - a Spark data frame;
        - an array or a frame in memory;
        - an iterable of arrays, frames or Arrow record batches.
    by : str or sequence of str, optional
        Grouping columns: one count for each of their values.
    engine : {"auto", "duckdb", "dask", "spark"}
        What reads *files*: poscount itself ("auto"); DuckDB, for Parquet; the workers of Dask
        or Spark, each a file at a time. Other sources say for themselves what they are.
    on_error : {"raise", "skip"}
        What to do about a file that cannot be used: stop with an error that names it, or leave
        all of it out and list it in the ``skipped`` of the result.
    progress : callable, optional
        Called now and then as ``progress(done, total)`` while files are read, in bytes.
    n_jobs : int, default=-1
        Threads that read and count here; -1 uses all cores. The result does not depend on it.
    explain : bool
        Return a text that says what would be done, with the SQL if any, and do nothing.
    **layout
        Of CSV files: `delimiter`, `decimal` and `header`, as in
        `poscount.engines.files.read_batches`.

    Returns
    -------
    Counts or GroupedCounts
        For ``model.estimate`` or ``model.estimate_by``; a text with `explain`.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.datasets import example_path, load_example
    >>> from poscount.engines import count
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> counts = count(model, example_path("trap.csv.gz"))
    >>> round(model.estimate(counts), 2)
    0.33
    >>> grouped = count(model, example_path("trap.csv.gz"), by="night")
    >>> len(model.estimate_by(grouped))
    9
    """
    _check(model, engine, on_error)
    groups = _groups(by)
    files = _paths(source)
    if files is None and on_error == "skip":
        raise ValueError('on_error="skip" leaves files out, but this source is not made of files.')
    if files is None and engine != "auto":
        raise ValueError(
            f'engine="{engine}" reads files; any other source says for itself what it is: leave '
            "engine out."
        )
    if files is not None:
        return _count_paths(model, files, groups, engine, on_error == "skip", progress, n_jobs,
                            explain, layout)
    if layout:
        raise TypeError(f"{', '.join(layout)}: only files have a layout.")
    kind = _kind(source)
    if kind == "duckdb":
        from poscount.engines import duckdb

        return duckdb.count_relation(model, source, groups, n_jobs=n_jobs, explain=explain)
    if kind == "dask":
        from poscount.engines import dask

        return dask.count_collection(model, source, groups, explain=explain)
    if kind == "spark":
        from poscount.engines import spark

        return spark.count_frame(model, source, groups, explain=explain)
    if explain:
        return "Batches from memory, counted on threads."
    return count_sources(model, [Source(None, lambda: _batches(source))], groups, n_jobs=n_jobs)
