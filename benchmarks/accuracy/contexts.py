"""Samples from one context of the positives (a decade, a week, a sex), and clean random samples.

Answers to each sample: with all columns and all positives (what RCQ said before); with the
positives of the sample's context, as RCQ does now; fitted without the column; and by SubclassRCQ,
for which the column names kinds of positives, so that it need not be in the sample. The first table
is of groups by the column, the second of random samples, in which nothing should change.

    python benchmarks/accuracy/contexts.py            # needs POSCOUNT_DATA

The limits were chosen on seeds 0 to 3 (``contexts.py 0``); what is reported comes from seeds 10 to
13: other labelled positives, other rows and other classes of the tables of random samples.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from poscount import RCQ, SubclassRCQ
from poscount.errors import InputError
from poscount.methods.regions.estimate import estimate_part

PENGUINS = Path(__file__).parents[2] / "tests" / "penguins.csv"
SHARES = (0.0, 0.05, 0.1, 0.3, 0.6, 0.9)
FEWEST_OF_CONTEXT = 30
CLEAN = (
    *("letter", "pendigits", "wine", "htru2", "japanese_vowels", "bank/anneal", "bank/nursery"),
    *("bank/adult", "bank/storms", "bank/leaf_flavia", "bank/occupancy_detection", "bank/soybean"),
    *("bank/german_credit", "bank/cardiotocography", "bank/credit_card_default", "bank/yrbss"),
)


def read(name: str) -> pd.DataFrame:
    """A table of the folder of data."""
    return pd.read_csv(Path(os.environ["POSCOUNT_DATA"]) / f"{name}.csv.gz")


def tasks():
    """Name, columns, which rows are positive, and the column that is the context."""
    penguins = pd.read_csv(PENGUINS).dropna().reset_index(drop=True)
    for species in ("Adelie", "Gentoo", "Chinstrap"):
        y = (penguins.species == species).to_numpy()
        yield f"penguins {species} by year", penguins.drop(columns="species"), y, "year"
        yield f"penguins {species} by sex", penguins.drop(columns="species"), y, "sex"
    storms = read("bank/storms")
    storms["decade"] = storms.year // 10 * 10
    for kind in storms["class"].value_counts().index[:3]:
        columns = storms.drop(columns=["class", "name", "year"])
        yield f"storms {kind} by decade", columns, (storms["class"] == kind).to_numpy(), "decade"
    rooms = read("bank/occupancy_detection")
    week = pd.to_datetime(rooms.date).dt.isocalendar().week.astype(int).to_numpy()
    columns = rooms.drop(columns=["class", "date"]).assign(week=week)
    yield "occupancy by week", columns, (rooms["class"] == 1).to_numpy(), "week"
    birds = read("bank/bird_strikes")
    columns = ["ac_mass", "num_engs", "time_of_day", "height", "speed", "sky", "birds_seen"]
    for kind in ("Approach", "Take-off run"):
        y = (birds["class"] == kind).to_numpy()
        yield f"bird strikes {kind} by mass", birds[columns], y, "ac_mass"
    squirrels = read("bank/squirrel_census")
    columns = ["X", "Y", "Shift", "Age", "Location", "Running", "Climbing", "Eating", "Foraging"]
    y = (squirrels["class"] == "Gray").to_numpy()
    yield "squirrels by shift", squirrels[columns], y, "Shift"


def drawn(rng, positives, negatives, share, most=400):
    """Rows with this share of positives, as many as there are; None if these are fewer than 30."""
    n = most
    while n >= 30 and (round(share * n) > len(positives) or n - round(share * n) > len(negatives)):
        n = int(0.8 * n)
    if n < 30:
        return None
    k = round(share * n)
    return np.concatenate([rng.permutation(positives)[:k], rng.permutation(negatives)[: n - k]])


def answers(model, rows):
    """The answer now, and that by all positives."""
    counts = model.count(rows)
    view = model._view(counts)
    plain = estimate_part(view, model.calibration_, model.confidence, model.recognisable)
    return model.estimate(counts), float(plain.value[0])


def halves(rng, y, most=600):
    """Labelled positives, other positives, and negatives."""
    positives = rng.permutation(np.flatnonzero(y))
    half = min(len(positives) // 2, most)
    return positives[:half], positives[half:], np.flatnonzero(~y)


def in_contexts(seeds):
    """A line for each group, share and seed."""
    for name, columns, y, by in tasks():
        for seed in seeds:
            rng = np.random.default_rng(seed)
            labelled, hidden, negatives = halves(rng, y)
            model = RCQ(random_state=seed).fit(columns.iloc[labelled], features=list(columns))
            others = [column for column in columns if column != by]
            less = RCQ(random_state=seed).fit(columns.iloc[labelled], features=others)
            kinds = kinds_of_context(columns.iloc[labelled], by, seed)
            for value in columns[by].unique():
                same = (columns[by] == value).to_numpy()
                for share in SHARES:
                    rows = drawn(rng, hidden[same[hidden]], negatives[same[negatives]], share)
                    if rows is None:
                        continue
                    now, plain = answers(model, columns.iloc[rows])
                    sample = columns.iloc[rows]
                    refitted = less.quantify(sample)
                    by_kinds = None if kinds is None else kinds.quantify(sample)
                    yield _line(name, y[rows].mean(), now, plain, refitted, by_kinds)


def kinds_of_context(positives, by, seed):
    """SubclassRCQ with the contexts as kinds, or None if one of them has too few positives."""
    sizes = positives[by].value_counts()
    common = positives[positives[by].isin(sizes.index[sizes >= FEWEST_OF_CONTEXT])]
    try:
        return SubclassRCQ(by, random_state=seed).fit(common)
    except InputError:
        return None


def clean(seeds):
    """A line for each table, share and seed."""
    for name in CLEAN:
        if not (Path(os.environ["POSCOUNT_DATA"]) / f"{name}.csv.gz").exists():
            continue
        table = read(name)
        classes = table["class"].value_counts()
        columns = table.drop(columns="class")
        few = [c for c in columns if is_numeric_dtype(columns[c]) or columns[c].nunique() <= 30]
        columns = columns[few]
        for seed in seeds:
            rng = np.random.default_rng(seed)
            kind = classes.index[seed % min(len(classes), 7)]
            y = (table["class"] == kind).to_numpy()
            labelled, hidden, negatives = halves(rng, y, 400)
            if len(labelled) < 20:
                continue
            model = RCQ(random_state=seed).fit(columns.iloc[labelled], features=list(columns))
            for share in (0.0, 0.01, 0.02, 0.05, 0.1, 0.3, 0.6, 0.9):
                for most in (30, 100, 1000):
                    rows = drawn(rng, hidden, negatives, share, most)
                    if rows is not None:
                        now, plain = answers(model, columns.iloc[rows])
                        yield _line(name, y[rows].mean(), now, plain, now, None)


def _line(name, truth, now, plain, refitted, by_kinds):
    codes = [w.severity for w in now.warnings if w.code == "context-column"]
    return {
        "task": name,
        "samples": 1,
        "before": abs(plain - truth),
        "now": abs(now - truth),
        "without the column": abs(refitted - truth),
        "as kinds": np.nan if by_kinds is None else abs(by_kinds - truth),
        "as kinds inside": np.nan if by_kinds is None else truth in by_kinds.interval,
        "inside": now.interval.low <= truth <= now.interval.high,
        "compared": "note" in codes,
        "doubted": "check" in codes,
        "quiet and wrong": abs(now - truth) > 0.15
        and truth not in now.interval
        and all(w.severity == "note" for w in now.warnings),
        "share": round(truth, 2),
    }


def show(lines):
    """Means of each task."""
    table = pd.DataFrame(lines)
    means = table.drop(columns="share").groupby("task", sort=False).mean()
    means["samples"] = table.groupby("task").samples.sum()
    print(means.astype(float).round(3).to_string(), "\n")
    print(table.drop(columns=["task", "share"]).astype(float).mean().round(4).to_string(), "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    show(in_contexts(range(first, first + 3)))
    show(clean(range(first, first + 4)))
