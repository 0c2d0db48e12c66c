"""The options that several commands share; only typer is imported with them."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poscount import registry
from poscount.cli.output import progress_bar
from poscount.errors import InputError
from poscount.files.read_options import ReadOptions, read_options

if TYPE_CHECKING:
    from poscount.app.data_files import DataFiles


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"


class TextFormat(StrEnum):
    """How a report is printed."""

    text = "text"
    json = "json"


class Engine(StrEnum):
    """What reads the files."""

    auto = "auto"
    dask = "dask"
    spark = "spark"


class YesNo(StrEnum):
    """The answer to a question; without the option it is not known."""

    yes = "yes"
    no = "no"


class Calibrated(StrEnum):
    """What has a calibration, as it is called in calibration files."""

    rcq = "RCQ"
    rcq_reference = "RCQ-reference"
    rcq_kinds = "RCQ-kinds"
    rcq_groups = "RCQ-groups"
    rcq_other = "RCQ-other"


ModelFile = Annotated[str, typer.Argument(help="Model file written by `poscount fit`.")]
_POSITIVES = (
    "Labelled positives: CSV, JSON lines (both also gz, zst, zip), Excel, Parquet, Arrow; - for "
    "stdin."
)
Positives = Annotated[str, typer.Argument(help=_POSITIVES)]
PositivesOfTargets = Annotated[
    list[str], typer.Argument(help=f"{_POSITIVES} With --targets a file for each target.")
]
Data = Annotated[
    list[str],
    typer.Argument(help="Unlabeled rows: files of these formats, globs, directories; - for stdin."),
]
Method = Annotated[str, typer.Option("--method", help=f"One of {', '.join(registry.METHODS)}.")]
Scorer = Annotated[
    str | None,
    typer.Option("--scorer", help=f"One of {', '.join(registry.SCORERS)}.", show_default=False),
]
Features = Annotated[
    str | None, typer.Option(help="Columns to use, separated by commas.", show_default=False)
]
Exclude = Annotated[
    str | None, typer.Option(help="Columns to leave out, separated by commas.", show_default=False)
]
Confidence = Annotated[
    float | None, typer.Option(help="Level of the interval; 0.95 by default.", show_default=False)
]
Calibration = Annotated[
    str | None,
    typer.Option(
        help="For rcq and trcq: experience (the default), null, or a file written by `poscount "
        "calibrate`.",
        show_default=False,
    ),
]
Recognisable = Annotated[
    YesNo | None,
    typer.Option(
        help="For rcq and trcq: whether somebody who knows the field could nearly always tell a "
        "positive from these columns; leave it out if that is not known.",
        show_default=False,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        help="For rcq and trcq: by how many standard deviations of the positives columns may have "
        "been recorded differently in the sample (another sensor, night or laboratory).",
        show_default=False,
    ),
]
Subclasses = Annotated[
    str | None,
    typer.Option(
        help="For rcq: count kinds of positives apart, because their shares may change: auto, a "
        "number of kinds, or the column of the positives that names the kind.",
        show_default=False,
    ),
]
Targets = Annotated[
    str | None,
    typer.Option(
        help="Names of several targets, separated by commas: one for each file of positives, in "
        "the same order.",
        show_default=False,
    ),
]
TargetColumn = Annotated[
    str | None,
    typer.Option(
        help="The column of the positives that names the target of each row.", show_default=False
    ),
]
Negatives = Annotated[
    list[str] | None,
    typer.Option(
        help="For rcq: a file of labelled negatives; again for each further kind of them.",
        show_default=False,
    ),
]
Unlabeled = Annotated[
    list[str] | None,
    typer.Option(
        help="For rcq: unlabeled rows to learn from, too: a file, a glob in quotes or a directory; "
        "again for each further one.",
        show_default=False,
    ),
]
PositivesOnly = Annotated[
    bool,
    typer.Option(
        "--positives-only",
        help="For rcq: learn from the positives alone, and not from the rows to be counted, too.",
    ),
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        help="Replicates for the interval of a method that has none of its own, such as 200.",
        show_default=False,
    ),
]
RandomState = Annotated[
    int, typer.Option("--random-state", help="Seed; the same seed gives the same answer.")
]
DropPositives = Annotated[
    bool,
    typer.Option(
        "--drop-positives",
        help="Leave labelled positives out that are rows of the sample, too, as in a register.",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="One answer for each value of these columns (commas, or --by again); also year(date), "
        "month(date), week(date), day(date), hour(date).",
        show_default=False,
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        help="Also say how likely the share is above this one, such as 5% or 0.05; again for each "
        "further one.",
        show_default=False,
    ),
]
ByFile = Annotated[bool, typer.Option("--by-file", help="One answer for each file.")]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        help="Column with the weight of each row: how often it counts, or a survey weight.",
        show_default=False,
    ),
]
EngineOption = Annotated[Engine, typer.Option("--engine", help="What reads and counts the files.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        help="Write the result to this file, too: .csv or .json.",
        show_default=False,
    ),
]
Plot = Annotated[
    str | None, typer.Option("--plot", help="Draw the result into this file.", show_default=False)
]
Trust = Annotated[
    str | None,
    typer.Option(
        "--trust",
        help="Types that a model file with a scorer of another library may build.",
        show_default=False,
    ),
]


def names(text: str | None) -> list[str] | None:
    """Split the value of an option at its commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def kinds(text: str | None) -> int | str | None:
    """Read the value of --subclasses: a number, or a word."""
    return int(text) if text is not None and text.isdecimal() else text


