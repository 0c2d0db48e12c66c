"""The front door of the engines: one function for every place where rows can be."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from poscount.base.batch_counter import BatchCounter
from poscount.base.counting import CountingQuantifier
from poscount.data.validation import as_frame
from poscount.engines.batches import AnyCounts, BatchSource, count_sources
from poscount.engines.count_files import Engine, count_files
from poscount.engines.lazy_frames import count_lazy, is_lazy
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.files.guessed_options import GuessedOptions
from poscount.files.read_options import DEFAULT_OPTIONS, read_options
from poscount.files.reading import expand


def count(
    model: CountingQuantifier,
    source: Any,
    *,
    by: str | Sequence[str] | None = None,
    weights: str | None = None,
    engine: Engine = "auto",
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    **reading: Any,
) -> AnyCounts:
    """Count rows wherever they are; the counts are the same as if they were in memory.

    Parameters
    ----------
    model : CountingQuantifier
        A fitted reusable quantifier. To count files and tables, it must have been fitted on a
        frame, so that it knows its columns by name.
    source : object
        One of these:

        - a path, or a list of paths: CSV and JSON lines (also as gz, zst, zip), Excel, Parquet
          and Arrow files, globs, directories; values in the names of folders, ``night=3``, can be
          grouped by;
        - a DuckDB relation, or a pair of a DuckDB connection (or database file) and a query;
        - a lazy frame of polars, or a dataset of pyarrow;
        - a Dask dataframe or array;
        - a Spark data frame;
        - an array or a frame in memory;
        - an iterable of arrays, frames or Arrow record batches.
    by : str or sequence of str, optional
        Grouping columns: the rows of each group are counted separately. ``"month(date)"``, and
        so with year, week, day and hour, groups by the time in a column; a missing value is a
        group of its own.
    weights : str, optional
        Column with the weight of each row, as in `CountingQuantifier.count`.
    engine : {"auto", "dask", "spark"}
        What reads *files*: poscount itself ("auto"), or the workers of Dask or Spark, one file at
        a time. For other sources there is nothing to choose.
    progress : callable, optional
        Called now and then as ``progress(done, total)``, in bytes, while files are read.
    n_jobs : int, default=-1
        Threads that read and count; -1 uses all cores. The result does not depend on it.
    **reading
        How files are written: the parameters of `poscount.files.read_options.ReadOptions`, such as
        ``decimal=","`` or ``na=["-", "-999"]``; `units` and `rename` may be mappings. What is not
        given is guessed where it must be, and a warning says so.

    Returns
    -------
    Counts or GroupedCounts
        For ``model.estimate`` or ``model.estimate_by``.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import example_path, load_example
    >>> from poscount.engines import count
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> counts = count(model, example_path("trap.csv.gz"))
    >>> round(model.estimate(counts), 2)
    0.33
    >>> grouped = count(model, example_path("trap.csv.gz"), by="night")
    >>> len(model.estimate_by(grouped))
    9
    """
    if not isinstance(model, CountingQuantifier):
        raise TypeError(
            f"{type(model).__name__} needs the positives and the sample together and cannot count: "
            "use a reusable method such as PAT."
        )
    if not isinstance(weights, str | None):
        raise TypeError(
            "weights is the name of a column here; model.count takes an array of weights, for rows "
            "in memory."
        )
    options = read_options(**reading)
    counter = BatchCounter(model, by or (), weights)
    paths = _paths(source)
    if paths is not None:
        files = expand(paths)
        guesses = GuessedOptions(
            options, reading, lambda note: warnings.warn(str(note), stacklevel=5)
        )
        return count_files(
            counter,
            files,
            engine=engine,
            progress=progress,
            n_jobs=n_jobs,
            read_options=guesses.of(files),
        )
    given = {"engine": engine, **options._asdict()}
    usual = {"engine": "auto", **DEFAULT_OPTIONS._asdict()}
    for option, value in given.items():
        if value != usual[option]:
            raise InputError(
                f"{option} is for files, but this source is a {type(source).__name__}.",
                option=option,
                leave_out=True,
            )
    library = _library(source)
    if library == "duckdb":
        from poscount.engines.duckdb import count_relation

        return count_relation(counter, source, n_jobs=n_jobs)
    if library == "dask":
        from poscount.engines.dask import count_collection

        return count_collection(counter, source)
    if library == "pyspark":
        from poscount.engines.spark import count_frame

        return count_frame(counter, source)
    if is_lazy(source):
        return count_lazy(counter, source, n_jobs=n_jobs)
    batches = BatchSource.of_batches(lambda: iter(_batches(source)))
    return count_sources(counter, [batches], n_jobs=n_jobs)


def _paths(source: Any) -> list[str] | None:
    """Paths, if the source is one or a list of them."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if isinstance(source, list) and source and all(_paths(item) for item in source):
        return [os.fspath(item) for item in source]
    return None


def _library(source: Any) -> str | None:
    """Name of the library that holds the rows of a source, if there is an engine for it."""
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        return "duckdb"
    package = type(source).__module__.partition(".")[0].removeprefix("_")
    return package if package in ("duckdb", "dask", "pyspark") else None


def _batches(source: Any) -> Iterable[Any]:
    """Batches of a source in memory: itself, or what it yields."""
    if hasattr(source, "shape") or as_frame(source) is not None:
        return [source]
    if not isinstance(source, Iterable):
        raise TypeError(
            f"A {type(source).__name__} cannot be counted: give paths, a DuckDB relation or query, "
            "a lazy frame or dataset, a Dask or Spark collection, an array or a frame, or an "
            "iterable of arrays or frames."
        )
    return source
