r"""How good the calibrations are, on data that they were not learned from.

First make the banks (and the shipped files):

    python -m research calibrate --bank bank-rcq --method RCQ -o src/poscount/calibration/rcq.npz
    python -m research calibrate --bank bank-reference --method RCQ-reference \
        -o src/poscount/calibration/rcq-reference.npz

Then, each command printing tables in Markdown:

    python -m benchmarks.accuracy.calibration left-out bank-rcq  # by kin
    python -m benchmarks.accuracy.calibration left-out bank-reference
    python -m benchmarks.accuracy.calibration recognisable bank-rcq  # what it is worth to know
    python -m benchmarks.accuracy.calibration experiment-1 bank-rcq  # by kin
    python -m benchmarks.accuracy.calibration constructed bank-rcq  # constructed overlaps
    python -m benchmarks.accuracy.calibration fresh bank-rcq  # families that are in no bank
    python -m benchmarks.accuracy.calibration few-positives  # 10 to 19 of them, by PAT's rule

Null: RCQ with the null calibration. Interval score: the width at 95 % plus 40 times what is missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.fresh_families import FAMILIES as FRESH
from benchmarks.accuracy.fresh_families import FIRST_ROUND, SECOND_ROUND
from benchmarks.printing import print_rows
from poscount import RCQ
from poscount.calibration.calibration import RECOGNISABLE, Calibration
from poscount.methods.regions.estimate import null_estimates
from poscount.results.distribution import ends_at
from poscount.seeds import stream
from poscount.training import learning
from poscount.training.bank import LIMITS, Bank, as_given, draw_task, read_bank
from poscount.training.tasks import draw_samples, recognisable
from research.datasets import load, overlaps
from research.experiments import protocols
from research.shipped_calibrations import sources

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
AT = LEVELS.index(0.95)
FRESH_SEED, SECOND_SEED = 1000, 2000
LIMITS_OF_DOUBT = (0.5, 0.8, 0.9, 0.95, 0.98)


class Judged(NamedTuple):
    """Answers to samples: value, and the ends of the intervals at each of LEVELS."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def part(self, kept: np.ndarray) -> Judged:
        """Those that `kept` chooses."""
        return Judged(self.value[kept], self.low[:, kept], self.high[:, kept])


def column(lines: np.ndarray, columns: list[str], name: str) -> np.ndarray:
    """One column of lines."""
    return lines[:, columns.index(name)]


def by_null(lines: np.ndarray, columns: list[str]) -> Judged:
    """Answers of the null calibration."""
    p, ratio, gap = (column(lines, columns, name) for name in ("prevalence", "ratio", "gap"))
    return _judged(null_estimates(p, ratio, gap, 0.95))


def by_calibration(
    calibration: Calibration, lines: np.ndarray, columns: list[str], told: bool | None = None
) -> Judged:
    """Answers of a calibration as RCQ gives them."""
    p, ratio, gap = (column(lines, columns, name) for name in ("prevalence", "ratio", "gap"))
    names = [name for name in columns if name != RECOGNISABLE]
    kept = lines[:, [columns.index(name) for name in names]]
    trained, unfamiliar = calibration.estimate(kept, names, 0.95, recognisable=told)
    return _judged(trained.widened_by(null_estimates(p, ratio, gap, 0.95), below=unfamiliar))


def _judged(estimates: object) -> Judged:
    low, high = np.array([ends_at(estimates.quantiles, level) for level in LEVELS]).swapaxes(0, 1)
    return Judged(estimates.value, low, high)


class Calibrations:
    """Calibrations without each part of the kin."""

    def __init__(self, bank: Bank, n_jobs: int) -> None:
        left = learning.leave_out(bank, n_jobs)
        self.bank = bank
        self.part_of_kin = dict(zip(left.samples.kin.tolist(), left.part.tolist(), strict=True))
        self.without_part = []
        samples, sums = left.said(told=False)
        for k, learned in enumerate(left.learned):
            # The temperature, too, is from samples of other parts.
            others = left.part != k
            temperature = learning.fit_temperature(samples.part(others), sums[others])
            self.without_part.append(learning.assemble(bank, *learned, temperature))

    def without(self, kin: str) -> Calibration:
        """One that was learned without these kin; any of them if the bank has none of the kin."""
        return self.without_part[self.part_of_kin.get(kin, 0)]

    def answers(self, samples: Bank, told: bool | None = None) -> Judged:
        """Answers to real samples, each by a calibration without its kin."""
        n = len(samples.truth)
        found = Judged(np.empty(n), *np.empty((2, len(LEVELS), n)))
        for kin in np.unique(samples.kin):
            own = samples.kin == kin
            answers = by_calibration(self.without(kin), samples.lines[own], samples.columns, told)
            found.value[own], found.low[:, own], found.high[:, own] = answers
        return found


