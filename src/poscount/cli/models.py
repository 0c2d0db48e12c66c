"""From files to models and results."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from poscount import engines, registry
from poscount.base import CountingQuantifier, Quantifier
from poscount.cli.columns import choose_features
from poscount.cli.progress import progress_bar
from poscount.counts import Counts
from poscount.engines.arrow import pyarrow
from poscount.engines.batches import wanted_columns
from poscount.engines.files import expand, read_table
from poscount.prevalence import Prevalence
from poscount.validation import InputError


class Result(NamedTuple):
    """A prevalence, and what it is the prevalence of: column names and values."""

    group: dict[str, Any]
    prevalence: Prevalence


def fit(
    path: str,
    method: str,
    *,
    scorer: str | None = None,
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    confidence: float | None = None,
    bootstrap: int | None = None,
    random_state: int,
    layout: dict[str, Any],
) -> Quantifier:
    """Fit a method on a file of positives."""
    kind = registry.method(method)
    asked = {"scorer": scorer, "confidence": confidence, "bootstrap": bootstrap}
    parameters: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
    for name in set(parameters) - set(kind().get_params(deep=False)):
        other = ", or take --method pat" if name == "scorer" else ""
        raise ValueError(f"The method {method} has no use for --{name}: leave it out{other}.")
    if scorer is not None:
        parameters["scorer"] = registry.scorer(scorer)
    if bootstrap is not None:
        # Replicates take long: on all cores, and with their progress where somebody looks on.
        parameters |= {"n_jobs": -1, "verbose": 10 if sys.stderr.isatty() else 0}
    parameters["random_state"] = random_state
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
    engine: str = "auto",
    on_error: str = "raise",
    layout: dict[str, Any],
) -> list[Result]:
    """Estimate prevalences: of everything together, of each file, of each group."""
    files = _files(paths)
    if by and any(_is_counts(file) for file in files):
        raise ValueError("Counts files know no groups: leave --by out, or give the data instead.")
    options = {"engine": engine, "on_error": on_error, **layout}
    parts = [([file], {"file": file}) for file in files] if by_file else [(files, {})]
    return [
        Result(group | dict(zip(by, key, strict=True)), prevalence)
        for part, group in parts
        for key, prevalence in _answers(model, part, by, options)
    ]


def count(
    model: Quantifier, paths: Sequence[str], options: dict[str, Any], by: Sequence[str] = ()
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
        with progress_bar(f"{data[0]}{more}") as progress:
            parts.append(engines.count(model, data, by=by, progress=progress, **options))
    total, *rest = parts
    return sum(rest, total)


def merge(paths: Sequence[str]) -> Counts:
    """Add counts files up."""
    total, *rest = [Counts.load(path) for path in paths]
    return sum(rest, total)


def _answers(
    model: Quantifier, files: list[str], by: Sequence[str], options: dict[str, Any]
) -> Iterator[tuple[tuple, Prevalence]]:
    if not isinstance(model, CountingQuantifier):
        layout = {name: options[name] for name in options if name not in ("engine", "on_error")}
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
        grouped = count(model, files, options, by)
        yield from zip(grouped.keys, model.estimate_by(grouped), strict=True)
    else:
        yield (), model.estimate(count(model, files, options))


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
        raise InputError("the files do not have the same columns.", source=source) from error


def _files(paths: Sequence[str]) -> list[str]:
    counts = [path for path in paths if _is_counts(path)]
    rest = [path for path in paths if not _is_counts(path)]
    return counts + (expand(rest) if rest or not counts else [])


def _is_counts(path: str) -> bool:
    return path.endswith(".counts")
