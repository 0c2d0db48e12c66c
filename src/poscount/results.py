"""Results for programs: records for JSON, and CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from poscount.prevalence import Prevalence

# Names in a result that no grouping column can have.
RESERVED = (
    *("prevalence", "interval", "low", "high", "level", "count", "n_labeled", "n_unlabeled"),
    *("label_frequency", "joint_prior", "method", "warnings", "seed"),
)


class Result(NamedTuple):
    """A prevalence, and what it is the prevalence of: column names and values."""

    group: dict[str, Any]
    prevalence: Prevalence

    @property
    def seed(self) -> int | None:
        """Seed that reproduces it."""
        return self.prevalence.details.get("seed")

    @property
    def codes(self) -> str:
        """Codes of the warnings, with spaces between."""
        return " ".join(caution.code for caution in self.prevalence.warnings)

    def record(self) -> dict[str, Any]:
        """All that is known, in types that JSON knows, but for the values of the group."""
        return {**self.group, **self.prevalence.to_dict(), "seed": self.seed}


def write_csv(results: Sequence[Result], file: IO[str]) -> None:
    """Write one line per result, below a header."""
    writer = csv.writer(file, lineterminator="\n")
    heads = ["prevalence", "low", "high", "level", "count", "n_unlabeled", "n_labeled", "method"]
    writer.writerow([*results[0].group, *heads, "warnings", "seed"])
    for result in results:
        group, p = result
        ends = (p.interval.low, p.interval.high, p.interval.level) if p.interval else ("", "", "")
        numbers = [p, *ends, p.count, p.n_unlabeled, p.n_labeled, p.method]
        writer.writerow([*group.values(), *numbers, result.codes, result.seed])
