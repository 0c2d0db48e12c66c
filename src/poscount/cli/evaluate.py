"""The command that judges a classifier without labelled negatives."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from poscount.app.results import check_picture, check_result
from poscount.cli import options as opt
from poscount.cli.options import Reading, data_files, load_model, with_reading_options
from poscount.cli.output import emit, tell_written
from poscount.cli.tables import print_table
from poscount.cli.words import echo
from poscount.errors import InputError

_HEADS = ["threshold", "called positive", "recall", "precision", "false positive rate", "elusion"]


@with_reading_options
def evaluate(
    positives: Annotated[
        str, typer.Argument(help="Scores of positives that the classifier has not learned from.")
    ],
    sample: opt.Data,
    score: Annotated[str, typer.Option("--score", help="The column of the scores.")],
    prevalence: Annotated[
        float | None, opt.option("The share of positives in the sample, if it is known.")
    ] = None,
    model: Annotated[
        str | None, opt.option("A model file that estimates the share from the sample.")
    ] = None,
    recall: Annotated[float | None, opt.option("Find the threshold for this recall.")] = None,
    precision: Annotated[float | None, opt.option("Find the threshold for this precision.")] = None,
    threshold: Annotated[
        list[float] | None, opt.option("What follows from this threshold; several times for more.")
    ] = None,
    output_format: opt.OutputFormat = opt.Format.table,
    output: opt.Output = None,
    plot: opt.Plot = None,
    trust: opt.Trust = None,
    random_state: Annotated[int, typer.Option(help="Seed.")] = 0,
    *,
    reading: Reading,
) -> None:
    """Judge a classifier without negatives: recall, precision and the like, with intervals."""
    from poscount.app.judging import evaluate_files
    from poscount.app.results import draw_evaluation

    if (prevalence is None) == (model is None):
        raise InputError(
            "Say which share of the sample is positive (--prevalence), or which model estimates it "
            "(--model)."
        )
    labelled, rows = data_files([positives], reading), data_files(sample, reading)
    inputs = [positives, *rows.files, *([] if model is None else [model])]
    check_result(output, inputs)
    check_picture(plot, inputs)
    share = prevalence if model is None else load_model(model, trust)
    assert share is not None
    found = evaluate_files(labelled, rows, score, share, random_state=random_state)
    chosen = [found.at(value) for value in threshold or []]
    if recall is not None:
        chosen.append(found.threshold_for(recall=recall))
    if precision is not None:
        chosen.append(found.threshold_for(precision=precision))
    if plot is not None:
        draw_evaluation(found, plot)
    emit(
        lambda: _print(found, chosen or found.curve()[::20]),
        found.to_dict(),
        [rates.line() for rates in (chosen or found.curve())],
        output_format,
        output,
    )
    if plot is not None:
        tell_written(output or "", f"{plot}: recall, precision and false positive rate.")


def _print(found: Any, chosen: list[Any]) -> None:
    for sentence in str(found).split("\n"):
        echo(sentence)
    lines = [
        [
            f"{rates.threshold:.4g}",
            str(rates.n_above),
            *map(str, (rates.recall, rates.precision, rates.false_positive_rate, rates.elusion)),
        ]
        for rates in chosen
    ]
    print_table(_HEADS, lines, right=_HEADS)
