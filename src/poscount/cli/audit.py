"""The commands about single rows: which to label, what labels say, which are likely positive.

Only typer is imported with them, so that --help answers at once.
"""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poscount.app.results import check_result
from poscount.cli import options as opt
from poscount.cli.options import Reading, data_files, grouping, load_model, with_reading_options
from poscount.cli.output import emit, tell_clusters, tell_written
from poscount.cli.tables import print_table
from poscount.cli.words import echo
from poscount.errors import InputError
from poscount.storage.writer import check_output

if TYPE_CHECKING:
    from poscount.results.prevalence import Prevalence


@with_reading_options
def audit(
    model: opt.ModelFile,
    data: opt.Data,
    output: Annotated[str, typer.Option("-o", "--output", help="CSV file to write.")],
    n: Annotated[int, typer.Option("-n", "--n", help="Number of rows to label.")] = 100,
    labelled: Annotated[
        str | None, opt.option("An earlier file of this command, whose labels are filled in.")
    ] = None,
    by: opt.By = None,
    weights: opt.Weights = None,
    random_state: opt.RandomState = 0,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """Choose rows to be labelled by hand; `poscount settle` makes a prevalence of the labels."""
    from poscount.app.follow_ups import audit as choose_rows

    files = data_files(data, reading)
    check_output(output, [model, *files.files, labelled])
    rows = choose_rows(
        load_model(model, trust),
        files,
        n,
        by=grouping(by),
        weights=weights,
        random_state=random_state,
        labelled=labelled,
    )
    rows.write(output)
    tell_written(output, f"{output}: {rows.table.num_rows} of {rows.n_rows} rows to label.")
    tell_written(
        output,
        "Write yes or no into the column label, from the top; you may look and stop anywhere. "
        f"Then: poscount settle {shlex.join([model, *data, output])}",
    )


@with_reading_options
def settle(
    model: opt.ModelFile,
    data: opt.Data,
    labels: Annotated[
        str, typer.Argument(help="File of `poscount audit` with labels: CSV or Excel.")
    ],
    width: Annotated[
        float | None,
        opt.option("Say how many labels an interval of this width needs, such as 0.05."),
    ] = None,
    rater_errors: Annotated[
        str | None,
        opt.option("How often negatives are labelled yes, and positives no, such as 0.02,0.1."),
    ] = None,
    cluster: opt.Cluster = None,
    score: Annotated[
        str | None, opt.option("The column of scores by which a review kept rows.")
    ] = None,
    threshold: Annotated[
        float | None, opt.option("The least score of the rows that the review kept.")
    ] = None,
    recall: Annotated[
        float | None,
        opt.option("Say how many labels show that the review's recall is this, such as 0.95."),
    ] = None,
    positives_out: Annotated[
        str | None, opt.option("Write rows labelled as positive to this CSV file.")
    ] = None,
    negatives_out: Annotated[
        str | None, opt.option("Write rows labelled as negative to this CSV file.")
    ] = None,
    output_format: opt.OutputFormat = opt.Format.table,
    output: opt.Output = None,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """Make a prevalence of labels, and say whether they contradict the model."""
    from poscount.app.follow_ups import settle as settle_files
    from poscount.app.follow_ups import write_rows
    from poscount.app.judging import review_of

    if (score is None) != (threshold is None) or (recall is not None and score is None):
        raise InputError(
            "A review is told by the column of its scores (--score) and the least score of the "
            "rows that it kept (--threshold)."
        )
    files = data_files(data, reading)
    inputs = [model, *files.files, labels]
    check_result(output, inputs)
    for path in (positives_out, negatives_out):
        check_output(path, inputs)
    errors = None if rater_errors is None else _rates(rater_errors)
    loaded = load_model(model, trust)
    settled = settle_files(loaded, files, labels, rater_errors=errors, cluster=cluster)
    for path, rows in ((positives_out, settled.positives), (negatives_out, settled.negatives)):
        if path is not None:
            write_rows(rows, path)
    record = settled.to_dict()
    if width is not None:
        record |= {"width": width, "labels_needed": settled.labels_needed(width)}
    review = None
    if score is not None and threshold is not None:
        review = review_of(settled, files, score, threshold)
        record["review"] = review.to_dict()
        if recall is not None:
            record["review"] |= {
                "wanted_recall": recall,
                "labels_needed": review.labels_needed(recall),
            }
    show = functools.partial(_print_settlement, settled, review, record)
    emit(show, record, _lines(record), output_format, output)


@with_reading_options
def rows(
    model: opt.ModelFile,
    data: opt.Data,
    output: Annotated[str, typer.Option("-o", "--output", help="CSV file to write.")],
    top: Annotated[int, typer.Option(help="How many rows, of each group if there are any.")] = 200,
    by: opt.By = None,
    trust: opt.Trust = None,
    *,
    reading: Reading,
) -> None:
    """List the rows that are most likely positive, with their probability."""
    from poscount.app.follow_ups import likely_positives

    files = data_files(data, reading)
    check_output(output, [model, *files.files])
    found = likely_positives(load_model(model, trust), files, top, by=grouping(by))
    found.write(output)
    tell_written(output, f"{output}: the {found.n_rows} rows that are most likely positive.")


def _lines(record: dict[str, Any]) -> list[dict[str, Any]]:
    codes = " ".join(finding["code"] for finding in record["findings"])
    about = {"n_labelled": record["n_labelled"], "n_rows": record["n_rows"]}
    about |= {"agreement": record["agreement"], "findings": codes}
    if "width" in record:
        about |= {"width": record["width"], "labels_needed": record["labels_needed"]}
    answers = [
        {"answer": name, "group": "", **record[name], **about} for name in ("labels", "model")
    ]
    groups = ({**p, "group": ", ".join(map(str, p["group"]))} for p in record["groups"])
    return answers + [{"answer": "labels", **group, **about} for group in groups]


def _rates(text: str) -> tuple[float, float]:
    try:
        false_yes, false_no = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"{text!r} is not two rates with a comma between them, such as 0.02,0.1.",
            option="rater_errors",
        ) from None
    return false_yes, false_no


def _print_settlement(settled: Any, review: Any, record: dict[str, Any]) -> None:
    echo(settled.headline)
    level = settled.prevalence.interval.level
    heads = ["prevalence", f"{100 * level:g} % interval", "positives"]
    lines = [[name, *_cells(p)] for name, p in settled.answers.items()]
    for key, p in settled.groups.items():
        lines.append([f"labels of {', '.join(map(str, key))}", *_cells(p)])
    print_table(["", *heads], lines, right=heads)
    tell_clusters(settled.prevalence)
    echo(settled.agreement_in_words)
    for caution in settled.findings:
        echo(caution)
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
        echo(
            f"An interval {100 * record['width']:g} points wide needs about "
            f"{record['labels_needed']} labels: poscount audit -n {record['labels_needed']} "
            "--labelled with this file keeps those that there are."
        )
    if review is not None:
        for sentence in str(review).split("\n"):
            echo(sentence)
        if "labels_needed" in record["review"]:
            echo(
                f"About {record['review']['labels_needed']} labels show that the recall is at "
                f"least {record['review']['wanted_recall']:g}, if it is as it seems."
            )


def _cells(p: Prevalence) -> list[str]:
    assert p.interval is not None
    return [f"{p:.3f}", f"[{p.interval.low:.3f}, {p.interval.high:.3f}]", f"{p.count:.0f}"]
