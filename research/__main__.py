"""The commands: reproduce, report, export, restore, datasets, calibrate."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from poscount.cli.output import progress_bar
from poscount.cli.tables import print_table

if TYPE_CHECKING:
    from research.experiments.runner import RunProgress
    from research.report.document import ReportTable

app = typer.Typer(
    name="research",
    help="The experiments of the paper, their data sets and their report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
datasets_app = typer.Typer(
    name="datasets", help="The data sets of the experiments.", no_args_is_help=True
)
app.add_typer(datasets_app)

_Jobs = Annotated[int, typer.Option(help="Processes; -1 for all cores.")]
_RandomState = Annotated[int, typer.Option(help="Seed.")]


class Calibrated(StrEnum):
    """What has a calibration, as it is called in calibration files."""

    rcq = "RCQ"
    rcq_reference = "RCQ-reference"
    rcq_kinds = "RCQ-kinds"
    rcq_groups = "RCQ-groups"
    rcq_other = "RCQ-other"


class MultiValueOption(TyperCommand):
    """A command whose list options take several values: ``--datasets A C`` for two of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write ``--datasets A C`` as ``--datasets A --datasets C``, then parse as usual."""
        several = {name for option in self.params if option.multiple for name in option.opts}
        written: list[str] = []
        current = None
        for argument in args:
            if argument.startswith("-") and argument != "-":
                current = argument if argument in several else None
                if current is None:
                    written.append(argument)
            elif current is not None:
                written += [current, argument]
            else:
                written.append(argument)
        return super().parse_args(ctx, written)


@app.command(cls=MultiValueOption)
def reproduce(
    experiments: Annotated[
        list[str], typer.Argument(help="Experiments of the paper: 1, 2, 3 (sub-classes), 4 (time).")
    ],
    datasets: Annotated[
        list[str],
        typer.Option(
            help="One or more: `datasets list` names them; FILE:positive=CLASS is one of your own."
        ),
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
    n_jobs: _Jobs = -1,
    random_state: _RandomState = 0,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed evaluations again.")
    ] = False,
) -> None:
    """Run the paper's experiments, or resume them, and write tables and plots."""
    from research.experiments import runner
    from research.experiments.store import Store
    from research.report import write_report

    with Store(output, random_state) as store:
        if retry_failed:
            print(f"{store.forget_failures()} failed evaluations are tried again.", file=sys.stderr)
        steps = runner.run(
            store,
            experiments,
            datasets,
            methods,
            seed=random_state,
            repetitions=repetitions,
            n_jobs=n_jobs,
            command=shlex.join(["python", "-m", "research", *sys.argv[1:]]),
        )
        # Closed at once when interrupted, so that no worker keeps running.
        with closing(steps):
            last = _show(steps)
        print(
            f"{output}: {store.count()} evaluations, {last.done} models fitted in this run"
            + (f", {last.failed} evaluations failed." if last.failed else ".")
        )
    page = write_report(output, report, tell=_print_report_table)
    print(f"{page}: all tables and pictures.")


@app.command("report")
def report_(
    results: Annotated[str, typer.Argument(help="Results file of `reproduce`.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Directory to write the report to.")
    ] = "poscount-report",
) -> None:
    """Write tables, tests and pictures of experiments: Markdown and CSV."""
    from research.report import write_report

    print(f"Report: {write_report(results, output, tell=_print_report_table)}")


@app.command()
def export(
    results: Annotated[Path, typer.Argument(help="Results file of `reproduce`.")],
    folder: Annotated[Path, typer.Argument(help="Where to write a file for each experiment.")],
) -> None:
    """Write all evaluations as small Parquet files, which `restore` reads."""
    from research.experiments.archive import export as write

    for path in write(results, folder):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB.")


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(help="Folder that `export` has written.")],
    results: Annotated[Path, typer.Argument(help="Results file to write.")],
) -> None:
    """Make a results file of exported evaluations; `reproduce` completes it."""
    from research.experiments.archive import restore as read

    print(f"{results}: {read(folder, results)} evaluations.")


@app.command()
def calibrate(
    output: Annotated[str, typer.Option("-o", "--output", help="Calibration file to write.")],
    method: Annotated[
        Calibrated, typer.Option(help="What to calibrate.", case_sensitive=False)
    ] = Calibrated.rcq,
    bank: Annotated[
        str, typer.Option(help="Folder for the tasks; what is there already is kept.")
    ] = "poscount-bank",
    n_jobs: _Jobs = -1,
    random_state: _RandomState = 0,
) -> None:
    """Make a calibration that poscount comes with; `poscount calibrate` takes your own tables."""
    from poscount.training.train import make_calibration
    from research.shipped_calibrations import shipped_plan

    name = method.value
    made = make_calibration(
        output,
        name,
        shipped_plan(name),
        folder=bank,
        seed=random_state,
        n_jobs=n_jobs,
        verbose=5 if sys.stderr.isatty() else 0,
    )
    print(f"{output}: learned from {made['n_tasks']:,} tasks.")


@datasets_app.command("list")
def list_() -> None:
    """List all data sets, whether their files are here, and where they come from."""
    from research.datasets import CATALOG, data_directory, overlaps
    from research.datasets.directory import stored_path

    directory = data_directory()
    rows = []
    for key, entry in CATALOG.items():
        here = "yes" if stored_path(entry, directory).exists() else "no"
        rows.append([key, here, entry.rows, entry.n_features, entry.positive, entry.title])
    for name in overlaps.NAMES:
        size = overlaps.generate(name).features.shape
        rows.append([name, "yes", *size, overlaps.POSITIVE, overlaps.title(name)])
    heads = ("name", "here", "rows", "features", "positive", "title")
    print_table(heads, [[str(cell) for cell in row] for row in rows], right=("rows", "features"))
    print(f"Files: {directory}.")
    for key, entry in CATALOG.items():
        source = f"{entry.licence}; {entry.verified}." if entry.address else "It is not fetched."
        print(f"{key}: {entry.page} {source} {entry.note}".rstrip())


@datasets_app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Keys or file names; all that can be fetched by default."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="A mirror, such as https://mirror.example.org.", show_default=False),
    ] = None,
) -> None:
    """Download data sets of the paper into the data directory, and check them."""
    from research import datasets

    fetchable = [key for key, entry in datasets.CATALOG.items() if entry.address]
    for name in names or fetchable:
        with progress_bar(name) as progress:
            path = datasets.fetch(name, base=base, progress=progress)
        print(f"{name}: {path}")


def main() -> None:
    """Run a command; a user's mistake ends with one sentence and exit status 2."""
    try:
        app()
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"research: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _print_report_table(table: ReportTable) -> None:
    """Print a table of the report, without what it has in brackets."""
    print(f"{table.title} (* the best)")
    rows = [[f"{cell.text}{'*' if cell.bold else ''}" for cell in row] for row in table.cells]
    print_table(table.head, rows, right=table.head[1:])
    print()


def _show(steps: Iterator[RunProgress]) -> RunProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = [BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")]
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
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


if __name__ == "__main__":
    main()
