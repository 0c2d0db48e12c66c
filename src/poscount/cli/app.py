"""The commands and their options; the work is done in the modules beside this one.

Only typer is imported here, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from poscount import __version__, registry
from poscount.cli import datasets
from poscount.cli.formats import Format, TextFormat
from poscount.cli.many_values import ManyValues
from poscount.cli.serve import serve

app = typer.Typer(
    name="poscount",
    help="Count the positives in unlabeled data when positives are all that is labelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets.app)


class Engine(StrEnum):
    """What reads the files."""

    auto = "auto"
    duckdb = "duckdb"
    dask = "dask"
    spark = "spark"


class OnError(StrEnum):
    """What to do about a file that cannot be used."""

    stop = "raise"
    skip = "skip"


ModelFile = Annotated[str, typer.Argument(help="Model file that `poscount fit` wrote.")]
Positives = Annotated[
    str, typer.Argument(help="Labelled positives: CSV (also gz), Parquet or Arrow; - for stdin.")
]
Data = Annotated[
    list[str],
    typer.Argument(help="Unlabeled rows: CSV (also gz), Parquet, Arrow, globs, directories, -."),
]
MethodName = Annotated[str, typer.Option("--method", help=f"One of {', '.join(registry.METHODS)}.")]
ScorerName = Annotated[
    str | None,
    typer.Option("--scorer", help=f"One of {', '.join(registry.SCORERS)}.", show_default=False),
]
Features = Annotated[
    str | None, typer.Option(help="The columns to use, with commas between.", show_default=False)
]
Exclude = Annotated[
    str | None, typer.Option(help="Columns not to use, with commas between.", show_default=False)
]
Confidence = Annotated[
    float | None, typer.Option(help="Level of the interval; 0.95 by default.", show_default=False)
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        help="Replicates for the interval of a method that has none by itself, such as 200.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--random-state", help="Seed: the same gives the same answer.")]
By = Annotated[
    str | None,
    typer.Option("--by", help="One answer per value of these columns.", show_default=False),
]
ByFile = Annotated[bool, typer.Option("--by-file", help="One answer per file.")]
EngineName = Annotated[Engine, typer.Option("--engine", help="What reads and counts the files.")]
Trouble = Annotated[
    OnError, typer.Option("--on-error", help="Stop at a bad file, or skip it with a warning.")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Plot = Annotated[
    str | None, typer.Option("--plot", help="Draw the result into this file.", show_default=False)
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Delimiter of CSV files; found in the first line.", show_default=False),
]
Trust = Annotated[
    str | None,
    typer.Option(
        help="Types that a model file with a foreign scorer may build.", show_default=False
    ),
]
Decimal = Annotated[str, typer.Option(help="Decimal mark of CSV files.")]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="CSV files have no header; columns are 1, 2, ...")
]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Answer ``poscount --version``."""
    if version:
        typer.echo(f"poscount {__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write the picture.")
    ] = "poscount-demo.png",
) -> None:
    """Count mosquitoes in nine nights of embedded example data, with the truth beside them."""
    from poscount.cli import demo as room

    room.run(output)


@app.command()
def fit(
    positives: Positives,
    output: Annotated[str, typer.Option("-o", "--output", help="Model file to write.")],
    method: MethodName = registry.DEFAULT_METHOD,
    scorer: ScorerName = None,
    features: Features = None,
    exclude: Exclude = None,
    confidence: Confidence = None,
    random_state: Seed = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    no_header: NoHeader = False,
) -> None:
    """Learn from a file of positives, and write a model file."""
    from poscount import workflows

    model = workflows.fit(
        positives,
        method,
        options={"scorer": scorer, "confidence": confidence, "random_state": random_state},
        features=_names(features),
        exclude=_names(exclude),
        layout=_layout(delimiter, decimal, no_header),
    )
    model.save(output)
    names = ", ".join(model.feature_names_in_)
    typer.echo(f"{output}: {model} learned from {model.n_labeled_} positives by {names}.")


@app.command()
def quantify(
    model: ModelFile,
    data: Data,
    by: By = None,
    by_file: ByFile = False,
    engine: EngineName = Engine.auto,
    on_error: Trouble = OnError.stop,
    output_format: OutputFormat = Format.table,
    plot: Plot = None,
    trust: Trust = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    no_header: NoHeader = False,
) -> None:
    """Estimate the share of positives in files of unlabeled rows, or in counts files."""
    fitted = registry.load(model, trusted=_names(trust) or [])
    layout = _layout(delimiter, decimal, no_header)
    _show_quantified(
        fitted, data, by, by_file, layout, output_format, plot, engine=engine, on_error=on_error
    )


