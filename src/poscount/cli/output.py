"""Results on standard output, as a table, JSON or CSV; progress on standard error."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from poscount import workflows
from poscount.cli.tables import bars, print_table
from poscount.cli.words import say
from poscount.errors import join_names
from poscount.printable import printable
from poscount.results.verdict import IF, MEANINGS

if TYPE_CHECKING:
    from poscount.results.prevalence import Prevalence
    from poscount.theory import Plan
    from poscount.workflows import OnProgress, Result

# Of a model's columns, in a table for people.
MOST_COLUMNS_SHOWN = 100


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


class Forms(NamedTuple):
    """A result in all its forms; each is made when it is needed.

    Attributes
    ----------
    show : callable
        Prints it for people.
    record : callable
        Makes what is written as JSON.
    write_csv : callable
        Writes it as CSV to a text file.
    """

    show: Callable[[], None]
    record: Callable[[], Any]
    write_csv: Callable[[IO[str]], None]

    def text(self, form: str) -> str:
        """The result as "json" or "csv"."""
        if form == "json":
            # JSON has escapes of its own for whatever would act on a terminal.
            return f"{json.dumps(self.record(), indent=2, default=str)}\n"
        file = io.StringIO()
        self.write_csv(file)
        return file.getvalue()


def give(result: Forms, form: str, output: str | None) -> None:
    """Print a result, and write it to a file, too, if there is a name for it.

    The extension of the name is the format of the file; ``-`` is standard output, on which the
    result is printed anyway.
    """
    if form in ("json", "csv"):
        sys.stdout.write(result.text(form))
    else:
        result.show()
    if output is not None and not workflows.is_standard_output(output):
        # What is printed may be meant for a program.
        write_result(result, output, err=form in ("json", "csv"))


def write_result(result: Forms, output: str, *, err: bool) -> None:
    """Write a result to a file, and say so."""
    form = os.path.splitext(output)[1].lower()[1:]
    # Names of files may have bytes that are no text.
    workflows.write_whole(output, result.text(form).encode("utf-8", "surrogateescape"))
    say(f"{output}: the result as {form.upper()}.", err=err)


def of_results(results: Sequence[Result]) -> Forms:
    """The forms of prevalences."""
    return Forms(
        lambda: _print_result_table(results),
        lambda: [result.record() for result in results],
        lambda file: workflows.write_csv(results, file),
    )


def records_as_csv(records: Sequence[Mapping[str, Any]]) -> Callable[[IO[str]], None]:
    """What writes records that have the same keys."""

    def write(file: IO[str]) -> None:
        writer = workflows.csv_writer(file)
        writer.writerow(list(records[0]))
        writer.writerows(record.values() for record in records)

    return write


def tell_written(path: str, sentence: str) -> None:
    """Say what was written; not on standard output, if that is where it was written."""
    say(sentence, err=workflows.is_standard_output(path))


def print_findings(diagnosis: Any, form: str, output: str | None) -> None:
    """Print a diagnosis, and write it to a file, too, if there is a name for it.

    Its page may go to standard output; then the findings are printed on standard error.
    """
    texts = {
        "json": diagnosis.to_json,
        "txt": lambda: diagnosis.rendered(_add_option),
        "html": diagnosis.to_html,
    }
    if output is not None:
        kind = os.path.splitext(output)[1].lower()[1:] or "html"
        text = printable(texts[kind](), lines=True)
        workflows.write_whole(output, f"{text.rstrip()}\n".encode())
    for line in texts["json" if form == "json" else "txt"]().split("\n"):
        tell_written(output or "", line)


def _add_option(missing: Any) -> str:
    return f"Add --{missing.option}." if missing.option else ""


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


def of_plan(plan: Plan) -> Forms:
    """The forms of a plan."""
    record = asdict(plan)
    return Forms(lambda: _print_plan(plan), lambda: record, records_as_csv([record]))


def _print_plan(plan: Plan) -> None:
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


def of_model(model: Any, file: str) -> Forms:
    """The forms of what a model is and what became of its columns."""
    columns = workflows.describe_columns(model)
    several = hasattr(model, "targets_")
    record = {
        "file": file,
        "method": type(model).__name__,
        "n_labeled": model.n_labeled_,
        "seed": model.seed_,
        **({"targets": workflows.describe_targets(model)} if several else {}),
        "columns": [column._asdict() for column in columns],
    }
    return Forms(
        lambda: _print_model(model, file), lambda: record, records_as_csv(record["columns"])
    )


def _print_model(model: Any, file: str) -> None:
    columns = workflows.describe_columns(model)
    say(f"{file}: {model} learned from {model.n_labeled_} positives, seed {model.seed_}.")
    if hasattr(model, "targets_"):
        sizes = workflows.describe_targets(model).items()
        print_table(["target", "positives"], [[n, str(k)] for n, k in sizes], ["positives"])
    shown = columns[:MOST_COLUMNS_SHOWN]
    print_table(["column", "kind", "what the model does with it"], shown, [])
    if len(columns) > len(shown):
        say(f"... and {len(columns) - len(shown)} more; --format json lists all.")


def _print_result_table(results: Sequence[Result], truth: Sequence[float] | None = None) -> None:
    """Print a table for people, and every warning once, for the group that it is worst for."""
    level = next((r.prevalence.interval.level for r in results if r.prevalence.interval), None)
    heads = ["prevalence", f"{100 * level:g} % interval" if level else "interval"]
    counted = "counted" if results[0].target else "positives"
    heads += [*(["truth"] if truth else []), counted, "rows"]
    axis, drawn = _bars([result.prevalence for result in results])
    rows = []
    for i, (_, p) in enumerate(results):
        shares = [f"{p:.3f}", _interval(p), *([f"{truth[i]:.3f}"] if truth else [])]
        numbers = [*shares, f"{p.count:.0f}", str(p.n_unlabeled)]
        rows.append([*results[i].values, *drawn[i], *numbers, p.verdict.grade, results[i].codes])
    names = [*results[0].group, *axis]
    # The warnings are told below, with the groups that have them.
    print_table([*names, *heads, "verdict", "warnings"], rows, right=heads, spare=["warnings"])
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
    for shared in workflows.warnings_of(results):
        where = workflows.where_warned(shared)
        say(f"warning{f' for {where}' if where else ''}, {shared.warning}")
    # The last of several targets is "other", which has the positives of all.
    say(f"{first.method}, {results[-1].prevalence.n_labeled} positives, seed {results[0].seed}")


def _bars(prevalences: Sequence[Prevalence]) -> tuple[list[str], list[list[str]]]:
    """Head and cells of a column of bars; no column for a single answer."""
    if len(prevalences) == 1:
        return [], [[]]
    ends = [(float(p), p.interval.high if p.interval else float(p)) for p in prevalences]
    axis, drawn = bars(ends, sys.stdout.encoding)
    return [axis], [[bar] for bar in drawn]


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
