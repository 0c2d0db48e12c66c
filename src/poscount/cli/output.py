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
from typing import TYPE_CHECKING, Any

from poscount.app.results import Result, draw, warnings_of, write_csv
from poscount.cli.tables import bars, print_table
from poscount.cli.words import echo
from poscount.errors import join_names
from poscount.printable import printable
from poscount.results.user_knowledge import knowledge_in_words, user_knowledge
from poscount.storage.writer import is_standard_output, write_whole

if TYPE_CHECKING:
    from poscount.app.fitting import Fitted
    from poscount.results.prevalence import Prevalence
    from poscount.results.tables import SharedWarning
    from poscount.theory import Plan

# Of a model's columns, in a table for people.
MOST_COLUMNS_SHOWN = 100


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
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


def fitted_model(fitted: Fitted) -> Any:
    """The model that was fitted; standard error says which columns it does not use, and why."""
    if fitted.of_groups:
        echo(f"Not used as features: {_columns_in_words(fitted.of_groups)}.", err=True)
    if fitted.left_out:
        columns = _columns_in_words(fitted.left_out)
        names = shlex.quote(",".join(fitted.left_out))
        echo(
            f"Not used as features: {columns}. Rows can be grouped by such columns (--by), and "
            f"--features can name them; --exclude {names} leaves them out without this line.",
            err=True,
        )
    if fitted.why_positives_only:
        echo(f"Only the positives were learned from: {fitted.why_positives_only}.", err=True)
    return fitted.model


def _columns_in_words(columns: Mapping[str, str]) -> str:
    return ", ".join(f"column {name!r} {holds}" for name, holds in columns.items())


def emit(
    show: Callable[[], None],
    record: Any,
    lines: Sequence[Mapping[str, Any]],
    form: str,
    output: str | None,
) -> None:
    """Print a result, and write it to a file, too, if there is a name for it.

    Parameters
    ----------
    show : callable
        Prints it for people.
    record : object
        What is written as JSON.
    lines : sequence of mappings
        What is written as CSV; all have the same keys.
    form : str
        How to print it: "json", "csv", or anything else for people.
    output : str, optional
        Its extension is the format of the file; ``-`` is standard output, on which the result is
        printed anyway.
    """
    for_program = form in ("json", "csv")
    if for_program:
        sys.stdout.write(_text(record, lines, form))
    else:
        show()
    if output is not None and not is_standard_output(output):
        form = os.path.splitext(output)[1].lower()[1:]
        # Names of files may have bytes that are no text.
        write_whole(output, _text(record, lines, form).encode("utf-8", "surrogateescape"))
        echo(f"{output}: the result as {form.upper()}.", err=for_program)


def _text(record: Any, lines: Sequence[Mapping[str, Any]], form: str) -> str:
    if form == "json":
        # JSON has escapes of its own for whatever would act on a terminal.
        return f"{json.dumps(record, indent=2, default=str)}\n"
    file = io.StringIO()
    write_csv(lines, file)
    return file.getvalue()


def emit_results(
    results: Sequence[Result],
    form: str,
    output: str | None,
    plot: str | None,
    limits: Sequence[float] = (),
) -> None:
    """Print prevalences, and write and draw them if there are names for that."""
    if plot is not None:
        draw(results, plot)
    emit(
        lambda: _print_result_table(results, limits=limits),
        [result.record(limits) for result in results],
        [result.line(limits) for result in results],
        form,
        output,
    )


def tell_clusters(p: Prevalence) -> None:
    """Say what the interval is for, if the rows came in clusters."""
    if "clusters" in p.details:
        echo(
            f"The interval is for the population behind the {p.details['clusters']} clusters; they "
            f"are worth {p.details['rows_worth']:.0f} independent rows."
        )


def tell_written(path: str, sentence: str) -> None:
    """Say what was written; not on standard output, if that is where it was written."""
    echo(sentence, err=is_standard_output(path))


def print_findings(diagnosis: Any, form: str, output: str | None) -> None:
    """Print a diagnosis, and write it to a file, too, if there is a name for it.

    Its page may go to standard output; then the findings are printed on standard error.
    """
    texts = {
        "json": diagnosis.to_json,
        "txt": lambda: str(diagnosis),
        "html": diagnosis.to_html,
    }
    if output is not None:
        kind = os.path.splitext(output)[1].lower()[1:] or "html"
        text = printable(texts[kind](), lines=True)
        write_whole(output, f"{text.rstrip()}\n".encode())
    for line in texts["json" if form == "json" else "txt"]().split("\n"):
        tell_written(output or "", line)


