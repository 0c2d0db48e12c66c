"""Error and width as the tables grow, and with unlabeled rows that are unlike the sample.

    python -m benchmarks.accuracy.growth            # up to 50,000 positives and 1,000,000 rows
    python -m benchmarks.accuracy.growth --rare     # one positive in 1,000 to 100,000 rows
    python -m benchmarks.accuracy.growth --unlike   # references of another kind

Growth is shown on rows of the network that stands for the paper's set B, which has as many as one
likes: speaker 1 among nine, 12 columns, in which negatives coincide with a part of the positives;
and on clusters that are clearly apart. Unlike references are shown on twelve real tables of the
bank, by the shipped calibration.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.accuracy.calibration import print_rows
from poscount import PAT, RCQ
from poscount.seeds import stream
from poscount.training.bank import as_given, draw_task
from poscount.training.sources import Source
from poscount.training.tasks import Limits, Task, draw_reference
from research.calibrations import as_numbers
from research.datasets import sample_vowels_network
from research.shipped_calibrations import sources

SIZES = ((200, 1_000), (1_000, 10_000), (5_000, 100_000), (50_000, 1_000_000))
SHARES = (0.05, 0.3, 0.7)
# Rare positives: how many are labelled, of how many rows one is positive, and draws of each.
LABELED, ONE_IN, N_ROWS, N_DRAWS = (200, 1_000, 5_000), (1_000, 10_000, 100_000), 1_000_000, 5
UNLIKE = (
    "without any",
    "other rows of the table",
    "50 rows",
    "negatives only",
    "positives only",
    "equal to the labelled positives",
    "every column shuffled",
    "rows of another table",
)
NUMBERS = range(7_000, 7_003)


Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def network(n_labeled: int, n_rows: int, share: float, seed: int) -> Drawn:
    """Labelled positives, a sample, 5,000 other rows, a tenth of them positive, and the truth."""
    n = round(1.3 * n_rows + 10 * (n_labeled + share * n_rows)) + 20_000
    drawn = sample_vowels_network(n_rows=n, random_state=seed)
    positive = drawn.is_positive
    ours, theirs = drawn.features[positive], drawn.features[~positive]
    return _split(ours, theirs, n_labeled, n_rows, share)


def clear_cut(n_labeled: int, n_rows: int, share: float, seed: int) -> Drawn:
    """The same of two clusters, eight standard deviations apart in each of four columns."""
    rng = np.random.default_rng(seed)
    ours = rng.normal(size=(n_labeled + n_rows + 500, 4))
    return _split(ours, rng.normal(size=(n_rows + 4_500, 4)) + 8, n_labeled, n_rows, share)


def _split(
    ours: np.ndarray, theirs: np.ndarray, n_labeled: int, n_rows: int, share: float
) -> Drawn:
    k = min(round(share * n_rows), len(ours) - n_labeled - 500)
    n = min(round(k / share), k + len(theirs) - 4_500)
    labeled, sampled, spare = np.split(ours, [n_labeled, n_labeled + k])
    sample = np.concatenate([sampled, theirs[4_500 : 4_500 + n - k]])
    reference = np.concatenate([spare[:500], theirs[:4_500]])
    return labeled, sample, reference, len(sampled) / len(sample)


def growth() -> None:
    """Print the table of sizes."""
    rows = []
    for name, draw in (("network of B", network), ("clear-cut", clear_cut)):
        for n_labeled, n_rows in SIZES:
            found = []
            for share in SHARES:
                labeled, sample, reference, truth = draw(n_labeled, n_rows, share, 0)
                models = [
                    RCQ(random_state=0).fit(labeled),
                    RCQ(random_state=0).fit(labeled, unlabeled=reference),
                    PAT(random_state=0).fit(labeled),
                ]
                answers = [model.quantify(sample) for model in models]
                found.append([(float(p) - truth, *p.interval, truth) for p in answers])
            for way, each in zip(
                ("RCQ", "RCQ, 5,000 unlabeled rows", "PAT"),
                np.array(found).transpose(1, 2, 0),
                strict=True,
            ):
                error, low, high, truth = each
                held = int(((low <= truth) & (truth <= high)).sum())
                cells = [name, f"{n_labeled:,}", f"{n_rows:,}", way]
                cells += [f"{100 * np.abs(error).mean():.1f}", f"{100 * (high - low).mean():.1f}"]
                rows.append([*cells, f"{held} of {len(SHARES)}"])
    print_rows(rows, ["data", "positives", "rows", "method", "error", "width", "held"])


def rare() -> None:
    """Print the table of rare positives."""
    rows = []
    for name, draw in (("network of B", network), ("clear-cut", clear_cut)):
        for n_labeled in LABELED:
            for one_in in ONE_IN:
                found = []
                for seed in range(N_DRAWS):
                    drawn = draw(n_labeled, N_ROWS, 1 / one_in, seed)
                    labeled, sample, reference, truth = drawn
                    models = [
                        RCQ(random_state=0).fit(labeled),
                        RCQ(random_state=0).fit(labeled, unlabeled=reference),
                        RCQ(recognisable=True, random_state=0).fit(labeled, unlabeled=reference),
                        PAT(random_state=0).fit(labeled),
                    ]
                    answers = [model.quantify(sample) for model in models]
                    found.append([(float(p), *p.interval, truth) for p in answers])
                ways = ("RCQ", "RCQ, unlabeled rows", "the same, recognisable", "PAT")
                for way, each in zip(ways, np.array(found).transpose(1, 2, 0), strict=True):
                    value, low, high, truth = each
                    held = int(((low <= truth) & (truth <= high)).sum())
                    per_mille = (1000 * np.median(x) for x in (truth, value, low, high))
                    cells = [name, f"{n_labeled:,}", f"{one_in:,}", way]
                    rows.append([*cells, *(f"{x:.3f}" for x in per_mille), f"{held} of {N_DRAWS}"])
    print_rows(
        rows,
        ["data", "positives", "one in", "method", "truth", "value", "low", "high", "held"],
    )


def references(task: Task, stranger: Source, rng: np.random.Generator) -> list[np.ndarray | None]:
    """Unlabeled rows of each of the kinds `UNLIKE`."""
    other = draw_reference(task, rng)
    n_columns = task.labeled.shape[1]
    rows = stranger.features[rng.choice(len(stranger.features), 1_000)]
    strange = rows[:, rng.choice(rows.shape[1], n_columns)]
    return [
        None,
        other,
        other[rng.choice(len(other), 50)],
        task.negatives(min(2_000, task.most_negatives), rng),
        task.positives(min(2_000, task.most_positives), rng),
        task.labeled,
        rng.permuted(other, axis=0),
        strange,
    ]


def unlike() -> None:
    """Print the table of references."""
    tables = [as_numbers(source) for source in sources()][:12]
    errors, held = [], []
    for i, table in enumerate(tables):
        for number in NUMBERS:
            task, (sample,) = draw_task(table, Limits(1_000, 2_000, 1), 0, number)
            rng = stream(0, f"{table.name} {number} unlike")
            given = references(task, tables[i - 1], rng)
            answers = []
            for reference in given:
                more = {} if reference is None else {"unlabeled": as_given(task, reference)}
                model = RCQ(random_state=0).fit(as_given(task, task.labeled), **more)
                answers.append(model.quantify(as_given(task, sample.rows)))
            errors.append([abs(float(p) - sample.prevalence) for p in answers])
            held.append([sample.prevalence in p.interval for p in answers])
    found = 100 * np.array(errors)
    paired = found - found[:, :1]
    rows = [
        [
            name,
            f"{found[:, k].mean():.1f}",
            f"{paired[:, k].mean():+.1f} ({paired[:, k].std(ddof=1) / np.sqrt(len(found)):.1f})",
            f"{np.mean(held, axis=0)[k]:.2f}",
        ]
        for k, name in enumerate(UNLIKE)
    ]
    print_rows(rows, ["unlabeled rows", "error", "beside none (standard error)", "held"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unlike", action="store_true")
    parser.add_argument("--rare", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    (unlike if arguments.unlike else rare if arguments.rare else growth)()
