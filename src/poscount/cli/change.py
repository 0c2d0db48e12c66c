"""The commands about change: ``trend`` for a series of groups, ``watch`` for a stream."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Annotated, Any

import typer

from poscount import registry, workflows
from poscount.cli.options import (
    Data,
    Engine,
    EngineOption,
    Format,
    ModelFile,
    OnError,
    OnErrorOption,
    Output,
    OutputFormat,
    Plot,
    Trust,
    Weights,
    names,
)
from poscount.cli.output import Forms, give, progress_bar, records_as_csv
from poscount.cli.reading_options import with_reading_options
from poscount.cli.tables import print_table
from poscount.cli.words import say
from poscount.errors import InputError
from poscount.workflows import CsvFormat

# A command that is run on alarm must end within so many seconds, or it is stopped.
LONGEST_COMMAND = 60
# Columns of the table.
_HEADS = ("window", "rows", "n", "prevalence", "interval", "state")


@with_reading_options
def trend(
    model: ModelFile,
    data: Data,
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
        typer.Option(
            help="Groups to compare all others with: the first so many, or FIRST..LAST, as in "
            "2026-W01..2026-W08.",
            show_default=False,
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Let small groups borrow strength from the others.")
    ] = False,
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
    """Say which groups of a series have changed, and how fast the share of positives moves."""
    workflows.check_result(output, [model, *data])
    workflows.check_picture(plot, [model, *data])
    found = workflows.trend(
        registry.load(model, trusted=names(trust) or []),
        data,
        by,
        baseline=_baseline(baseline),
        smooth=smooth,
        weights=weights,
        engine=engine,
        on_error=on_error,
        csv_format=csv_format,
        watch=progress_bar,
    )
    if plot is not None:
        workflows.draw_trend(found, plot)
    forms = Forms(lambda: _print_trend(found), found.to_dict, records_as_csv(found.records()))
    give(forms, output_format, output)
    if output_format == Format.csv:
        for note in found.notes:
            say(note, err=True)


@with_reading_options
def watch(
    model: ModelFile,
    data: Annotated[
        str, typer.Argument(help="Rows as they arrive: CSV or JSON lines on stdin (-), or a file.")
    ] = "-",
    rows: Annotated[int | None, typer.Option(help="Rows of a window.", show_default=False)] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="Instead of --rows: a window for each hour(time), day(date), week(date), ...",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[int, typer.Option(help="Windows that the others are compared with.")] = 20,
    run_length: Annotated[
        float, typer.Option(help="Mean number of windows between false alarms, at least.")
    ] = 1000.0,
    on_alarm: Annotated[
        str | None,
        typer.Option(
            help="Command to run on alarm. It gets the facts as JSON on its standard input and as "
            "POSCOUNT_ALARM_... in its environment; no shell is involved.",
            show_default=False,
        ),
    ] = None,
    weights: Weights = None,
    output_format: OutputFormat = Format.table,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Add each window to the end of this file, too: .csv or .jsonl.",
            show_default=False,
        ),
    ] = None,
    trust: Trust = None,
    *,
    csv_format: CsvFormat,
) -> None:
    """Watch a stream of rows: a line for each window, and an alarm if the share changes."""
    workflows.check_result(output, [model, data], ("csv", "jsonl"))
    command = _command(on_alarm)
    found = workflows.watch_stream(
        registry.load(model, trusted=names(trust) or []),
        data,
        rows=rows,
        by=by,
        baseline=baseline,
        run_length=run_length,
        weights=weights,
        csv_format=csv_format,
    )
    printers = _printers(output_format, output)
    for window in found:
        record = window.record()
        for printer in printers:
            printer.print(record, baseline)
        # Whoever reads this, perhaps a program, must see each window at once.
        sys.stdout.flush()
        if record["alarm"] and command:
            _run(command, record)


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
        say(sentence)
    say(
        "Of 100 series without change, at most 5 have a mark; changes are in points, with "
        f"{100 * found.level:g} % intervals; p-values are adjusted for all comparisons."
    )
    for note in found.notes:
        say(note)
    say(f"{found.method}, {found.n_labeled} positives")


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


class _Lines:
    """For people: a line of fixed width for each window."""

    def __init__(self) -> None:
        self._print(_HEADS)

    def print(self, record: dict[str, Any], baseline: int) -> None:
        self._print(
            [
                record["window"],
                record["rows"],
                record["n"],
                f"{record['prevalence']:.3f}",
                _range(record, "low", "high"),
                _state(record, baseline),
            ]
        )

    def _print(self, cells: Sequence[Any]) -> None:
        window, rows, n, prevalence, interval, state = cells
        say(f"{window:>6}  {rows:<17} {n:>7}  {prevalence:>10}  {interval:<16}  {state}")


class _Json:
    """An object in each line."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def print(self, record: dict[str, Any], baseline: int) -> None:
        self._file.write(f"{json.dumps(record, default=str)}\n")


