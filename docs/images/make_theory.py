"""The paper's figures of theory and of the median, drawn again by ``python docs/images/made.py``.

1. The error to expect of PAT by the size of a sample of positives only (the worst case), with a
   band of two standard deviations, beside a simulation of the same count.
2. The systematic error of classify and count by prevalence, from cross-validated error rates,
   beside the measured one. The paper shows it on Insects v2, whose owners ask to be contacted
   before results are published; here it is the data set R (pulsars), both classes equally often,
   with the same classifier, a random forest of 100 trees that vote, and the mean of five halves.
3. The time of numpy's median, at which TIcE splits: the median of ten means over 200 samples.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict, train_test_split

from poscount.plotting.display import BLUE, ORANGE, pyplot
from poscount.seeds import stream
from poscount.theory import classify_and_count_error, pat_error_mean, pat_error_variance
from research import datasets

SEED = 0
DATASET = "R"
SIMULATED = 20_000  # samples behind every point of the first figure
HALVES, DRAWN = 5, 100  # random halves, and samples of each, behind those of the second


def expected_error(directory: Path) -> None:
    """Expected absolute error of PAT by sample size, for three quantiles."""
    sizes = np.unique(np.geomspace(50, 2000, 80).astype(int))
    marked = sizes[::8]
    figure, axes = pyplot().subplots(
        1, 3, figsize=(10.5, 3.8), sharex=True, sharey=True, layout="constrained"
    )
    for ax, q in zip(axes, (0.25, 0.5, 0.75), strict=True):
        mean = 100 * pat_error_mean(sizes, 1.0, q)
        deviation = 100 * np.sqrt(pat_error_variance(sizes, 1.0, q))
        band = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
        low = np.maximum(0, mean - 2 * deviation)
        ax.fill_between(sizes, low, mean + 2 * deviation, **band, label="two standard deviations")
        ax.plot(sizes, mean, color=BLUE, label="expected, from the formula")
        random = stream(SEED, f"expected error/{q}")
        counts = random.binomial(marked, 1 - q, size=(SIMULATED, len(marked)))
        simulated = 100 * np.abs(1 - counts / (marked * (1 - q))).mean(axis=0)
        label = f"simulated, {SIMULATED:,} samples each"
        ax.plot(marked, simulated, "x", color=ORANGE, markersize=7, label=label)
        expected = 100 * pat_error_mean(marked, 1.0, q)
        print(f"q = {q}: largest distance {np.abs(simulated / expected - 1).max():.1%}")
        ax.set_title(f"q = {q}", fontsize=11)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(0, 30)
    axes[0].set_ylabel("absolute error (points)")
    axes[1].set_xlabel("rows in the sample, all of them positive")
    axes[2].legend(frameon=False, fontsize=9)
    figure.suptitle("Error to expect of PAT with a single q")
    figure.savefig(directory / "expected_error.png", dpi=120)


def classify_and_count(directory: Path) -> None:
    """Absolute error of classify and count by prevalence: predicted and measured."""
    data = datasets.load(DATASET)
    prevalences = np.linspace(0, 1, 21)
    halves = [_one_half(data, prevalences, stream(SEED, f"halves/{i}")) for i in range(HALVES)]
    tpr, fpr, measured = (np.mean(part, axis=0) for part in zip(*halves, strict=True))
    predicted = 100 * np.abs(classify_and_count_error(prevalences, tpr, fpr))
    print(
        f"{data.title}: tpr {tpr:.4f}, fpr {fpr:.4f}; measured and predicted differ by at most "
        f"{np.abs(predicted - measured).max():.2f} points"
    )
    figure, ax = pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
    ax.plot(100 * prevalences, measured, color=BLUE, marker="o", markersize=4, label="measured")
    fine = np.linspace(0, 1, 501)
    line = 100 * np.abs(classify_and_count_error(fine, tpr, fpr))
    formula = "predicted: |p FNR - (1 - p) FPR|"
    ax.plot(100 * fine, line, color=ORANGE, linestyle=":", linewidth=2.5, label=formula)
    ax.set_xlabel("true share of positives (%)")
    ax.set_ylabel("mean absolute error (points)")
    ax.set_title(f"Classify and count on {data.title}", fontsize=11)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(directory / "classify_and_count.png", dpi=120)


def median_time(directory: Path) -> None:
    """Seconds of a median by the number of values, and a line through the origin."""
    sizes = np.arange(1, 21) * 1000
    seconds = []
    for size in sizes:
        samples = stream(SEED, f"median/{size}").random((200, size))
        means = []
        for _ in range(10):
            start = time.process_time()
            for sample in samples:
                np.median(sample)
            means.append((time.process_time() - start) / len(samples))
        seconds.append(np.median(means))
    micro = 1e6 * np.array(seconds)
    slope = (sizes @ micro) / (sizes @ sizes)
    print(f"{1000 * slope:.1f} microseconds for 1,000 values")
    figure, ax = pyplot().subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(sizes, micro, "o", color=BLUE, markersize=4, label="measured")
    ax.plot([0, sizes[-1]], [0, slope * sizes[-1]], color=ORANGE, label="in proportion")
    ax.set_xlabel("values")
    ax.set_ylabel("microseconds")
    ax.set_title("Time of numpy's median", fontsize=11)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(directory / "median_time.png", dpi=120)


def _one_half(
    data: datasets.DataSet, prevalences: np.ndarray, random: np.random.Generator
) -> tuple[float, float, np.ndarray]:
    """Cross-validated rates on a random half of the rows, and the error on the other half."""
    positive = np.flatnonzero(data.is_positive)
    negative = random.choice(np.flatnonzero(~data.is_positive), len(positive), replace=False)
    chosen = np.concatenate([positive, negative])
    rows, truth = data.features[chosen], data.is_positive[chosen]
    seeds = random.integers(2**31, size=2).tolist()
    train, test = train_test_split(
        np.arange(len(truth)), test_size=0.5, stratify=truth, random_state=seeds[0]
    )
    forest = RandomForestClassifier(100, random_state=seeds[1])
    called = cross_val_predict(forest, rows[train], truth[train], cv=10)
    tpr, fpr = called[truth[train]].mean(), called[~truth[train]].mean()
    called = forest.fit(rows[train], truth[train]).predict(rows[test])
    positives, negatives = called[truth[test]], called[~truth[test]]
    size = min(len(positives), len(negatives))
    errors = []
    for n in np.rint(prevalences * size).astype(int):
        found = [
            random.choice(positives, n, replace=False).sum()
            + random.choice(negatives, size - n, replace=False).sum()
            for _ in range(DRAWN)
        ]
        errors.append(100 * np.abs(n - np.array(found)).mean() / size)
    return tpr, fpr, np.array(errors)
