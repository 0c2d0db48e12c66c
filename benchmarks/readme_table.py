"""The README's table of methods, from the results file of docs/reproduction.

python benchmarks/readme_table.py results.sqlite

Mean absolute error in points of Experiment #1 over A, C, L, P, R and W, each data set counting the
same; the paper's on the same sets; CPU seconds for one sample in Experiment #4 (quantifying only);
coverage of the 95 % interval in Experiment #1.
"""

from __future__ import annotations

import sys

import numpy as np

from research import published
from research.experiments.methods import column_of, in_order, label_of
from research.report import frames


def main() -> None:
    evaluations = frames.read(sys.argv[1]).evaluations
    evaluations = evaluations[evaluations["dataset"].isin(published.DATASETS)]
    first = evaluations[evaluations["experiment"] == "1"]
    wide = frames.errors(first).pivot(index="method", columns="dataset", values="mae")
    errors = wide.mean(axis=1)
    seconds = frames.seconds(evaluations).groupby("method")["quantify"].mean() / 11
    covered = frames.intervals(first).groupby("method")["coverage"].mean()
    repetitions = first.groupby("method")["repetition"].nunique()
    print("| method | MAE | published | CPU s | coverage of 95 % (%) | repetitions |")
    print("|---|---|---|---|---|---|")
    for method in in_order(errors.index):
        theirs = [
            published.tables().get(("1", d, column_of(method) or "")) for d in published.DATASETS
        ]
        mean = f"{np.mean([cell.mae for cell in theirs]):.2f}" if all(theirs) else ""
        time = f"{seconds[method]:.4f}" if method in seconds else ""
        coverage = f"{covered[method]:.1f}" if method in covered else ""
        line = [
            label_of(method),
            f"{errors[method]:.2f}",
            mean,
            time,
            coverage,
            repetitions[method],
        ]
        print("| " + " | ".join(map(str, line)) + " |")


if __name__ == "__main__":
    main()
