"""Results on standard output, as a table, JSON or CSV; progress on standard error."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poscount import workflows
from poscount.cli.words import say
from poscount.errors import join_names
from poscount.printable import in_a_sentence, printable
from poscount.verdict import IF, MEANINGS

if TYPE_CHECKING:
    from poscount.prevalence import Prevalence
    from poscount.theory import Plan
    from poscount.workflows import OnProgress, Result

# Of a model's columns, in a table for people.
MOST_COLUMNS_SHOWN = 100
# Characters, of a value of a group, say.
_MOST_IN_CELL = 200


@contextmanager
def progress_bar(title: str) -> Iterator[OnProgress | None]:
    """Give a function that shows how much is done, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(printable(title)), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def print_left_out(left_out: Mapping[str, str]) -> None:
    """Say on standard error which columns are not used, and how to use them."""
    columns = ", ".join(f"column {name!r} {holds}" for name, holds in left_out.items())
    names = shlex.quote(",".join(left_out))
    say(
        f"Not used as features: {columns}. Rows can be grouped by such columns (--by), and "
        f"--features can name them; --exclude {names} leaves them out without this line.",
        err=True,
    )


def print_results(results: Sequence[Result], form: str, plot: str | None) -> None:
    """Print results, and draw them if a picture is wanted."""
    if plot is not None:
        workflows.draw(results, plot)
    if form == "json":
        print_json([result.record() for result in results])
    elif form == "csv":
        workflows.write_csv(results, sys.stdout)
    else:
        _print_result_table(results)


def tell_written(path: str, sentence: str) -> None:
    """Say what was written; not on standard output, if that is where it was written."""
    say(sentence, err=workflows.is_standard_output(path))


def print_findings(diagnosis: Any, form: str, page: str | None) -> None:
    """Print a diagnosis; not on standard output, if its page was written there."""
    if form == "json":
        text = diagnosis.to_json()
    else:
        text = diagnosis.told(lambda missing: f"Add --{missing.option}." if missing.option else "")
    for line in text.split("\n"):
        tell_written(page or "", line)


def rows_in_words(counts: Any) -> str:
    """How many rows were counted, with the sum of their weights if they have any."""
    if counts.weights is None:
        return f"{counts.n} rows"
    return f"{counts.n} rows with a total weight of {counts.weights.weight:.10g}"


def targets_in_words(model: Any) -> str:
    """The targets of a model, if it has several."""
    targets = getattr(model, "targets_", None)
    return f" of {join_names(targets, most=10)}" if targets else ""


def print_demo(results: Sequence[Result], truth: Sequence[float], picture: str) -> None:
    """Print the nights of the example beside the truth, and what to do next."""
    prevalences = [result.prevalence for result in results]
    say(
        f"Females of Aedes aegypti in a trap: learned from {prevalences[0].n_labeled} recordings "
        "of them alone, counted each night among whatever else flew in (simulated data)."
    )
    say("")
    _print_result_table(results, truth)
    pairs = list(zip(prevalences, truth, strict=True))
    error = sum(abs(p - share) for p, share in pairs) / len(pairs)
    covered = sum(p.interval is not None and share in p.interval for p, share in pairs)
    say("")
    say(
        f"Mean absolute error {100 * error:.1f} points; {covered} of {len(pairs)} intervals "
        "cover the truth."
    )
    say(f"Picture: {picture}")
    say("")
    say("The same with your own files:")
    say("  poscount fit positives.csv -o model.poscount")
    say("  poscount quantify model.poscount unlabeled.csv --by night")


