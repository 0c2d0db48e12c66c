"""The commands; only typer is imported with them, so that --help answers at once."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from poscount import __version__, registry
from poscount.app.results import check_picture, check_result, draw
from poscount.cli import audit, evaluate, trend
from poscount.cli import options as opt
from poscount.cli.options import (
    Reading,
    as_bool,
    data_files,
    grouping,
    kinds,
    limits,
    load_model,
    names,
    require_label,
    rows_to_count,
    take_apart,
    with_reading_options,
)
from poscount.cli.output import (
    emit_model,
    emit_plan,
    emit_results,
    fitted_model,
    print_demo,
    print_findings,
    reference_in_words,
    rows_in_words,
    targets_in_words,
    tell_written,
)
from poscount.cli.stopping import ordinary_signals
from poscount.cli.words import echo
from poscount.errors import join_names
from poscount.storage.writer import check_output

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
        echo(f"poscount {__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write the picture.")
    ] = "poscount-demo.png",
) -> None:
    """Count mosquitoes in nine nights of example data, and compare with the truth."""
    from poscount.app.estimates import quantify as quantify_files
    from poscount.app.fitting import fit as fit_files
    from poscount.example import example_path, load_example

    check_picture(output)
    positives, trap = (
        data_files([str(example_path(name))], Reading())
        for name in ("positives.csv", "trap.csv.gz")
    )
    model = fit_files([positives], options={"random_state": 0}, unlabeled=trap).model
    results = quantify_files(model, trap, by=["night"])
    nights = load_example("pyarrow").truth.to_pylist()
    truth = [night["positives"] / night["rows"] for night in nights]
    draw(results, output, truth=truth)
    of_all = [sum(night[what] for night in nights) for what in ("positives", "rows")]
    print_demo(results, [of_all[0] / of_all[1], *truth], output)


@app.command()
@with_reading_options
def fit(
    positives: opt.PositivesOfTargets,
    output: Annotated[str, typer.Option("-o", "--output", help="Model file to write.")],
    label: opt.Label = None,
    positive: opt.Positive = None,
    negative: opt.Negative = None,
    targets: opt.Targets = None,
    target_column: opt.TargetColumn = None,
    negatives: opt.Negatives = None,
    unlabeled: opt.Unlabeled = None,
    method: opt.Method = registry.DEFAULT_METHOD,
    scorer: opt.Scorer = None,
    features: opt.Features = None,
    exclude: opt.Exclude = None,
    confidence: opt.Confidence = None,
    calibration: opt.Calibration = None,
    recognisable: opt.Recognisable = None,
    tolerance: opt.Tolerance = None,
    subclasses: opt.Subclasses = None,
    random_state: opt.RandomState = 0,
    *,
    reading: Reading,
) -> None:
    """Fit a model to positives of one target or of several, and write a model file."""
    from poscount.app.fitting import fit as fit_files
    from poscount.app.fitting import learned_score

    require_label(label, positive=positive, negative=negative)
    tables = [positives] if label is not None else [[path] for path in positives]
    of_targets = [data_files(paths, reading) for paths in tables]
    known = [data_files([path], reading) for path in negatives or []]
    others = data_files(unlabeled, reading) if unlabeled else None
    inputs = [file for each in (*of_targets, *known, others) if each for file in each.files]
    check_output(output, [*inputs, calibration])
    target_names, sample = names(targets), None
    if label is not None:
        parts = take_apart(of_targets[0], label, positive, negative)
        of_targets, target_names = parts.positives, parts.targets
        known, sample = [*parts.negatives, *known], parts.unlabeled
    fitted = fit_files(
        of_targets,
        method,
        options={
            "scorer": scorer,
            "confidence": confidence,
            "calibration": calibration,
            "recognisable": as_bool(recognisable),
            "tolerance": tolerance,
            "subclasses": kinds(subclasses),
            "random_state": random_state,
        },
        targets=target_names,
        target_column=target_column,
        negatives=known,
        features=names(features),
        exclude=names(exclude),
        unlabeled=others,
        sample=None if others else sample,
    )
    model = fitted_model(fitted)
    model.save(output)
    columns = join_names(model.feature_names_in_)
    what = targets_in_words(model)
    sentence = f"{model} learned from {model.n_labeled_} positives{what} by {columns}."
    reference = others or sample
    if reference is not None and learned_score(model):
        sentence += f" {reference_in_words(model)} of {reference.name}."
    tell_written(output, f"{output}: {sentence}")


@app.command()
@with_reading_options
def quantify(
    model: opt.ModelFile,
    data: opt.Data,
    by: opt.By = None,
    by_file: opt.ByFile = False,
    limit: opt.Limit = None,
    drop_positives: opt.DropPositives = False,
    weights: opt.Weights = None,
    cluster: opt.Cluster = None,
    engine: opt.EngineOption = opt.Engine.auto,
    output_format: opt.OutputFormat = opt.Format.table,
    output: opt.Output = None,
    plot: opt.Plot = None,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """Estimate the share of positives in files of unlabeled rows, or in counts files."""
    from poscount.app.estimates import quantify as quantify_files

    above = limits(limit)
    files = data_files(data, reading, weights=weights, engine=engine)
    check_result(output, [model, *files.files])
    check_picture(plot, [model, *files.files])
    loaded = load_model(model, trust)
    results = quantify_files(
        loaded,
        files,
        by=grouping(by),
        by_file=by_file,
        limits=above,
        drop_positives=drop_positives,
        cluster=cluster,
    )
    emit_results(results, output_format, output, plot, above)


@app.command()
@with_reading_options
def estimate(
    positives: opt.Positives,
    data: opt.DataOrNone = None,
    label: opt.Label = None,
    positive: opt.Positive = None,
    negative: opt.Negative = None,
    target_column: opt.TargetColumn = None,
    negatives: opt.Negatives = None,
    positives_only: opt.PositivesOnly = False,
    method: opt.Method = registry.DEFAULT_METHOD,
    scorer: opt.Scorer = None,
    features: opt.Features = None,
    exclude: opt.Exclude = None,
    by: opt.By = None,
    by_file: opt.ByFile = False,
    limit: opt.Limit = None,
    drop_positives: opt.DropPositives = False,
    weights: opt.Weights = None,
    cluster: opt.Cluster = None,
    confidence: opt.Confidence = None,
    calibration: opt.Calibration = None,
    recognisable: opt.Recognisable = None,
    tolerance: opt.Tolerance = None,
    subclasses: opt.Subclasses = None,
    bootstrap: opt.Bootstrap = None,
    random_state: opt.RandomState = 0,
    output_format: opt.OutputFormat = opt.Format.table,
    output: opt.Output = None,
    plot: opt.Plot = None,
    *,
    reading: Reading,
) -> None:
    """Fit and estimate in one step, with any method; rcq also learns from the rows it counts."""
    from poscount.app.estimates import quantify as quantify_files
    from poscount.app.fitting import fit as fit_files

    above = limits(limit)
    require_label(label, positive=positive, negative=negative)
    of_targets = [data_files([positives], reading)] if label is None else []
    files = data_files(rows_to_count(positives, data, label), reading, weights=weights)
    known = [data_files([path], reading) for path in negatives or []]
    inputs = [calibration, *(f for each in (*of_targets, files, *known) for f in each.files)]
    check_result(output, inputs)
    check_picture(plot, inputs)
    targets = None
    if label is not None:
        parts = take_apart(files, label, positive, negative)
        of_targets, targets, files = parts.positives, parts.targets, parts.unlabeled
        known = [*parts.negatives, *known]
    options: dict[str, Any] = {
        "scorer": scorer,
        "confidence": confidence,
        "calibration": calibration,
        "recognisable": as_bool(recognisable),
        "tolerance": tolerance,
        "subclasses": kinds(subclasses),
        "n_resamples": bootstrap,
        "random_state": random_state,
    }
    if bootstrap is not None:
        # Replicates take long: use all cores, and show progress on a terminal.
        options |= {"n_jobs": -1, "verbose": 10 if sys.stderr.isatty() else 0}
    fitted = fit_files(
        of_targets,
        method,
        options=options,
        targets=targets,
        target_column=target_column,
        negatives=known,
        features=names(features),
        exclude=names(exclude),
        sample=files,
        by=[*grouping(by), *([] if cluster is None else [cluster])],
        positives_only=positives_only,
    )
    model = fitted_model(fitted)
    results = quantify_files(
        model,
        files,
        by=grouping(by),
        by_file=by_file,
        limits=above,
        drop_positives=drop_positives,
        cluster=cluster,
    )
    emit_results(results, output_format, output, plot, above)


@app.command()
@with_reading_options
def count(
    model: opt.ModelFile,
    data: opt.Data,
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
    weights: opt.Weights = None,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """Count files of unlabeled rows into a small counts file; counts files can be merged."""
    files = data_files(data, reading, weights=weights)
    check_output(output, [model, *files.files])
    counts = files.count(load_model(model, trust))
    counts.save(output)
    tell_written(output, f"{output}: counts of {rows_in_words(counts)}.")


@app.command()
def merge(
    counts: Annotated[list[str], typer.Argument(help="Counts files of one model.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Counts file to write.")],
) -> None:
    """Add counts files; `poscount quantify MODEL FILE` turns the sum into a prevalence."""
    from poscount.app.estimates import merge as add_up

    check_output(output, counts)
    total = add_up(counts)
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
        opt.option("Name of a server with a login that passes requests on to this one."),
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
        from poscount.web.schemas import MEGABYTE, Limits
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
    positives: Annotated[int | None, opt.option("Number of positives, if it is fixed.")] = None,
    rows: Annotated[int | None, opt.option("Number of unlabeled rows, if it is fixed.")] = None,
    confidence: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    output_format: opt.OutputFormat = opt.Format.table,
    output: opt.Output = None,
) -> None:
    """Find how many positives and unlabeled rows are needed for a wanted error."""
    from poscount.theory import plan as find_plan

    check_result(output)
    found = find_plan(
        error,
        prevalence=prevalence,
        confidence=confidence,
        n_labeled=positives,
        n_unlabeled=rows,
    )
    emit_plan(found, output_format, output)


@app.command()
@with_reading_options
def diagnose(
    model: opt.ModelFile,
    data: opt.Data,
    positives: Annotated[str | None, opt.option("The file that the model was fitted on.")] = None,
    reference: Annotated[
        str | None, opt.option("A second sample with another prevalence: tells overlap from drift.")
    ] = None,
    output_format: Annotated[
        opt.TextFormat, typer.Option("--format", help="How to print the findings.")
    ] = opt.TextFormat.text,
    output: Annotated[
        str | None,
        opt.option(
            "Write the findings to this file, too: .html (with pictures), .json or .txt.",
            "-o",
            "--output",
        ),
    ] = None,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """Tell all that speaks against an estimate, and what it would be under other assumptions."""
    from poscount.app.follow_ups import diagnose as diagnose_files

    files = data_files(data, reading)
    labelled = data_files([positives], reading) if positives else None
    second = data_files([reference], reading) if reference else None
    inputs = [model, *(file for each in (files, labelled, second) if each for file in each.files)]
    check_result(output, inputs, ("html", "json", "txt"))
    loaded = load_model(model, trust)
    found = diagnose_files(loaded, files, positives=labelled, reference=second)
    print_findings(found.diagnosis, output_format, output)


@app.command()
def show(
    model: opt.ModelFile,
    trust: opt.Trust = None,
    output_format: Annotated[
        opt.TextFormat, typer.Option("--format", help="How to print it.")
    ] = opt.TextFormat.text,
    output: opt.Output = None,
) -> None:
    """Say what a model file holds: the method, its positives, and what became of each column."""
    check_result(output, [model])
    emit_model(load_model(model, trust), model, output_format, output)


@app.command()
def calibrate(
    tables: Annotated[
        list[str], typer.Argument(help="Labelled tables (CSV, also gz) of your field.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="Calibration file to write.")],
    label: Annotated[str, typer.Option(help="Column of the tables that is the class.")] = "class",
    method: Annotated[
        opt.Calibrated, typer.Option(help="What to calibrate.", case_sensitive=False)
    ] = opt.Calibrated.rcq,
    tasks: Annotated[int, typer.Option(help="Tasks to draw from the tables.", min=100)] = 4_000,
    bank: Annotated[
        str, typer.Option(help="Folder for the tasks; what is there already is kept.")
    ] = "poscount-bank",
    n_jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    random_state: opt.RandomState = 0,
) -> None:
    """Learn from data whose truth is known how far RCQ is from it."""
    from poscount.training.train import make_calibration, plan_of_tables

    check_output(output, tables)
    made = make_calibration(
        output,
        method.value,
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


app.command()(trend.trend)
app.command()(evaluate.evaluate)
app.command()(audit.audit)
app.command()(audit.settle)
app.command()(audit.rows)
