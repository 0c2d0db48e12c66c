"""The options that say how files are written, which every command that reads files has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from poscount.cli.options import names
from poscount.errors import InputError
from poscount.workflows import CsvFormat

_PANEL = "How files are written"


def _option(text: str, *flags: str) -> Any:
    return typer.Option(*flags, help=text, show_default=False, rich_help_panel=_PANEL)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "delimiter": (
        Annotated[str | None, _option("Delimiter of CSV files; found in the first line.")],
        None,
    ),
    "decimal": (Annotated[str, _option("Decimal mark; a point by default.")], "."),
    "thousands": (Annotated[str | None, _option("Thousands mark, as , in 12,000.")], None),
    "units": (
        Annotated[
            str | None, _option("Units of columns: with weight=g, '40.25 g' is 40.25 (commas).")
        ],
        None,
    ),
    "na": (
        Annotated[
            str | None,
            _option("More signs of missing values than NA, null, ... (commas), as in -,.,-999."),
        ],
        None,
    ),
    "encoding": (
        Annotated[str | None, _option("Encoding of text files, such as cp1252 or utf-16.")],
        None,
    ),
    "sheet": (Annotated[str | None, _option("Sheet of Excel workbooks.")], None),
    "day_first": (
        Annotated[
            bool | None,
            _option("Whether 03/04/2026 is in April or in March.", "--day-first/--month-first"),
        ],
        None,
    ),
    "no_header": (
        Annotated[bool, _option("Files have no header; columns are 1, 2, ...", "--no-header")],
        False,
    ),
}


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it gets them together, as its argument `csv_format`."""
    own = inspect.signature(command, eval_str=True)
    parameters = [each for name, each in own.parameters.items() if name != "csv_format"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        written = {name: given.pop(name) for name in _OPTIONS}
        command(**given, csv_format=_csv_format(**written))

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _csv_format(
    *, no_header: bool, delimiter: str | None, units: str | None, na: str | None, **same: Any
) -> CsvFormat:
    """Make one setting of all options; a tab may be written as backslash and t."""
    pairs = [tuple(part.rpartition("=")[::2]) for part in names(units) or []]
    if not all(column and unit for column, unit in pairs):
        raise InputError(
            "each part must be a column and its unit, such as weight=g.", option="units"
        )
    return CsvFormat(
        delimiter="\t" if delimiter == "\\t" else delimiter,
        header=not no_header,
        units=tuple((column.strip(), unit.strip()) for column, unit in pairs),
        na=tuple(names(na) or []),
        **same,
    )
