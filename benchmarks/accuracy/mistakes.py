"""The mistakes that people make, and what the verdict says about each.

    python -m benchmarks.accuracy.mistakes > benchmarks/results/mistakes.md   # needs POSCOUNT_DATA

Six tables from which nothing was learned, three tasks of each with six samples: one mistake at a
time, RCQ with the sample to learn from and without. An answer is *wrong* if it is off by more than
15 points and the truth is outside of its 95 % interval, and *quiet* if there is no reason to doubt.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks.accuracy.calibration import print_rows
from poscount import RCQ
from poscount.errors import InputError
from poscount.seeds import stream
from poscount.training.bank import table_of
from poscount.training.tasks import Limits, draw_real
from research.shipped_calibrations import bank_source
from research.verdict.breaks import Case, case

TABLES = ("banknote", "cells", "credit_card_default", "houses", "mammography", "steel_plates_fault")
N_TASKS = 3
SHARES = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
# Name of the break (`research.verdict.breaks.CHANGES`) and its strength.
MISTAKES = {
    "nothing": ("clean", 0.0),
    "running number as a feature": ("running number", 1.0),
    "sample normalised by rows": ("rows normalised", 1.0),
    "each table standardised by itself": ("scaled by itself", 1.0),
    "each table scaled to 0 to 1 by itself": ("range by itself", 1.0),
    "sample standardised, by the positives' scale": ("sample scaled", 0.3),
    "sample standardised": ("sample scaled", 0.7),
    "one column in other units": ("units", 0.0),
    "one column or all as logarithms": ("logarithms", 1.0),
    "columns reversed": ("reversed", 1.0),
    "two columns exchanged": ("exchanged", 1.0),
    "rounded": ("rounded", 0.5),
    "clipped": ("clipped", 0.5),
    "another sensor (.5 sd)": ("another sensor", 0.83),
    "column sorted or shifted by a row": ("misaligned", 1.0),
    "decimal point lost in 20 %": ("lost points", 0.25),
    "gaps filled with the mean": ("imputed", 0.5),
    "hours, positives by day only": ("some contexts", 0.6),
    "positives of one side or one kind": ("one side", 0.5),
    "labelled positives also in the sample": ("clean", 1.0),
    "tables swapped": ("swapped", 1.0),
    "10 % negatives among the positives": ("contaminated", 0.2),
    "20 % negatives among the positives": ("contaminated", 0.6),
    "30 % negatives among the positives": ("contaminated", 1.0),
}
INSIDE = "labelled positives also in the sample"
LIMITS = Limits(n_labeled=800, n_rows=1_500, n_samples=1)


def lines_of(table: str, number: int) -> list[dict[str, object]]:
    """A line for each sample, mistake and way."""
    warnings.simplefilter("ignore")
    task = draw_real(bank_source(table), stream(1, f"{table} {number} mistakes"), LIMITS)
    lines = []
    for share in SHARES:
        for mistake, (name, strength) in MISTAKES.items():
            # The same rows for every mistake.
            rng = stream(1, f"{table} {number} {share} mistakes")
            made = case(name, task, share, strength, rng)
            if made is None:
                continue
            if mistake == INSIDE:
                n, n_labeled = len(made.sample), len(made.labeled)
                sample = np.concatenate([made.sample, made.labeled])
                truth = (made.prevalence * n + n_labeled) / (n + n_labeled)
                made = made._replace(sample=sample, prevalence=truth)
            lines += [{"table": table, "mistake": mistake, **line} for line in _answers(made)]
    return lines


def _answers(made: Case) -> Iterator[dict[str, object]]:
    labeled, sample = (
        table_of(rows, made.words) if made.words else rows for rows in (made.labeled, made.sample)
    )
    for way, unlabeled in (("alone", None), ("sample", sample)):
        try:
            p = RCQ(random_state=0).fit(labeled, unlabeled=unlabeled).quantify(sample)
        except InputError:  # which says what is wrong
            yield {"way": way, "wrong": False, "quiet": False, "doubted": True, "error": np.nan}
            continue
        error = abs(p - made.prevalence)
        wrong = bool(error > 0.15 and made.prevalence not in p.interval)
        quiet = p.verdict.status == "no reason to doubt"
        yield {
            "way": way,
            "wrong": wrong,
            "quiet": wrong and quiet,
            "doubted": not quiet,
            "error": 100 * error,
        }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-jobs", type=int, default=2)
    asked = [(table, number) for number in range(N_TASKS) for table in TABLES]
    parts = Parallel(parser.parse_args().n_jobs)(delayed(lines_of)(*each) for each in asked)
    lines = pd.DataFrame([line for part in parts for line in part])
    broken = lines[lines.mistake != "nothing"]
    for way, of_way in [("both", broken), *broken.groupby("way")]:
        clean = lines[(lines.mistake == "nothing") & ((lines.way == way) | (way == "both"))]
        print(
            f"{way}: {len(of_way):,} answers with a mistake, {100 * of_way.wrong.mean():.1f} % "
            f"wrong, {100 * of_way.quiet.mean():.1f} % wrong and quiet; of {len(clean)} clean "
            f"answers {100 * clean.doubted.mean():.1f} % doubted.\n"
        )
    rows = []
    for mistake in MISTAKES:
        of_mistake = lines[lines.mistake == mistake]
        if len(of_mistake):
            counted = [str(of_mistake[column].sum()) for column in ("wrong", "quiet")]
            means = [f"{100 * of_mistake.doubted.mean():.0f}", f"{of_mistake.error.mean():.1f}"]
            rows.append([mistake, str(len(of_mistake)), *counted, *means])
    print_rows(rows, ["mistake", "answers", "wrong", "wrong and quiet", "doubted, %", "mean error"])


if __name__ == "__main__":
    main()
