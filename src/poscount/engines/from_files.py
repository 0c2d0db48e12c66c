"""From files to models and results: what the command line and the web page have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from poscount import registry
from poscount.base import CountingQuantifier, Quantifier
from poscount.counts import Counts
from poscount.engines.arrow import Progress, pyarrow
from poscount.engines.columns import choose_features
from poscount.engines.count import count_file, count_file_by, model_columns
from poscount.engines.files import expand, read_table
from poscount.engines.results import RESERVED, Result
from poscount.prevalence import Prevalence
from poscount.validation import InputError

Watch = Callable[[str], AbstractContextManager[Progress | None]]


def _unwatched(file: str) -> AbstractContextManager[None]:
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
        How CSV files are written, as in `poscount.engines.files.read_batches`.
    """
    kind = registry.method(method)
    parameters = {name: value for name, value in options.items() if value is not None}
    known = kind().get_params(deep=False)
    for name in parameters:
        if name not in known:
            raise ValueError(f"The method {method} has no use for --{name}: leave it out.")
    if "scorer" in parameters:
        parameters["scorer"] = registry.scorer(parameters["scorer"])
    table = _concatenated([read_table(file, **layout) for file in expand([path])], path)
    chosen = choose_features(table, features, exclude or [], path)
    try:
        return kind(**parameters).fit(table, features=chosen)
    except InputError as error:
        raise InputError(error.problem, source=path, column=error.column, row=error.row) from error


def quantify(
    model: Quantifier,
    paths: Sequence[str],
    *,
    by: Sequence[str] = (),
    by_file: bool = False,
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
    layout : dict
        As in `fit`.
    watch : callable
        Gives a context for each file that is counted, with a progress function or None in it.
    """
    for name in by:
        if name in RESERVED or (by_file and name == "file"):
            raise InputError(
                "a grouping column cannot have the name of a column of the result; rename it.",
                column=name,
            )
    files = _files(paths)
    if by and any(_is_counts(file) for file in files):
        raise ValueError("Counts files know no groups: leave --by out, or give the data instead.")
    parts = [([file], {"file": file}) for file in files] if by_file else [(files, {})]
    return [
        Result(group | dict(zip(by, key, strict=True)), prevalence)
        for part, group in parts
        for key, prevalence in _answers(model, part, by, layout, watch)
    ]


def count(
    model: Quantifier, paths: Sequence[str], layout: dict[str, Any], watch: Watch = _unwatched
) -> Counts:
    """Count files together."""
    if not isinstance(model, CountingQuantifier):
        raise ValueError(
            f"{type(model).__name__} needs positives and sample together, so that there is nothing "
            "to count: use a reusable method such as pat."
        )
    return _add_up(
        _files(paths),
        lambda file, progress: count_file(model, file, progress=progress, **layout),
        watch,
    )


def merge(paths: Sequence[str]) -> Counts:
    """Add counts files up."""
    total, *rest = [Counts.load(path) for path in paths]
    return sum(rest, total)


def _answers(
    model: Quantifier, files: list[str], by: Sequence[str], layout: dict[str, Any], watch: Watch
) -> Iterator[tuple[tuple, Prevalence]]:
    if not isinstance(model, CountingQuantifier):
        sample = _read_sample(model, files, by, layout)
        if by:
            yield from model.quantify_groups(sample, by).items()
        else:
            yield (), model.quantify(sample)
    elif by:
        grouped = _add_up(
            files, lambda file, bar: count_file_by(model, file, by, progress=bar, **layout), watch
        )
        answers = zip(grouped.keys, model.estimate_by(grouped), strict=True)
        yield from sorted(answers, key=lambda answer: answer[0])
    else:
        yield (), model.estimate(count(model, files, layout, watch))


def _read_sample(
    model: Quantifier, files: list[str], by: Sequence[str], layout: dict[str, Any]
) -> Any:
    columns = list(dict.fromkeys([*model_columns(model), *by]))
    tables = [
        read_table(file, columns=columns, numeric=model.numeric_features_, **layout)
        for file in files
    ]
    return _concatenated(tables, ", ".join(files))


def _concatenated(tables: list[Any], source: str) -> Any:
    try:
        return pyarrow().concat_tables(tables, promote_options="permissive")
    except pyarrow().ArrowException as error:
        raise InputError("the files do not have the same columns.", source=source) from error


def _add_up(
    files: list[str], count_one: Callable[[str, Progress | None], Any], watch: Watch
) -> Any:
    total = None
    for file in files:
        if _is_counts(file):
            counts = Counts.load(file)
        else:
            with watch(file) as progress:
                counts = count_one(file, progress)
        total = counts if total is None else total + counts
    return total


def _files(paths: Sequence[str]) -> list[str]:
    counts = [path for path in paths if _is_counts(path)]
    rest = [path for path in paths if not _is_counts(path)]
    return counts + (expand(rest) if rest or not counts else [])


def _is_counts(path: str) -> bool:
    return path.endswith(".counts")
