"""Whether recall and elusion of a review, by the labels of an audit, hold.

    python -m benchmarks.accuracy.review > benchmarks/results/review.md  # needs POSCOUNT_DATA

The samples of `audit.py`, clean and drifted, with a tenth, 30 and 50 % positives. The review keeps
the rows that are nearest to the labelled positives: so many that it has 80 or 95 % of the sample's
positives. *Held*: the share of the intervals, which hold at all looks together with a probability
of .95, that hold the truth.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.accuracy.audit import Sample, audit_of, numeric
from benchmarks.printing import print_rows
from poscount import RCQ
from poscount.errors import InputError

RECALLS, SIZES, N_DRAWS = (0.8, 0.95), (100, 300), 3
KINDS = ("clean", "drift: all rows shifted")


def kept_by(sample: Sample, recall: float) -> np.ndarray:
    """The rows nearest to the labelled positives, with about this share of the positives."""
    labeled, rows = (t.to_pandas().to_numpy() for t in (sample.labeled, sample.rows))
    spread = np.where(labeled.std(axis=0) > 0, labeled.std(axis=0), 1)
    near = -np.abs((rows - labeled.mean(axis=0)) / spread).mean(axis=1)
    return near >= np.quantile(near[sample.positive], 1 - recall)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    lines = []
    for number, sample in enumerate(numeric(N_DRAWS)):
        share = sample.positive.mean()
        if sample.kind not in KINDS or share > 0.6:
            continue
        model = RCQ(random_state=0).fit(sample.labeled)
        for n, recall in product(SIZES, RECALLS):
            kept = kept_by(sample, recall)
            truth = {
                "recall": kept[sample.positive].mean(),
                "elusion": sample.positive[~kept].mean(),
            }
            try:
                found = audit_of(model, sample, n, number).review(kept)
            except InputError:  # all rows were kept
                continue
            for name, value in truth.items():
                rate = getattr(found, name)
                low, high = rate.interval
                held = low - 1e-9 <= value <= high + 1e-9
                error = abs(rate.value - value)
                lines.append((sample.kind, name, recall, n, held, error, high - low))
    heads = ["samples", "rate", "true recall", "labels", "held", "error", "width"]
    rows = [
        [
            *(kind, name, f"{recall:g}", str(n), f"{part.held.mean():.3f} of {len(part)}"),
            *(f"{100 * part[column].mean():.1f}" for column in ("error", "width")),
        ]
        for (kind, name, recall, n), part in pd.DataFrame(
            lines, columns=["kind", "name", "recall", "n", "held", "error", "width"]
        ).groupby(["kind", "name", "recall", "n"], sort=False)
    ]
    print_rows(rows, heads)


if __name__ == "__main__":
    main()