def print_plan(plan: Plan, form: str) -> None:
    """Print a plan."""
    if form == "json":
        print_json(asdict(plan))
    elif form == "csv":
        print_csv([asdict(plan)])
    else:
        say(
            f"{plan.n_labeled} labelled positives and {plan.n_unlabeled} unlabeled rows: mean "
            f"absolute error {plan.expected_error:.4f}, {100 * plan.confidence:g} % interval of "
            f"+-{plan.half_width:.4f}, at a prevalence of {plan.prevalence:g}."
        )
        say(
            "This is for PAT, if no negatives look like typical positives. It needs at least 10 "
            "positives, and more of them than features + 1."
        )
        if plan.rcq_widths:
            narrow, _, wide = plan.rcq_widths
            say(
                "RCQ, which needs no such assumption: half of its 95 % intervals at such sizes "
                f"were {100 * narrow:.0f} to {100 * wide:.0f} points wide, on data sets that it "
                "had not learned from."
            )


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON, which has escapes of its own for whatever would act on a terminal."""
    print(json.dumps(value, indent=indent, default=str))


def print_csv(records: Sequence[Mapping[str, Any]], *, header: bool = True) -> None:
    """Print records that have the same keys."""
    writer = workflows.csv_writer(sys.stdout)
    if header:
        writer.writerow(list(records[0]))
    writer.writerows(record.values() for record in records)


def print_model(model: Any, file: str, output_format: str) -> None:
    """Print what a model is and what became of its columns."""
    columns = workflows.describe_columns(model)
    several = hasattr(model, "targets_")
    if output_format == "json":
        record = {
            "file": file,
            "method": type(model).__name__,
            "n_labeled": model.n_labeled_,
            "seed": model.seed_,
            **({"targets": workflows.describe_targets(model)} if several else {}),
            "columns": [column._asdict() for column in columns],
        }
        print_json(record)
        return
    say(f"{file}: {model} learned from {model.n_labeled_} positives, seed {model.seed_}.")
    if several:
        sizes = workflows.describe_targets(model).items()
        print_table(["target", "positives"], [[n, str(k)] for n, k in sizes], ["positives"])
    shown = columns[:MOST_COLUMNS_SHOWN]
    print_table(["column", "kind", "what the model does with it"], shown, [])
    if len(columns) > len(shown):
        say(f"... and {len(columns) - len(shown)} more; --format json lists all.")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> None:
    """Print a table; the columns whose heads are in `right` are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(_cell(head), justify="right" if head in right else "left")
    for row in rows:
        table.add_row(*map(_cell, row))
    # Lines are wrapped on a terminal only: a table in a file keeps its lines.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _cell(text: str) -> Any:
    """Text in a table: square brackets are no markup in it."""
    from rich.text import Text

    return Text(in_a_sentence(text, _MOST_IN_CELL))


def _print_result_table(results: Sequence[Result], truth: Sequence[float] | None = None) -> None:
    """Print a table for people, and every warning once, for the group that it is worst for."""
    level = next((r.prevalence.interval.level for r in results if r.prevalence.interval), None)
    heads = ["prevalence", f"{100 * level:g} % interval" if level else "interval"]
    counted = "counted" if results[0].target else "positives"
    heads += [*(["truth"] if truth else []), counted, "rows"]
    rows = []
    for i, (group, p) in enumerate(results):
        shares = [f"{p:.3f}", _interval(p), *([f"{truth[i]:.3f}"] if truth else [])]
        numbers = [*shares, f"{p.count:.0f}", str(p.n_unlabeled)]
        rows.append([*map(_shown, group.values()), *numbers, p.verdict.grade, results[i].codes])
    print_table([*results[0].group, *heads, "verdict", "warnings"], rows, right=heads)
    if len(results) == 1 and results[0].kinds:
        _print_kinds(results[0].kinds)
    if len(results) == 1 and results[0].negatives:
        _print_negatives(results[0].negatives)
    first = results[0].prevalence
    if len(results) == 1 and "effective_rows" in first.details:
        say(
            f"The weights add up to {first.total_weight:.6g}; the interval is that of "
            f"{first.details['effective_rows']:.0f} rows of equal weight."
        )
    if len(results) == 1:
        say(first.verdict)
    else:
        grades = {result.prevalence.verdict.grade for result in results}
        meanings = [f"{grade}: {MEANINGS[grade]}" for grade in MEANINGS if grade in grades]
        say(f"Verdicts, {IF}: {'; '.join(meanings)}.")
    for caution, worst, warned in workflows.warnings_of(results):
        say(f"warning{_where(worst, len(warned))}, {caution}")
    # The last of several targets is "other", which has the positives of all.
    say(f"{first.method}, {results[-1].prevalence.n_labeled} positives, seed {results[0].seed}")


def _shown(value: Any) -> str:
    """Value of a grouping column in a table for people."""
    return "missing" if value is None else str(value)


def _where(worst: Result, n_warned: int) -> str:
    if not worst.group:
        return ""
    label = ", ".join(f"{name} {_shown(value)}" for name, value in worst.group.items())
    return f" for {label}" if n_warned == 1 else f" for {n_warned} groups, such as {label}"


def _print_kinds(kinds: Sequence[Mapping[str, Any]]) -> None:
    heads = ["prevalence", "interval", "labelled positives"]
    rows = [
        [
            kind["name"],
            f"{kind['prevalence']:.3f}",
            f"[{kind['low']:.3f}, {kind['high']:.3f}]",
            str(kind["positives"]),
        ]
        for kind in kinds
    ]
    print_table(["of these", *heads], rows, right=heads)


def _print_negatives(kinds: Sequence[Mapping[str, Any]]) -> None:
    heads = ["share", "interval"]
    rows = [
        [kind["name"], f"{kind['prevalence']:.3f}", f"[{kind['low']:.3f}, {kind['high']:.3f}]"]
        for kind in kinds
    ]
    print_table(["beside them", *heads], rows, right=heads)


def _interval(p: Prevalence) -> str:
    return f"[{p.interval.low:.3f}, {p.interval.high:.3f}]" if p.interval else "none"
