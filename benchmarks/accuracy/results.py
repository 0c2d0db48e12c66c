"""Tables of the docs from results files of `python -m research reproduce`.

python -m benchmarks.accuracy.results results.sqlite --methods-table

OTHERS="pat extice minimum bbe dedpul"
python -m research reproduce 1 --datasets overlap-cluster overlap-inside overlap-heavy-tails \
    overlap-50-features overlap-one-of-25 overlap-half --methods $OTHERS rcq -o rcq.sqlite
python -m research reproduce 1 --datasets P:positive=0 P:positive=1 ... --methods $OTHERS rcq \
    --repetitions 1 -o rcq.sqlite
python -m benchmarks.accuracy.results rcq.sqlite --datasets overlap-
python -m benchmarks.accuracy.results rcq.sqlite --datasets P: L: A: vowels: --tasks

The table of every method: mean absolute error in points of Experiment #1 over A, C, L, P, R and W,
each data set counting the same; the paper's on the same sets; CPU seconds for one sample in
Experiment #4 (quantifying only); coverage of the 95 % interval in Experiment #1.

RCQ and TRCQ beside the others: mean absolute error in points by data set, one-sided paired Wilcoxon
tests over samples that RCQ's error is larger, coverage and width of the 95 % interval, error by
true prevalence; with --tasks the share of data sets won against each method, a two-sided test over
data sets, and the losses.
"""

from __future__ import annotations

import argparse
import sqlite3

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from research import published
from research.experiments.methods import column_of, in_order, label_of
from research.report import frames

OTHERS = ["pat", "extice", "minimum", "bbe", "dedpul"]
KEY = ["dataset", "negative", "repetition", "fold", "point"]


def read(path: str, experiment: str, prefixes: list[str]) -> pd.DataFrame:
    """Evaluations of an experiment on data sets whose names begin so, errors in points."""
    query = f"SELECT method, {', '.join(KEY)}, truth, estimate, low, high FROM evaluations"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60) as connection:
        frame = pd.read_sql_query(f"{query} WHERE experiment = ?", connection, params=[experiment])
    frame = frame[frame["dataset"].str.startswith(tuple(prefixes))]
    levels = frame["method"].str.startswith("rcq:confidence")
    frame = frame[frame["method"].isin([*OTHERS, "rcq", "trcq"]) | levels]
    bias = 100 * (frame["estimate"] - frame["truth"])
    held = (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])
    return frame.assign(
        bias=bias, error=bias.abs(), held=held, width=100 * (frame["high"] - frame["low"])
    )


def show(title: str, frame: pd.DataFrame, digits: int = 2) -> None:
    print(f"\n**{title}**\n")
    print("| " + " | ".join([str(frame.index.name or ""), *map(str, frame.columns)]) + " |")
    print("|---" * (len(frame.columns) + 1) + "|")
    for name, row in frame.iterrows():
        cells = [x if isinstance(x, str) else f"{x:.{digits}f}" for x in row]
        print(f"| {name} | " + " | ".join(cells) + " |")


def errors(frame: pd.DataFrame) -> pd.DataFrame:
    means = frame.groupby(["dataset", "method"])["error"].mean().unstack()
    return means[[m for m in [*OTHERS, "rcq", "trcq"] if m in means]]


def is_worse(frame: pd.DataFrame) -> pd.DataFrame:
    """p-values of paired Wilcoxon tests, over samples, that RCQ's error is larger."""
    wide = frame.pivot(index=KEY, columns="method", values="error")
    rows = {}
    for dataset, part in wide.groupby("dataset"):
        pairs = {m: part[["rcq", m]].dropna() for m in OTHERS if m in part}
        rows[dataset] = {
            m: wilcoxon(x["rcq"], x[m], alternative="greater").pvalue for m, x in pairs.items()
        }
    return pd.DataFrame(rows).T.rename_axis("dataset")


def tasks(means: pd.DataFrame) -> None:
    """Share of the data sets with a smaller error than each other method's, and the losses."""
    rows = {}
    for other in (m for m in OTHERS if m in means):
        difference = means["rcq"] - means[other]
        rows[other] = {
            "won (%)": 100 * (difference < 0).mean(),
            "mean of the method": means[other].mean(),
            "mean of RCQ": means["rcq"].mean(),
            "p": f"{wilcoxon(difference).pvalue:.2g}",
        }
    show(f"{len(means)} data sets: RCQ against", pd.DataFrame(rows).T.rename_axis("method"), 2)
    for other in rows:
        lost = means[means["rcq"] >= means[other]]
        text = ", ".join(f"{d} ({r['rcq']:.1f}/{r[other]:.1f})" for d, r in lost.iterrows())
        print(f"\nLost against {other} (RCQ/{other}): {text or 'none'}.")


def intervals(frame: pd.DataFrame) -> None:
    covered = frame[frame["low"].notna()].groupby("method")[["held", "width"]].mean()
    covered["held"] *= 100
    show("Interval (95 % unless named): coverage (%) and width", covered, 1)


def methods_table(path: str) -> None:
    evaluations = frames.read(path).evaluations
    evaluations = evaluations[evaluations["dataset"].isin(published.DATASETS)]
    first = evaluations[evaluations["experiment"] == "1"]
    wide = frames.errors(first).pivot(index="method", columns="dataset", values="mae")
    means = wide.mean(axis=1)
    seconds = frames.seconds(evaluations).groupby("method")["quantify"].mean() / 11
    covered = frames.intervals(first).groupby("method")["coverage"].mean()
    repetitions = first.groupby("method")["repetition"].nunique()
    print("| method | MAE | published | CPU s | coverage of 95 % (%) | repetitions |")
    print("|---|---|---|---|---|---|")
    for method in in_order(means.index):
        column = column_of(method) or ""
        theirs = [published.tables().get(("1", name, column)) for name in published.DATASETS]
        cells = [
            label_of(method),
            f"{means[method]:.2f}",
            f"{np.mean([cell.mae for cell in theirs]):.2f}" if all(theirs) else "",
            f"{seconds[method]:.4f}" if method in seconds else "",
            f"{covered[method]:.1f}" if method in covered else "",
            str(repetitions[method]),
        ]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results")
    parser.add_argument("--experiment", default="1")
    parser.add_argument("--datasets", nargs="+", default=[""], help="how their names begin")
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--intervals", action="store_true", help="nothing but the intervals")
    parser.add_argument("--methods-table", action="store_true")
    arguments = parser.parse_args()
    if arguments.methods_table:
        methods_table(arguments.results)
        return
    frame = read(arguments.results, arguments.experiment, arguments.datasets)
    if arguments.intervals:
        frame = frame[~frame["dataset"].str.contains(":")]
        intervals(frame[frame["method"].str.startswith("rcq")])
        return
    means = errors(frame)
    repetitions = frame.groupby("method")["repetition"].nunique()
    print("Repetitions:", ", ".join(f"{m} {repetitions[m]}" for m in means))
    if arguments.tasks:
        tasks(means)
    else:
        show("Mean absolute error", pd.concat([means, means.mean().rename("mean").to_frame().T]))
        show(
            "One-sided paired Wilcoxon p that RCQ's error is larger (below .05: RCQ is worse)",
            is_worse(frame),
            4,
        )
    intervals(frame)
    by_truth = frame.groupby(["point", "method"])["bias"].mean().unstack()[list(means)]
    by_truth.index = pd.Index(np.round(by_truth.index / 10, 1), name="prevalence")
    show("Bias by true prevalence", by_truth)


if __name__ == "__main__":
    main()
