"""Make the bank of the verdict: ``python -m research.verdict FOLDER``."""

import argparse
from pathlib import Path

from research.shipped_calibrations import BANK_TABLES, bank_source, sources
from research.verdict.bank import make_answers

N_TASKS = 16

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=N_TASKS)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    tables = [*sources(), *map(bank_source, BANK_TABLES)]
    found = make_answers(
        arguments.folder, [(table, arguments.tasks) for table in tables], arguments.n_jobs
    )
    print(f"{len(found.truth):,} answers, {found.wrong.sum():,} of them wrong.")
