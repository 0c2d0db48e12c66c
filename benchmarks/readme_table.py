"""The README's table of methods, from the results file of docs/reproduction.

python benchmarks/readme_table.py results.sqlite

Mean absolute error in points of Experiment #1 over A, C, L, P, R and W, each data set counting the
same; the paper's on the same sets; CPU seconds for one sample in Experiment #4 (quantifying only);
coverage of the 95 % interval in Experiment #1.
"""

from __future__ import annotations

import sys

import numpy as np

from poscount.experiments import published
from poscount.experiments.report import cells
from poscount.experiments.report.results import column, label, method_order, read


def main() -> None:
    found = read(sys.argv[1])
    evaluations = found.evaluations
    evaluations = evaluations[evaluations["dataset"].isin(published.DATASETS)]
    first = evaluations[evaluations["experiment"] == "1"]
    errors = cells.errors(first).pivot(index="method", columns="dataset", values="mae").mean(axis=1)
    seconds = cells.seconds(evaluations).groupby("method")["quantify"].mean() / 11
    covered = cells.intervals(first).groupby("method")["coverage"].mean()
    repetitions = first.groupby("method")["repetition"].nunique()
    print("| method | MAE | published | CPU s | coverage of 95 % (%) | repetitions |")
    print("|---|---|---|---|---|---|")
    for method in method_order(list(errors.index)):
        theirs = [
            published.tables().get(("1", d, column(method) or "")) for d in published.DATASETS
        ]
        mean = f"{np.mean([cell.mae for cell in theirs]):.2f}" if all(theirs) else ""
        time = f"{seconds[method]:.4f}" if method in seconds else ""
        coverage = f"{covered[method]:.1f}" if method in covered else ""
        line = [label(method), f"{errors[method]:.2f}", mean, time, coverage, repetitions[method]]
        print("| " + " | ".join(map(str, line)) + " |")


if __name__ == "__main__":
    main()
