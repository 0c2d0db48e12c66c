"""The front door of the engines: one function for every place where rows can be."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.data.validation import as_frame
from poscount.engines.batches import BatchSource, count_sources
from poscount.engines.clusters import count_on_workers
from poscount.engines.count_files import count_files
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.reading import expand

Engine = Literal["auto", "duckdb", "dask", "spark"]
OnError = Literal["raise", "skip"]


def count(
    model: CountingQuantifier,
    source: Any,
    *,
    by: str | Sequence[str] | None = None,
    weights: str | None = None,
    engine: Engine = "auto",
    on_error: OnError = "raise",
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
    encoding: str | None = None,
    thousands: str | None = None,
    units: Mapping[str, str] | None = None,
    na: Sequence[str] = (),
    sheet: str | None = None,
    day_first: bool | None = None,
) -> Any:
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
    engine : {"auto", "duckdb", "dask", "spark"}
        What reads *files*: poscount itself ("auto"); DuckDB, for Parquet; the workers of Dask or
        Spark, one file at a time. For other sources there is nothing to choose.
    on_error : {"raise", "skip"}
        What to do if a file cannot be used: stop with an error that names it, or leave the whole
        file out and list it in the ``skipped`` of the result.
    progress : callable, optional
        Called now and then as ``progress(done, total)``, in bytes, while files are read.
    n_jobs : int, default=-1
        Threads that read and count; -1 uses all cores. The result does not depend on it.
    explain : bool
        Count nothing, and return a text that says what would be done, with the SQL if there is
        any.
    delimiter : str, optional
        Of CSV files; by default tab for ``.tsv``, and found in the first line for others.
    decimal : {".", ","}
        Decimal mark of CSV files.
    header : bool
        Whether CSV files begin with column names; without, they are "1", "2", ...
    encoding : str, optional
        Of files of text, such as "cp1252"; a byte-order mark is recognised.
    thousands : {",", ".", " ", "'", "_"}, optional
        The mark in numbers such as 12,000.
    units : mapping, optional
        From columns to units: with ``{"weight": "g"}``, a cell "40.25 g" is 40.25.
    na : sequence of str
        More signs of missing values, such as ``["-", "-999"]``.
    sheet : str, optional
        Of Excel workbooks.
    day_first : bool, optional
        Whether 03/04/2026 is in April; only for `by`.

    Returns
    -------
    Counts or GroupedCounts
        For ``model.estimate`` or ``model.estimate_by``; a text with `explain`.

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
    csv_format = CsvFormat(
        delimiter=delimiter,
        decimal=decimal,
        header=header,
        encoding=encoding,
        thousands=thousands,
        units=tuple((units or {}).items()),
        na=(na,) if isinstance(na, str) else tuple(na),
        sheet=sheet,
        day_first=day_first,
    )
    paths = _paths(source)
    if paths is not None:
        return count_listed(
            model,
            expand(paths),
            by or (),
            weights=weights,
            engine=engine,
            on_error=on_error,
            progress=progress,
            n_jobs=n_jobs,
            explain=explain,
            csv_format=csv_format,
        )
    counter = BatchCounter(model, by or (), weights)
    given: dict[str, Any] = {"engine": engine, "on_error": on_error, **csv_format._asdict()}
    usual = {"engine": "auto", "on_error": "raise", **DEFAULT_CSV._asdict()}
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

        return count_relation(counter, source, n_jobs=n_jobs, explain=explain)
    if library == "dask":
        from poscount.engines.dask import count_collection

        return count_collection(counter, source, explain=explain)
    if library == "pyspark":
        from poscount.engines.spark import count_frame

        return count_frame(counter, source, explain=explain)
    if explain:
        return "poscount counts the batches itself."
    batches = BatchSource.of_batches(lambda: iter(_batches(source)))
    return count_sources(counter, [batches], n_jobs=n_jobs)


def count_listed(
    model: CountingQuantifier,
    files: list[str],
    by: str | Sequence[str],
    *,
    weights: str | None = None,
    engine: str = "auto",
    on_error: str = "raise",
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count files that `poscount.files.reading.expand` has listed; the rest is as in `count`."""
    for option, value, known in (("engine", engine, Engine), ("on_error", on_error, OnError)):
        if value not in get_args(known):
            names = ", ".join(get_args(known))
            raise InputError(f"{option} must be one of {names}, got {value!r}.")
    options: dict[str, Any] = {
        "skip": on_error == "skip",
        "explain": explain,
        "csv_format": csv_format,
    }
    if engine == "auto":
        options |= {"progress": progress, "n_jobs": n_jobs}
    elif engine == "duckdb":
        options["n_jobs"] = n_jobs
    return _on_files(engine)(BatchCounter(model, by, weights), files, **options)


def _paths(source: Any) -> list[str] | None:
    """Paths, if the source is one or a list of them."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if isinstance(source, list) and source and all(_paths(item) for item in source):
        return [os.fspath(item) for item in source]
    return None


def _on_files(engine: str) -> Callable[..., Any]:
    if engine == "duckdb":
        from poscount.engines.duckdb import count_parquet

        return count_parquet
    if engine == "dask":
        from poscount.engines import dask

        return functools.partial(count_on_workers, "Dask", dask.add_files)
    if engine == "spark":
        from poscount.engines import spark

        return functools.partial(count_on_workers, "Spark", spark.add_files)
    return count_files


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
            "a Dask or Spark collection, an array or a frame, or an iterable of arrays or frames."
        )
    return source
