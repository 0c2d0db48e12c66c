r"""How good the calibration by experience is, on data that it was not learned from.

The split is in `calibration_split.md`. First make the bank (and the shipped file) with

    python -m research calibrate --bank bank-rcq -o src/poscount/calibration/rcq.npz
    python -m research calibrate --bank bank-reference --method rcq-reference \
        -o src/poscount/calibration/rcq-reference.npz

Then, each command printing a table in Markdown:

    python -m benchmarks.accuracy.calibration left-out bank-rcq  # each source by the others
    python -m benchmarks.accuracy.calibration ablation bank-rcq  # columns, parts of the bank
    python -m benchmarks.accuracy.calibration fresh bank-rcq  # families that are in no bank
    python -m benchmarks.accuracy.calibration experiment-1 bank-rcq  # each set by the others
    python -m benchmarks.accuracy.calibration verdict bank-rcq  # what the grades are worth
    python -m benchmarks.accuracy.calibration few-positives bank-rcq  # 10 to 19 of them
    python -m benchmarks.accuracy.calibration overlap bank-rcq  # by how far the classes are apart
    python -m benchmarks.accuracy.calibration constructed bank-rcq  # constructed overlaps
    python -m benchmarks.accuracy.calibration growth bank-rcq  # error and coverage as n grows
    python -m benchmarks.accuracy.calibration peers bank-rcq --reference bank-reference

Before: RCQ with the null calibration. After: by a calibration without the source and its kin.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.fresh_families import FAMILIES as FRESH
from benchmarks.accuracy.fresh_families import FIRST_ROUND, SECOND_ROUND
from poscount import BBE, DEDPUL, PAT, RCQ, TRCQ
from poscount.calibration.calibration import Calibration, as_features
from poscount.methods.regions.estimate import null_estimates
from poscount.methods.regions.rule import interval_from_gap
from poscount.results.distribution import ends_at
from poscount.results.verdict import LIMITS as LIMITS_OF_GRADES
from poscount.results.verdict import verdict
from poscount.seeds import stream
from poscount.training import bank as banks
from poscount.training import learning
from poscount.training.bank import LIMITS, Bank, as_given, draw_task, read_bank
from poscount.training.sources import Source
from poscount.training.tasks import Limits, Task, draw_samples
from research.datasets import load, overlaps
from research.experiments import protocols
from research.shipped_calibrations import sources

LEVELS = (0.8, 0.9, 0.95, 0.99)
FRESH_SEED, SECOND_SEED = 1000, 2000
STRONG_OVERLAP = 0.95
# Tasks of each source; on the hundred before, the shape of the intervals was chosen.
REPORTED = range(100, 150)


class Judged(NamedTuple):
    """Answers to samples: value, and the ends of the intervals at each of LEVELS."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def column(lines: np.ndarray, bank_columns: list[str], name: str) -> np.ndarray:
    return lines[:, bank_columns.index(name)]


