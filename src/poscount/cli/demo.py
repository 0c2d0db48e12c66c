"""The demonstration: nine nights of a mosquito trap, counted and compared with the truth."""

from __future__ import annotations

import csv

from poscount import registry, workflows
from poscount.cli import output
from poscount.datasets import example_path
from poscount.prevalence import Prevalence


def run(picture: str) -> None:
    """Fit on the embedded positives, count every night, print and draw."""
    positives, trap = str(example_path("positives.csv")), str(example_path("trap.csv.gz"))
    model = workflows.fit(positives, registry.DEFAULT_METHOD, options={"random_state": 0})
    results = workflows.quantify(model, [trap], by=["night"])
    with open(example_path("truth.csv"), newline="") as file:
        truth = [int(row["positives"]) / int(row["rows"]) for row in csv.DictReader(file)]
    print(
        f"Females of Aedes aegypti in a trap: learned from {model.n_labeled_} recordings of them "
        "alone, counted each night among whatever else flew in (simulated data).\n"
    )
    output.print_table(results, truth)
    print(f"\n{_score([result.prevalence for result in results], truth)}")
    workflows.draw(results, picture, truth=truth)
    print(f"Picture: {picture}\n")
    print("The same with your own files:")
    print("  poscount fit positives.csv -o model.poscount")
    print("  poscount quantify model.poscount unlabeled.csv --by night")


def _score(prevalences: list[Prevalence], truth: list[float]) -> str:
    pairs = list(zip(prevalences, truth, strict=True))
    error = sum(abs(p - t) for p, t in pairs) / len(pairs)
    held = sum(p.interval is not None and t in p.interval for p, t in pairs)
    return (
        f"Mean absolute error {100 * error:.1f} points; {held} of {len(pairs)} intervals hold the "
        "truth."
    )
