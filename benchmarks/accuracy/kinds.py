"""Positives of several kinds: error and intervals, with and without unlabeled rows to learn from.

    python -m benchmarks.accuracy.kinds  # by the null calibration
    python -m benchmarks.accuracy.kinds bank-rcq bank-reference bank-kinds

Without the first of the three banks, RCQ from positives alone has the null calibration. With those
of ``python -m research calibrate``, every answer is by a calibration that was learned without the
table and its kin. *Kinds* is SubclassRCQ, which looks for them itself. Where unlabeled rows are
learned from, they are the sample.

*Protocols*: those of PULSNAR's authors, and the like for other tables. A sample is negatives and as
many positives as make the share f, of which the rarest kind gives 1 part, the next 2, then 4 and so
on; all other positives are labelled. In tables other than theirs, five kinds are a sixth of the
classes each, what is left are negatives, and at most half of each kind is in a sample.

*One kind*: what looking for kinds costs on ordinary tables, where positives are one class, and
labelled ones a random draw.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.calibration import Calibrations
from benchmarks.printing import print_rows
from poscount import RCQ, Prevalence, SubclassRCQ
from poscount.calibration.calibration import Calibration
from poscount.seeds import stream
from poscount.training.bank import as_given, read_bank
from poscount.training.sources import Source
from research.shipped_calibrations import bank_source, sources

# Classes of the sources are numbered in the order of their names: kinds, negatives, shares.
PULSNAR = {
    "letter": ((0, 1, 2, 4, 5), 3, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    "anuran_calls": ((1, 3), 2, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)),
}
LIKEWISE = ("otto_products", "leaf_flavia", "outdoor_objects", "storms")
N_KINDS, SHARES = 5, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
ORDINARY = (
    *("arabic_digit", "handwritten_qg", "htru2", "japanese_vowels", "letter", "pendigits"),
    *("sklearn_digits", "wine", "authorship", "occupancy_detection", "outdoor_objects"),
    "wall_robot",
)
MOST_LABELED, MOST_ROWS = 600, 1_000
WAYS = ("RCQ", "RCQ, unlabeled rows", "kinds", "kinds, unlabeled rows")
HEAD = ["table", "samples", "method", "MAE", "bias", "95 % held", "width"]


class Drawn(NamedTuple):
    """Labelled positives, a sample, and its prevalence."""

    source: Source
    labeled: np.ndarray
    sample: np.ndarray
    truth: float


def by_protocol(source: Source, draws: int) -> Iterator[Drawn]:
    """Samples of each share, with kinds in powers of two."""
    if source.name in PULSNAR:
        classes, negative, shares = PULSNAR[source.name]
        kinds, negatives = [np.array([kind]) for kind in classes], np.array([negative])
    else:
        classes = np.unique(source.classes)
        ends = len(classes) // (N_KINDS + 1) * np.arange(1, N_KINDS + 1)
        *kinds, negatives = np.split(classes, ends)
        shares = SHARES
    sizes = np.array([np.isin(source.classes, kind).sum() for kind in kinds])
    order, parts = np.argsort(sizes, kind="stable"), 2.0 ** np.arange(len(kinds))
    others = np.flatnonzero(np.isin(source.classes, negatives))
    n_negative = len(others)
    if source.name not in PULSNAR:
        # Of the largest share, no kind is to give more than half of its rows.
        most = (sizes[order] / 2 / (parts / parts.sum())).min()
        n_negative = min(n_negative, int(most * (1 - max(shares)) / max(shares)))
    for f in shares:
        for draw in range(draws):
            rng = stream(draw, f"{source.name} {f}")
            pools = [
                rng.permutation(np.flatnonzero(np.isin(source.classes, kinds[k]))) for k in order
            ]
            counts = np.round(n_negative * f / (1 - f) * parts / parts.sum()).astype(int)
            taken = [pool[:n] for pool, n in zip(pools, counts, strict=True)]
            labeled = [pool[n:] for pool, n in zip(pools, counts, strict=True)]
            sample = np.concatenate([*taken, rng.permutation(others)[:n_negative]])
            yield Drawn(
                source,
                source.features[np.concatenate(labeled)],
                source.features[sample],
                counts.sum() / len(sample),
            )


def of_one_kind(source: Source, draws: int) -> Iterator[Drawn]:
    """Samples in which the positives are one class."""
    for p in (0.1, 0.3, 0.6):
        for draw in range(draws):
            rng = stream(draw, f"{source.name} one kind {p}")
            names, sizes = np.unique(source.classes, return_counts=True)
            own = source.classes == rng.choice(names[sizes >= min(200, sizes.max())])
            ours, others = (rng.permutation(np.flatnonzero(mask)) for mask in (own, ~own))
            n_labeled = min(MOST_LABELED, len(ours) // 2)
            n = int(min(MOST_ROWS, (len(ours) - n_labeled) / p, len(others) / (1 - p)))
            n_positive = round(p * n)
            sample = [ours[n_labeled : n_labeled + n_positive], others[: n - n_positive]]
            yield Drawn(
                source,
                source.features[ours[:n_labeled]],
                source.features[np.concatenate(sample)],
                n_positive / n,
            )


def answers_to(drawn: Drawn, calibrations: list[Calibration | str]) -> list[Prevalence]:
    """Answers in all ways, by calibrations of RCQ, of RCQ with unlabeled rows, and of kinds."""
    warnings.simplefilter("ignore")
    labeled, sample = (as_given(drawn.source, rows) for rows in (drawn.labeled, drawn.sample))
    plain, reference, kinds = calibrations
    models = [
        RCQ(calibration=plain, random_state=0).fit(labeled),
        RCQ(calibration=reference, random_state=0).fit(labeled, unlabeled=sample),
        SubclassRCQ(calibration=kinds, random_state=0).fit(labeled),
        SubclassRCQ(calibration=kinds, random_state=0).fit(labeled, unlabeled=sample),
    ]
    return [model.quantify(sample) for model in models]


def rows_of(name: str, drawn: list[Drawn], answers: list[list[Prevalence]]) -> list[list[str]]:
    """A line of the table for each way."""
    truth = np.array([each.truth for each in drawn])
    rows = []
    for way, said in zip(WAYS, zip(*answers, strict=True), strict=True):
        error = np.array(said, float) - truth
        low, high = np.array([tuple(answer.interval)[:2] for answer in said]).T
        held = ((low <= truth) & (truth <= high)).mean()
        rows.append(
            [
                *(name, str(len(truth)), way),
                *(f"{100 * np.abs(error).mean():.2f}", f"{100 * error.mean():+.2f}"),
                *(f"{held:.3f}", f"{100 * (high - low).mean():.1f}"),
            ]
        )
    return rows


def print_table(
    sources_of_table: list[Source],
    draw: Callable[[Source, int], Iterator[Drawn]],
    learned: list[Calibrations],
    draws: int,
    jobs: int,
) -> None:
    """Print a table with all ways for each source, and for all samples together."""
    rows, all_drawn, all_answers = [], [], []
    for source in sources_of_table:
        own = [each.without(source.kin) for each in learned]
        calibrations = [*["null"] * (3 - len(own)), *own]
        drawn = list(draw(source, draws))
        answers = Parallel(jobs)(delayed(answers_to)(each, calibrations) for each in drawn)
        rows += rows_of(source.name, drawn, answers)
        all_drawn += drawn
        all_answers += answers
    print_rows([*rows, *rows_of("together", all_drawn, all_answers)], HEAD)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("banks", type=Path, nargs="*", help="RCQ's, RCQ-reference's, RCQ-kinds's")
    parser.add_argument("--tables", nargs="*", default=[], help="only those of these names")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    banks = [read_bank(sorted(folder.glob("*.bank"))) for folder in arguments.banks]
    learned = [Calibrations(bank, arguments.jobs) for bank in banks]
    known = {source.name: source for source in sources()}
    for title, draw, names in (
        ("PULSNAR's protocols", by_protocol, PULSNAR),
        ("The like", by_protocol, LIKEWISE),
        ("One kind", of_one_kind, ORDINARY),
    ):
        chosen = [name for name in names if name in (arguments.tables or names)]
        if chosen:
            print(f"{title}\n")
            tables = [known.get(name) or bank_source(name) for name in chosen]
            print_table(tables, draw, learned, arguments.draws, arguments.jobs)


if __name__ == "__main__":
    main()
