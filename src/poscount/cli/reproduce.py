"""`poscount reproduce`: run experiments, show how far they are, write the report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import typer

from poscount.experiments import runner
from poscount.experiments.report import write_report
from poscount.experiments.runner import RunProgress
from poscount.experiments.store import Store


def run(
    experiments: list[str],
    datasets: list[str],
    methods: list[str],
    *,
    output: str,
    report: str,
    repetitions: int | None,
    n_jobs: int,
    random_state: int,
    dask: str | None,
    retry_failed: bool,
) -> None:
    """Run what is missing of the experiments, with progress on a terminal."""
    with Store(output, random_state) as store, _client(dask) as client:
        if retry_failed:
            typer.echo(f"{store.forget_failures()} failed evaluations are tried again.", err=True)
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
        # Closed at once when interrupted, so that no worker goes on behind our back.
        with closing(steps):
            last = _show(steps)
        typer.echo(
            f"{output}: {store.count()} evaluations, {last.done} models fitted in this run"
            + (f", {last.failed} evaluations failed." if last.failed else ".")
        )
    typer.echo(f"{write_report(output, report)}: tables and pictures.")


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
