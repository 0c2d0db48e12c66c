"""From files of positives of several targets to a fitted model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from poscount.errors import InputError
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import choose_features, chosen_columns
from poscount.files.reading import FileRows, expand, join_tables, read_files
from poscount.methods.regions.multi_rcq import MultiRCQ


def fit_targets(
    paths: Sequence[str],
    *,
    targets: Sequence[str] | None = None,
    target_column: str | None = None,
    options: Mapping[str, Any],
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    weights: str | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
    tell_left_out: Callable[[dict[str, str]], None] = lambda left_out: None,
) -> MultiRCQ:
    """Fit `MultiRCQ` on files of positives of several targets.

    Parameters
    ----------
    paths : sequence of str
        Files, globs or directories: one for each target; or any number of them in which a column
        names the target of each row.
    targets : sequence of str, optional
        Names of the targets, one for each of the paths.
    target_column : str, optional
        The column that names the target of each row.
    options : mapping
        Parameters of `MultiRCQ`; None leaves one at its default.
    features, exclude : list of str, optional
        Columns to use, and not to use.
    weights : str, optional
        Column of weights in the files to be counted, which is no feature.
    csv_format : CsvFormat
        How CSV files are written.
    tell_left_out : callable
        Called with the columns that are not used by default, such as dates, and what they hold.

    Examples
    --------
    >>> from poscount.example import example_path
    >>> path = str(example_path("positives.csv"))
    >>> try:
    ...     fit_targets([path, path], targets=["aegypti", "aegypti"], options={})
    ... except InputError as error:
    ...     print(error.message)
    The target 'aegypti' is there 2 times: give each a name of its own.
    """
    if (targets is None) == (target_column is None):
        raise InputError(
            "Name the target of each file, or the column that names the target of each row, but "
            "not both.",
            option="targets",
        )
    parameters = {name: value for name, value in options.items() if value is not None}
    model = MultiRCQ(**parameters)
    if targets is not None:
        _check_names(paths, targets)
    parts = [read_files(expand([path]), csv_format=csv_format) for path in paths]
    _check_columns(parts, features)
    files = [file for part in parts for file in part.files]
    rows = join_tables(files, [part.table for part in parts], csv_format)
    rows = FileRows(rows.table, files, [n for part in parts for n in part.n_rows])
    source = ", ".join(paths)
    left_out = list(exclude or [])
    if target_column is not None:
        chosen_columns(rows.table.column_names, None, [target_column], source)
        left_out.append(target_column)
    if weights is not None and weights in set(rows.table.column_names) - set(features or []):
        left_out.append(weights)
    try:
        chosen = choose_features(rows.table, features, left_out, source, csv_format)
        if chosen.left_out:
            tell_left_out(chosen.left_out)
        if target_column is not None:
            return model.fit(rows.table, target_column=target_column, features=chosen.features)
        sizes = [part.table.num_rows for part in parts]
        starts = accumulate(sizes, initial=0)
        tables = {
            name: rows.table.slice(start, size)
            for name, start, size in zip(targets or [], starts, sizes, strict=False)
        }
        return model.fit(tables, features=chosen.features)
    except InputError as error:
        raise rows.located(error) from error


def _check_names(paths: Sequence[str], targets: Sequence[str]) -> None:
    if len(paths) != len(targets):
        raise InputError(
            f"There are {len(targets)} targets ({', '.join(targets)}) and {len(paths)} files: each "
            "target needs a file of its positives, in the same order.",
            option="targets",
        )
    for name, times in Counter(targets).items():
        if times > 1:
            raise InputError(
                f"The target {name!r} is there {times} times: give each a name of its own.",
                option="targets",
            )


def _check_columns(parts: Sequence[FileRows], features: list[str] | None) -> None:
    """Refuse files with different columns, unless those to be used are named."""
    first, *rest = parts
    names = first.table.column_names
    for part in rest if features is None else ():
        for one, other in ((first, part), (part, first)):
            more = [name for name in one.table.column_names if name not in other.table.column_names]
            if more:
                raise InputError(
                    f"the column is missing here, but {one.files[0]} has it; all files need the "
                    "same columns, unless those to be used are named.",
                    file=other.files[0],
                    column=more[0],
                )
    for part in parts if features is not None else ():
        chosen_columns(part.table.column_names, None, features or names, part.files[0])
