"""Tables of many columns: error and intervals of RCQ and PAT. Texts are in `text.py`.

    python -m benchmarks.accuracy.wide

Tables are widened in three ways. *x 1000* multiplies the standardised features by a random matrix
with 1,000 columns; *noisy 1000* adds noise of half its standard deviation to each of these columns;
*beside 1000* keeps the features and puts columns of noise beside them. The projection was chosen on
the classes of odd index of the digits and the spoken digits, and on other texts; what is reported
are the classes of even index, and q and g. Samples have 500 rows, or as many as the positives
suffice for, and true shares of .1 to 1.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.printing import print_rows
from poscount import PAT, RCQ, Mahalanobis
from poscount.seeds import stream
from research.datasets import load

PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
N_ROWS = 500
VARIANTS = ("original", "x 1000", "noisy 1000", "beside 1000")
# Positive classes, and numbers of labelled positives.
TABLES = {
    "digits": ((0, 2, 4, 6, 8), (90,)),
    "arabic_digit": ((0, 2, 4, 6, 8), (100, 400)),
    "handwritten_qg": ((0, 1), (200, 1000)),
}


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and class numbers of a data set."""
    if name == "digits":
        return load_digits(return_X_y=True)
    data = load(name)
    classes = np.unique(data.labels, return_inverse=True)[1]
    return np.asarray(data.features, float), classes


def widened(rows: np.ndarray, variant: str, rng: np.random.Generator) -> np.ndarray:
    """The features multiplied, with noise in each or beside them, to a number of columns."""
    kind, _, width = variant.partition(" ")
    if not width:
        return rows
    varying = rows[:, np.ptp(rows, axis=0) > 0]
    z = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    if kind == "beside":
        return np.hstack([z, rng.normal(size=(len(z), int(width) - z.shape[1]))])
    wide = z @ rng.normal(size=(z.shape[1], int(width)))
    if kind == "noisy":
        wide += wide.std(axis=0) / 2 * rng.normal(size=wide.shape)
    return wide


def answers(
    rows: np.ndarray, positive: np.ndarray, n_labeled: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, bool]]:
    """Method, error and whether the interval holds, of a sample of each share."""
    ours, others = (rng.permutation(np.flatnonzero(positive == x)) for x in (True, False))
    labeled, rest = np.split(ours, [n_labeled])
    models = {
        "RCQ": RCQ(random_state=0),
        "PAT": PAT(scorer=Mahalanobis("ledoit-wolf"), random_state=0),
    }
    for model in models.values():
        model.fit(rows[labeled])
    for p in PREVALENCES:
        n = min(N_ROWS, int(len(rest) / p))
        k = round(n * p)
        sample = rows[np.concatenate([rng.permutation(rest)[:k], rng.permutation(others)[: n - k]])]
        for name, model in models.items():
            answer = model.quantify(sample)
            yield name, abs(answer - k / n), k / n in answer.interval


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    rows = []
    for name, (classes, sizes) in TABLES.items():
        features, labels = table(name)
        for variant in VARIANTS:
            found: dict[tuple[int, str], list[tuple[float, bool]]] = {}
            for positive in classes:
                rng = stream(0, f"{name} {variant} {positive}")
                wide = widened(features, variant, rng)
                for n_labeled in sizes:
                    for method, *outcome in answers(wide, labels == positive, n_labeled, rng):
                        found.setdefault((n_labeled, method), []).append(outcome)
            for (n_labeled, method), outcomes in found.items():
                error, held = np.mean(outcomes, axis=0)
                cells = [f"{100 * error:.1f}", f"{held:.2f}"]
                rows.append([f"{name} {variant}", f"{n_labeled:,}", method, *cells])
    print_rows(rows, ["data", "positives", "method", "MAE", "95 % held"])


if __name__ == "__main__":
    main()