def real_samples(bank: Bank, *, recorded_alike: bool = True) -> Bank:
    """Samples of tables, of users who do not allow for other recording."""
    kept = ~np.isin(bank.kin, list(learning.FAMILIES))
    if recorded_alike:
        kept &= column(bank.lines, bank.columns, "tolerance") == 0
    return bank.part(kept)


def by_kin(values: np.ndarray, kin: np.ndarray) -> tuple[float, float]:
    """Mean over kin of the mean of each, and its standard error."""
    _, which = np.unique(kin, return_inverse=True)
    means = np.bincount(which, values) / np.bincount(which)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def in_points(values: np.ndarray, kin: np.ndarray) -> str:
    """Mean over kin and its standard error, in points."""
    return "{:.2f} ({:.2f})".format(*(100 * value for value in by_kin(values, kin)))


HEAD = [
    *("samples", "n", "MAE"),
    "held at " + " ".join(f"{level:g}"[1:] for level in LEVELS),
    *("width", "interval score"),
]


def row(name: str, judged: Judged, truth: np.ndarray, kin: np.ndarray) -> list[str]:
    """Error, intervals held, width and interval score at 95 %; all kin count the same."""
    there = np.isfinite(judged.value)
    value, low, high = judged.part(there)
    truth, kin = truth[there], kin[there]
    cells = [name, f"{len(truth):,}", in_points(np.abs(value - truth), kin)]
    if not np.isfinite(low).all():
        return [*cells, "", "", ""]
    held = [by_kin(inside, kin)[0] for inside in (low <= truth) & (truth <= high)]
    missed = np.maximum(low[AT] - truth, 0) + np.maximum(truth - high[AT], 0)
    width = high[AT] - low[AT]
    return [
        *cells,
        " ".join(f"{share:.3f}"[1:] if share < 1 else "1" for share in held),
        f"{100 * by_kin(width, kin)[0]:.1f}",
        in_points(width + 40 * missed, kin),
    ]


def strata(bank: Bank) -> Iterator[tuple[str, np.ndarray]]:
    """Parts of the samples: by truth, sizes, number of columns and kind of table."""
    truth = bank.truth
    n_labeled, n_rows, d = (
        np.exp(column(bank.lines, bank.columns, name)).round()
        for name in ("log_positives", "log_rows", "log_features")
    )
    told = column(bank.lines, bank.columns, RECOGNISABLE)
    yield "all", np.ones(len(truth), bool)
    yield "recognisable", told == 1
    yield "not recognisable", told == 0
    yield "p = 0", truth == 0
    yield "0 < p < .05", (truth > 0) & (truth < 0.05)
    yield ".05 to .95", (truth >= 0.05) & (truth <= 0.95)
    yield ".95 < p < 1", (truth > 0.95) & (truth < 1)
    yield "p = 1", truth == 1
    yield "n_L < 100", n_labeled < 100
    yield "n_L 100 to 1,000", (n_labeled >= 100) & (n_labeled < 1000)
    yield "n_L >= 1,000", n_labeled >= 1000
    yield "n_U < 100", n_rows < 100
    yield "n_U 100 to 1,000", (n_rows >= 100) & (n_rows < 1000)
    yield "n_U 1,000 to 10,000", (n_rows >= 1000) & (n_rows <= 10000)
    yield "n_U > 10,000", n_rows > 10000
    yield "d <= 3", d <= 3
    yield "d 4 to 59", (d > 3) & (d < 60)
    yield "d >= 60", d >= 60


