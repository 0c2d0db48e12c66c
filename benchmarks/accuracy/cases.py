"""What the code of docs/cases prints if the calibration has not seen the data set of the page.

    python -m benchmarks.accuracy.cases BANK  # a folder; what is missing of it is made
    python -m benchmarks.accuracy.cases BANK --share 0.2  # a fifth of the tasks, as on the pages

The pages run with the shipped calibration, which was learned from all data sets. Here RCQ gets one
that was learned without the page's own.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

from benchmarks.accuracy import calibration
from poscount.calibration import files
from poscount.training import bank as banks
from research.shipped_calibrations import shipped_plan

mpl.use("Agg")
sys.path.append(str(Path(__file__).resolve().parents[2] / "docs" / "images"))
import make_cases

KIN = {"sensor": "anuran_calls", "pulsars": "htru2", "register": "german_credit"}


def main() -> None:
    """Make the bank, leave out, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    plan = [(source, math.ceil(given.share * n)) for source, n in shipped_plan("RCQ")]
    made = banks.read_bank(banks.make_bank(given.bank, "RCQ", plan, 0, given.n_jobs))
    # The two registers are on one page, and neither has seen the other.
    made.kin[made.kin == "credit_approval"] = KIN["register"]
    left = calibration.Calibrations(made, given.n_jobs)
    for case, kin in KIN.items():
        own = left.without(kin)
        files.shipped = lambda method, own=own: own
        with tempfile.TemporaryDirectory() as folder:
            for _, output in make_cases.printed(case, Path(folder)):
                print(f"## {case}\n{output}")


if __name__ == "__main__":
    main()
