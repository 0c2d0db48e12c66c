"""Results on standard output: a table for people, JSON and CSV for programs, and a picture."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from poscount import workflows
from poscount.prevalence import Prevalence
from poscount.theory import Plan
from poscount.workflows import Result, write_csv


def show(results: Sequence[Result], form: str, plot: str | None) -> None:
    """Print results, and draw them if a picture is wanted."""
    if plot is not None:
        workflows.draw(results, plot)
    if form == "json":
        print(json.dumps([result.record() for result in results], indent=2, default=str))
    elif form == "csv":
        write_csv(results, sys.stdout)
    else:
        print_table(results)


def show_plan(plan: Plan, form: str) -> None:
    """Print a plan."""
    if form == "json":
        print(json.dumps(asdict(plan), indent=2))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, asdict(plan), lineterminator="\n")
        writer.writeheader()
        writer.writerow(asdict(plan))
    else:
        print(
            f"{plan.n_labeled} labelled positives and {plan.n_unlabeled} unlabeled rows: mean "
            f"absolute error {plan.expected_error:.4f}, {100 * plan.confidence:g} % interval of "
            f"+-{plan.half_width:.4f}, at a prevalence of {plan.prevalence:g}."
        )
        print(
            "This holds for PAT where no negatives look like typical positives; it takes at least "
            "10 positives, and more of them than features + 1."
        )


def print_table(results: Sequence[Result], truth: Sequence[float] | None = None) -> None:
    """Print a table for people, and every warning once."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in results[0].group:
        table.add_column(name)
    level = next((r.prevalence.interval.level for r in results if r.prevalence.interval), None)
    heads = ["prevalence", f"{100 * level:g} % interval" if level else "interval"]
    for head in [*heads, *(["truth"] if truth else []), "positives", "rows"]:
        table.add_column(head, justify="right")
    table.add_column("warnings")
    for i, result in enumerate(results):
        group, p = result
        cells = [*(str(value) for value in group.values()), f"{p:.3f}", _interval(p)]
        if truth:
            cells.append(f"{truth[i]:.3f}")
        table.add_row(*cells, f"{p.count:.0f}", str(p.n_unlabeled), result.codes)
    # No wrapping where nobody looks at a terminal: a table in a file keeps its lines.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)
    cautions = {c.code: c for result in results for c in result.prevalence.warnings}
    for caution in cautions.values():
        print(f"warning, {caution}")
    first = results[0].prevalence
    print(f"{first.method}, {first.n_labeled} positives, seed {results[0].seed}")


def _interval(p: Prevalence) -> str:
    return f"[{p.interval.low:.3f}, {p.interval.high:.3f}]" if p.interval else "none"