def as_bool(answer: YesNo | None) -> bool | None:
    """Read the answer to a question, as a parameter of a method has it."""
    return None if answer is None else answer is YesNo.yes


def grouping(values: list[str] | None) -> list[str]:
    """Columns of all --by together; each may name several, separated by commas."""
    return [name for value in values or [] for name in names(value) or []]


def limits(values: list[str] | None) -> list[float]:
    """Shares of all --limit together.

    Examples
    --------
    >>> limits(["5%", "0.7 %", "0.05"])
    [0.05, 0.007]
    """
    return list(dict.fromkeys(map(_share, values or [])))


def _share(text: str) -> float:
    number = text.strip()
    try:
        # Not a float: a hundredth of 0.7 is to be 0.007.
        share = float(Decimal(number.removesuffix("%")) / (100 if number.endswith("%") else 1))
    except ArithmeticError:
        share = math.nan
    if not 0 <= share < 1:
        raise InputError(
            f"{text!r} is not a share from 0 to below 100 %.", option="limit", value="5%"
        )
    return share


def load_model(path: str, trust: str | None) -> Any:
    """Load a model file; `trust` is the value of --trust."""
    return registry.load(path, trusted=names(trust) or [])


def data_files(paths: Sequence[str], read_options: ReadOptions, **how: Any) -> DataFiles:
    """Files by names, globs and directories, which show their progress on a terminal."""
    from poscount.app.data_files import DataFiles

    return DataFiles.matching(paths, read_options=read_options, progress=progress_bar, **how)


# How files are written, which every command that reads files asks

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
    """Add these options to a command, which gets them together as its argument `read_options`."""
    own = inspect.signature(command, eval_str=True)
    parameters = [each for name, each in own.parameters.items() if name != "read_options"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        written = {name: given.pop(name) for name in _OPTIONS}
        command(**given, read_options=_reading(**written))

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _reading(
    *, no_header: bool, delimiter: str | None, units: str | None, na: str | None, **same: Any
) -> ReadOptions:
    """Make one setting of all options; a tab may be written as backslash and t."""
    pairs = [tuple(part.rpartition("=")[::2]) for part in names(units) or []]
    if not all(column and unit for column, unit in pairs):
        raise InputError(
            "each part must be a column and its unit, such as weight=g.", option="units"
        )
    return read_options(
        delimiter="\t" if delimiter == "\\t" else delimiter,
        header=not no_header,
        units={column.strip(): unit.strip() for column, unit in pairs},
        na=names(na) or [],
        **same,
    )
