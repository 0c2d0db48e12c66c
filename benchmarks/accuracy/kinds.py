"""Positives of several kinds: error, intervals and cost with and without `subtypes`.

Every answer is by calibrations that were learned without the data set in question. First make the
banks (20 minutes on one core, and 7 minutes on two), then

    python -m research calibrate --method rcq-kinds --bank bank-kinds -o rcq-kinds.npz
    python -m research calibrate --bank bank-rcq -o rcq.npz
    python -m benchmarks.accuracy.kinds bank-kinds bank-rcq  # all tables, in Markdown
    python -m benchmarks.accuracy.kinds bank-kinds bank-rcq --only protocols  # one of them

*protocols*: those of PULSNAR's authors. U is one class and as many positives as make the share f,
of which the rarest kind gives 1 part, the next 2, then 4 and so on; L is all other positives.

*drift*: five classes as positives, all others as negatives; 1,500 positives (at most half of a
class), 1,500 rows, prevalence uniform. The shares of the kinds come from Dirichlet distributions,
one for L and one for U, or are the same in both.

*one-kind*: Experiment #1 of the paper, where positives are one class and nothing drifts.

*named* in the tables: `subtypes` is the column with the true kinds, without those that have fewer
than 20 positives; "kinds held" is the share of their own intervals that hold their true shares.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.accuracy.calibration import PAPER, Calibrations, print_rows
from poscount import PAT, RCQ, Mahalanobis, Prevalence, SubclassRCQ
from poscount.calibration.calibration import Calibration
from poscount.seeds import stream
from poscount.training.bank import read_bank
from poscount.training.drift_tasks import allocate
from poscount.training.sources import Source
from research.datasets import load
from research.experiments import protocols as paper
from research.shipped_calibrations import sources

FEWEST = 20
N_DRAWS, N_LABELED, N_ROWS = 24, 1_500, 1_500
# Classes of the sources are numbered in the order of their names.
PROTOCOLS = {
    "letter": ((0, 1, 2, 4, 5), 3, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    "anuran_calls": ((1, 3), 2, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)),
}
DRIFTING = {
    "letter": (0, 1, 2, 4, 5),
    "pendigits": (0, 1, 2, 3, 4),
    "arabic_digit": (0, 1, 2, 3, 4),
}


class Drawn(NamedTuple):
    """Labelled positives, the kind of each, and a sample with the kind of each row, or -1."""

    labeled: np.ndarray
    kinds: np.ndarray
    sample: np.ndarray
    sample_kinds: np.ndarray

    @property
    def truth(self) -> float:
        """The prevalence."""
        return float((self.sample_kinds >= 0).mean())


class Told(NamedTuple):
    """Value and ends of an answer, the truth, and how many of the kinds' intervals hold."""

    value: float
    low: float
    high: float
    truth: float
    kinds_held: float = np.nan


def together(
    pools: list[np.ndarray], n_labeled: np.ndarray, in_sample: np.ndarray, negatives: np.ndarray
) -> Drawn:
    """The first rows of each pool to learn from, the next ones for the sample."""
    kinds = np.arange(len(pools))
    labeled = [pool[:n] for pool, n in zip(pools, n_labeled, strict=True)]
    rows = [pool[n : n + k] for pool, n, k in zip(pools, n_labeled, in_sample, strict=True)]
    return Drawn(
        np.concatenate(labeled),
        np.repeat(kinds, n_labeled),
        np.concatenate([*rows, negatives]),
        np.concatenate([np.repeat(kinds, in_sample), np.full(len(negatives), -1)]),
    )


def pools_of(source: Source, classes: tuple[int, ...], rng: np.random.Generator) -> list:
    return [
        source.features[rng.permutation(np.flatnonzero(source.classes == kind))] for kind in classes
    ]


