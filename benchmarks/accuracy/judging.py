"""Whether the intervals of `evaluate` hold, on tables whose labels are known.

    python -m benchmarks.accuracy.judging > benchmarks/results/judging.md   # needs POSCOUNT_DATA
    python -m benchmarks.accuracy.judging --others  # the tables that formulas were chosen on

Twenty tables: the twelve that no shipped calibration has learned from, and eight that it has. Five
draws of each: a logistic regression learns half of the labelled positives against unlabeled rows;
the other half and a new sample go to `evaluate`, with its true share or with RCQ's answer. *Held*:
the share of 95 % intervals that cover what the sample's labels say; *error*: the mean distance from
it, in points. The naive way takes the sample for negatives.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.printing import print_rows
from poscount import RCQ, evaluate
from poscount.errors import InputError
from poscount.judging.evaluation import AREAS, Evaluation
from poscount.judging.scores import RATES
from poscount.results.distribution import Rate
from poscount.seeds import stream
from poscount.training.tasks import Limits, Task, draw_real
from research.calibrations.sources import as_numbers
from research.shipped_calibrations import UNTOUCHED, bank_source

LEARNED = (
    *("occupancy_detection", "wall_robot", "otto_products", "leaf_flavia"),
    *("cardiotocography", "qsar_biodeg", "authorship", "transport_mode"),
)
OTHERS = (
    *("anneal", "churn", "eeg_eye_state", "hypothyroid", "nursery", "stroke", "yeast_ml8"),
    *("volcanoes_d1", "theorem_proving", "jm1", "outdoor_objects", "soybean", "covtype_reduced"),
    *("mnist_5k", "storms", "sick", "ozone_level_8hr", "cylinder_bands", "hotel_rates"),
    "gesture_phase",
)
LIMITS = Limits(n_labeled=600, n_rows=1_500, n_samples=1)
FEWEST = 80
SHARES = (0.05, 0.1, 0.2, 0.4, 0.7)
RECALLS = (0.5, 0.8, 0.95)


class Line(NamedTuple):
    """One number about one classifier, beside what the labels say."""

    table: str
    way: str
    name: str
    held: bool
    error: float
    width: float
    naive: float


def tasks(table: str) -> Iterator[tuple[int, Task]]:
    """Five tasks of a table with enough labelled positives."""
    source, number, found = as_numbers(bank_source(table)), 0, 0
    while found < len(SHARES) and number < 100:
        task = draw_real(source, stream(0, f"judging {table} {number}"), LIMITS)
        if len(task.labeled) >= FEWEST:
            yield number, task
            found += 1
        number += 1


def rows_of(task: Task, share: float, rng: np.random.Generator) -> tuple:
    """Rows to learn from, 30 % positive; a sample with this share; and which of it are positive.

    No row is in both: a classifier scores positives that it has taken for negatives too low.
    """
    n_others = min(500, int(task.most_positives / 2 / 0.3), int(task.most_negatives / 2 / 0.7))
    n_known = round(0.3 * n_others)
    left = task.most_positives - n_known, task.most_negatives - (n_others - n_known)
    n = min(1000, int(left[0] / share), int(left[1] / (1 - share)))
    n_positive = round(share * n)
    positives = task.positives(n_known + n_positive, rng)
    negatives = task.negatives(n_others - n_known + n - n_positive, rng)
    others = np.vstack([positives[:n_known], negatives[: n_others - n_known]])
    sample = np.vstack([positives[n_known:], negatives[n_others - n_known :]])
    return others, sample, np.arange(n) < n_positive


def lines_of(table: str) -> list[Line]:
    """Lines of all tasks of a table."""
    warnings.simplefilter("ignore")
    lines: list[Line] = []
    for share, (number, task) in zip(SHARES, tasks(table), strict=False):
        rng = stream(0, f"judging {table} {number} samples")
        learn, held_out = np.array_split(task.labeled, 2)
        others, sample, positive = rows_of(task, share, rng)
        if positive.sum() < 5:
            continue
        rows = np.vstack([learn, others])
        scorer = make_pipeline(
            SimpleImputer(), StandardScaler(), LogisticRegression(class_weight="balanced")
        ).fit(rows, np.arange(len(rows)) < len(learn))
        ours, theirs = (scorer.decision_function(x) for x in (held_out, sample))
        try:
            answer = RCQ(random_state=0).fit(learn, unlabeled=others).quantify(sample)
        except ValueError:  # nearly all columns are constant
            continue
        for way, p in (("known", positive.mean()), ("RCQ's answer", answer)):
            try:
                found = evaluate(ours, theirs, p, random_state=number)
            except InputError:  # an answer of 0
                continue
            lines += compared(table, way, found, ours, theirs, positive)
    return lines


def compared(
    table: str,
    way: str,
    found: Evaluation,
    ours: np.ndarray,
    theirs: np.ndarray,
    positive: np.ndarray,
) -> Iterator[Line]:
    """Everything that an evaluation says, beside what the labels say."""

    def line(name: str, rate: Rate, truth: float, naive: float = np.nan) -> Line:
        error, low, high = abs(rate.value - truth), rate.interval.low, rate.interval.high
        return Line(table, way, name, low <= truth <= high, error, high - low, abs(naive - truth))

    for recall in RECALLS:
        threshold = float(np.quantile(ours, 1 - recall))
        rates, above = found.at(threshold), theirs >= threshold
        hits, taken = (above & positive).sum(), (ours >= threshold).sum()
        truth = {
            "recall": hits / positive.sum(),
            "precision": hits / above.sum() if above.any() else 1.0,
            "false_positive_rate": (above & ~positive).sum() / (~positive).sum(),
            "f1": 2 * hits / (positive.sum() + above.sum()),
            "elusion": (positive.sum() - hits) / max((~above).sum(), 1),
        }
        naive = {"precision": taken / (taken + above.sum()), "false_positive_rate": above.mean()}
        for name in RATES:
            yield line(name, getattr(rates, name), truth[name], naive.get(name, np.nan))
    labels, scores = np.arange(len(ours) + len(theirs)) < len(ours), np.append(ours, theirs)
    areas = zip(AREAS, (roc_auc_score, average_precision_score), strict=True)
    for name, area in areas:
        yield line(name, getattr(found, name), area(positive, theirs), area(labels, scores))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", action="store_true")
    names = OTHERS if parser.parse_args().others else (*UNTOUCHED, *LEARNED)
    parts = Parallel(2)(delayed(lines_of)(table) for table in names)
    rows = []
    for way in ("known", "RCQ's answer"):
        for name in (*RATES, *AREAS):
            of_tables = [[x for x in part if (x.way, x.name) == (way, name)] for part in parts]
            of_tables = [part for part in of_tables if part]
            held = [np.mean([x.held for x in part]) for part in of_tables]
            every = [x for part in of_tables for x in part]
            error, width, naive = (
                100 * np.mean([getattr(x, key) for x in every])
                for key in ("error", "width", "naive")
            )
            spread = np.std(held) / len(held) ** 0.5
            rows.append(
                [
                    *(way, name.replace("_", " "), f"{len(every)} of {len(of_tables)} tables"),
                    f"{np.mean(held):.3f} ({spread:.3f})",
                    *(f"{error:.1f}", f"{width:.1f}", "" if np.isnan(naive) else f"{naive:.1f}"),
                ]
            )
    print_rows(rows, ["prevalence", "rate", "numbers", "held", "error", "width", "naive error"])


if __name__ == "__main__":
    main()
