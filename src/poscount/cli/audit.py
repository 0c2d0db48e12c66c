"""The commands about single rows: which to label, what labels say, which are likely positive.

Only typer is imported with them, so that --help answers at once.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poscount import registry, workflows
from poscount.cli.options import (
    By,
    Data,
    Format,
    ModelFile,
    Output,
    OutputFormat,
    RandomState,
    Trust,
    grouping,
    names,
)
from poscount.cli.output import Forms, give, progress_bar, records_as_csv, tell_written
from poscount.cli.reading_options import with_reading_options
from poscount.cli.tables import print_table
from poscount.cli.words import say
from poscount.workflows import CsvFormat

if TYPE_CHECKING:
    from poscount.results.prevalence import Prevalence


@with_reading_options
def audit(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="CSV file to write.")],
    n: Annotated[int, typer.Option("-n", "--n", help="Number of rows to label.")] = 100,
    labelled: Annotated[
        str | None,
        typer.Option(
            help="An earlier file of this command, whose labels are filled in.", show_default=False
        ),
    ] = None,
    random_state: RandomState = 0,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Choose rows to be labelled by hand; `poscount settle` makes a prevalence of the labels."""
    workflows.check_output(output, [model, *data, labelled])
    rows = workflows.audit(
        registry.load(model, trusted=names(trust) or []),
        data,
        n,
        random_state=random_state,
        labelled=labelled,
        csv_format=csv_format,
        watch=progress_bar,
    )
    rows.write(output)
    tell_written(output, f"{output}: {rows.table.num_rows} of {rows.n_rows} rows to label.")
    tell_written(
        output,
        "Write yes or no into the column label, from the top; you may stop anywhere. Then: "
        f"poscount settle {shlex.join([model, *data, output])}",
    )


@with_reading_options
def settle(
    model: ModelFile,
    data: Data,
    labels: Annotated[
        str, typer.Argument(help="File of `poscount audit` with labels: CSV or Excel.")
    ],
    width: Annotated[
        float | None,
        typer.Option(
            help="Say how many labels an interval of this width needs, such as 0.05.",
            show_default=False,
        ),
    ] = None,
    positives_out: Annotated[
        str | None,
        typer.Option(help="Write rows labelled as positive to this CSV file.", show_default=False),
    ] = None,
    negatives_out: Annotated[
        str | None,
        typer.Option(help="Write rows labelled as negative to this CSV file.", show_default=False),
    ] = None,
    output_format: OutputFormat = Format.table,
    output: Output = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Make a prevalence of labels, and say whether they contradict the model."""
    workflows.check_result(output, [model, *data, labels])
    for path in (positives_out, negatives_out):
        workflows.check_output(path, [model, *data, labels])
    settled = workflows.settle(
        registry.load(model, trusted=names(trust) or []),
        data,
        labels,
        csv_format=csv_format,
        watch=progress_bar,
    )
    needed = None if width is None else settled.labels_needed(width)
    for path, rows in ((positives_out, settled.positives), (negatives_out, settled.negatives)):
        if path is not None:
            workflows.write_rows(rows, path)
    record = settled.to_dict()
    if width is not None:
        record |= {"width": width, "labels_needed": needed}
    forms = Forms(
        lambda: _print_settlement(settled, record), lambda: record, records_as_csv(_lines(record))
    )
    give(forms, output_format, output)


@with_reading_options
def rows(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="CSV file to write.")],
    top: Annotated[int, typer.Option(help="How many rows, of each group if there are any.")] = 200,
    by: By = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """List the rows that are most likely positive, with their probability."""
    workflows.check_output(output, [model, *data])
    found = workflows.likely_positives(
        registry.load(model, trusted=names(trust) or []),
        data,
        top,
        by=grouping(by),
        csv_format=csv_format,
        watch=progress_bar,
    )
    found.write(output)
    tell_written(output, f"{output}: the {found.n_rows} rows that are most likely positive.")


def _lines(record: dict[str, Any]) -> list[dict[str, Any]]:
    codes = " ".join(finding["code"] for finding in record["findings"])
    about = {"n_labelled": record["n_labelled"], "n_rows": record["n_rows"]}
    about |= {"agreement": record["agreement"], "findings": codes}
    if "width" in record:
        about |= {"width": record["width"], "labels_needed": record["labels_needed"]}
    answers = ((name, record[name]) for name in ("labels", "combined", "model"))
    return [{"answer": name, **answer, **about} for name, answer in answers if answer is not None]


def _print_settlement(settled: Any, record: dict[str, Any]) -> None:
    level = settled.prevalence.interval.level
    heads = ["prevalence", f"{100 * level:g} % interval", "positives"]
    lines = [[name, *_cells(p)] for name, p in settled.answers.items()]
    print_table(["", *heads], lines, right=heads)
    say(settled.agreement_in_words)
    for caution in settled.findings:
        say(caution)
    heads = ["rows", "labelled", "positive", "expected by the model"]
    lines = [
        [
            str(stratum.stratum),
            str(stratum.rows),
            str(stratum.labelled),
            str(stratum.positives),
            f"{stratum.labelled * stratum.expected:.1f}",
        ]
        for stratum in settled.strata
    ]
    print_table(["stratum", *heads], lines, right=["stratum", *heads])
    if "width" in record:
        say(
            f"An interval {100 * record['width']:g} points wide, from labels alone, needs about "
            f"{record['labels_needed']} labels: poscount audit -n {record['labels_needed']} "
            "--labelled with this file keeps those that there are."
        )


def _cells(p: Prevalence) -> list[str]:
    assert p.interval is not None
    return [f"{p:.3f}", f"[{p.interval.low:.3f}, {p.interval.high:.3f}]", f"{p.count:.0f}"]