def left_out(bank: Bank, n_jobs: int) -> None:
    """Every table by calibrations without it and its kin: all, by strata, by table."""
    samples = real_samples(bank)
    answers = Calibrations(bank, n_jobs).answers(samples)
    null = by_null(samples.lines, samples.columns)
    print_rows([row("null calibration", null, samples.truth, samples.kin)], HEAD)
    print_rows(
        [
            row(name, answers.part(kept), samples.truth[kept], samples.kin[kept])
            for name, kept in strata(samples)
            if len(np.unique(samples.kin[kept])) > 1
        ],
        HEAD,
    )
    # By task, where there is one table only.
    tables = [(name, samples.kin == name) for name in np.unique(samples.kin)]
    print_rows(
        [
            row(name, answers.part(own), samples.truth[own], samples.task[own].astype(str))
            for name, own in tables
        ],
        HEAD,
    )


def recognisable_table(bank: Bank, n_jobs: int) -> None:
    """What it is worth to say that positives are recognisable, and what if that is wrong."""
    samples = real_samples(bank)
    calibrations = Calibrations(bank, n_jobs)
    told = column(samples.lines, samples.columns, RECOGNISABLE)
    rows = []
    for kind, kept in (("recognisable", told == 1), ("not recognisable", told == 0)):
        part = samples.part(kept)
        for said in (None, True, False):
            judged = calibrations.answers(part, said)
            rows.append(row(f"{kind}, said: {said}", judged, part.truth, part.kin))
    print_rows(rows, HEAD)
    contradicted(samples, calibrations, told == 1)


def contradicted(samples: Bank, calibrations: Calibrations, known: np.ndarray) -> None:
    """How often the check "hardly-recognisable" speaks if the user says that positives are."""
    names = [name for name in samples.columns if name != RECOGNISABLE]
    lines = samples.lines[:, [samples.columns.index(name) for name in names]]
    doubt = np.empty(len(lines))
    for kin in np.unique(samples.kin):
        own = samples.kin == kin
        answer, _ = calibrations.without(kin).estimate(lines[own], names, 0.95)
        doubt[own] = 1 - answer.details["p_recognisable"]
    judged = calibrations.answers(samples, told=True)
    off = (np.abs(judged.value - samples.truth) > 0.15) & (
        (samples.truth < judged.low[AT]) | (samples.truth > judged.high[AT])
    )
    rows = [
        [
            name,
            f"{kept.sum():,}",
            *(f"{(doubt[kept] > limit).mean():.3f}" for limit in LIMITS_OF_DOUBT),
        ]
        for name, kept in (
            ("recognisable", known),
            ("not recognisable", ~known),
            ("of these off by 15 points, and outside", ~known & off),
        )
    ]
    print_rows(rows, ["samples", "n", *(f"doubt above {limit:g}" for limit in LIMITS_OF_DOUBT)])


def few_positives() -> None:
    """Fewer positives than RCQ has regions for: PAT's rule, with and without a lower end."""
    found = []
    for source in sources():
        for number in range(3000, 3012):
            task, samples = draw_task(source, LIMITS["RCQ"], 0, number)
            labeled = task.labeled[: 10 + number % 10]
            models = [RCQ(calibration=name, random_state=0) for name in ("null", "experience")]
            for model in models:
                model.fit(as_given(task, labeled))
            for sample in samples:
                if len(sample.rows) <= 5000:
                    answers = [model.quantify(as_given(task, sample.rows)) for model in models]
                    held = [sample.prevalence in p.interval for p in answers]
                    widths = [p.interval.width for p in answers]
                    found.append([abs(answers[0] - sample.prevalence), *held, *widths])
    error, *rest = np.mean(found, axis=0)
    cells = [f"{len(found)}", f"{100 * error:.1f}", *(f"{share:.3f}" for share in rest)]
    head = ["samples", "MAE", "95 % held before", "after", "width before", "after"]
    print_rows([cells], head)


def _fresh_task(name: str, number: int) -> tuple[np.ndarray, list[float], bool]:
    rng = stream(FRESH_SEED if name in FIRST_ROUND else SECOND_SEED, f"{name} {number}")
    task = FRESH[name](rng, LIMITS["RCQ"])
    samples = list(draw_samples(task, rng, LIMITS["RCQ"]))
    model = RCQ(calibration="null", random_state=0).fit(task.labeled)
    if not model.part_.rule.enough_positives:
        return np.empty((0, len(model._view(model.count(samples[0].rows)).feature_names))), [], True
    lines = model._view(*(model.count(sample.rows) for sample in samples)).features
    return lines, [sample.prevalence for sample in samples], recognisable(task, rng)


