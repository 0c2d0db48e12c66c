"""Bias of PAT when the positives are few for the features: measured, predicted and shrunk.

Run it with ``python -m research.tuning.few_positives``. Gaussian positives, half of 1,000 rows
positive, the negatives far away; the prediction is that of the warning "few-positives".
"""

from __future__ import annotations

import argparse

import numpy as np

from poscount import PAT, Mahalanobis
from poscount.checks.few_positives import LARGEST_BIAS, covariance_bias

REPETITIONS = 60


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| features | positives | bias of p = .5 | predicted | coverage | bias, shrunk |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for d in (5, 20, 60):
        for ratio in (1.5, 2, 3, 5, 10):
            n_labeled = int(ratio * d) + 4
            rows = []
            for seed in range(REPETITIONS):
                positives = rng.normal(size=(n_labeled, d))
                sample = rng.normal(size=(1000, d))
                sample[500:] += 50
                plain = PAT(random_state=seed).fit(positives)
                p = plain.quantify(sample)
                shrunk = PAT(Mahalanobis("ledoit-wolf"), random_state=seed).fit(positives)
                rows.append((p - 0.5, 0.5 in p.interval, shrunk.quantify(sample) - 0.5))
            bias, coverage, bias_shrunk = np.mean(rows, axis=0)
            relative = covariance_bias(d, n_labeled)
            predicted = f"{0.5 * relative:.3f}" if relative > LARGEST_BIAS else "no warning"
            print(
                f"| {d} | {n_labeled} | {bias:+.3f} | {predicted} | {coverage:.2f} "
                f"| {bias_shrunk:+.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
