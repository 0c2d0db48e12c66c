"""The front door of the engines: one call for every place where rows can be."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from poscount.base import CountingQuantifier
from poscount.engines.batches import Source, count_sources
from poscount.engines.count_files import count_files, count_on_workers
from poscount.files.arrow import OnProgress
from poscount.files.csv import DEFAULT_CSV, CsvFormat
from poscount.files.reading import expand
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
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
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
    delimiter : str, optional
        Of CSV files; by default tab for ``.tsv`` and, for others, found in the first line.
    decimal : {".", ","}
        Decimal mark of CSV files.
    header : bool
        Whether CSV files begin with column names; without, they are "1", "2", ...

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
    if not isinstance(model, CountingQuantifier):
        raise TypeError(
            f"{type(model).__name__} needs positives and sample together, so that there is nothing "
            "to count: use a reusable method such as PAT."
        )
    check_is_fitted(model)
    csv_format = CsvFormat(delimiter, decimal, header)
    groups = [by] if isinstance(by, str) else list(dict.fromkeys(by or ()))
    paths = _paths(source)
    if paths is not None:
        return count_listed(
            model,
            expand(paths),
            groups,
            engine=engine,
            on_error=on_error,
            progress=progress,
            n_jobs=n_jobs,
            explain=explain,
            csv_format=csv_format,
        )
    if engine != "auto" or on_error != "raise" or csv_format != DEFAULT_CSV:
        raise ValueError(
            "engine, on_error and the format of CSV files are for files, but this source is a "
            f"{type(source).__name__}, which says for itself what it is: leave them out."
        )
    kind = _kind(source)
    if kind == "duckdb":
        from poscount.engines.duckdb import count_relation

        return count_relation(model, source, groups, n_jobs=n_jobs, explain=explain)
    if kind == "dask":
        from poscount.engines.dask import count_collection

        return count_collection(model, source, groups, explain=explain)
    if kind == "pyspark":
        from poscount.engines.spark import count_frame

        return count_frame(model, source, groups, explain=explain)
    if explain:
        return "poscount counts the batches here."
    batches = Source(None, lambda: iter(_batches(source)))
    return count_sources(model, [batches], groups, n_jobs=n_jobs)


def count_listed(
    model: CountingQuantifier,
    files: Sequence[str],
    by: Sequence[str],
    *,
    engine: str = "auto",
    on_error: str = "raise",
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count files that `poscount.files.reading.expand` has listed; the rest is as in `count`."""
    if engine not in ENGINES or on_error not in ("raise", "skip"):
        raise ValueError(
            f"engine is one of {', '.join(ENGINES)} and on_error is raise or skip, got {engine!r} "
            f"and {on_error!r}."
        )
    options: dict[str, Any] = {
        "skip": on_error == "skip",
        "explain": explain,
        "csv_format": csv_format,
    }
    if engine == "auto":
        options |= {"progress": progress, "n_jobs": n_jobs}
    elif engine == "duckdb":
        options["n_jobs"] = n_jobs
    return _on_files(engine)(model, files, by, **options)


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


def _kind(source: Any) -> str | None:
    """Name of the library that a source belongs to, of those that count by themselves."""
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        return "duckdb"
    package = type(source).__module__.partition(".")[0].removeprefix("_")
    return package if package in ("duckdb", "dask", "pyspark") else None


def _batches(source: Any) -> Iterable[Any]:
    """Batches of what is in memory: itself, or what it yields."""
    if hasattr(source, "shape") or as_frame(source) is not None:
        return [source]
    if not isinstance(source, Iterable):
        raise TypeError(
            f"A {type(source).__name__} cannot be counted: give paths, a DuckDB relation or query, "
            "a Dask or Spark collection, an array or a frame, or an iterable of these."
        )
    return source
