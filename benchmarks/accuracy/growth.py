"""Error and width as the tables grow, and with unlabeled rows that are unlike the sample.

    python -m benchmarks.accuracy.growth            # up to 50,000 positives and 1,000,000 rows
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


def network(n_labeled: int, n_rows: int, share: float, seed: int) -> tuple[np.ndarray, ...]:
    """Labelled positives, a sample, and 5,000 other rows of which a tenth is positive."""
    drawn = sample_vowels_network(n_rows=4 * (n_labeled + n_rows) * 3 + 200_000, random_state=seed)
    positive = drawn.is_positive
    ours, theirs = drawn.features[positive], drawn.features[~positive]
    return _split(ours, theirs, n_labeled, n_rows, share)


def clear_cut(n_labeled: int, n_rows: int, share: float, seed: int) -> tuple[np.ndarray, ...]:
    """The same of two clusters, eight standard deviations apart in each of four columns."""
    rng = np.random.default_rng(seed)
    ours = rng.normal(size=(n_labeled + n_rows + 500, 4))
    return _split(ours, rng.normal(size=(n_rows + 4_500, 4)) + 8, n_labeled, n_rows, share)


def _split(
    ours: np.ndarray, theirs: np.ndarray, n_labeled: int, n_rows: int, share: float
) -> tuple[np.ndarray, ...]:
    k = min(round(share * n_rows), len(ours) - n_labeled - 500)
    n = min(round(k / share), k + len(theirs) - 4_500)
    labeled, sampled, spare = np.split(ours, [n_labeled, n_labeled + k])
    sample = np.concatenate([sampled, theirs[4_500 : 4_500 + n - k]])
    return labeled, sample, np.concatenate([spare[:500], theirs[:4_500]])


def growth() -> None:
    """Print the table of sizes."""
    rows = []
    for name, draw in (("network of B", network), ("clear-cut", clear_cut)):
        for n_labeled, n_rows in SIZES:
            found = []
            for share in SHARES:
                labeled, sample, reference = draw(n_labeled, n_rows, share, 0)
                truth = min(round(share * n_rows), len(sample)) / len(sample)
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
    warnings.simplefilter("ignore")
    (unlike if parser.parse_args().unlike else growth)()
