"""The command that compares the groups of a series."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import typer

from poscount.app.results import check_picture, check_result
from poscount.cli import options as opt
from poscount.cli.options import Reading, data_files, load_model, with_reading_options
from poscount.cli.output import emit
from poscount.cli.tables import print_table
from poscount.cli.words import echo


@with_reading_options
def trend(
    model: opt.ModelFile,
    data: opt.Data,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="Column of dates or numbers, or year(date), month(date), week(date), day(date), "
            "hour(date).",
        ),
    ],
    baseline: Annotated[
        str | None,
        opt.option(
            "Groups to compare all others with: the first so many, or FIRST..LAST, as in "
            "2026-W01..2026-W08."
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Let small groups borrow strength from the others.")
    ] = False,
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
    """Say which groups of a series have changed, and how fast the share of positives moves."""
    from poscount.app.follow_ups import trend as find_trend
    from poscount.app.results import draw_trend

    files = data_files(data, reading, weights=weights, engine=engine)
    check_result(output, [model, *files.files])
    check_picture(plot, [model, *files.files])
    loaded = load_model(model, trust)
    found = find_trend(
        loaded, files, by, baseline=_baseline(baseline), smooth=smooth, cluster=cluster
    )
    if plot is not None:
        draw_trend(found, plot)
    show = functools.partial(_print_trend, found)
    emit(show, found.to_dict(), found.records(), output_format, output)
    if output_format == opt.Format.csv:
        for note in found.notes:
            echo(note, err=True)


def _baseline(text: str | None) -> int | tuple[str, str] | None:
    if text is None:
        return None
    if text.isdecimal() and len(text) < 4:
        return int(text)
    first, dots, last = text.partition("..")
    return (first.strip(), last.strip()) if dots else (text, text)


def _print_trend(found: Any) -> None:
    records = found.records()
    heads = [found.by, "prevalence", "interval", "rows", "change", "interval of it", "p"]
    if found.baseline:
        heads += ["from baseline", "interval of that", "p "]
    heads += ["smoothed", "its interval"] if found.smooth else []
    lines = []
    for record in records:
        if not record["n"]:
            lines.append([record["group"], "no rows", *[""] * (len(heads) - 1)])
            continue
        line = [record["group"], f"{record['prevalence']:.3f}", _range(record, "low", "high")]
        line += [str(record["n"]), *_change(record, "change")]
        if found.baseline:
            line += ["in it", "", ""] if record["in_baseline"] else _change(record, "from_baseline")
        if found.smooth:
            line += [f"{record['smoothed']:.3f}", _range(record, "smoothed_low", "smoothed_high")]
        marks = {"before": "change_marked", "baseline": "from_baseline_marked"}
        line.append(" ".join(word for word, name in marks.items() if record.get(name)))
        lines.append(line)
    print_table([*heads, "changed from"], lines, right=heads[1:])
    for sentence in str(found).splitlines():
        echo(sentence)
    echo(
        "Of 100 series without change, at most 5 have a mark; changes are in points, with "
        f"{100 * found.level:g} % intervals; p-values are adjusted for all comparisons."
    )
    low, high = found.answer.interval
    echo(f"All rows together: {found.answer:.3f} [{low:.3f}, {high:.3f}]. {found.answer.verdict}")
    for note in found.notes:
        echo(note)
    echo(f"{found.method}, {found.n_labeled} positives")


def _change(record: dict[str, Any], name: str) -> list[str]:
    if record[name] is None:
        return ["", "", ""]
    ends = (f"{100 * record[f'{name}_{end}']:+.1f}" for end in ("low", "high"))
    p = record[f"{name}_p"]
    return [
        f"{100 * record[name]:+.1f}",
        f"[{', '.join(ends)}]",
        "<.001" if p < 0.001 else f"{p:.3f}",
    ]


def _range(record: dict[str, Any], low: str, high: str) -> str:
    return "none" if record[low] is None else f"[{record[low]:.3f}, {record[high]:.3f}]"
