"""Several targets at once, and labelled negatives: error and intervals, on data not learned from.

The split is in `targets_split.md`. First make the bank, and the two calibrations that are shipped,

    python -m research calibrate --method rcq-groups --bank bank-groups -o rcq-groups.npz
    python -m research calibrate --method rcq-other --bank bank-groups -o rcq-other.npz

then, each table in Markdown:

    python -m benchmarks.accuracy.targets bank-groups  # everything
    python -m benchmarks.accuracy.targets bank-groups --only left-out  # the bank's, by the others
    python -m benchmarks.accuracy.targets bank-groups --only targets --sets A B
    python -m benchmarks.accuracy.targets bank-groups --only negatives
    python -m benchmarks.accuracy.targets --only few  # two clear targets, few positives

*one RCQ each* is a model for each target, with the calibration that is shipped, which has seen
these data sets, as MultiRCQ's has not; answers are scaled down to a total of 1 where they exceed
it. QuaPy's methods have logistic regression, and know nothing of "other": what they say is about
the targets alone. Sets with a star were tuned on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.calibration import LEVELS, Calibrations
from benchmarks.printing import print_rows
from poscount import RCQ, MultiRCQ
from poscount.calibration.calibration import Calibration
from poscount.results.distribution import ends_at
from poscount.seeds import stream
from poscount.training.bank import read_bank
from poscount.training.sources import Source
from research.shipped_calibrations import sources

# Reported; the others were tuned on.
SETS = {
    "A": "arabic_digit",
    "L": "letter",
    "B": "vowels_network",
    "P": "pendigits",
    "vowels": "japanese_vowels",
}
TUNED = ("P", "vowels")
NUMBERS_OF_TARGETS = (3, 5, 8)
FIRST_SEED = 1000
N_REPETITIONS, N_SAMPLES = 2, 6
MOST_LABELED, MOST_ROWS = 300, 2_000
ZERO = 0.2
SHARES_KNOWN = (0.0, 0.25, 0.5, 1.0)
N_POSITIVE_CLASSES = 3


class Drawn(NamedTuple):
    """Labelled rows of each target, samples, and true shares of the targets in each."""

    labeled: list[np.ndarray]
    samples: list[np.ndarray]
    truth: np.ndarray


def draw_targets(source: Source, n_targets: int, repetition: int) -> Drawn:
    """Some classes as targets, all others as "other"."""
    rng = stream(FIRST_SEED + repetition, f"targets {source.name} {n_targets}")
    classes = rng.permutation(np.unique(source.classes))
    pools = [_rows(source, [kind], rng) for kind in classes[:n_targets]]
    labeled = [pool[: min(MOST_LABELED, len(pool) // 2)] for pool in pools]
    rest = [pool[len(rows) :] for pool, rows in zip(pools, labeled, strict=True)]
    rest.append(_rows(source, classes[n_targets:], rng))
    samples, truth = [], []
    for _ in range(N_SAMPLES):
        shares = rng.dirichlet(np.ones(n_targets + 1))
        shares[:-1][rng.random(n_targets) < ZERO] = 0
        rows, true = _sample(rest, shares / shares.sum(), rng)
        samples.append(rows)
        truth.append(true[:-1])
    return Drawn(labeled, samples, np.array(truth))


def _rows(source: Source, classes: list, rng: np.random.Generator) -> np.ndarray:
    return source.features[rng.permutation(np.flatnonzero(np.isin(source.classes, classes)))]


def _sample(
    pools: list[np.ndarray], shares: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    available = np.array([len(pool) for pool in pools])
    n = int(min(MOST_ROWS, (available / np.maximum(shares, 1e-9)).min()))
    sizes = np.minimum(rng.multinomial(n, shares), available)
    rows = [
        pool[rng.choice(len(pool), size, replace=False)]
        for pool, size in zip(pools, sizes.tolist(), strict=True)
    ]
    return np.concatenate(rows), sizes / sizes.sum()


class Told(NamedTuple):
    """Shares of targets and of "other" in samples, and the ends of their intervals if there are."""

    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def without_interval(cls, shares: np.ndarray) -> Told:
        """Of a method that gives no intervals."""
        shares = np.column_stack([shares, 1 - shares.sum(axis=1)])
        return cls(shares, np.full(shares.shape, np.nan), np.full(shares.shape, np.nan))


def one_rcq_each(drawn: Drawn) -> Told:
    models = [RCQ(random_state=0).fit(rows) for rows in drawn.labeled]
    shares = np.array([[float(m.quantify(rows)) for m in models] for rows in drawn.samples])
    return Told.without_interval(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1))


def multi(drawn: Drawn, pairs: dict[str, list[Calibration | None]]) -> dict[str, Told]:
    """By one model, with several pairs of calibrations: of a target, and of "other"."""
    named = {f"{k:02d}": rows for k, rows in enumerate(drawn.labeled)}
    model = MultiRCQ(calibration="null", random_state=0).fit(named)
    counts = [model.count(rows) for rows in drawn.samples]
    found = {}
    for way, pair in pairs.items():
        model.groups_calibration_, model.other_calibration_ = pair
        answers = [list(model.estimate(each).values()) for each in counts]
        ends = [[(p.interval.low, p.interval.high) for p in answer] for answer in answers]
        low, high = np.moveaxis(np.array(ends), -1, 0)
        found[way] = Told(np.array(answers, dtype=float), low, high)
    return found


def supervised(drawn: Drawn) -> dict[str, Told]:
    import quapy
    from quapy.method.aggregative import ACC, EMQ, PCC

    quapy.environ["_R_SEED"] = 0
    rows = np.vstack(drawn.labeled)
    labels = np.repeat(np.arange(len(drawn.labeled)), [len(part) for part in drawn.labeled])
    found = {}
    for kind in (EMQ, PCC, ACC):
        np.random.seed(0)  # noqa: NPY002 (QuaPy's folds)
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model = kind(classifier).fit(rows, labels)
        shares = np.array([model.predict(sample) for sample in drawn.samples])
        found[kind.__name__] = Told.without_interval(shares)
    return found


def left_out_calibrations(folder: Path, jobs: int) -> tuple[Calibrations, Calibrations]:
    files = sorted(folder.glob("*.bank"))
    banks = read_bank(files), read_bank(files, "RCQ-other")
    groups, other = (Calibrations(bank, jobs) for bank in banks)
    return groups, other


def chosen_sources(keys: list[str]) -> Iterator[tuple[str, Source]]:
    found = {source.name: source for source in sources()}
    for key in keys:
        yield key, found[SETS[key]]


SUPERVISED = ("EMQ", "PCC", "ACC")
WAYS = ("one RCQ each", "MultiRCQ, null", "MultiRCQ", *SUPERVISED)


def targets(left: tuple[Calibrations, Calibrations], keys: list[str]) -> None:
    """Errors of a target / of "other" for each way; intervals of MultiRCQ."""
    rows = []
    for key, source in chosen_sources(keys):
        pair: list[Calibration | None] = [each.without(source.kin) for each in left]
        name = f"{key}*" if key in TUNED else key
        of_set = []
        for n_targets in NUMBERS_OF_TARGETS:
            numbers = []
            drawn = [draw_targets(source, n_targets, i) for i in range(N_REPETITIONS)]
            told = [
                {
                    "one RCQ each": one_rcq_each(one),
                    **multi(one, {"MultiRCQ, null": [None, None], "MultiRCQ": pair}),
                    **supervised(one),
                }
                for one in drawn
            ]
            truth = np.concatenate([one.truth for one in drawn])
            truth = np.column_stack([truth, 1 - truth.sum(axis=1)])
            for way in WAYS:
                parts = zip(*(each[way] for each in told), strict=True)
                numbers.append(judged(Told(*map(np.concatenate, parts)), truth))
            of_set.append(numbers)
            rows.append([name, str(n_targets), *_cells(numbers)])
        rows.append([name, "mean", *_cells(np.mean(of_set, axis=0))])
    print_rows(rows, ["set", "targets", *WAYS, "held", "other held", "width"])


def judged(told: Told, truth: np.ndarray) -> list[float]:
    """Errors of a target and of "other", how often intervals hold, and their mean width."""
    error = np.abs(told.shares - truth)
    held = np.where(np.isnan(told.low), np.nan, (told.low <= truth) & (truth <= told.high))
    width = told.high - told.low
    return [
        *(100 * error[:, :-1].mean(), 100 * error[:, -1].mean()),
        *(held[:, :-1].mean(), held[:, -1].mean(), 100 * width[:, :-1].mean()),
    ]


def _cells(numbers: np.ndarray | list[list[float]]) -> list[str]:
    _, _, held, other_held, width = numbers[WAYS.index("MultiRCQ")]
    errors = [f"{each[0]:.2f} / {each[1]:.2f}" for each in numbers]
    return [*errors, f"{held:.3f}", f"{other_held:.3f}", f"{width:.1f}"]


# Labelled negatives


def negatives(left: tuple[Calibrations, Calibrations]) -> None:
    rows = []
    for key, source in chosen_sources(["A", "L", "P"]):
        pair = [each.without(source.kin) for each in left]
        errors: dict[tuple[float, str], list[list[float]]] = {}
        for repetition in range(N_REPETITIONS):
            rng = stream(FIRST_SEED + repetition, f"negatives {source.name}")
            classes = rng.permutation(np.unique(source.classes))
            for positive in classes[:N_POSITIVE_CLASSES]:
                for known, way, found in _of_class(source, positive, pair, rng):
                    errors.setdefault((known, way), []).extend(found)
        for known in SHARES_KNOWN:
            error, held, width = np.mean(errors[known, "RCQ"], axis=0)
            others = [errors.get((known, way)) for way in SUPERVISED]
            rows.append(
                [
                    *(f"{key}*" if key in TUNED else key, f"{known:g}", f"{100 * error:.2f}"),
                    *(f"{held:.3f}", f"{100 * width:.1f}"),
                    *(
                        "" if one is None else f"{100 * np.mean(one, axis=0)[0]:.2f}"
                        for one in others
                    ),
                ]
            )
    print_rows(rows, ["set", "negative kinds known", "RCQ", "held", "width", *SUPERVISED])


def _of_class(
    source: Source, positive: int, pair: list[Calibration], rng: np.random.Generator
) -> Iterator[tuple[float, str, list[list[float]]]]:
    """Errors, whether intervals hold, and their widths, for each share of the kinds known."""
    others = rng.permutation(np.setdiff1d(np.unique(source.classes), [positive]))
    pools = [_rows(source, [kind], rng) for kind in [positive, *others]]
    labeled = [pool[: min(MOST_LABELED, len(pool) // 2)] for pool in pools]
    rest = [pool[len(rows) :] for pool, rows in zip(pools, labeled, strict=True)]
    samples = []
    for _ in range(N_SAMPLES):
        p = rng.random()
        shares = np.concatenate([[p], (1 - p) * rng.dirichlet(np.ones(len(others)))])
        samples.append(_sample(rest, shares, rng))
    for share in SHARES_KNOWN:
        n_known = round(share * len(others))
        kinds = {f"{k:02d}": rows for k, rows in enumerate(labeled[1 : 1 + n_known])}
        if n_known:
            model = RCQ(calibration=pair[0], random_state=0).fit(labeled[0], negatives=kinds)
            model.other_calibration_ = pair[1]
        else:
            model = RCQ(random_state=0).fit(labeled[0])
        found = []
        for rows, true in samples:
            answer = model.quantify(rows)
            held = answer.interval.low <= true[0] <= answer.interval.high
            found.append([abs(answer - true[0]), held, answer.interval.width])
        yield share, "RCQ", found
        if n_known:
            drawn = Drawn(
                [labeled[0], np.vstack(list(kinds.values()))],
                [rows for rows, _ in samples],
                np.empty(0),
            )
            truth = np.array([true[0] for _, true in samples])
            for way, told in supervised(drawn).items():
                errors = np.abs(told.shares[:, 0] - truth)
                yield share, way, [[error, np.nan, np.nan] for error in errors]


# The bank's own samples


def few() -> None:
    """Two targets four standard deviations apart in each of three columns, with few positives."""
    rows = []
    for n_labeled in (30, 60, 100, 200, 400):
        told = []
        for seed in range(40):
            rng = np.random.default_rng([seed, n_labeled])
            one, two = (rng.normal(size=(n_labeled, 3)) + centre for centre in (0, 4))
            sample = np.vstack([rng.normal(size=(50, 3)), rng.normal(size=(150, 3)) + 4])
            share = MultiRCQ(random_state=0).fit({"one": one, "two": two}).quantify(sample)["one"]
            alone = RCQ(random_state=0).fit(one).quantify(sample)
            error = 100 * abs(share - 0.25)
            told.append([100 * abs(alone - 0.25), error, error > 20, 0.25 in share.interval])
        alone, together, far_off, held = np.mean(told, axis=0).tolist()
        errors = [f"{alone:.1f}", f"{together:.1f}"]
        rows.append([str(n_labeled), *errors, f"{far_off:.2f}", f"{held:.2f}"])
    heads = ["positives", "RCQ alone", "MultiRCQ", "off by > 20", "held"]
    print_rows(rows, heads)


def left_out(left: tuple[Calibrations, Calibrations]) -> None:
    """Each source by calibrations that were learned without it and its kin."""
    rows = []
    for name, each in zip(("a target", "other"), left, strict=True):
        bank = each.bank.part(np.isin(each.bank.kin, list(each.part_of_kin)))
        before = np.abs(bank.lines[:, bank.columns.index("prevalence")] - bank.truth)
        after, held = np.empty(len(bank.truth)), np.empty((len(LEVELS), len(bank.truth)), bool)
        width = np.empty(len(bank.truth))
        for kin in each.part_of_kin:
            own, calibration = bank.kin == kin, each.without(kin)
            truth = bank.truth[own]
            # The last column, whether tasks are recognisable, is not told.
            answers, _ = calibration.estimate(bank.lines[own, :-1], bank.columns[:-1], 0.95)
            after[own] = np.abs(answers.value - truth)
            for i, level in enumerate(LEVELS):
                low, high = ends_at(answers.quantiles, level)
                held[i, own] = (low <= truth) & (truth <= high)
                if level == 0.95:
                    width[own] = high - low
        for source in [*np.unique(bank.source), "all"]:
            here = (bank.source == source) | (source == "all")
            rows.append(
                [
                    *(name, str(source), str(here.sum())),
                    *(f"{100 * before[here].mean():.2f}", f"{100 * after[here].mean():.2f}"),
                    *(f"{level:.3f}" for level in held[:, here].mean(axis=1)),
                    f"{100 * width[here].mean():.1f}",
                ]
            )
    levels = [f"{100 * level:g} % held" for level in LEVELS]
    print_rows(rows, ["share of", "source", "n", "MAE before", "after", *levels, "width"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("bank", type=Path, nargs="?")
    parser.add_argument("--only", choices=["left-out", "targets", "negatives", "few"])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.only in (None, "few"):
        print("few\n")
        few()
    if arguments.only == "few":
        raise SystemExit
    calibrations = left_out_calibrations(arguments.bank, arguments.jobs)
    if arguments.only in (None, "left-out"):
        print("left-out\n")
        left_out(calibrations)
    if arguments.only in (None, "targets"):
        print("targets\n")
        targets(calibrations, arguments.sets)
    if arguments.only in (None, "negatives"):
        print("negatives\n")
        negatives(calibrations)
