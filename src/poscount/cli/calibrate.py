"""The command that makes a calibration: only typer is imported with it, so that --help is quick."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from poscount.app.outputs import check_output
from poscount.cli.options import RandomState
from poscount.cli.output import tell_written


class Calibrated(StrEnum):
    """The methods that have a calibration."""

    rcq = "rcq"
    trcq = "trcq"
    rcq_kinds = "rcq-kinds"
    rcq_groups = "rcq-groups"
    rcq_other = "rcq-other"


# As they are called in calibration files.
METHODS = {
    "rcq": "RCQ",
    "trcq": "TRCQ",
    "rcq-kinds": "RCQ-kinds",
    "rcq-groups": "RCQ-groups",
    "rcq-other": "RCQ-other",
}


def calibrate(
    tables: Annotated[
        list[str], typer.Argument(help="Labelled tables (CSV, also gz) of your field.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="Calibration file to write.")],
    label: Annotated[str, typer.Option(help="Column of the tables that is the class.")] = "class",
    method: Annotated[Calibrated, typer.Option(help="What to calibrate.")] = Calibrated.rcq,
    tasks: Annotated[int, typer.Option(help="Tasks to draw from the tables.", min=100)] = 4_000,
    bank: Annotated[
        str, typer.Option(help="Folder for the tasks; what is there already is kept.")
    ] = "poscount-bank",
    n_jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    random_state: RandomState = 0,
) -> None:
    """Learn from data whose truth is known how far RCQ or TRCQ is from it."""
    from poscount.training.train import make_calibration, plan_of_tables

    check_output(output, tables)
    made = make_calibration(
        output,
        METHODS[method.value],
        plan_of_tables(tables, label, tasks),
        folder=bank,
        seed=random_state,
        n_jobs=n_jobs,
        verbose=5 if sys.stderr.isatty() else 0,
    )
    coverage = ", ".join(f"{100 * float(k):g} %: {v:.3f}" for k, v in made["coverage"].items())
    tell_written(
        output,
        f"{output}: learned from {made['n_tasks']:,} tasks. On sources that were left out, "
        f"intervals hold with frequency {coverage}; mean error {made['mean_absolute_error']:.3f}.",
    )