@app.command()
def estimate(
    positives: Positives,
    data: Data,
    method: MethodName = registry.DEFAULT_METHOD,
    scorer: ScorerName = None,
    features: Features = None,
    exclude: Exclude = None,
    by: By = None,
    by_file: ByFile = False,
    confidence: Confidence = None,
    bootstrap: Bootstrap = None,
    random_state: Seed = 0,
    output_format: OutputFormat = Format.table,
    plot: Plot = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    no_header: NoHeader = False,
) -> None:
    """Learn and estimate in one go, with any method."""
    from poscount import workflows

    layout = _layout(delimiter, decimal, no_header)
    options = {
        "scorer": scorer,
        "confidence": confidence,
        "bootstrap": bootstrap,
        "random_state": random_state,
    }
    if bootstrap is not None:
        # Replicates take long: on all cores, and with their progress where somebody looks on.
        options |= {"n_jobs": -1, "verbose": 10 if sys.stderr.isatty() else 0}
    fitted = workflows.fit(
        positives,
        method,
        options=options,
        features=_names(features),
        exclude=_names(exclude),
        layout=layout,
    )
    _show_quantified(fitted, data, by, by_file, layout, output_format, plot)


@app.command()
def count(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
    trust: Trust = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    no_header: NoHeader = False,
) -> None:
    """Count files of unlabeled rows into a small counts file; counts files can be merged."""
    from poscount import workflows
    from poscount.cli.progress import progress_bar

    fitted = registry.load(model, trusted=_names(trust) or [])
    layout = _layout(delimiter, decimal, no_header)
    counts = workflows.count(fitted, data, layout, watch=progress_bar)
    counts.save(output)
    typer.echo(f"{output}: counts of {counts.n} rows.")


@app.command()
def merge(
    counts: Annotated[list[str], typer.Argument(help="Counts files of one model.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
) -> None:
    """Add counts files up; `poscount quantify MODEL FILE` turns the sum into a prevalence."""
    from poscount import workflows

    total = workflows.merge(counts)
    total.save(output)
    typer.echo(f"{output}: counts of {total.n} rows from {len(counts)} files.")


app.command()(serve)


@app.command()
def plan(
    error: Annotated[float, typer.Option(help="Wanted mean absolute error, such as 0.02.")],
    prevalence: Annotated[
        float, typer.Option(help="Share of positives to plan for; 1 is the worst case.")
    ] = 1.0,
    positives: Annotated[
        int | None, typer.Option(help="Number of positives, if it is fixed.", show_default=False)
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Unlabeled rows, if fixed.", show_default=False)
    ] = None,
    confidence: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    output_format: OutputFormat = Format.table,
) -> None:
    """Say how many positives and how many unlabeled rows a wanted error needs."""
    from poscount.cli import output
    from poscount.theory import plan as find_plan

    found = find_plan(
        error,
        prevalence=prevalence,
        confidence=confidence,
        n_labeled=positives,
        n_unlabeled=rows,
    )
    output.show_plan(found, output_format)


@app.command()
def diagnose(
    model: ModelFile,
    data: Data,
    positives: Annotated[
        str | None,
        typer.Option(help="The file that the model was fitted on.", show_default=False),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="A second sample of another prevalence: tells overlap from drift.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        TextFormat, typer.Option("--format", help="How to print the findings.")
    ] = TextFormat.text,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="HTML page to write, too.", show_default=False),
    ] = None,
    trust: Trust = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    no_header: NoHeader = False,
) -> None:
    """Look for reasons to doubt an estimate: overlap, drift, too few rows, copies."""
    from poscount.cli import diagnosing

    fitted = registry.load(model, trusted=_names(trust) or [])
    layout = _layout(delimiter, decimal, no_header)
    found = diagnosing.diagnose(fitted, data, positives, reference, layout)
    if output is not None:
        found.to_html(output)
    typer.echo(found.to_json() if output_format == TextFormat.json else str(found))


@app.command()
def report(
    results: Annotated[str, typer.Argument(help="Results file of `poscount reproduce`.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Directory to write the report to.")
    ] = "poscount-report",
) -> None:
    """Write tables, tests and pictures of experiments: HTML, Markdown and CSV."""
    from poscount.experiments.report import write_report

    typer.echo(f"Report: {write_report(results, output)}")


@app.command(cls=ManyValues)
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
        int | None, typer.Option(help="Instead of the paper's.", min=1, show_default=False)
    ] = None,
    n_jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    random_state: Seed = 0,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to work on.", show_default=False)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed evaluations again.")
    ] = False,
) -> None:
    """Run the paper's experiments, or go on with them, and write tables and plots."""
    from poscount.cli import reproduce as room

    room.run(
        experiments,
        datasets,
        methods,
        output=output,
        report=report,
        repetitions=repetitions,
        n_jobs=n_jobs,
        random_state=random_state,
        dask=dask,
        retry_failed=retry_failed,
    )


def _show_quantified(
    fitted: Any,
    data: list[str],
    by: str | None,
    by_file: bool,
    layout: dict[str, Any],
    output_format: Format,
    plot: str | None,
    **counting: Any,
) -> None:
    from poscount import workflows
    from poscount.cli import output
    from poscount.cli.progress import progress_bar

    results = workflows.quantify(
        fitted,
        data,
        by=_names(by) or [],
        by_file=by_file,
        layout=layout,
        watch=progress_bar,
        **counting,
    )
    output.show(results, output_format, plot)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _layout(delimiter: str | None, decimal: str, no_header: bool) -> dict[str, Any]:
    if delimiter == "\\t":
        delimiter = "\t"
    return {"delimiter": delimiter, "decimal": decimal, "header": not no_header}
