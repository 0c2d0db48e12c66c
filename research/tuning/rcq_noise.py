"""RCQ when values repeat and one side carries noise in its last digits.

python -m research.tuning.rcq_noise  # letter and pendigits, whose features are small whole numbers

Noise of 1e-9 standard deviations is added to the positives, to the samples, or to both. A threshold
on a value that many rows share would throw them to either side.
"""

from __future__ import annotations

import argparse

import numpy as np

from poscount import RCQ
from research import datasets
from research.experiments import protocols

SIDES = {"none": (0, 0), "positives": (1, 0), "sample": (0, 1), "both": (1, 1)}
NOISE = 1e-9


def errors(name: str, repetitions: int) -> dict[str, list[float]]:
    data = datasets.load(name)
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for repetition in range(repetitions):
        for fold in range(protocols.N_FOLDS):
            place = protocols.Place("1", data.key, "", repetition, fold)
            rng = np.random.default_rng([repetition, fold])
            positives, samples = protocols.draw(data, place, 0)
            noise = NOISE * positives.std(axis=0)
            noisy = positives + noise * rng.normal(size=positives.shape)
            models = [RCQ(random_state=0).fit(rows) for rows in (positives, noisy)]
            for sample in samples:
                rows = [sample.rows, sample.rows + noise * rng.normal(size=sample.rows.shape)]
                for side, (of_positives, of_sample) in SIDES.items():
                    p = models[of_positives].quantify(rows[of_sample])
                    found[side].append(abs(p - sample.truth))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["L", "P"])
    parser.add_argument("--repetitions", type=int, default=1)
    arguments = parser.parse_args()
    print(f"| set | {' | '.join(SIDES)} |")
    print("|---|---|---|---|---|")
    for name in arguments.datasets:
        found = errors(name, arguments.repetitions)
        cells = [f"{100 * np.mean(found[side]):.3f}" for side in SIDES]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