def rows_in_words(counts: Any) -> str:
    """How many rows were counted, with the sum of their weights if they have any."""
    if counts.weights is None:
        return f"{counts.n} rows"
    return f"{counts.n} rows with a total weight of {counts.weights.weight:.10g}"


def targets_in_words(model: Any) -> str:
    """The targets of a model, if it has several."""
    targets = getattr(model, "targets_", None)
    return f" of {join_names(targets, most=10)}" if targets else ""


def reference_in_words(model: Any) -> str:
    """How many unlabeled rows a model has learned from, if it has, as the start of a sentence."""
    from poscount.app.fitting import learned_score

    score = learned_score(model)
    assert score is not None
    return f"The score was also learned from {score.n_reference_:,} distinct unlabeled rows"


def print_demo(results: Sequence[Result], truth: Sequence[float], picture: str) -> None:
    """Print the nights of the example beside the truth, and what to do next."""
    prevalences = [result.prevalence for result in results if not result.is_total]
    echo(
        f"Females of Aedes aegypti in a trap: learned from {prevalences[0].n_labeled} recordings "
        "of them and from the unlabeled rows, counted each night among whatever else flew in "
        "(simulated data)."
    )
    echo("")
    _print_result_table(results, truth)
    pairs = list(zip(prevalences, truth[-len(prevalences) :], strict=True))
    error = sum(abs(p - share) for p, share in pairs) / len(pairs)
    covered = sum(p.interval is not None and share in p.interval for p, share in pairs)
    echo("")
    echo(
        f"Mean absolute error {100 * error:.1f} points; {covered} of {len(pairs)} intervals "
        "cover the truth."
    )
    echo(f"Picture: {picture}")
    echo("")
    echo("The same with your own files:")
    echo("  poscount estimate positives.csv unlabeled.csv --by night")


def emit_plan(plan: Plan, form: str, output: str | None) -> None:
    """Print a plan."""
    record = asdict(plan)
    emit(lambda: _print_plan(plan), record, [record], form, output)


def _print_plan(plan: Plan) -> None:
    echo(
        f"{plan.n_labeled} labelled positives and {plan.n_unlabeled} unlabeled rows: mean "
        f"absolute error {plan.expected_error:.4f}, {100 * plan.confidence:g} % interval of "
        f"+-{plan.half_width:.4f}, at a prevalence of {plan.prevalence:g}."
    )
    echo(
        "This is for PAT, if no negatives look like typical positives. It needs at least 10 "
        "positives, and more of them than features + 1."
    )
    widths = {
        "from the positives alone": plan.rcq_widths,
        "with unlabeled rows to learn from": plan.rcq_widths_with_unlabeled,
        "from positives that are recognisable": plan.rcq_widths_recognisable,
        "with both": plan.rcq_widths_with_unlabeled_recognisable,
    }
    known = [
        f"{100 * width[0]:.0f} to {100 * width[2]:.0f} points wide {how}"
        for how, width in widths.items()
        if width
    ]
    if known:
        echo(
            "RCQ, which needs no such assumption: half of its 95 % intervals at such sizes were "
            f"{', '.join(known)}, on data sets that it had not learned from."
        )


def emit_model(model: Any, file: str, form: str, output: str | None) -> None:
    """Print what a model is and what became of its columns."""
    from poscount.app.fitting import describe_columns, describe_targets, learned_score

    columns, score = describe_columns(model), learned_score(model)
    targets = describe_targets(model) if hasattr(model, "targets_") else {}
    record = {
        "file": file,
        "method": type(model).__name__,
        "n_labeled": model.n_labeled_,
        "seed": model.seed_,
        **user_knowledge(vars(model)),
        **({"n_reference": score.n_reference_, "skill": score.skill_} if score else {}),
        **({"targets": targets} if targets else {}),
        "columns": [column._asdict() for column in columns],
    }

    def show() -> None:
        echo(f"{file}: {model} learned from {model.n_labeled_} positives, seed {model.seed_}.")
        if score:
            echo(
                f"{reference_in_words(model)}; it ranks a positive above an unlabeled row in "
                f"{50 + 100 * score.skill_:.0f} % of pairs."
            )
        for sentence in knowledge_in_words(vars(model)):
            echo(sentence)
        if targets:
            rows = [[name, str(size)] for name, size in targets.items()]
            print_table(["target", "positives"], rows, ["positives"])
        shown = columns[:MOST_COLUMNS_SHOWN]
        print_table(["column", "kind", "what the model does with it"], shown, [])
        if len(columns) > len(shown):
            echo(f"... and {len(columns) - len(shown)} more; --format json lists all.")

    emit(show, record, record["columns"], form, output)


