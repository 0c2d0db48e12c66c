"""The commands that run the paper's experiments and report on them.

Only typer is imported with them, so that --help answers at once.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poscount.cli.options import RandomState
from poscount.cli.tables import print_table
from poscount.cli.words import say

if TYPE_CHECKING:
    from poscount.experiments.report.document import ReportTable
    from poscount.experiments.runner import RunProgress


def reproduce(
    experiments: Annotated[
        list[str], typer.Argument(help="Experiments of the paper: 1, 2, 3 (sub-classes), 4 (time).")
    ],
    datasets: Annotated[
        list[str],
        typer.Option(help="Data sets, one or more; `poscount datasets list` names them."),
    ],
    methods: Annotated[
        list[str],
        typer.Option(
            help="Methods, one or more, also with parameters (pat:q=0.5); paper, scorers or all."
        ),
    ] = ["paper"],  # noqa: B006 (typer reads it)
    output: Annotated[
        str, typer.Option("-o", "--output", help="Results file; an existing one is completed.")
    ] = "poscount-results.sqlite",
    report: Annotated[str, typer.Option(help="Directory for the report.")] = "poscount-report",
    repetitions: Annotated[
        int | None, typer.Option(help="Repetitions, if not the paper's.", min=1, show_default=False)
    ] = None,
    n_jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    random_state: RandomState = 0,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.", show_default=False)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed evaluations again.")
    ] = False,
) -> None:
    """Run the paper's experiments, or resume them, and write tables and plots."""
    from poscount.experiments import runner
    from poscount.experiments.report import write_report
    from poscount.experiments.store import Store

    with Store(output, random_state) as store, _client(dask) as client:
        if retry_failed:
            say(f"{store.forget_failures()} failed evaluations are tried again.", err=True)
        steps = runner.run(
            store,
            experiments,
            datasets,
            methods,
            seed=random_state,
            repetitions=repetitions,
            n_jobs=n_jobs,
            client=client,
            command=shlex.join(["poscount", *sys.argv[1:]]),
        )
        # Closed at once when interrupted, so that no worker keeps running.
        with closing(steps):
            last = _show(steps)
        say(
            f"{output}: {store.count()} evaluations, {last.done} models fitted in this run"
            + (f", {last.failed} evaluations failed." if last.failed else ".")
        )
    page = write_report(output, report, tell=_print_report_table)
    say(f"{page}: all tables and pictures.")


def report(
    results: Annotated[str, typer.Argument(help="Results file of `poscount reproduce`.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Directory to write the report to.")
    ] = "poscount-report",
) -> None:
    """Write tables, tests and pictures of experiments: HTML, Markdown and CSV."""
    from poscount.experiments.report import write_report

    say(f"Report: {write_report(results, output, tell=_print_report_table)}")


def _print_report_table(table: ReportTable) -> None:
    """Print a table of the report, without what it has in brackets."""
    say(f"{table.title} (* the best)")
    rows = [[f"{cell.text}{'*' if cell.bold else ''}" for cell in row] for row in table.cells]
    print_table(table.head, rows, right=table.head[1:])
    say("")


def _client(address: str | None) -> Any:
    if address is None:
        return nullcontext()
    try:
        from dask.distributed import Client
    except ImportError:
        raise ImportError('A Dask cluster needs dask: pip install "poscount[dask]".') from None
    return Client(address)  # type: ignore[no-untyped-call]


def _show(steps: Iterator[RunProgress]) -> RunProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = [
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    ]
    with Bar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, left="")
        for state in steps:
            left = (
                "" if state.seconds_left is None else f"about {_duration(state.seconds_left)} left"
            )
            if state.failed:
                left += f", {state.failed} failed"
            bar.update(task, total=state.total, completed=state.done, left=left)
    return state


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
