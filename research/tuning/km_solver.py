"""Why KM's published errors are larger than ours at p = .9 and 1: the solver they were made with.

python -m research.tuning.km_solver --datasets L P --repetitions 2      # needs: pip install cvxopt

KM with the same kernels, thresholds and bisection (bound 8) but an interior-point solver at its
default tolerances, which leaves d(1) = 1e-4 or more where it is exactly 0; beside ours and beside
the authors' mean answers.
"""

from __future__ import annotations

import argparse
import csv
import gzip

import numpy as np
from cvxopt import matrix, solvers, spmatrix

from benchmarks.accuracy.paper_samples import experiment_1
from poscount.methods.pu import km

LAM_MAX = 8.0
TRUTHS = (0.9, 1.0)
AUTHORS = "../shared/reference/authors_results.csv.gz"  # the raw results behind the paper


class InteriorPointCurve:
    """Distance d(lam), as `km` computes it, by cvxopt."""

    def __init__(self, positives: np.ndarray, sample: np.ndarray, kernel: np.ndarray) -> None:
        n_rows = len(kernel)
        self.shares = np.zeros((2, n_rows))
        self.shares[0, len(positives) :] = 1 / len(sample)
        self.shares[1, : len(positives)] = 1 / len(positives)
        self.kernel = kernel
        self.fixed = (
            spmatrix(-1.0, range(n_rows), range(n_rows)),
            matrix(0.0, (n_rows, 1)),
            matrix(1.0, (1, n_rows)),
            matrix(1.0),
        )
        self.known: dict[float, float] = {}

    def __call__(self, lam: float) -> float:
        """Distance at one lam."""
        if lam not in self.known:
            target = lam * self.shares[0] + (1 - lam) * self.shares[1]
            linear = matrix(-self.kernel @ target)
            found = solvers.qp(matrix(self.kernel), linear, *self.fixed)
            rest = target - np.array(found["x"]).ravel()
            self.known[lam] = float(np.sqrt(max(0.0, rest @ self.kernel @ rest)))
        return self.known[lam]

    def steeper(self, lam: float, threshold: float) -> bool:
        """Whether the forward difference exceeds the threshold."""
        return (self(lam + km.STEP) - self(lam)) / km.STEP > threshold


def by_interior_point(positives: np.ndarray, sample: np.ndarray) -> tuple[float, float, float]:
    """KM1, KM2 and the d(1) that the solver leaves."""
    _, kernel, mean_distance = km._choose_kernel(positives, sample)
    curve = InteriorPointCurve(positives, sample, kernel)
    first_slope = (curve(1.0 + km.FIRST_STEP) - curve(1.0)) / km.FIRST_STEP
    experience = 0.8 * first_slope + 0.2 * mean_distance
    theory = 1 / np.sqrt(min(len(sample), len(positives)))
    theory = theory if theory <= 0.9 * mean_distance else experience
    lams = [km._bisect(curve, threshold, LAM_MAX) for threshold in (theory, experience)]
    return 1 - 1 / lams[0], 1 - 1 / lams[1], curve(1.0)


def authors(letter: str, method: str, truth: float) -> float:
    """Mean answer of the authors' run: the truth minus their bias."""
    with gzip.open(AUTHORS, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if (row["experiment"], row["dataset"], row["method"]) == ("1", letter, method) and (
                abs(float(row["true_pct"]) - 100 * truth) < 1e-6
            ):
                return truth - float(row["bias_pct"]) / 100
    return np.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["L", "P"])
    parser.add_argument("--repetitions", type=int, default=2)
    arguments = parser.parse_args()
    solvers.options["show_progress"] = False
    print("| set | p | samples | method | ours | interior point | authors | its d(1) |")
    print("|---|---|---|---|---|---|---|---|")
    for letter in arguments.datasets:
        answers: dict[float, list[tuple[float, ...]]] = {truth: [] for truth in TRUTHS}
        for repetition in range(arguments.repetitions):
            for task in experiment_1(letter, repetition):
                truth = round(task.truth, 1)
                if truth not in TRUTHS:
                    continue
                generator = np.random.default_rng(repetition)
                rows = km._at_most(2000, task.positives, task.sample, generator, balanced=False)
                ours = km.kernel_means(*rows, LAM_MAX)
                mine = (ours.prevalence("KM1"), ours.prevalence("KM2"))
                answers[truth].append((*mine, *by_interior_point(*rows)))
        for truth, rows in answers.items():
            km1, km2, other1, other2, left = np.mean(rows, axis=0)
            for method, mine, other in (("KM1", km1, other1), ("KM2", km2, other2)):
                print(
                    f"| {letter} | {truth} | {len(rows)} | {method} | {mine:.3f} | {other:.3f} "
                    f"| {authors(letter, method, truth):.3f} | {left:.1e} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
