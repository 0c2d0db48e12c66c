"""Survey weights: error, coverage and width beside those of as many unweighted rows.

    python -m benchmarks.accuracy.weights  # tables in Markdown, about eight minutes
    python -m benchmarks.accuracy.weights --draws 2 --datasets L P

On each of the paper's data sets, 400 positives or half of them are labelled. A sample has 1,000
rows, drawn with replacement from the rest, with a weight each:

*random*: weights from a gamma distribution with mean 1 and variance 1/2, which say nothing about
the class.

*light*: two halves of a population, one with a quarter of the odds of the other to be positive, of
which 1/6 and 5/6 of the sample are drawn. The weights undo the rates, and rows of the half with
more positives weigh less.

*heavy*: the same, but those weigh more; *heaviest*: more by a factor of 49.

*by class*: negatives are drawn four times as often as positives, and have a quarter of their
weight. Nobody could do so without knowing the classes; it is the worst case of weights that go with
them.

Beside each: an unweighted sample of n_eff rows with the same prevalence, and the same sample with
its weights ignored. "Holds" is the share of 95 % intervals that hold the weighted share of
positives in the sample, or the prevalence of the population. RCQ's calibration knows these data
sets, so compare the lines of the table rather than look at its level.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.printing import print_rows
from poscount import PAT, RCQ, Prevalence
from research.datasets import load

DATASETS = ("A", "C", "L", "P", "R", "W", "q-g", "vowels")
PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9)
N_LABELED, N_ROWS = 400, 1_000


class Drawn(NamedTuple):
    """Which rows of a sample are positive, and their weights."""

    positive: np.ndarray
    weights: np.ndarray

    @property
    def truth(self) -> float:
        """Weighted share of the positives."""
        return float(self.weights[self.positive].sum() / self.weights.sum())


def random_weights(p: float, rng: np.random.Generator) -> Drawn:
    """Weights that do not depend on the class."""
    return Drawn(rng.random(N_ROWS) < p, rng.gamma(2.0, 0.5, N_ROWS))


def light_positives(p: float, rng: np.random.Generator, share: float = 1 / 6) -> Drawn:
    """Two halves of a population, of which the one with fewer positives is drawn less often.

    Parameters
    ----------
    p : float
        Prevalence of both halves together.
    rng : numpy.random.Generator
    share : float
        Share of the sample that is drawn from that half.
    """
    odds = np.geomspace(1e-4, 1e4, 4001)
    shares = np.array([odds / (1 + odds), 4 * odds / (1 + 4 * odds)])
    of_halves = shares[:, np.abs(shares.mean(axis=0) - p).argmin()]
    n_first = round(share * N_ROWS)
    half = np.repeat([0, 1], [n_first, N_ROWS - n_first])
    weights = np.array([0.5 / share, 0.5 / (1 - share)])[half]
    return Drawn(rng.random(N_ROWS) < of_halves[half], weights)


def heavy_positives(p: float, rng: np.random.Generator, share: float = 1 / 6) -> Drawn:
    """The same with the halves exchanged."""
    mirrored = light_positives(1 - p, rng, share)
    return Drawn(~mirrored.positive, mirrored.weights)


def heaviest_positives(p: float, rng: np.random.Generator) -> Drawn:
    """The same with very different rates."""
    return heavy_positives(p, rng, 1 / 50)


def weights_by_class(p: float, rng: np.random.Generator) -> Drawn:
    """Negatives are drawn four times as often as positives."""
    positive = rng.random(N_ROWS) < p / (p + 4 * (1 - p))
    return Drawn(positive, np.where(positive, 1.32, 0.33))


DESIGNS: dict[str, Callable[[float, np.random.Generator], Drawn]] = {
    "random": random_weights,
    "light": light_positives,
    "heavy": heavy_positives,
    "heaviest": heaviest_positives,
    "by class": weights_by_class,
}


def run(names: Sequence[str], n_draws: int) -> pd.DataFrame:
    """All answers, one a line."""
    lines = []
    for name in names:
        data = load(name)
        features, is_positive = data.features, data.is_positive
        for draw in range(n_draws):
            rng = np.random.default_rng([draw, DATASETS.index(name)])
            positives = rng.permutation(np.flatnonzero(is_positive))
            n_labeled = min(N_LABELED, len(positives) // 2)
            pools = {True: positives[n_labeled:], False: np.flatnonzero(~is_positive)}

            def rows_of(
                positive: np.ndarray,
                features: np.ndarray = features,
                pools: dict[bool, np.ndarray] = pools,
                rng: np.random.Generator = rng,
            ) -> np.ndarray:
                rows = np.empty(len(positive), int)
                for kind, pool in pools.items():
                    rows[positive == kind] = rng.choice(pool, np.count_nonzero(positive == kind))
                return features[rows]

            models = [
                method(random_state=0).fit(features[positives[:n_labeled]]) for method in (PAT, RCQ)
            ]
            for design, draw_weights in DESIGNS.items():
                for p in PREVALENCES:
                    drawn = draw_weights(p, rng)
                    sample = rows_of(drawn.positive)
                    for model in models:
                        weighted = model.quantify(sample, weights=drawn.weights)
                        n_effective = round(weighted.details["effective_rows"])
                        alike = np.arange(n_effective) < round(p * n_effective)
                        plain = model.quantify(rows_of(alike))
                        answers = {
                            "weighted": (weighted, drawn.truth),
                            "n_eff rows": (plain, float(alike.mean())),
                            "ignored": (model.quantify(sample), drawn.truth),
                        }
                        for way, (answer, truth) in answers.items():
                            found = outcome(answer, truth, p)
                            lines.append(
                                {"design": design, "method": answer.method, "rows": way}
                                | found
                                | {"n_eff": n_effective}
                            )
    return pd.DataFrame(lines)


def outcome(answer: Prevalence, truth: float, population: float) -> dict[str, float]:
    """How good an answer is, in percent or points."""
    interval = answer.interval
    assert interval is not None  # these methods always have one
    return {
        "error": 100 * abs(answer - truth),
        "holds": 100.0 * (truth in interval),
        "holds population": 100.0 * (population in interval),
        "width": 100 * interval.width,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--draws", type=int, default=30)
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(arguments.datasets, arguments.draws)
    groups = found.groupby(["method", "design", "rows"], sort=False)
    table = groups.mean().assign(samples=groups.size()).reset_index()
    rows = []
    for line in table.sort_values("method", kind="stable").itertuples(index=False):
        method, design, way, *numbers, n_effective, samples = line
        cells = [*(f"{number:.1f}" for number in numbers), f"{n_effective:.0f}", str(samples)]
        rows.append([method, design, way, *cells])
    head = ["method", "weights", "rows", "error", "holds", "holds population", "width"]
    print_rows(rows, [*head, "n_eff", "samples"])


if __name__ == "__main__":
    main()
