"""The commands; only typer is imported with them, so that --help answers at once."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from poscount import __version__, registry, workflows
from poscount.cli import audit, change
from poscount.cli.calibrate import calibrate
from poscount.cli.fitting import fitted
from poscount.cli.options import (
    Bootstrap,
    By,
    ByFile,
    Calibration,
    Confidence,
    Data,
    Engine,
    EngineOption,
    Exclude,
    Features,
    Format,
    Method,
    ModelFile,
    Negatives,
    OnError,
    OnErrorOption,
    Output,
    OutputFormat,
    Plot,
    Positives,
    PositivesOfTargets,
    RandomState,
    Scorer,
    Subclasses,
    TargetColumn,
    Targets,
    TextFormat,
    Trust,
    Weights,
    grouping,
    kinds,
    names,
)
from poscount.cli.output import (
    give,
    of_model,
    of_plan,
    of_results,
    print_demo,
    print_findings,
    print_left_out,
    progress_bar,
    rows_in_words,
    targets_in_words,
    tell_written,
)
from poscount.cli.reading_options import with_reading_options
from poscount.cli.stopping import ordinary_signals
from poscount.cli.words import say
from poscount.errors import join_names
from poscount.workflows import CsvFormat

app = typer.Typer(
    name="poscount",
    help="Count the positives in unlabeled data when positives are all that is labelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Answer ``poscount --version``."""
    if version:
        say(f"poscount {__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write the picture.")
    ] = "poscount-demo.png",
) -> None:
    """Count mosquitoes in nine nights of example data, and compare with the truth."""
    from poscount.example import example_path, load_example

    workflows.check_picture(output)
    model = workflows.fit(
        str(example_path("positives.csv")), registry.DEFAULT_METHOD, options={"random_state": 0}
    )
    results = workflows.quantify(model, [str(example_path("trap.csv.gz"))], by=["night"])
    nights = load_example("pyarrow").truth.to_pylist()
    truth = [night["positives"] / night["rows"] for night in nights]
    workflows.draw(results, output, truth=truth)
    print_demo(results, truth, output)


@app.command()
@with_reading_options
def fit(
    positives: PositivesOfTargets,
    output: Annotated[str, typer.Option("-o", "--output", help="Model file to write.")],
    targets: Targets = None,
    target_column: TargetColumn = None,
    negatives: Negatives = None,
    method: Method = registry.DEFAULT_METHOD,
    scorer: Scorer = None,
    features: Features = None,
    exclude: Exclude = None,
    confidence: Confidence = None,
    calibration: Calibration = None,
    subclasses: Subclasses = None,
    random_state: RandomState = 0,
    *,
    csv_format: CsvFormat,
) -> None:
    """Fit a model to positives of one target or of several, and write a model file."""
    workflows.check_output(output, [*positives, *(negatives or []), calibration])
    model = fitted(
        positives,
        method,
        targets,
        target_column,
        negatives or [],
        {
            "scorer": scorer,
            "confidence": confidence,
            "calibration": calibration,
            "subclasses": kinds(subclasses),
            "random_state": random_state,
        },
        features=names(features),
        exclude=names(exclude),
        csv_format=csv_format,
        tell_left_out=print_left_out,
    )
    model.save(output)
    columns = join_names(model.feature_names_in_)
    what = targets_in_words(model)
    tell_written(
        output, f"{output}: {model} learned from {model.n_labeled_} positives{what} by {columns}."
    )