def before(lines: np.ndarray, columns: list[str]) -> Judged:
    """The null calibration."""
    p, ratio, gap = (column(lines, columns, name) for name in ("prevalence", "ratio", "gap"))
    ends = [interval_from_gap(ratio, p, gap, level) for level in LEVELS]
    return Judged(p, np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def after(calibration: Calibration, lines: np.ndarray) -> Judged:
    columns = calibration.columns_
    p, ratio, gap = (column(lines, columns, name) for name in ("prevalence", "ratio", "gap"))
    trained, unfamiliar = calibration.estimate(lines, columns, 0.95)
    found = trained.widened_by(null_estimates(p, ratio, gap, 0.95), below=unfamiliar)
    low, high = np.array([ends_at(found.quantiles, level) for level in LEVELS]).swapaxes(0, 1)
    return Judged(found.value, low, high)


def is_real(bank: Bank) -> np.ndarray:
    return ~np.isin(bank.kin, list(banks.FAMILIES))


class LeftOut:
    """Calibrations without one source and its kin."""

    def __init__(self, bank: Bank, n_jobs: int) -> None:
        self.bank = bank
        self.kin = np.unique(bank.kin[self.sources_judged()])
        learned = Parallel(n_jobs=n_jobs)(
            delayed(learning.fit_trees_and_blend)(bank.part(bank.kin != name)) for name in self.kin
        )
        self.learned = dict(zip(self.kin.tolist(), learned, strict=True))
        self.predicted = np.full((len(bank.truth), 5), np.nan)
        # As the trees see them, which may start from a blend.
        self.lines = bank.lines.copy()
        for name, (trees, blend) in self.learned.items():
            own = bank.kin == name
            self.lines[own] = learning.blended(bank.part(own), blend).lines
            self.predicted[own] = trees.predict(as_features(self.lines[own], bank.columns))

    def sources_judged(self) -> np.ndarray:
        """Samples whose sources are left out in turn: all real ones."""
        return is_real(self.bank)

    def without(self, kin: str) -> Calibration:
        """Learned without these kin; factors from the residuals of all other sources judged."""
        others = self.sources_judged() & (self.bank.kin != kin)
        judged = replace(self.bank, lines=self.lines).part(others)
        factors = learning.fit_factors(judged, self.predicted[others])
        trees, blend = self.learned[kin]
        return learning.assemble(self.bank.part(self.bank.kin != kin), trees, factors, blend)

    def answers(self) -> tuple[Bank, Judged]:
        """The bank's real samples, each by the calibration without its kin."""
        real = self.bank.part(is_real(self.bank))
        n = len(real.truth)
        value, low, high = np.empty(n), np.empty((len(LEVELS), n)), np.empty((len(LEVELS), n))
        for kin in self.kin:
            own = real.kin == kin
            judged = after(self.without(kin), real.lines[own])
            value[own], low[:, own], high[:, own] = judged
        return real, Judged(value, low, high)


def wilson(k: int, n: int) -> str:
    """Binomial interval of a share, as text."""
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(method="wilson")
    return f"{k / n:.3f} ({found.low:.3f} to {found.high:.3f})"


def print_rows(rows: list[list[str]], head: list[str]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


HEAD = ["samples", "n", "MAE before", "after", "95 % held before", "after", "width before", "after"]


def compared(name: str, truth: np.ndarray, kept: np.ndarray, old: Judged, new: Judged) -> list[str]:
    """A row of the comparison, at 95 %."""
    at = LEVELS.index(0.95)
    cells = [name, f"{kept.sum():,}"]
    cells += [f"{100 * np.abs(j.value - truth)[kept].mean():.2f}" for j in (old, new)]
    for i, j in enumerate((old, new)):
        held = ((j.low[at] <= truth) & (truth <= j.high[at]))[kept]
        cells.append(f"{held.mean():.3f}" if i == 0 else wilson(int(held.sum()), len(held)))
    cells += [f"{100 * (j.high[at] - j.low[at])[kept].mean():.1f}" for j in (old, new)]
    return cells


def strata(
    lines: np.ndarray, columns: list[str], truth: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    n_labeled, n_rows, d = (
        np.exp(column(lines, columns, name)).round()
        for name in ("log_positives", "log_rows", "log_features")
    )
    yield "all", np.ones(len(truth), bool)
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


def print_levels(truth: np.ndarray, old: Judged, new: Judged) -> None:
    rows = []
    for i, level in enumerate(LEVELS):
        row = [f"{level:g}"]
        for j in (old, new):
            held = (j.low[i] <= truth) & (truth <= j.high[i])
            row += [f"{held.mean():.3f}", f"{100 * (j.high[i] - j.low[i]).mean():.1f}"]
        rows.append(row)
    print_rows(rows, ["level", "held before", "width", "held after", "width"])


def left_out(bank: Bank, n_jobs: int) -> None:
    real, new = LeftOut(bank, n_jobs).answers()
    old = before(real.lines, real.columns)
    rows = [
        compared(name, real.truth, kept, old, new)
        for name, kept in strata(real.lines, real.columns, real.truth)
        if kept.sum()
    ]
    print_rows(rows, HEAD)
    print_rows(
        [compared(str(s), real.truth, real.source == s, old, new) for s in np.unique(real.source)],
        HEAD,
    )
    print_levels(real.truth, old, new)
    # Whether the expected error means something: told and seen, by tenths of what is told.
    calibration = learning.learn(bank, {}, n_jobs)
    told = calibration.estimate(real.lines, calibration.columns_, 0.95)[0].details["expected_error"]
    seen = np.abs(new.value - real.truth)
    parts = np.array_split(np.argsort(told), 10)
    print_rows(
        [
            [str(i + 1), f"{100 * told[p].mean():.1f}", f"{100 * seen[p].mean():.1f}"]
            for i, p in enumerate(parts)
        ],
        ["tenth", "expected error", "mean error when left out"],
    )


def few_positives(bank: Bank, n_jobs: int) -> None:
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


def verdict_table(bank: Bank, n_jobs: int) -> None:
    """Errors by grade, each answer by the calibration without its kin."""
    left = LeftOut(bank, n_jobs)
    real = bank.part(is_real(bank))
    likely, error = np.empty((2, len(real.truth)))
    for kin in left.kin:
        own = real.kin == kin
        answer, _ = left.without(kin).estimate(real.lines[own], real.columns, 0.95)
        likely[own], error[own] = (
            answer.details["likely_error"],
            np.abs(answer.value - real.truth[own]),
        )
    print(f"The error was at most the likely error in {(error <= likely).mean():.3f}.\n")
    grades = np.array([verdict(x, []).grade for x in likely.tolist()])
    rows = []
    for grade in ("good", "fair", "rough", "unsure"):
        own = error[grades == grade]
        most = dict(LIMITS_OF_GRADES).get(grade, 100) / 100
        shares = [(own <= most).mean(), (own < 0.05).mean(), (own > 0.1).mean()]
        rows.append(
            [grade, f"{len(own) / len(error):.3f}", f"{100 * own.mean():.2f}"]
            + [f"{share:.3f}" for share in (*shares, (own > 0.15).mean())]
        )
    head = ["verdict", "share of answers", "MAE", "as told", "error < 5", "> 10", "> 15 points"]
    print_rows(rows, head)


def ablation(bank: Bank, n_jobs: int) -> None:
    """Without the synthetic families, with them alone, with smaller banks, with fewer features."""
    rows = []
    rng = np.random.default_rng(0)
    tasks = np.array([f"{s} {t}" for s, t in zip(bank.source, bank.task, strict=True)])
    names = np.unique(tasks)

    def some(share: float) -> np.ndarray:
        chosen = rng.permutation(names)[: round(share * len(names))]
        return np.isin(tasks, chosen)

    real = is_real(bank)
    only_basic = [
        not name.startswith(("share", "band", "feature", "pat_", "median")) for name in bank.columns
    ]
    variants = {
        "all": bank,
        "real sources alone": bank.part(real),
        "a quarter of the tasks": bank.part(some(0.25)),
        "a tenth of the tasks": bank.part(some(0.1)),
    }
    judged_on = bank.part(real)
    for name, part in variants.items():
        found = LeftOut(part, n_jobs)
        value = np.empty(len(judged_on.truth))
        ends = np.empty((2, len(value)))
        for kin in found.kin:
            own = judged_on.kin == kin
            answer, _ = found.without(kin).estimate(judged_on.lines[own], judged_on.columns, 0.95)
            value[own], ends[:, own] = answer.value, answer.ends
        rows.append(_summary(name, judged_on.truth, value, *ends))
    synthetic = learning.learn(bank.part(~real), {}, n_jobs)
    answer, _ = synthetic.estimate(judged_on.lines, judged_on.columns, 0.95)
    rows.append(_summary("synthetic tasks alone", judged_on.truth, answer.value, *answer.ends))
    masked = replace(bank, lines=np.where(only_basic, bank.lines, 0.0))
    found = LeftOut(masked, n_jobs)
    real_bank, new = found.answers()
    at = LEVELS.index(0.95)
    rows.append(
        _summary(
            "without the profile of regions", real_bank.truth, new.value, new.low[at], new.high[at]
        )
    )
    print_rows(rows, ["bank", "MAE", "95 % held", "width"])


def _summary(
    name: str, truth: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> list[str]:
    held = (low <= truth) & (truth <= high)
    return [
        name,
        f"{100 * np.abs(value - truth).mean():.2f}",
        f"{held.mean():.3f}",
        f"{100 * (high - low).mean():.1f}",
    ]


def lines_of(
    task: Task, rng: np.random.Generator, limits: Limits
) -> tuple[np.ndarray, list[float]]:
    samples = list(draw_samples(task, rng, limits))
    model = RCQ(calibration="null", random_state=0).fit(task.labeled)
    if not model.part_.rule.enough_positives:
        return np.empty((0, len(banks.COLUMNS["RCQ"]))), []
    lines = model._view(*(model.count(sample.rows) for sample in samples)).features
    return lines, [sample.prevalence for sample in samples]


def _fresh_task(name: str, number: int) -> tuple[np.ndarray, list[float], float]:
    rng = stream(FRESH_SEED if name in FIRST_ROUND else SECOND_SEED, f"{name} {number}")
    task = FRESH[name](rng, LIMITS["RCQ"])
    return *lines_of(task, rng, LIMITS["RCQ"]), separation(task, rng)


def separation(task: Task, rng: np.random.Generator) -> float:
    """Area under the ROC curve of boosting, positives against negatives, in five folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    sides = [
        task.positives(min(1000, task.most_positives), rng),
        task.negatives(min(1000, task.most_negatives), rng),
    ]
    model = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
    classes = np.repeat([1, 0], [len(side) for side in sides])
    return cross_val_score(model, np.concatenate(sides), classes, scoring="roc_auc", cv=5).mean()


def fresh(bank: Bank, n_jobs: int, n_tasks: int = 120) -> None:
    calibration = learning.learn(bank, {}, n_jobs)
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
        area = np.array([area for _, _, told, area in found for _ in told])
        old, new = before(lines, bank.columns), after(calibration, lines)
        kinds = [(name, family == name) for name in families]
        kinds += [
            ("AUC >= .95", area >= STRONG_OVERLAP),
            ("strong overlap, AUC .8 to .95", (area >= 0.8) & (area < STRONG_OVERLAP)),
            ("hardly apart, AUC < .8", area < 0.8),
        ]
        kinds += list(strata(lines, bank.columns, truth))
        rows = [compared(name, truth, k, old, new) for name, k in kinds if k.sum() >= 20]
        print_rows(rows, HEAD)
        print_levels(truth, old, new)


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


def experiment_1(bank: Bank, n_jobs: int, repetitions: int = 5) -> None:
    left = LeftOut(bank, n_jobs)
    rows, of_six = [], []
    for key, kin in PAPER.items():
        rows.append(_experiment_1(key, left.without(kin), repetitions))
        if len(key) == 1:
            of_six.append([float(cell.split()[0]) for cell in rows[-1][2:]])
    means = np.mean(of_six, axis=0)
    rows.append(["mean of the six", "", *(f"{x:.3g}" for x in means)])
    print_rows(rows, HEAD)


def _experiment_1(key: str, calibration: Calibration, repetitions: int) -> list[str]:
    data = load(key)
    lines, truth = [], []
    for place in protocols.places("1", data, repetitions):
        positives, drawn = protocols.draw(data, place, 0)
        samples = list(drawn)
        model = RCQ(calibration="null", random_state=0).fit(positives)
        lines.append(model._view(*(model.count(sample.rows) for sample in samples)).features)
        truth += [sample.truth for sample in samples]
    block, known = np.concatenate(lines), np.array(truth)
    old, new = before(block, calibration.columns_), after(calibration, block)
    return compared(key, known, np.ones(len(known), bool), old, new)


def constructed(bank: Bank, n_jobs: int) -> None:
    """Experiment #1 with the constructed overlaps, which are in no bank."""
    calibration = learning.learn(bank, {}, n_jobs)
    print_rows([_experiment_1(key, calibration, 5) for key in overlaps.NAMES], HEAD)


def growth(bank: Bank, n_jobs: int) -> None:
    """Error and coverage as positives and rows grow, where a part of the negatives overlaps."""
    left = LeftOut(bank, n_jobs)
    network = next(source for source in sources() if source.name == "vowels_network")
    rows = []
    for n_labeled, n_rows in (
        (100, 1000),
        (300, 3000),
        (1000, 10000),
        (3000, 30000),
        (5000, 50000),
    ):
        found = Parallel(n_jobs=n_jobs)(
            delayed(_grown)(network, n_labeled, n_rows, i) for i in range(120)
        )
        lines = np.concatenate([line for line, _ in found])
        truth = np.array([p for _, p in found])
        old, new = before(lines, bank.columns), after(left.without("japanese_vowels"), lines)
        rows.append(compared(f"B, n_L {n_labeled:,}, n_U {n_rows:,}", truth, truth >= 0, old, new))
    print_rows(rows, HEAD)


def _grown(network: Source, n_labeled: int, n_rows: int, number: int) -> tuple[np.ndarray, float]:
    """One speaker against one other, whose rows are without limit."""
    rng = stream(FRESH_SEED, f"growth {number}")
    kinds = rng.permutation(np.unique(network.classes))
    ours, theirs = (network.features[network.classes == kind] for kind in kinds[:2])
    p = rng.random()
    ours = ours[rng.permutation(len(ours))]
    n_positive = min(round(p * n_rows), len(ours) - n_labeled)
    n_negative = min(n_rows - round(p * n_rows), len(theirs))
    sample = np.concatenate(
        [
            ours[n_labeled : n_labeled + n_positive],
            theirs[rng.choice(len(theirs), n_negative, replace=False)],
        ]
    )
    model = RCQ(calibration="null", random_state=0).fit(ours[:n_labeled])
    return model._view(model.count(sample)).features, n_positive / len(sample)


def overlap(bank: Bank, n_jobs: int) -> None:
    """Some tasks of each source, apart by how well boosting tells their classes apart."""
    real, new = LeftOut(bank, n_jobs).answers()
    old = before(real.lines, real.columns)
    area = np.full(len(real.truth), np.nan)
    for source in sources():
        areas = Parallel(n_jobs=n_jobs)(
            delayed(_separation_of)(source, number) for number in REPORTED
        )
        for number, found in zip(REPORTED, areas, strict=True):
            area[(real.source == source.name) & (real.task == number)] = found
    kinds = {
        "AUC >= .95": area >= STRONG_OVERLAP,
        "strong overlap, AUC < .95": area < STRONG_OVERLAP,
        "of these AUC .8 to .95": (area >= 0.8) & (area < STRONG_OVERLAP),
        "of these AUC < .8": area < 0.8,
    }
    print_rows([compared(name, real.truth, kept, old, new) for name, kept in kinds.items()], HEAD)


def _separation_of(source: Source, number: int) -> float:
    task, _ = draw_task(source, LIMITS["RCQ"], 0, number)
    return separation(task, stream(FRESH_SEED, f"overlap {source.name} {number}"))


def peers(bank: Bank, n_jobs: int, n_tasks: int = 40) -> None:
    """All methods on samples of tasks with references, apart by how strongly classes overlap."""
    left = LeftOut(bank, n_jobs)
    left_reference = LeftOut(read_bank(sorted(ARGUMENTS.reference.glob("*.bank"))), n_jobs)
    table: dict[str, list] = {"strong overlap": [], "other tasks": []}
    for source in sources():
        rcq = left.without(source.kin)
        own = left_reference.without(source.kin)
        found = Parallel(n_jobs=n_jobs)(
            delayed(_all_methods)(source, number, rcq, own) for number in range(n_tasks)
        )
        for kind, errors in found:
            table[kind].append(errors)
    for kind, errors in table.items():
        block = np.array(errors, float)
        names = ("RCQ before", "RCQ", "TRCQ before", "TRCQ", "PAT", "DEDPUL", "BBE")
        head = ("MAE", "95 % held", "width")
        print(f"{kind}: {len(block)} samples\n")
        rows = []
        for name, (error, held, width) in zip(names, block.transpose(1, 2, 0), strict=True):
            # A method may refuse the positives, or give no interval.
            answered, ends = ~np.isnan(error), ~np.isnan(held)
            cells = [f"{100 * error[answered].mean():.2f}"]
            if ends.any():
                cells += [wilson(int(held[ends].sum()), int(ends.sum()))]
                cells += [f"{100 * width[ends].mean():.1f}"]
            rows.append([name, str(answered.sum()), *cells])
        print_rows([row + [""] * (5 - len(row)) for row in rows], ["method", "n", *head])


def _all_methods(source: Source, number: int, rcq: Calibration, trcq: Calibration) -> tuple:
    warnings.simplefilter("ignore")
    task, (sample, *_) = draw_task(source, LIMITS["RCQ-reference"], 0, number)
    area = separation(task, stream(FRESH_SEED, f"overlap {source.name} {number}"))
    answers = []
    for model in (
        RCQ(calibration="null", random_state=0),
        RCQ(calibration=rcq, random_state=0),
        TRCQ(calibration="null", random_state=0),
        TRCQ(calibration=trcq, random_state=0),
        PAT(random_state=0),
        DEDPUL(random_state=0),
        BBE(random_state=0),
    ):
        try:
            answer = model.fit(as_given(task, task.labeled)).quantify(as_given(task, sample.rows))
        except ValueError:
            answers.append((np.nan, np.nan, np.nan))
            continue
        error, interval = abs(float(answer) - sample.prevalence), answer.interval
        answers.append(
            (error, float(sample.prevalence in interval), interval.width)
            if interval
            else (error, np.nan, np.nan)
        )
    return ("strong overlap" if area < STRONG_OVERLAP else "other tasks"), answers


COMMANDS = {
    "left-out": left_out,
    "ablation": ablation,
    "fresh": fresh,
    "experiment-1": experiment_1,
    "constructed": constructed,
    "growth": growth,
    "overlap": overlap,
    "few-positives": few_positives,
    "verdict": verdict_table,
    "peers": peers,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--reference", type=Path, help="the bank with references, for `peers`")
    parser.add_argument("--jobs", type=int, default=-1)
    ARGUMENTS = parser.parse_args()
    bank = read_bank(sorted(ARGUMENTS.bank.glob("*.bank")))
    COMMANDS[ARGUMENTS.command](bank, ARGUMENTS.jobs)