def of_protocol(source: Source) -> Iterator[Drawn]:
    classes, negative, shares = PROTOCOLS[source.name]
    sizes = [(source.classes == kind).sum() for kind in classes]
    rarest_first = tuple(np.array(classes)[np.argsort(sizes)].tolist())
    negatives = source.features[source.classes == negative]
    parts = 2.0 ** np.arange(len(classes))
    for f in shares:
        for draw in range(2):
            pools = pools_of(source, rarest_first, stream(draw, f"{source.name} {f}"))
            n = len(negatives) * f / (1 - f)
            in_sample = np.round(n * parts / parts.sum()).astype(int)
            n_labeled = np.array([len(pool) for pool in pools]) - in_sample
            # Drawn takes the first rows to learn from.
            yield together(pools, n_labeled, in_sample, negatives)


def drifting(source: Source, concentration: float | None) -> Iterator[Drawn]:
    """Shares from a Dirichlet distribution for L and for U, or the same in both."""
    classes = DRIFTING[source.name]
    others = source.features[~np.isin(source.classes, classes)]
    for draw in range(N_DRAWS):
        rng = stream(draw, f"{source.name} {concentration}")
        pools = pools_of(source, classes, rng)
        sizes = np.array([len(pool) for pool in pools])
        shares = [sizes / sizes.sum()] * 2
        if concentration is not None:
            shares = [rng.dirichlet(np.full(len(classes), concentration)) for _ in range(2)]
        n_labeled = allocate(min(N_LABELED, sizes.sum() // 2), shares[0], sizes // 2, rng)
        n_positive = round(N_ROWS * rng.random())
        in_sample = allocate(n_positive, shares[1], sizes - n_labeled, rng)
        negatives = others[rng.choice(len(others), N_ROWS - n_positive, replace=False)]
        yield together(pools, n_labeled, in_sample, negatives)


def told(answer: Prevalence, truth: float, kinds_held: float = np.nan) -> Told:
    return Told(float(answer), answer.interval.low, answer.interval.high, truth, kinds_held)


def answer_all(drawn: Drawn, plain: Calibration, kinds: Calibration) -> list[Told]:
    """One kind, kinds that are found, kinds that are named, and PAT."""
    truth = drawn.truth
    answers = [
        told(model.fit(drawn.labeled).quantify(drawn.sample), truth)
        for model in (
            RCQ(calibration=plain, random_state=0),
            RCQ(calibration=kinds, subtypes="auto", random_state=0),
        )
    ]
    pat = PAT(Mahalanobis("ledoit-wolf"), random_state=0).fit(drawn.labeled)
    return [*answers, answer_named(drawn, kinds), told(pat.quantify(drawn.sample), truth)]


def answer_named(drawn: Drawn, kinds: Calibration) -> Told:
    known = np.isin(drawn.kinds, np.flatnonzero(np.bincount(drawn.kinds) >= FEWEST))
    columns = [f"x{j}" for j in range(drawn.labeled.shape[1])]
    frame = pd.DataFrame(drawn.labeled[known], columns=columns).assign(kind=drawn.kinds[known])
    model = RCQ(calibration=kinds, subtypes="kind", random_state=0).fit(frame)
    answer = model.quantify(pd.DataFrame(drawn.sample, columns=columns))
    held = [
        kind["low"] <= (drawn.sample_kinds == int(kind["name"])).mean() <= kind["high"]
        for kind in answer.details["kinds"]
    ]
    return told(answer, drawn.truth, float(np.mean(held)))


HEAD = ["samples", "n", "kinds", "MAE", "bias", "95 % held", "width", "kinds held"]
WAYS = ("one kind", "auto", "named", "PAT")


def rows_of(name: str, answers: list[list[Told]]) -> list[list[str]]:
    rows = []
    for way, told_ in zip(WAYS, zip(*answers, strict=True), strict=False):
        value, low, high, truth, held = np.array(told_).T
        inside = ((low <= truth) & (truth <= high)).mean()
        rows.append(
            [
                *(name, str(len(value)), way),
                f"{100 * np.abs(value - truth).mean():.2f}",
                f"{100 * (value - truth).mean():+.2f}",
                *(f"{inside:.3f}", f"{100 * (high - low).mean():.1f}"),
                "" if np.isnan(held).all() else f"{held.mean():.3f}",
            ]
        )
    return rows


def protocols(kinds: Calibrations, plain: Calibrations) -> None:
    rows = []
    for source in (s for s in sources() if s.name in PROTOCOLS):
        pair = plain.without(source.kin), kinds.without(source.kin)
        answers = [answer_all(drawn, *pair) for drawn in of_protocol(source)]
        rows += rows_of(source.name, answers)
    print_rows(rows, HEAD)


def drift(kinds: Calibrations, plain: Calibrations) -> None:
    rows = []
    for source in (s for s in sources() if s.name in DRIFTING):
        pair = plain.without(source.kin), kinds.without(source.kin)
        for words, concentration in (
            ("Dirichlet(1)", 1.0),
            ("Dirichlet(3)", 3.0),
            ("no drift", None),
        ):
            answers = [answer_all(drawn, *pair) for drawn in drifting(source, concentration)]
            rows += rows_of(f"{source.name}, {words}", answers)
    print_rows(rows, HEAD)


def one_kind(kinds: Calibrations, plain: Calibrations, repetitions: int = 3) -> None:
    rows, errors = [], []
    for key, kin in PAPER.items():
        if len(key) > 1:  # not of the paper's six
            continue
        pair = plain.without(kin), kinds.without(kin)
        data, answers = load(key), []
        for place in paper.places("1", data, repetitions):
            positives, drawn = paper.draw(data, place, 0)
            models = [
                RCQ(calibration=pair[0], random_state=0).fit(positives),
                RCQ(calibration=pair[1], subtypes="auto", random_state=0).fit(positives),
            ]
            answers += [[told(m.quantify(s.rows), s.truth) for m in models] for s in drawn]
        rows += rows_of(key, answers)
        errors.append([float(row[3]) for row in rows[-2:]])
    means = np.mean(errors, axis=0)
    rows += [
        ["mean of the six", "", way, f"{mean:.2f}", *([""] * 4)]
        for way, mean in zip(WAYS, means, strict=False)
    ]
    print_rows(rows, HEAD)


def cost() -> None:
    """Time of fitting, of counting a million rows, and of answering, in one thread."""
    rng = np.random.default_rng(0)
    positives = rng.normal(size=(1_500, 20))
    sample, many = rng.normal(size=(2_000, 20)), rng.normal(size=(1_000_000, 20))
    rows = []
    for subtypes in (None, 3, "auto"):
        best = np.full(3, np.inf)
        for _ in range(3):
            model = SubclassRCQ(subtypes, random_state=0)
            times = [time.perf_counter()]
            model.fit(positives)
            times.append(time.perf_counter())
            model.quantify(sample)
            # The first answer draws for the null calibration.
            times.append(time.perf_counter())
            model.quantify(sample)
            fit, answer = times[1] - times[0], time.perf_counter() - times[2]
            best = np.minimum(best, [fit, answer, np.inf])
        start = time.perf_counter()
        counts = model.count(many)
        best[2] = time.perf_counter() - start
        cells = f"{counts.cells.nbytes / 1000:.0f} kB"
        rows.append(
            [
                *(str(subtypes), str(len(model.kinds_) or 1)),
                *(f"{1000 * best[0]:.0f} ms", f"{1000 * best[1]:.1f} ms", f"{best[2]:.2f} s"),
                cells,
            ]
        )
    head = ["subtypes", "kinds", "fit", "quantify 2,000 rows", "count 1,000,000 rows", "counts"]
    print_rows(rows, head)


TABLES = {"protocols": protocols, "drift": drift, "one-kind": one_kind}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("bank", type=Path, help="of the method rcq-kinds")
    parser.add_argument("plain", type=Path, help="of the method rcq")
    parser.add_argument("--only", choices=[*TABLES, "cost"])
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.only != "cost":
        left = [
            Calibrations(read_bank(sorted(folder.glob("*.bank"))), arguments.jobs)
            for folder in (arguments.bank, arguments.plain)
        ]
        for name, print_table in TABLES.items():
            if arguments.only in (None, name):
                print(f"{name}\n")
                print_table(*left)
    if arguments.only in (None, "cost"):
        print("cost\n")
        cost()