@app.command()
@with_reading_options
def quantify(
    model: ModelFile,
    data: Data,
    by: By = None,
    by_file: ByFile = False,
    weights: Weights = None,
    engine: EngineOption = Engine.auto,
    on_error: OnErrorOption = OnError.stop,
    output_format: OutputFormat = Format.table,
    output: Output = None,
    plot: Plot = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Estimate the share of positives in files of unlabeled rows, or in counts files."""
    workflows.check_result(output, [model, *data])
    workflows.check_picture(plot, [model, *data])
    results = workflows.quantify(
        registry.load(model, trusted=names(trust) or []),
        data,
        by=grouping(by),
        by_file=by_file,
        weights=weights,
        engine=engine,
        on_error=on_error,
        csv_format=csv_format,
        watch=progress_bar,
    )
    if plot is not None:
        workflows.draw(results, plot)
    give(of_results(results), output_format, output)


@app.command()
@with_reading_options
def estimate(
    positives: Positives,
    data: Data,
    target_column: TargetColumn = None,
    negatives: Negatives = None,
    method: Method = registry.DEFAULT_METHOD,
    scorer: Scorer = None,
    features: Features = None,
    exclude: Exclude = None,
    by: By = None,
    by_file: ByFile = False,
    weights: Weights = None,
    confidence: Confidence = None,
    calibration: Calibration = None,
    subclasses: Subclasses = None,
    bootstrap: Bootstrap = None,
    random_state: RandomState = 0,
    output_format: OutputFormat = Format.table,
    output: Output = None,
    plot: Plot = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Fit and estimate in one step, with any method."""
    workflows.check_result(output, [positives, *data, calibration, *(negatives or [])])
    workflows.check_picture(plot, [positives, *data, calibration])
    options: dict[str, Any] = {
        "scorer": scorer,
        "confidence": confidence,
        "calibration": calibration,
        "subclasses": kinds(subclasses),
        "bootstrap": bootstrap,
        "random_state": random_state,
    }
    if bootstrap is not None:
        # Replicates take long: use all cores, and show progress on a terminal.
        options |= {"n_jobs": -1, "verbose": 10 if sys.stderr.isatty() else 0}
    model = fitted(
        [positives],
        method,
        None,
        target_column,
        negatives or [],
        options,
        features=names(features),
        exclude=names(exclude),
        weights=weights,
        csv_format=csv_format,
        tell_left_out=print_left_out,
    )
    results = workflows.quantify(
        model,
        data,
        by=grouping(by),
        by_file=by_file,
        weights=weights,
        csv_format=csv_format,
        watch=progress_bar,
    )
    if plot is not None:
        workflows.draw(results, plot)
    give(of_results(results), output_format, output)


@app.command()
@with_reading_options
def count(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
    weights: Weights = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Count files of unlabeled rows into a small counts file; counts files can be merged."""
    workflows.check_output(output, [model, *data])
    counts = workflows.count(
        registry.load(model, trusted=names(trust) or []),
        data,
        weights=weights,
        csv_format=csv_format,
        watch=progress_bar,
    )
    counts.save(output)
    tell_written(output, f"{output}: counts of {rows_in_words(counts)}.")


@app.command()
def merge(
    counts: Annotated[list[str], typer.Argument(help="Counts files of one model.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
) -> None:
    """Add counts files; `poscount quantify MODEL FILE` turns the sum into a prevalence."""
    workflows.check_output(output, counts)
    total = workflows.merge(counts)
    total.save(output)
    tell_written(output, f"{output}: counts of {rows_in_words(total)} from {len(counts)} files.")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            help="What the link must have in it; a new one by default.",
            envvar="POSCOUNT_TOKEN",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a server with a login that passes requests on to this one.",
            show_default=False,
        ),
    ] = None,
    max_upload: Annotated[int, typer.Option(help="Largest file, in megabytes.")] = 200,
    max_rows: Annotated[int, typer.Option(help="Most rows in a file.")] = 5_000_000,
    max_columns: Annotated[int, typer.Option(help="Most columns in a file.")] = 1000,
    max_seconds: Annotated[int, typer.Option(help="Longest time for a job.")] = 300,
    max_memory: Annotated[int, typer.Option(help="Most memory for a job, in megabytes.")] = 2000,
    workers: Annotated[
        int | None, typer.Option(help="Jobs at the same time.", show_default="one per core")
    ] = None,
) -> None:
    """Serve a page that counts the files dropped on it; nothing leaves this machine."""
    try:
        from poscount.web.limits import MEGABYTE, Limits
        from poscount.web.server import serve as run
    except ImportError as error:
        raise ImportError(f'The page needs {error.name}: pip install "poscount[web]".') from error
    limits = Limits(
        upload_bytes=max_upload * MEGABYTE,
        rows=max_rows,
        columns=max_columns,
        seconds=max_seconds,
        memory_bytes=max_memory * MEGABYTE,
        **({} if workers is None else {"workers": workers}),
    )
    with ordinary_signals():
        run(
            host,
            port,
            limits=limits,
            open_browser=open_browser,
            token=token,
            allow_hosts=allow_host or [],
        )


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
        int | None,
        typer.Option(help="Number of unlabeled rows, if it is fixed.", show_default=False),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    output_format: OutputFormat = Format.table,
    output: Output = None,
) -> None:
    """Find how many positives and unlabeled rows are needed for a wanted error."""
    from poscount.theory import plan as find_plan

    workflows.check_result(output)
    found = find_plan(
        error,
        prevalence=prevalence,
        confidence=confidence,
        n_labeled=positives,
        n_unlabeled=rows,
    )
    give(of_plan(found), output_format, output)


@app.command()
@with_reading_options
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
            help="A second sample with another prevalence: tells overlap from drift.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        TextFormat, typer.Option("--format", help="How to print the findings.")
    ] = TextFormat.text,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the findings to this file, too: .html (with pictures), .json or .txt.",
            show_default=False,
        ),
    ] = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Look for reasons to doubt an estimate: overlap, drift, too few rows, copies."""
    files = [model, *data, positives, reference]
    workflows.check_result(output, files, ("html", "json", "txt"))
    found = workflows.diagnose(
        registry.load(model, trusted=names(trust) or []),
        data,
        positives=positives,
        reference=reference,
        csv_format=csv_format,
    ).diagnosis
    print_findings(found, output_format, output)


@app.command()
def show(
    model: ModelFile,
    trust: Trust = None,
    output_format: Annotated[
        TextFormat, typer.Option("--format", help="How to print it.")
    ] = TextFormat.text,
    output: Output = None,
) -> None:
    """Say what a model file holds: the method, its positives, and what became of each column."""
    workflows.check_result(output, [model])
    loaded = registry.load(model, trusted=names(trust) or [])
    give(of_model(loaded, model), output_format, output)


app.command()(change.trend)
app.command()(change.watch)
app.command()(audit.audit)
app.command()(audit.settle)
app.command()(audit.rows)
app.command()(calibrate)