def _print_result_table(
    results: Sequence[Result],
    truth: Sequence[float] | None = None,
    limits: Sequence[float] = (),
) -> None:
    """Print a table for people, and every warning once, for the group that it is worst for."""
    from poscount.results.verdict import verdict_of_many

    level = next((r.prevalence.interval.level for r in results if r.prevalence.interval), None)
    heads = ["prevalence", f"{100 * level:g} % interval" if level else "interval"]
    heads += [f"above {100 * limit:g} %" for limit in limits]
    counted = "counted" if results[0].target else "positives"
    heads += [*(["truth"] if truth else []), counted, "rows"]
    axis, drawn = _bars([result.prevalence for result in results])
    rows = []
    for i, p in enumerate(result.prevalence for result in results):
        exceeded = [_chance(results[i].above(limit)) for limit in limits]
        shares = [f"{p:.3f}", _interval(p), *exceeded, *([f"{truth[i]:.3f}"] if truth else [])]
        numbers = [*shares, f"{p.count:.0f}", str(p.n_unlabeled)]
        rows.append([*results[i].values, *drawn[i], *numbers, p.verdict.status, results[i].codes])
    names = [*results[0].group, *axis]
    # The warnings are told below, with the groups that have them.
    print_table([*names, *heads, "verdict", "warnings"], rows, right=heads, spare=["warnings"])
    if len(results) == 1 and results[0].kinds:
        _print_parts("of these", results[0].kinds, "prevalence")
    if len(results) == 1 and results[0].negatives:
        _print_parts("beside them", results[0].negatives, "share")
    first = results[0].prevalence
    if len(results) == 1 and "effective_rows" in first.details:
        echo(
            f"The weights add up to {first.total_weight:.6g}; the interval is that of "
            f"{first.details['effective_rows']:.0f} rows of equal weight."
        )
    tell_clusters(first)
    if len(results) == 1:
        echo(first.verdict)
    else:
        what = "groups" if results[0].target is None else "shares"
        parts = [each.prevalence.verdict for each in results if not each.is_total]
        echo(verdict_of_many(parts, what))
    for shared in warnings_of(results):
        echo(f"warning{_where(shared)}, {shared.warning}")
    # The last of several targets is "other", which has the positives of all.
    learned = f"{results[-1].prevalence.n_labeled} positives"
    if results[0].n_reference:
        learned += f", score also learned from {results[0].n_reference:,} distinct unlabeled rows"
    echo(f"{first.method}, {learned}, seed {results[0].seed}")
    for sentence in knowledge_in_words(first.details):
        echo(sentence)


def _bars(prevalences: Sequence[Prevalence]) -> tuple[list[str], list[list[str]]]:
    """Head and cells of a column of bars; no column for a single answer."""
    if len(prevalences) == 1:
        return [], [[]]
    ends = [(float(p), p.interval.high if p.interval else float(p)) for p in prevalences]
    axis, drawn = bars(ends, sys.stdout.encoding)
    return [axis], [[bar] for bar in drawn]


def _print_parts(head: str, parts: Sequence[Mapping[str, Any]], share: str) -> None:
    """Print the shares of kinds of positives, or of negatives, below the share of all."""
    labelled = ["labelled positives"] if "positives" in parts[0] else []
    heads = [share, "interval", *labelled]
    rows = []
    for part in parts:
        ends = f"[{part['low']:.3f}, {part['high']:.3f}]"
        sizes = [str(part["positives"])] if labelled else []
        rows.append([part["name"], f"{part['prevalence']:.3f}", ends, *sizes])
    print_table([head, *heads], rows, right=heads)


def _where(shared: SharedWarning[Result]) -> str:
    """Name the groups that a warning is about, and the one that it is worst for."""
    from poscount.results.tables import in_words

    if not shared.worst.group:
        return ""
    labels = ["/".join(result.values) for result in shared.of]
    which = in_words("/".join(shared.worst.values), labels)
    return f" for {'/'.join(shared.worst.group)} {which}"


def _chance(probability: float) -> str:
    """A probability for people, for whom nothing is certain."""
    if probability < 0.01:
        return "< 1 %"
    return "> 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def _interval(p: Prevalence) -> str:
    return f"[{p.interval.low:.3f}, {p.interval.high:.3f}]" if p.interval else "none"
