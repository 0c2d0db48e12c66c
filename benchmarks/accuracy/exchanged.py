"""How often the check for exchanged tables speaks: of clean samples, and of exchanged tables.

    python benchmarks/accuracy/exchanged.py            # needs POSCOUNT_DATA

Positives of one class; clean samples of 30, 100, as many as the positives, and 1,000 rows at some
shares; then a sample of up to 1,000 rows given as the positives, and these, or 60 of them, as the
sample. The limits were chosen on seeds 0, 1 and 20 to 32 (``exchanged.py 20``); what is reported
comes from seeds 40 to 42. The other column is the share of samples with `code-among-positives`.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmarks.accuracy.contexts import CLEAN, read
from poscount import RCQ

MORE = ("gesture_phase", "steel_plates_fault", "wall_robot", "transport_mode", "houses")
TABLES = (*CLEAN, *(f"bank/{name}" for name in (*MORE, "banknote", "mammography")))


def rows_of(positives, negatives, n, share):
    """Places of the rows of a sample, or None if there are too few."""
    k = round(share * n)
    if k > len(positives) or n - k > len(negatives):
        return None
    return np.concatenate([positives[:k], negatives[: n - k]])


def line(name, kind, answer, truth, **more):
    """What is said of an answer."""
    codes = {warning.code for warning in answer.warnings}
    return {
        "task": name,
        "kind": kind,
        "exchanged": "swapped-tables" in codes,
        "code": "code-among-positives" in codes,
        "off": abs(answer - truth) > 0.15,
        "quiet": all(warning.severity == "note" for warning in answer.warnings),
        **more,
    }


def lines(seeds):
    """A line for each answer."""
    for name in TABLES:
        try:
            table = read(name)
        except FileNotFoundError:
            continue
        columns = table.drop(columns="class")
        few = [c for c in columns if is_numeric_dtype(columns[c]) or columns[c].nunique() <= 30]
        columns, classes = columns[few], table["class"].value_counts()
        for seed in seeds:
            rng = np.random.default_rng(seed)
            y = (table["class"] == classes.index[seed % min(len(classes), 7)]).to_numpy()
            positives = rng.permutation(np.flatnonzero(y))
            negatives = rng.permutation(np.flatnonzero(~y))
            n = min(len(positives) // 2, 400)
            labelled, hidden = positives[:n], positives[n:]
            if n < 20:
                continue
            model = RCQ(random_state=seed).fit(columns.iloc[labelled], features=few)
            for share in (0, 0.02, 0.1, 0.3, 0.6, 0.9, 1):
                for size in (30, 100, n, 1000):
                    rows = rows_of(hidden, negatives, size, share)
                    if rows is not None:
                        answer = model.quantify(columns.iloc[rows])
                        kind = "clean, fewer rows" if size < n else "clean, more rows"
                        yield line(name, kind, answer, share)
            for share in (0.05, 0.1, 0.3, 0.5):
                size = 1000
                while size > n and rows_of(hidden, negatives, size, share) is None:
                    size = int(0.8 * size)
                rows = rows_of(hidden, negatives, size, share)
                if rows is None or size <= n:
                    continue
                wrong = RCQ(random_state=seed).fit(columns.iloc[rows], features=few)
                for given in (n, min(n, 60)):
                    answer = wrong.quantify(columns.iloc[labelled[:given]])
                    yield line(name, "exchanged", answer, share)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    found = pd.DataFrame(lines(range(first, first + 3)))
    shares = found.groupby("kind")[["exchanged", "code", "off", "quiet"]].mean()
    print(shares.assign(answers=found.groupby("kind").size()).round(4).to_string(), "\n")
    wrong = found[(found.kind == "exchanged") & found.off]
    print(
        f"Exchanged and off by more than 15 points: {len(wrong)}, said {wrong.exchanged.mean():.3f}"
    )
    said = found[(found.kind != "exchanged") & found.exchanged]
    print("Clean and said:", said.groupby("task").size().to_dict())
