"""What is said about samples and positives that were spoilt on purpose.

    python -m benchmarks.accuracy.attacks attacks bank-rcq --split tuning
    python -m benchmarks.accuracy.attacks attacks bank-rcq --split reporting
    python -m benchmarks.accuracy.attacks plain bank-rcq --split reporting     # nothing spoilt

The split, written before anything was measured. Thresholds are chosen on the *tuning* split alone:
seed 100, and positives from the classes at odd places of each set's sorted classes. What is
reported comes from the *reporting* split: seed 1, and positives from the classes at even places.
Both use the same ten sets, because there are no other ten; every set is judged by a calibration
learned without it and its kin. `plain` draws tasks as the bank does, from all its sources but with
seed 100 or 1 instead of the bank's 0, and of all kinds of sizes, columns and overlaps.

Added later: the reporting split was looked at three times. After the first look, copied positives
were used once, and rows far away in most columns were taken for negatives; after the second, what
counts as coarse was corrected by one of its plain tasks. No threshold was changed by it. So there
is a *confirmation* split, run at the end: seed 2, and classes at other even places where a set has
them. Its first run warned of 20.7 % of clean samples, 7.0 % by missing-code; then columns without a
scale were trusted less by that check. What it says of clean samples since is no independent figure.
Last, exchanged-columns lost its notice, and its limit was raised from .5 to .7, because it warned
of the example that poscount comes with; reporting went from 4.6 % silent to 4.7 %, tuning to 5.2 %.

About 300 positives to learn from and 1,000 rows in a sample, fewer where a set has fewer.
"Silent and wrong": no warning at all, off by more than 15 points, and outside of the interval.
"""

from __future__ import annotations

import argparse
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.calibration import Calibrations, print_rows
from poscount import RCQ
from poscount.calibration.calibration import Calibration
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream
from poscount.training.bank import LIMITS, as_given, draw_task, read_bank
from poscount.training.sources import Source, read_table
from poscount.training.tasks import Task, recognisable
from research.calibrations import bundled
from research.datasets import data_directory
from research.shipped_calibrations import OTHER_LABELS, sources

SEEDS = {"tuning": 100, "reporting": 1, "confirmation": 2}
PREVALENCES = (0.1, 0.3, 0.5, 0.8, 1.0)
MOST_LABELED, MOST_ROWS = 300, 1000
N_DRAWS = 6
# Places of the positives' classes among the sorted ones.
# Where there is no third choice, confirmation has other rows of the same classes as reporting.
CLASSES: dict[str, dict[str, tuple[int, ...]]] = {
    "letter": {"tuning": (1, 3, 5), "reporting": (0, 2, 4), "confirmation": (6, 8, 10)},
    "pendigits": {"tuning": (1,), "reporting": (4,), "confirmation": (6,)},
    "japanese_vowels": {"tuning": (1,), "reporting": (4,), "confirmation": (6,)},
    "anuran_calls": {"tuning": (3,), "reporting": (2,), "confirmation": (2,)},
    "arabic_digit": {"tuning": (3,), "reporting": (6,), "confirmation": (8,)},
    "handwritten_qg": {"tuning": (1,), "reporting": (0,), "confirmation": (0,)},
    "htru2": {"tuning": (1,), "reporting": (0,), "confirmation": (0,)},
    "wine": {"tuning": (1,), "reporting": (0,), "confirmation": (0,)},
    "digits": {"tuning": (1, 3, 5), "reporting": (0, 2, 4), "confirmation": (4, 6, 8)},
    "breast_cancer": {"tuning": (1,), "reporting": (0,), "confirmation": (0,)},
}
BUNDLED = ("digits", "breast_cancer")
DO_NOT_USE = "do not use"
SMALL, LARGE, WRONG = 0.05, 0.1, 0.15


class Pool(NamedTuple):
    """Rows of a set to draw from."""

    name: str
    kin: str
    positives: np.ndarray
    negatives: np.ndarray


