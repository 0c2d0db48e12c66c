"""Make the bank of the verdict, and learn the doubt that poscount comes with.

python -m research.verdict bank-verdict -o src/poscount/calibration/doubt.npz
"""

import argparse
from pathlib import Path

import poscount
from poscount.calibration.doubt import write_doubt
from poscount.training.train import commit
from research.shipped_calibrations import BANK_TABLES, bank_source, sources
from research.verdict.bank import make_answers
from research.verdict.learning import learn

N_TASKS = 16
# Easy tasks among them, such as clusters far apart, of which no table has any.
FAMILIES = {
    "gaps": 90,
    "decisive": 90,
    "mixture": 60,
    "margins": 30,
    "regression": 20,
    "parity": 10,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--tasks", type=int, default=N_TASKS, help="of each table")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    tables = [*sources(), *map(bank_source, BANK_TABLES)]
    found = make_answers(
        arguments.folder,
        [*FAMILIES.items(), *((table, arguments.tasks) for table in tables)],
        arguments.n_jobs,
    )
    print(f"{len(found.truth):,} answers, {found.wrong.sum():,} of them wrong.")
    if arguments.output:
        made_by = {"poscount": poscount.__version__, "commit": commit(), "seed": 0}
        write_doubt(learn(found, made_by, arguments.n_jobs), arguments.output)
