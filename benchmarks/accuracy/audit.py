"""What a few labels are worth: `poscount.audit` and `settle` on real data whose truth is known.

    python -m benchmarks.accuracy.audit --split reporting  # the tables of docs/audit.md
    python -m benchmarks.accuracy.audit --split reporting --calibration null
    python -m benchmarks.accuracy.audit --split tuning --draws 2

The split, written before anything was reported. Everything that was chosen (the number of strata,
the floor of the allocation, the form of the interval, the limits of agreement and of
"positives-elsewhere") was chosen on the *tuning* split: the eight numeric sets of `attacks.py` with
its tuning classes and seed 100. What is reported comes from the *reporting* split: other classes of
the same sets where they have others, and seed 1. The four sets with categories (`tables.py`) were
not used for tuning at all; they are reported with their own seed.

About 300 labelled positives and 1,000 rows in a sample, fewer where a set has fewer; prevalences
.1, .3, .5, .8 and 1 (numeric) and those of `tables.py`. Every sample is audited `--times` times
with 50, 100 and 200 labels, which are true. Compared are

- labels: the stratified estimate from labels alone;
- combined: that of labels and model where they agree, else the labels';
- random labels: as many labels of rows drawn from all rows alike, with the same interval;
- model: RCQ alone.

The calibration that poscount is shipped with has learned from other samples of the same sets, so
that "model" and "combined" look better here than on data that it has never seen; `--calibration
null` has learned from no data set. The labels' own answer has learned nothing from anywhere.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.accuracy import tables
from benchmarks.accuracy.attacks import BUNDLED, CLASSES, SEEDS, draw, pool
from benchmarks.accuracy.calibration import print_rows
from poscount import RCQ
from poscount.auditing.batches import in_memory
from poscount.auditing.label_table import LabelTable
from poscount.auditing.labels import Labels, score_interval, share
from poscount.auditing.sampling import draw as draw_rows
from poscount.auditing.settlement import Settlement, settle_sample
from poscount.results.distribution import Interval
from poscount.seeds import stream

NUMERIC = [name for name in CLASSES if name not in BUNDLED]
# Drift of the positives, of all rows, contamination of the positives, and units.
ATTACKS = {
    "clean": "clean",
    "one side of PC1": "drift: positives from one side",
    "all + .5 sd": "drift: all rows shifted",
    "20 % negatives in L": "contamination: 20 % of L negative",
    "x 1000 on one column": "units: one column x 1000",
}
SIZES = (50, 100, 200)


class Sample(NamedTuple):
    """A sample to be audited, and which of its rows are positives."""

    where: str
    kind: str
    labeled: pa.Table
    rows: pa.Table
    positive: np.ndarray


class Outcome(NamedTuple):
    """An estimate, with how far it is off, whether its interval holds the truth, and its width."""

    error: float
    held: bool
    half_width: float


class Audited(NamedTuple):
    """Everything about one audit."""

    where: str
    kind: str
    n: int
    outcomes: dict[str, Outcome]
    agreement: str
    codes: frozenset[str]


def table(matrix: np.ndarray) -> pa.Table:
    return pa.table({f"x{j}": column for j, column in enumerate(matrix.T)})


def numeric(split: str, n_draws: int) -> Iterator[Sample]:
    for name in NUMERIC:
        of = pool(name, split)
        for number in range(n_draws):
            for spoilt in draw(of, stream(SEEDS[split], f"attacks {name} {number}")):
                if spoilt.attack in ATTACKS:
                    n = len(spoilt.sample)
                    positive = np.arange(n) < round(spoilt.truth * n)
                    both = table(spoilt.labeled), table(spoilt.sample)
                    yield Sample(name, ATTACKS[spoilt.attack], *both, positive)


def with_categories() -> Iterator[Sample]:
    for name, of in tables.WORDS.items():
        for task, _ in tables.tasks(name, of):
            yield Sample(name, "categories", task.labeled, task.sample, task.positive)


def outcome(value: float, interval: Interval, truth: float) -> Outcome:
    held = interval.low - 1e-9 <= truth <= interval.high + 1e-9
    return Outcome(abs(value - truth), held, interval.width / 2)


def audits(samples: Iterator[Sample], calibration: str, times: int) -> Iterator[Audited]:
    models: dict[int, tuple[pa.Table, RCQ]] = {}
    for number, sample in enumerate(samples):
        if id(sample.labeled) not in models:
            model = RCQ(calibration=calibration, random_state=0).fit(sample.labeled)
            # With its positives, so that their id stays theirs.
            models = {id(sample.labeled): (sample.labeled, model)}
        model = models[id(sample.labeled)][1]
        for time in range(times):
            for n in SIZES:
                # Each with a seed of its own, so that errors are independent.
                yield audited(model, sample, n, times * number + time)


def audited(model: RCQ, sample: Sample, n: int, seed: int) -> Audited:
    drawn = draw_rows(model, in_memory(sample.rows), n, seed)
    labels = sample.positive[drawn.numbers].tolist()
    settled = settle_sample(drawn, LabelTable(drawn.ids, labels, n, seed))
    truth = float(sample.positive.mean())
    chosen = stream(seed, f"random labels {n}").permutation(len(sample.positive))[:n]
    alike = Labels(
        *map(np.array, ([len(sample.positive)], [len(chosen)], [sample.positive[chosen].sum()]))
    )
    outcomes = {
        "labels": _of(settled, "prevalence", truth),
        "combined": _of(settled, "answer", truth),
        "random labels": outcome(share(alike), score_interval(alike), truth),
        "model": _of(settled, "model", truth),
    }
    codes = frozenset(caution.code for caution in settled.findings)
    return Audited(sample.where, sample.kind, n, outcomes, settled.agreement, codes)


def _of(settled: Settlement, name: str, truth: float) -> Outcome:
    answer = getattr(settled, name)
    return outcome(float(answer), answer.interval, truth)


def _cells(found: list[Audited], method: str) -> list[str]:
    outcomes = [x.outcomes[method] for x in found]
    return [
        f"{100 * np.mean([o.error for o in outcomes]):.1f}",
        f"{np.mean([o.held for o in outcomes]):.3f}",
        f"{100 * np.mean([o.half_width for o in outcomes]):.1f}",
    ]


METHODS = ("labels", "combined", "random labels", "model")


def _print(found: list[Audited], parts: dict[str, list[Audited]], first: str) -> None:
    rows = [
        [name, str(n), str(len(at)), *(" / ".join(_cells(at, method)) for method in METHODS)]
        for name, part in parts.items()
        for n in SIZES
        for at in [[x for x in part if x.n == n]]
    ]
    print_rows(rows, [first, "number", "audits", *METHODS])


def report(found: list[Audited]) -> None:
    """MAE in points / coverage / half-width in points, and what was said about the model."""
    kinds = list(dict.fromkeys(x.kind for x in found))
    _print(found, {kind: [x for x in found if x.kind == kind] for kind in kinds}, "samples")
    clean = [x for x in found if x.kind in ("clean", "categories")]
    sets = list(dict.fromkeys(x.where for x in clean))
    _print(found, {name: [x for x in clean if x.where == name] for name in sets}, "data set")
    rows = []
    for kind in kinds:
        part = [x for x in found if x.kind == kind and x.n == 100]
        right = [x for x in part if x.outcomes["model"].held]
        cells = [f"{np.mean([x.agreement == word for x in part]):.2f}" for word in WORDS]
        cells += [f"{np.mean([code in x.codes for x in part]):.2f}" for code in CODES]
        cells.append(f"{np.mean([x.agreement == 'contradict' for x in right]):.2f}")
        rows.append([kind, *cells])
    print_rows(
        rows, ["100 labels", *WORDS, *CODES, "contradicted although the model's interval held"]
    )


WORDS = ("agree", "unclear", "contradict")
CODES = ("positives-elsewhere", "positives-missing", "negatives-like-positives")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=[s for s in SEEDS if s != "confirmation"], required=True)
    parser.add_argument("--calibration", choices=["experience", "null"], default="experience")
    parser.add_argument("--draws", type=int, default=3, help="of positives and negatives, per set")
    parser.add_argument("--times", type=int, default=2, help="audits of each sample and size")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    samples = numeric(arguments.split, arguments.draws)
    found = list(audits(samples, arguments.calibration, arguments.times))
    if arguments.split == "reporting":
        found += audits(with_categories(), arguments.calibration, arguments.times)
    report(found)


if __name__ == "__main__":
    main()
