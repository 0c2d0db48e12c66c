"""What each part of RCQ is good for: parts taken away or changed, on the tuning data alone.

python -m research.tuning.rcq_ablation  # all variants, the table of docs/rcq.md
python -m research.tuning.rcq_ablation --positives 30 60 100  # few positives, with PAT beside it
python -m research.tuning.rcq_ablation --confirm --variants RCQ "calibration, exponent 4"  # once

`research/tuning/rcq_split.md` says which data are for tuning. All variants see the same models and
the same counts; a variant changes the rule, or leaves regions out. Errors are in points.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from poscount.methods.regions.region_counter import PAT_SHARES

from poscount import RCQ
from poscount.methods.pat import tail_ratios
from poscount.methods.regions import regions
from poscount.methods.regions.layout import BANDS, FEATURE_QUANTILES
from poscount.methods.regions.rule import RegionCounts, Regions
from research import datasets
from research.datasets import overlaps
from research.experiments import protocols

# Odd index, and not the positive class of the paper.
TUNING = [
    f"{letter}:positive={positive}"
    for letter, classes in {"L": "BHPZ", "P": "1379", "A": "1379", "vowels": "2468"}.items()
    for positive in classes
]
# Even index, and the sets of the paper.
CONFIRMATION = ["A", "C", "L", "P", "R", "W", "vowels", "q-g"] + [
    f"{letter}:positive={positive}"
    for letter, classes in {"L": "CIQY", "P": "0246", "A": "2468", "vowels": "3579"}.items()
    for positive in classes
]


def plug_in_bounds(in_sample, n_unlabeled, in_positives, n_labeled):
    """Bounds with the variance at the ratio itself."""
    share = in_positives / n_labeled
    ratio = in_sample / n_unlabeled / share
    spread = 2 * np.log(in_sample.shape[1]) * (1 - share) / share
    half = np.sqrt(spread * (ratio**2 / n_labeled + ratio / n_unlabeled))
    return ratio, ratio - half, ratio + half


def bounds_with(n_regions: Callable[[int], float]) -> Callable[..., Any]:
    """Bounds as if there were another number of regions."""
    original = regions.bounds

    def changed(in_sample, *others):
        with mock.patch.object(regions.math, "log", lambda R: np.log(n_regions(R))):
            return original(in_sample, *others)

    return changed


def patches(**changes: Any) -> Callable[[], ExitStack]:
    def enter() -> ExitStack:
        stack = ExitStack()
        for name, value in changes.items():
            stack.enter_context(mock.patch.object(regions, name, value))
        return stack

    return enter


def no_null() -> ExitStack:
    stack = ExitStack()
    stack.enter_context(mock.patch.object(Regions, "_draw_null_ratio", return_value=1.0))
    return stack


def exponent(value: float) -> Callable[[], ExitStack]:
    original = regions.calibrated
    return patches(calibrated=lambda ratio, null, _: original(ratio, null, value))


RULES: dict[str, Callable[[], ExitStack]] = {
    "RCQ": patches(),
    "variance at the ratio (plug-in)": patches(bounds=plug_in_bounds),
    "no bound: smallest ratio (ln R = 0)": patches(bounds=bounds_with(lambda R: 1.0 + 1e-12)),
    "k^2 = 2 ln sqrt(R)": patches(bounds=bounds_with(lambda R: R**0.5)),
    "k^2 = 2 ln R^1.5": patches(bounds=bounds_with(lambda R: R**1.5)),
    "single best region": patches(BANDWIDTH=1e-6),
    "weights half as wide": patches(BANDWIDTH=0.35),
    "weights twice as wide": patches(BANDWIDTH=1.4),
    "no calibration": no_null,
    "calibration, exponent 0": exponent(0),
    "calibration, exponent 1": exponent(1),
    "calibration, exponent 4": exponent(4),
}


def of_bands(*kept: int) -> Callable[[np.ndarray, np.ndarray, int], np.ndarray]:
    return lambda band, cut, n: np.isin(band, kept)


# Which regions stay, from their band, their cut and the number of feature cuts per side.
REGIONS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "no bands (any score only)": of_bands(0),
    "no shell": of_bands(*range(len(BANDS) - 1)),
    "bands any, .25, .5 only": of_bands(0, 2, 4),
    "no cuts (bands only)": lambda band, cut, n: cut == 0,
    "no feature cuts": lambda band, cut, n: (cut == 0) | (cut > 2 * n),
    "no clusters": lambda band, cut, n: cut <= 2 * n,
    "two cuts a feature (.4, .6)": lambda band, cut, n: (
        (cut == 0) | (cut > 2 * n) | np.isin((cut - 1) % len(FEATURE_QUANTILES), (1, 2))
    ),
}


def tasks(names: list[str], seed: int, folds: int) -> Iterator[tuple[str, np.ndarray, list[Any]]]:
    """Name, positives and samples of every task; two constructed data sets of each kind."""
    sets = [(name.partition(":")[0], datasets.load(name), seed) for name in names]
    for name in overlaps.NAMES:
        for i in (seed, seed + 1):
            features = overlaps.generate(name, i).features
            sets.append((name, dataclasses.replace(datasets.load(name), features=features), i))
    for name, data, i in sets:
        for fold in range(folds):
            place = protocols.Place("1", data.key, "", seed, fold)
            positives, samples = protocols.draw(data, place, i)
            yield name, positives, list(samples)


def answers(model: RCQ, counts: RegionCounts, wanted: list[str]) -> dict[str, np.ndarray]:
    """Prevalences by variant."""
    found = {}
    for name in [name for name in RULES if name in wanted]:
        enter = RULES[name]
        with enter(), np.errstate(all="ignore"):
            found[name] = fresh(model).find(counts).prevalence
    band, cut = np.divmod(model.part_.rule.indices, model.part_.rule.layout.cuts.shape[1])
    for name in [name for name in REGIONS if name in wanted]:
        kept, some = REGIONS[name](band, cut, model.cuts_.size), fresh(model)
        some.indices, some.in_positives = some.indices[kept], some.in_positives[kept]
        if len(some.indices) > 1:
            found[name] = some.find(counts).prevalence
    return found


def fresh(model: RCQ) -> Regions:
    """The regions of a model without the calibrations that it keeps."""
    own = model.part_.rule
    return Regions(own.layout, own.binned, own.thresholds, own.names, own.seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--positives", type=int, nargs="+", default=[500])
    parser.add_argument("--confirm", action="store_true", help="on the other half of the data")
    parser.add_argument("--variants", nargs="+", default=[*RULES, *REGIONS])
    arguments = parser.parse_args()
    errors: dict[tuple[str, int, str], list[np.ndarray]] = {}
    data = (CONFIRMATION, 0) if arguments.confirm else (TUNING, 100)
    for task, positives, samples in tasks(*data, arguments.folds):
        for n_labeled in arguments.positives:
            model = RCQ(random_state=0).fit(positives[:n_labeled])
            counted = [model.count(sample.rows) for sample in samples]
            found = answers(model, model.count_in_regions(*counted), arguments.variants)
            _, beside = model.split_cells(np.array([counts.cells for counts in counted]))
            pat = np.median(tail_ratios(beside.pat_cells, PAT_SHARES), axis=-1)
            found["PAT, same score"] = np.minimum(1, pat)
            truth = np.array([sample.truth for sample in samples])
            for variant, values in found.items():
                errors.setdefault((variant, n_labeled, task), []).append(values - truth)
    show(errors, arguments.positives)


def show(errors: dict[tuple[str, int, str], list[np.ndarray]], sizes: list[int]) -> None:
    names = list(dict.fromkeys(task for _, _, task in errors))
    variants = list(dict.fromkeys(variant for variant, _, _ in errors))
    for n_labeled in sizes:
        print(f"\nup to {n_labeled} positives")
        print(f"| variant | {' | '.join(names)} | real | overlaps | bias at p .7-.9 there |")
        print("|---" * (len(names) + 4) + "|")
        for variant in variants:
            of = {t: 100 * np.concatenate(errors[variant, n_labeled, t]) for t in names}
            cells = [f"{np.abs(of[t]).mean():.2f}" for t in names]
            for kind in (False, True):
                some = [np.abs(of[t]).mean() for t in names if t.startswith("overlap") == kind]
                cells.append(f"{np.mean(some):.2f}")
            high = [of[t].reshape(-1, 11)[:, 7:10] for t in names if t.startswith("overlap")]
            cells.append(f"{np.mean(high):+.1f}")
            print(f"| {variant} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
