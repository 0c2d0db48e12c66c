"""From files to models and results: what the command line and the web page have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from poscount import registry
from poscount.base import CountingQuantifier, Quantifier
from poscount.counts import Counts
from poscount.engines.dispatch import count as count_rows
from poscount.errors import InputError
from poscount.files.arrow import Progress, pyarrow
from poscount.files.features import choose_features, wanted_columns
from poscount.files.reading import expand, read_table
from poscount.prevalence import Prevalence
from poscount.results import RESERVED, Result

Watch = Callable[[str], AbstractContextManager[Progress | None]]


def _unwatched(title: str) -> AbstractContextManager[None]:
    return nullcontext()


def fit(
    path: str,
    method: str,
    *,
    options: Mapping[str, Any],
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    layout: dict[str, Any],
) -> Quantifier:
    """Fit a method on a file of positives.

    Parameters
    ----------
    path : str
        A file, glob or directory.
    method : str
        Its name in the registry.
    options : mapping
        Parameters of the method, the scorer by its name; None leaves one at its default.
    features, exclude : list of str, optional
        Columns to use, and not to use.
    layout : dict
        How CSV files are written, as in `poscount.files.reading.read_batches`.
    """
    kind = registry.method(method)
    parameters = {name: value for name, value in options.items() if value is not None}
    known = kind().get_params(deep=False)
    for name in parameters:
        if name not in known:
            other = ", or take --method pat" if name == "scorer" else ""
            raise ValueError(f"The method {method} has no use for --{name}: leave it out{other}.")
    if "scorer" in parameters:
        parameters["scorer"] = registry.scorer(parameters["scorer"])
    table = _concatenated([read_table(file, **layout) for file in expand([path])], path)
    chosen = choose_features(table, features, exclude or [], path)
    try:
        return kind(**parameters).fit(table, features=chosen)
    except InputError as error:
        raise InputError(error.message, file=path, column=error.column, row=error.row) from error


def quantify(
    model: Quantifier,
    paths: Sequence[str],
    *,
    by: Sequence[str] = (),
    by_file: bool = False,
    engine: str = "auto",
    on_error: str = "raise",
    n_jobs: int = -1,
    layout: dict[str, Any],
    watch: Watch = _unwatched,
) -> list[Result]:
    """Estimate prevalences: of everything together, of each file, of each group.

    Parameters
    ----------
    model : Quantifier
    paths : sequence of str
        Files of rows, globs, directories or counts files.
    by : sequence of str
        Columns whose values make the groups.
    by_file : bool
        Whether each file is a sample of its own.
    engine, on_error, n_jobs
        As in `poscount.engines.count`.
    layout : dict
        As in `fit`.
    watch : callable
        Called with a title for all that is counted in one go; gives a context with a progress
        function or None in it.
    """
    for name in by:
        if name in RESERVED or (by_file and name == "file"):
            raise InputError(
                "the result has a column of this name; rename yours, or choose another with --by.",
                column=name,
            )
    files = _files(paths)
    if by and any(_is_counts(file) for file in files):
        raise ValueError("Counts files know no groups: leave --by out, or give the data instead.")
    options = {"engine": engine, "on_error": on_error, "n_jobs": n_jobs, **layout}
    parts = [([file], {"file": file}) for file in files] if by_file else [(files, {})]
    return [
        Result(group | dict(zip(by, key, strict=True)), prevalence)
        for part, group in parts
        for key, prevalence in _answers(model, part, by, options, watch)
    ]


def count(
    model: Quantifier,
    paths: Sequence[str],
    options: dict[str, Any],
    by: Sequence[str] = (),
    watch: Watch = _unwatched,
) -> Any:
    """Count files together; `options` are those of `poscount.engines.count`."""
    if not isinstance(model, CountingQuantifier):
        raise ValueError(
            f"{type(model).__name__} needs positives and sample together, so that there is nothing "
            "to count: use a reusable method such as pat."
        )
    files = _files(paths)
    data = [file for file in files if not _is_counts(file)]
    parts: list[Any] = [Counts.load(file) for file in files if _is_counts(file)]
    if data:
        more = f" and {len(data) - 1} more" if len(data) > 1 else ""
        with watch(f"{data[0]}{more}") as progress:
            parts.append(count_rows(model, data, by=by, progress=progress, **options))
    total, *rest = parts
    return sum(rest, total)


def merge(paths: Sequence[str]) -> Counts:
    """Add counts files up."""
    total, *rest = [Counts.load(path) for path in paths]
    return sum(rest, total)


def _answers(
    model: Quantifier, files: list[str], by: Sequence[str], options: dict[str, Any], watch: Watch
) -> Iterator[tuple[tuple, Prevalence]]:
    if not isinstance(model, CountingQuantifier):
        counting = ("engine", "on_error", "n_jobs")
        layout = {name: options[name] for name in options if name not in counting}
        if (options["engine"], options["on_error"]) != ("auto", "raise"):
            raise ValueError(
                f"{type(model).__name__} needs all rows in memory at once: leave --engine and "
                "--on-error out, or use a reusable method such as pat."
            )
        sample = read_sample(model, files, layout, by)
        if by:
            yield from model.quantify_groups(sample, by).items()
        else:
            yield (), model.quantify(sample)
    elif by:
        grouped = count(model, files, options, by, watch)
        yield from zip(grouped.keys, model.estimate_by(grouped), strict=True)
    else:
        yield (), model.estimate(count(model, files, options, watch=watch))


def read_sample(
    model: Quantifier, files: list[str], layout: dict[str, Any], by: Sequence[str] = ()
) -> Any:
    """Read the columns that a model wants, and those to group by, of all files together."""
    tables = [
        read_table(
            file, columns=wanted_columns(model, by), numeric=model.numeric_features_, **layout
        )
        for file in files
    ]
    return _concatenated(tables, ", ".join(files))


def _concatenated(tables: list[Any], source: str) -> Any:
    try:
        return pyarrow().concat_tables(tables, promote_options="permissive")
    except pyarrow().ArrowException as error:
        raise InputError("the files do not have the same columns.", file=source) from error


def _files(paths: Sequence[str]) -> list[str]:
    counts = [path for path in paths if _is_counts(path)]
    rest = [path for path in paths if not _is_counts(path)]
    return counts + (expand(rest) if rest or not counts else [])


def _is_counts(path: str) -> bool:
    return path.endswith(".counts")