def fresh(bank: Bank, n_jobs: int, n_tasks: int = 120) -> None:
    """Families that are in no bank, by the calibration of the whole bank; families count alike."""
    calibration = learning.learn(bank, {}, n_jobs)
    columns = [name for name in bank.columns if name != RECOGNISABLE]
    for families in (FIRST_ROUND, SECOND_ROUND):
        found = [
            (name, *part)
            for name in families
            for part in Parallel(n_jobs=n_jobs)(
                delayed(_fresh_task)(name, i) for i in range(n_tasks)
            )
        ]
        lines = np.concatenate([part for _, part, _, _ in found])
        truth = np.array([p for _, _, told, _ in found for p in told])
        family = np.array([name for name, _, told, _ in found for _ in told])
        known = np.array([each for _, _, told, each in found for _ in told])
        numbers = np.array([i for i, (_, _, told, _) in enumerate(found) for _ in told])
        answers = {
            "null": by_null(lines, columns),
            "calibrated": by_calibration(calibration, lines, columns),
        }
        rows = []
        for kind, kept in (("all", known >= 0), ("recognisable", known), ("others", ~known)):
            rows += [
                row(f"{kind}, {name}", judged.part(kept), truth[kept], family[kept])
                for name, judged in answers.items()
            ]
        for name in families:
            kept = family == name
            judged = answers["calibrated"].part(kept)
            rows.append(row(f"{name}, calibrated", judged, truth[kept], numbers[kept]))
        print_rows(rows, HEAD)


# Error, share of 95 % intervals that hold, and width: places in a row, and in its cell.
MEANS = ((2, 0), (3, AT), (4, 0))
PAPER = {
    "A": "arabic_digit",
    "C": "anuran_calls",
    "L": "letter",
    "P": "pendigits",
    "R": "htru2",
    "W": "wine",
    "q-g": "handwritten_qg",
    "vowels": "japanese_vowels",
    "vowels-network": "japanese_vowels",
}


def experiment_1(bank: Bank, n_jobs: int) -> None:
    """Experiment #1, each data set by a calibration without its kin."""
    calibrations, rows, of_six = Calibrations(bank, n_jobs), [], []
    for key, kin in PAPER.items():
        rows += _experiment_1(key, calibrations.without(kin))
        if len(key) == 1:
            of_six.append([[float(cells[k].split()[i]) for k, i in MEANS] for cells in rows[-3:]])
    print_rows(rows, HEAD)
    for name, (error, held, width) in zip(
        ("null", "calibrated", "told"), np.mean(of_six, axis=0), strict=True
    ):
        print(
            f"Mean of the six sets, {name}: {error:.2f}, {100 * held:.1f} % held, {width:.1f} wide"
        )


def constructed(bank: Bank, n_jobs: int) -> None:
    """Experiment #1 with the constructed overlaps, which are in no bank."""
    calibration = learning.learn(bank, {}, n_jobs)
    print_rows([each for key in overlaps.NAMES for each in _experiment_1(key, calibration)], HEAD)


def _experiment_1(key: str, calibration: Calibration, repetitions: int = 5) -> list[list[str]]:
    data = load(key)
    lines, truth, place_of = [], [], []
    for number, place in enumerate(protocols.places("1", data, repetitions)):
        positives, drawn = protocols.draw(data, place, 0)
        samples = list(drawn)
        model = RCQ(calibration="null", random_state=0).fit(positives)
        view = model._view(*(model.count(sample.rows) for sample in samples))
        lines.append(view.features)
        truth += [sample.truth for sample in samples]
        place_of += [str(number)] * len(samples)
    block, known, places = np.concatenate(lines), np.array(truth), np.array(place_of)
    answers = {
        "null": by_null(block, view.feature_names),
        "calibrated": by_calibration(calibration, block, view.feature_names),
        "told that they are recognisable": by_calibration(
            calibration, block, view.feature_names, told=True
        ),
    }
    return [row(f"{key}, {name}", judged, known, places) for name, judged in answers.items()]


COMMANDS = {
    "left-out": left_out,
    "recognisable": recognisable_table,
    "experiment-1": experiment_1,
    "constructed": constructed,
    "fresh": fresh,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=[*COMMANDS, "few-positives"])
    parser.add_argument("bank", type=Path, nargs="?")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "few-positives":
        few_positives()
    else:
        bank = read_bank(sorted(arguments.bank.glob("*.bank")))
        COMMANDS[arguments.command](bank, arguments.n_jobs)