class Spoilt(NamedTuple):
    """Positives and a sample, one of them spoilt."""

    attack: str
    labeled: np.ndarray
    sample: np.ndarray
    truth: float


class Judged(NamedTuple):
    """What was said about one sample."""

    where: str
    attack: str
    truth: float
    error: float
    held: bool
    codes: frozenset[str]
    severities: frozenset[str]
    overlapping: bool


def pool(name: str, split: str) -> Pool:
    source = (
        bundled(name)
        if name in BUNDLED
        else read_table(data_directory() / f"{name}.csv.gz", "class", OTHER_LABELS)
    )
    ours = np.isin(source.classes, np.unique(source.classes)[list(CLASSES[name][split])])
    return Pool(name, source.kin, source.features[ours], source.features[~ours])


def _spread(labeled: np.ndarray) -> np.ndarray:
    return labeled.std(axis=0)


def _varying(labeled: np.ndarray, rng: np.random.Generator, n: int = 1) -> np.ndarray:
    """Some of the columns that vary among the positives."""
    return rng.choice(np.flatnonzero(_spread(labeled) > 0), n, replace=False)


def _other_units(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    sample[:, _varying(labeled, rng)] *= 1000
    return sample


def _cells(value: float, share: float = 0.05) -> Callable[..., np.ndarray]:
    def attack(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        sample[rng.random(sample.shape) < share] = value
        return sample

    return attack


def _column(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    column = _varying(labeled, rng)
    sample[rng.random(len(sample)) < 0.3, column] = -999
    return sample


def _column_gone(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    sample[rng.random(len(sample)) < 0.3, _varying(labeled, rng)] = np.nan
    return sample


def _exchanged(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    pair = _varying(labeled, rng, 2)
    sample[:, pair] = sample[:, pair[::-1]]
    return sample


def _noisy(labeled: np.ndarray, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return sample + 0.5 * _spread(labeled) * rng.normal(size=sample.shape)


# From positives, sample and generator to another sample.
ON_SAMPLE: dict[str, Callable[..., np.ndarray]] = {
    "clean": lambda labeled, sample, rng: sample,
    "x 1000 on one column": _other_units,
    "-999 in 5 % of cells": _cells(-999.0),
    "-999 in 30 % of a column": _column,
    "0 in 5 % of cells": _cells(0.0),
    "two columns exchanged": _exchanged,
    "all x 1.1": lambda labeled, sample, rng: 1.1 * sample,
    "all + .5 sd": lambda labeled, sample, rng: sample + 0.5 * _spread(labeled),
    "noise of .5 sd": _noisy,
}
# Added later, with a stream of their own, so that the others stay as they were.
GAPS: dict[str, Callable[..., np.ndarray]] = {
    "10 % of cells gone": _cells(np.nan, 0.1),
    "30 % of a column gone": _column_gone,
}
# Where the positives come from, given the number of them, all positives and the negatives.
ON_POSITIVES = (
    "one side of PC1",
    "10 % negatives in L",
    "20 % negatives in L",
    "40 positives x 10",
)
ATTACKS = (*ON_SAMPLE, *GAPS, *ON_POSITIVES)


def _first_component(rows: np.ndarray) -> np.ndarray:
    spread = _spread(rows)
    centred = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][0]


def _spoilt_positives(
    attack: str,
    labeled: np.ndarray,
    others: np.ndarray,
    negatives: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Positives to learn from; `others` are positives that are in no sample."""
    if attack == "one side of PC1":
        both = np.concatenate([labeled, others])
        first = _first_component(both)
        return both[np.argsort(first)[: len(both) // 2]]
    if attack == "40 positives x 10":
        return np.repeat(labeled[:40], 10, axis=0)
    n = round(float(attack.split()[0]) / 100 * len(labeled))
    return np.concatenate([labeled[n:], negatives[rng.integers(len(negatives), size=n)]])


def draw(of: Pool, rng: np.random.Generator) -> Iterator[Spoilt]:
    """One draw of positives and negatives, and everything that is done to them.

    Twice as many positives as are labelled are set aside, so that positives from one side of the
    first component are as many as others.
    """
    positives, negatives = (rng.permutation(rows) for rows in (of.positives, of.negatives))
    n_labeled = min(MOST_LABELED, len(positives) // 4)
    labeled, others, rest = np.split(positives, [n_labeled, 2 * n_labeled])
    learned = {
        attack: _spoilt_positives(attack, labeled, others, negatives, rng)
        for attack in ON_POSITIVES
    }
    for p in PREVALENCES:
        n = int(min(MOST_ROWS, len(rest) / p, len(negatives) / max(1 - p, 1e-9)))
        n_positive = round(p * n)
        chosen = rng.permutation(len(rest))[:n_positive]
        drawn = rng.permutation(len(negatives))[: n - n_positive]
        sample, truth = np.concatenate([rest[chosen], negatives[drawn]]), n_positive / n
        for attack, spoil in ON_SAMPLE.items():
            yield Spoilt(attack, labeled, spoil(labeled, sample.copy(), rng), truth)
        for attack, rows in learned.items():
            yield Spoilt(attack, rows, sample, truth)
        gaps_rng = stream(int(n_positive), f"gaps {of.name} {p}")
        for attack, spoil in GAPS.items():
            yield Spoilt(attack, labeled, spoil(labeled, sample.copy(), gaps_rng), truth)


def _task_of(of: Pool) -> Task:
    """The pool as a task, to measure how far its classes are apart."""

    def drawing(rows: np.ndarray) -> Callable[[int, np.random.Generator], np.ndarray]:
        return lambda n, rng: rows[rng.permutation(len(rows))[:n]]

    sides = of.positives, of.negatives
    return Task(of.positives, *map(drawing, sides), *map(len, sides))


def judge(where: str, spoilt: Spoilt, answer: Prevalence, overlapping: bool) -> Judged:
    return Judged(
        where,
        spoilt.attack,
        spoilt.truth,
        abs(float(answer) - spoilt.truth),
        answer.interval is not None and spoilt.truth in answer.interval,
        frozenset(caution.code for caution in answer.warnings),
        frozenset(caution.severity for caution in answer.warnings),
        overlapping,
    )


def attacks(without: dict[str, Calibration], split: str, n_draws: int) -> Iterator[Judged]:
    seed = SEEDS[split]
    for name in CLASSES:
        of = pool(name, split)
        overlapping = not recognisable(_task_of(of), stream(seed, f"overlap {name}"))
        calibration = without[of.kin]
        for number in range(n_draws):
            models: dict[int, RCQ] = {}
            for spoilt in draw(of, stream(seed, f"attacks {name} {number}")):
                model = models.get(id(spoilt.labeled))
                if model is None:
                    model = RCQ(calibration=calibration, random_state=0).fit(spoilt.labeled)
                    models[id(spoilt.labeled)] = model
                answer = model.quantify(spoilt.sample)
                yield judge(name, spoilt, answer, overlapping)


def plain(without: dict[str, Calibration], split: str, n_draws: int) -> Iterator[Judged]:
    seed = SEEDS[split]
    for source in sources():
        calibration = without[source.kin]
        for number in range(4 * n_draws):
            yield from _plain_task(source, calibration, seed, number)


def _plain_task(
    source: Source, calibration: Calibration, seed: int, number: int
) -> Iterator[Judged]:
    task, samples = draw_task(source, LIMITS["RCQ"], seed, number)
    overlapping = not recognisable(task, stream(seed, f"overlap {source.name} {number}"))
    model = RCQ(calibration=calibration, random_state=0).fit(as_given(task, task.labeled))
    for sample in samples:
        spoilt = Spoilt("plain", task.labeled, sample.rows, sample.prevalence)
        answer = model.quantify(as_given(task, sample.rows))
        yield judge(source.name, spoilt, answer, overlapping)


def _percent(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{100 * float(np.mean(found)):.1f}" if found else ""


def _line(name: str, found: list[Judged]) -> list[str]:
    silent = [not x.codes and x.error > WRONG and not x.held for x in found]
    return [
        name,
        str(len(found)),
        f"{100 * np.mean([x.error for x in found]):.1f}",
        _percent(x.held for x in found),
        _percent(x.error > WRONG and not x.held for x in found),
        f"{_percent(silent)} ({sum(silent)})",
        _percent(bool(x.codes) for x in found),
        _percent(bool(x.severities & {"check", DO_NOT_USE}) for x in found),
        _percent(DO_NOT_USE in x.severities for x in found),
    ]


HEAD = [
    "samples",
    "n",
    "MAE",
    "held",
    "wrong",
    "silent and wrong",
    "warned",
    "to check, or worse",
    "do not use",
]


def print_attacks(found: list[Judged]) -> None:
    """By attack; then how often each code is there, on good answers and on bad ones."""
    clear = [x for x in found if not x.overlapping]
    kinds = {attack: [x for x in found if x.attack == attack] for attack in ATTACKS}
    kinds["clean, no strong overlap"] = [x for x in clear if x.attack == "clean"]
    kinds["all attacks"] = [x for x in found if x.attack not in ("clean", "plain")]
    kinds["plain"] = [x for x in found if x.attack == "plain"]
    kinds["plain, no strong overlap"] = [x for x in clear if x.attack == "plain"]
    print_rows([_line(name, part) for name, part in kinds.items() if part], HEAD)
    codes = sorted({code for x in found for code in x.codes})
    parts = [
        ("spoilt", [x for x in found if x.attack not in ("clean", "plain")]),
        ("clean", [x for x in found if x.attack in ("clean", "plain")]),
    ]
    rows = []
    for code in codes:
        row = [code]
        for _, part in parts:
            row += [
                _percent(code in x.codes for x in part if x.error < SMALL),
                _percent(code in x.codes for x in part if x.error > LARGE),
                _mean_error(x for x in part if code in x.codes),
                _mean_error(x for x in part if code not in x.codes),
            ]
        rows.append(row)
    head = ["code"]
    for name, _ in parts:
        head += [f"{name}: error < 5", "> 10", "MAE with it", "without"]
    print_rows(rows, head)
    of_attacks = [
        [
            attack,
            *(_percent(code in x.codes for x in found if x.attack == attack) for code in codes),
        ]
        for attack in (*ATTACKS, "plain")
        if any(x.attack == attack for x in found)
    ]
    print_rows(of_attacks, ["share with", *codes])


def _mean_error(found: Iterable[Judged]) -> str:
    errors = [x.error for x in found]
    return f"{100 * np.mean(errors):.1f} ({len(errors)})" if errors else ""


COMMANDS = {"attacks": attacks, "plain": plain}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--split", choices=SEEDS, default="reporting")
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    parser.add_argument("--left-out", type=Path, help="file that keeps the calibrations")
    parser.add_argument("--output", type=Path, help="file for the single answers")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = arguments.left_out
    if kept and kept.exists():
        without = pickle.loads(kept.read_bytes())
    else:
        left = Calibrations(read_bank(sorted(arguments.bank.glob("*.bank"))), 1)
        without = {str(kin): left.without(kin) for kin in left.kin}
        if kept:
            kept.write_bytes(pickle.dumps(without))
    found = list(COMMANDS[arguments.command](without, arguments.split, arguments.draws))
    if arguments.output:
        arguments.output.write_bytes(pickle.dumps([tuple(x) for x in found]))
    print_attacks(found)


if __name__ == "__main__":
    main()
