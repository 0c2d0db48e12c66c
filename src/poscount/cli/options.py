"""The options that several commands share; only typer is imported with them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from poscount import registry


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
    duckdb = "duckdb"
    dask = "dask"
    spark = "spark"


class OnError(StrEnum):
    """What to do if a file cannot be used."""

    stop = "raise"
    skip = "skip"


ModelFile = Annotated[str, typer.Argument(help="Model file written by `poscount fit`.")]
Positives = Annotated[
    str,
    typer.Argument(
        help="Labelled positives: CSV, JSON lines (both also gz, zst, zip), Excel, Parquet, Arrow; "
        "- for stdin."
    ),
]
PositivesOfTargets = Annotated[
    list[str],
    typer.Argument(
        help="Labelled positives: CSV, JSON lines (both also gz, zst, zip), Excel, Parquet, Arrow; "
        "- for stdin. With --targets a file for each target."
    ),
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
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="One answer for each value of these columns (commas, or --by again); also year(date), "
        "month(date), week(date), day(date), hour(date).",
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
OnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="Stop at a bad file, or skip it with a warning.")
]
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


def grouping(values: list[str] | None) -> list[str]:
    """Columns of all --by together; each may name several, separated by commas."""
    return [name for value in values or [] for name in names(value) or []]