class _Csv:
    """A header, and a line for each window."""

    def __init__(self, file: IO[str]) -> None:
        self._writer, self._header = workflows.csv_writer(file), True

    def print(self, record: dict[str, Any], baseline: int) -> None:
        if self._header:
            self._writer.writerow(list(record))
            self._header = False
        self._writer.writerow(record.values())


class _Log:
    """A file to which each window is added; what an earlier watch has written stays."""

    def __init__(self, path: str) -> None:
        self._path = path

    def print(self, record: dict[str, Any], baseline: int) -> None:
        # The file is opened for each line, so that it may be moved away meanwhile.
        text = io.StringIO()
        if self._path.lower().endswith(".csv"):
            workflows.csv_writer(text).writerow(list(record))
            head = text.getvalue()
            workflows.csv_writer(text).writerow(record.values())
            workflows.append_text(self._path, text.getvalue().removeprefix(head), head)
        else:
            _Json(text).print(record, baseline)
            workflows.append_text(self._path, text.getvalue())


def _printers(form: Format, output: str | None) -> list[Any]:
    """What gets each window: standard output, and a file if there is a name for it."""
    made: list[Any] = []
    if form == Format.table:
        made.append(_Lines())
    else:
        made.append((_Json if form == Format.json else _Csv)(sys.stdout))
    if output is not None and not workflows.is_standard_output(output):
        made.append(_Log(output))
    return made


def _state(record: dict[str, Any], baseline: int) -> str:
    if record["alarm"]:
        before, after = (100 * record[name] for name in ("before", "after"))
        return (
            f"ALARM: changed since window {record['since']}, from {before:.1f} to {after:.1f} %; "
            f"the next {baseline} windows are a new baseline"
        )
    return "learning" if record["learning"] else f"evidence {record['statistic']:.3g}"


def _command(text: str | None) -> list[str]:
    """Words of a command, as a shell would split them; no shell sees them."""
    try:
        words = [] if text is None else shlex.split(text)
    except ValueError as error:
        raise InputError(f"The command cannot be split into words: {error}.") from error
    if text is not None and not words:
        raise InputError("The command to run on alarm is empty.", option="on_alarm", leave_out=True)
    return words


def _run(command: list[str], record: dict[str, Any]) -> None:
    """Run a command; that it fails is said, and the watch goes on."""
    facts = {f"POSCOUNT_ALARM_{name.upper()}": str(value) for name, value in record.items()}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(record).encode(),
            # Standard output has the windows.
            stdout=sys.stderr.fileno(),
            env={**os.environ, **facts},
            timeout=LONGEST_COMMAND,
            check=False,
        )
        problem = f"ended with status {done.returncode}" if done.returncode else None
    except subprocess.TimeoutExpired:
        problem = f"was stopped after {LONGEST_COMMAND} seconds"
    except OSError as error:
        problem = f"could not be run: {error.strerror}"
    if problem is not None:
        say(f"poscount: the command on alarm {problem}; the watch goes on.", err=True)
