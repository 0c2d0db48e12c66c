"""Our methods beside the priors of pulearn, on the same samples of Experiment #1.

Run ``pip install pulearn`` and ``python benchmarks/peers.py``. pulearn is the maintained library
that estimates a class prior from positives and unlabeled rows. Its prior is over both together, so
that it is turned into the share of the sample, and its logistic regression gets standardised
features. QuaPy and mlquantify need labelled negatives and cannot take part.

330 samples: one repetition, five folds, eleven prevalences, six data sets. Every method gets the
same ones. The mean absolute error in points counts each data set the same; the seconds are CPU
seconds for fitting and answering.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from pulearn import HistogramMatchPriorEstimator, ScarEMPriorEstimator
from pulearn.priors import BasePriorEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from paper_data import PAPER_SETS, Task, experiment_1
from poscount import registry
from poscount.prevalence import prevalence_from_joint_prior


def ours(name: str) -> Callable[[Task], float]:
    def answer(task: Task) -> float:
        return float(
            registry.method(name)(random_state=0).fit(task.positives).quantify(task.sample)
        )

    return answer


def theirs(kind: type[BasePriorEstimator]) -> Callable[[Task], float]:
    def answer(task: Task) -> float:
        n_labeled, n_unlabeled = len(task.positives), len(task.sample)
        rows = StandardScaler().fit_transform(np.vstack([task.positives, task.sample]))
        labels = np.repeat([1, 0], [n_labeled, n_unlabeled])
        prior = kind(LogisticRegression(max_iter=1000)).estimate(rows, labels).pi
        return prevalence_from_joint_prior(prior, n_labeled, n_unlabeled)

    return answer


METHODS = {
    "RCQ": ours("rcq"),
    "TRCQ": ours("trcq"),
    "PAT": ours("pat"),
    "DEDPUL": ours("dedpul"),
    "BBE": ours("bbe"),
    "pulearn, HistogramMatchPriorEstimator": theirs(HistogramMatchPriorEstimator),
    "pulearn, ScarEMPriorEstimator": theirs(ScarEMPriorEstimator),
}


def main() -> None:
    print(f"| method | {' | '.join(PAPER_SETS)} | mean | CPU s |")
    print("|---|" + "---|" * (len(PAPER_SETS) + 2))
    tasks = {letter: list(experiment_1(letter, 0)) for letter in PAPER_SETS}
    for name, answer in METHODS.items():
        start = time.process_time()
        errors = [
            100 * np.mean([abs(answer(task) - task.truth) for task in tasks[letter]])
            for letter in PAPER_SETS
        ]
        seconds = (time.process_time() - start) / sum(map(len, tasks.values()))
        cells = " | ".join(f"{error:.1f}" for error in errors)
        print(f"| {name} | {cells} | {np.mean(errors):.2f} | {seconds:.3f} |", flush=True)


if __name__ == "__main__":
    main()
