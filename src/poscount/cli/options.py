"""The options that several commands share; only typer is imported with them."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poscount import registry
from poscount.cli.output import progress_bar
from poscount.cli.words import echo, flag
from poscount.errors import InputError
from poscount.files.read_options import DEFAULT_OPTIONS, ReadOptions, read_options

if TYPE_CHECKING:
    from poscount.app.data_files import DataFiles
    from poscount.files.guessed_options import GuessedOptions


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


def option(text: str, *flags: str, **more: Any) -> Any:
    """An option whose default is not shown."""
    return typer.Option(*flags, help=text, show_default=False, **more)


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
DataOrNone = Annotated[
    list[str] | None,
    typer.Argument(
        help="Unlabeled rows: files of these formats, globs, directories; - for stdin. With "
        "--label further files, or none.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    option(
        "The column that says which rows are positives; those in which it is empty or unknown "
        "are counted. All files have it."
    ),
]
Positive = Annotated[
    str | None, option("With --label: what positives have there; several targets with commas.")
]
Negative = Annotated[
    str | None, option("With --label: what known negatives have there; several kinds with commas.")
]
Method = Annotated[str, typer.Option("--method", help=f"One of {', '.join(registry.METHODS)}.")]
Scorer = Annotated[str | None, option(f"One of {', '.join(registry.SCORERS)}.", "--scorer")]
Features = Annotated[str | None, option("Columns to use, separated by commas.")]
Exclude = Annotated[str | None, option("Columns to leave out, separated by commas.")]
Confidence = Annotated[float | None, option("Level of the interval; 0.95 by default.")]
Calibration = Annotated[
    str | None,
    option(
        "For rcq and trcq: experience (the default), null, or a file written by `poscount "
        "calibrate`."
    ),
]
Recognisable = Annotated[
    YesNo | None,
    option(
        "For rcq and trcq: whether somebody who knows the field could nearly always tell a "
        "positive from these columns; leave it out if that is not known."
    ),
]
Tolerance = Annotated[
    float | None,
    option(
        "For rcq and trcq: by how many standard deviations of the positives columns may have "
        "been recorded differently in the sample (another sensor, night or laboratory)."
    ),
]
Subclasses = Annotated[
    str | None,
    option(
        "For rcq: count kinds of positives apart, because their shares may change: auto, a "
        "number of kinds, or the column of the positives that names the kind."
    ),
]
Targets = Annotated[
    str | None,
    option(
        "Names of several targets, separated by commas: one for each file of positives, in "
        "the same order."
    ),
]
TargetColumn = Annotated[
    str | None, option("The column of the positives that names the target of each row.")
]
Negatives = Annotated[
    list[str] | None,
    option("For rcq: a file of labelled negatives; again for each further kind of them."),
]
Unlabeled = Annotated[
    list[str] | None,
    option(
        "For rcq: unlabeled rows to learn from, too: a file, a glob in quotes or a directory; "
        "again for each further one."
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
    option("Replicates for the interval of a method that has none of its own, such as 200."),
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
    option(
        "One answer for each value of these columns (commas, or --by again); also year(date), "
        "month(date), week(date), day(date), hour(date).",
        "--by",
    ),
]
Limit = Annotated[
    list[str] | None,
    option(
        "Also say how likely the share is above this one, such as 5% or 0.05; again for each "
        "further one.",
        "--limit",
    ),
]
ByFile = Annotated[bool, typer.Option("--by-file", help="One answer for each file.")]
Weights = Annotated[
    str | None,
    option(
        "Column with the weight of each row: how often it counts, or a survey weight.", "--weights"
    ),
]
Cluster = Annotated[
    str | None,
    option(
        "Column with the cluster of each row, such as its patient or trap: the interval is then "
        "for the population behind the clusters.",
        "--cluster",
    ),
]
EngineOption = Annotated[Engine, typer.Option("--engine", help="What reads and counts the files.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Output = Annotated[
    str | None, option("Write the result to this file, too: .csv or .json.", "-o", "--output")
]
Plot = Annotated[str | None, option("Draw the result into this file.", "--plot")]
Trust = Annotated[
    str | None,
    option("Types that a model file with a scorer of another library may build.", "--trust"),
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


class Reading:
    """How the files of a command are written: what the user says, and the rest guessed.

    Parameters
    ----------
    options : ReadOptions
    said : collection of str
        The names of the options that the user has set.
    """

    def __init__(self, options: ReadOptions = DEFAULT_OPTIONS, said: Collection[str] = ()) -> None:
        self.options, self.said = options, said

    @functools.cached_property
    def guesses(self) -> GuessedOptions:
        """What is guessed of all files together; each guess is a line on standard error."""
        from poscount.files.guessed_options import GuessedOptions

        return GuessedOptions(
            self.options, self.said, lambda note: echo(note.rendered(flag), err=True)
        )


def data_files(paths: Sequence[str], reading: Reading, **how: Any) -> DataFiles:
    """Files by names, globs and directories, which show their progress on a terminal."""
    from poscount.app.data_files import DataFiles

    return DataFiles.matching(paths, guesses=reading.guesses, progress=progress_bar, **how)


def require_label(label: str | None, **values: str | None) -> None:
    """Refuse labels without the column that has them."""
    for value in values.values():
        if value is not None and label is None:
            raise InputError(
                f"{value!r} is a label, but the column of the labels is not named.", option="label"
            )


def rows_to_count(positives: str, data: list[str] | None, label: str | None) -> list[str]:
    """Files with the rows to be counted; with --label these are all files."""
    if label is not None:
        return [positives, *(data or [])]
    if not data:
        raise InputError(
            "There are no rows to be counted: name their file after that of the positives; or, if "
            "one file has both, the column that says which rows are positives.",
            option="label",
        )
    return data


def take_apart(files: DataFiles, label: str, positive: str | None, negative: str | None) -> Any:
    """Take files apart by the column of --label, and say what becomes of their rows."""
    from poscount.app.labelled_rows import take_apart as take

    parts = take(files, label, names(positive), names(negative))
    echo(parts.sentence, err=True)
    return parts


# How files are written, which every command that reads files asks

_PANEL = "How files are written (guessed, and said, where it is not given)"
# The value of an option for which nothing is to be guessed or used.
_NONE = "none"


reading_option = functools.partial(option, rich_help_panel=_PANEL)
_OPTIONS: dict[str, Any] = {
    "delimiter": Annotated[str | None, reading_option("Delimiter of CSV files.")],
    "decimal": Annotated[str | None, reading_option("Decimal mark: a point or a comma.")],
    "thousands": Annotated[str | None, reading_option("Thousands mark, as , in 12,000; or none.")],
    "units": Annotated[
        str | None,
        reading_option("Units of columns: with weight=g, '40.25 g' is 40.25 (commas); or none."),
    ],
    "na": Annotated[
        str | None,
        reading_option("More signs of missing values than NA, null, ... (commas), as in -,.,-999."),
    ],
    "encoding": Annotated[
        str | None, reading_option("Encoding of text files, such as utf-8, cp1252 or utf-16.")
    ],
    "sheet": Annotated[str | None, reading_option("Sheet of Excel workbooks.")],
    "day_first": Annotated[
        bool | None,
        reading_option("Whether 03/04/2026 is in April or in March.", "--day-first/--month-first"),
    ],
    "header_row": Annotated[
        int | None, reading_option("Row of the column names, if not the first.")
    ],
    "no_header": Annotated[
        bool | None, reading_option("Files have no header; columns are 1, 2, ...", "--no-header")
    ],
    "row_names": Annotated[
        YesNo | None,
        reading_option("Whether rows begin with a name, for which the header has none (R)."),
    ],
    "footer": Annotated[int | None, reading_option("Rows at the end that are notes or totals.")],
    "rename": Annotated[
        list[str] | None,
        reading_option(
            "Another name for a column, as in 'bill length=bill_length_mm'; again for others."
        ),
    ],
}


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add these options to a command, which gets them together as its argument `reading`."""
    own = inspect.signature(command, eval_str=True)
    parameters = [each for name, each in own.parameters.items() if name != "reading"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        written = {name: given.pop(name) for name in _OPTIONS}
        command(**given, reading=_reading(written))

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _reading(written: dict[str, Any]) -> Reading:
    """Make one setting of all options that are given; a tab may be written as backslash and t."""
    said = {name: value for name, value in written.items() if value is not None}
    if said.pop("no_header", False):
        said["header"] = False
    if "row_names" in said:
        said["row_names"] = as_bool(said["row_names"])
    if said.get("delimiter") == "\\t":
        said["delimiter"] = "\t"
    if said.get("thousands") == _NONE:
        said["thousands"] = None
    if "units" in said:
        units = [] if said["units"] == _NONE else names(said["units"]) or []
        said["units"] = _pairs(units, "units", "a column and its unit, such as weight=g")
    if "rename" in said:
        said["rename"] = _pairs(
            said["rename"], "rename", "the name in the file and the one to use, such as 'Mass=mass'"
        )
    if "na" in said:
        said["na"] = names(said["na"])
    return Reading(read_options(**said), said)


def _pairs(parts: list[str], option: str, what: str) -> dict[str, str]:
    pairs = [part.rpartition("=")[::2] for part in parts]
    if not all(left.strip() and right.strip() for left, right in pairs):
        raise InputError(f"each part must be {what}.", option=option)
    return {left if option == "rename" else left.strip(): right.strip() for left, right in pairs}
