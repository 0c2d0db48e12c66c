"""Copies of rows: among the positives, and of the positives in the sample."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import DO_NOT_USE, NOTE, Check, levels
from poscount.checks.evidence import Evidence
from poscount.data.known_rows import block_codes
from poscount.data.rows import Rows
from poscount.seeds import stream

# Real data without any mistake had up to 0.13 and 0.25.
NOTICE, MOST_COPIES, MOST_FOUND = 0.01, 0.2, 0.3
# With fewer distinct positives there is nothing to learn from.
FEWEST_DISTINCT = 10
# Where shuffled columns give as many copies, the values are coarse.
COARSE = 0.01
# Distinct values of a column for each distinct row; then equal rows are no accident.
FINE = 0.9


def row_codes(rows: Rows, shuffle: np.random.Generator | None = None) -> np.ndarray:
    """A 64-bit code of every row of finite numbers, to find equal rows.

    If every column is shuffled by itself first, rows are equal because values are coarse, not
    because rows were copied.
    """
    codes = [np.empty(0, np.uint64)]
    for block in rows.float_blocks():
        if shuffle is not None:
            block = np.column_stack([shuffle.permutation(column) for column in block.T])
        codes.append(block_codes(block))
    return np.concatenate(codes)


def copies(codes: np.ndarray) -> float:
    """Share of rows that are copies of an earlier one.

    Examples
    --------
    >>> copies(np.array([5, 5, 7, 5], dtype=np.uint64))
    0.5
    """
    return 1 - len(np.unique(codes)) / len(codes)


def duplicate_share(rows: Rows, seed: int) -> float:
    """Share of rows that are copies of an earlier one; 0 where values are so coarse that they are.

    Examples
    --------
    >>> from poscount.data.rows import InputSupport
    >>> rows = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 4, axis=0)
    >>> duplicate_share(Rows(rows, None, InputSupport()), 0)
    0.75
    """
    share = copies(row_codes(rows))
    # Only where it matters, because it takes as long again.
    if share <= NOTICE or _has_fine_columns(rows, (1 - share) * len(rows)):
        return share
    return 0.0 if copies(row_codes(rows, stream(seed, "diagnose copies"))) > COARSE else share


def _has_fine_columns(rows: Rows, n_distinct: float) -> bool:
    """Whether each of two columns tells nearly all distinct rows apart."""
    columns = np.concatenate(list(rows.float_blocks())).T
    n_values = sorted(len(np.unique(column)) for column in columns)
    # In one column alone, equal values may be an accident.
    return len(columns) > 1 and n_values[-2] >= FINE * n_distinct


def use_once(share: float, n_positives: int) -> bool:
    """Whether a model should learn from distinct positives alone.

    With copies, positives look more alike than they are, and estimates are too low: 40 positives
    that were repeated ten times had a mean error of 46 points, and of 5 when each was used once.

    Examples
    --------
    >>> use_once(0.9, 400), use_once(0.1, 400), use_once(0.99, 400)
    (True, False, False)
    """
    return share > MOST_COPIES and round((1 - share) * n_positives) >= FEWEST_DISTINCT


def _severity_of_repetition(evidence: Evidence, share: np.ndarray) -> np.ndarray:
    once = [use_once(float(each), evidence.n_positives_in) for each in share]
    return np.where(share <= MOST_COPIES, 0, np.where(once, NOTE, DO_NOT_USE))


def _sentence_about_repetition(evidence: Evidence, i: int) -> str:
    share, given = evidence.duplicate_share, evidence.n_positives_in
    sentence = f"{100 * share:.0f} % of the positives are exact copies of others"
    n = round((1 - share) * given)
    if use_once(share, given):
        return f"{sentence}. Each was used once, so the model has learned from {n} positives."
    return f"{sentence}: there are only {n} distinct ones, too few to learn from."


def _advice_about_repetition(evidence: Evidence, i: int) -> str:
    share, given = evidence.duplicate_share, evidence.n_positives_in
    return "" if use_once(share, given) else "Label more positives."


REPEATED_POSITIVES = Check(
    code="repeated-positives",
    statistic=lambda evidence: evidence.duplicate_share,
    severity=_severity_of_repetition,
    sentence=_sentence_about_repetition,
    advice=_advice_about_repetition,
    reason="many positives are copies of others",
)


def _sentence_about_known(evidence: Evidence, i: int) -> str:
    n = round(float(evidence.positives_found) * evidence.n_known)
    which = "1 labelled positive is" if n == 1 else f"{n:,} labelled positives are"
    return f"{which} in the sample, too: the estimate includes them."


# One that is found is no accident, because coarse values are not compared.
POSITIVES_IN_SAMPLE = Check(
    code="positives-in-sample",
    statistic=lambda evidence: evidence.positives_found,
    severity=levels(0.0, MOST_FOUND),
    sentence=_sentence_about_known,
    advice="Leave them out of the sample (without_positives in Python, --drop-positives on the "
    "command line) to estimate the share among the others, with the right interval.",
    reason="labelled positives are in the sample, too",
)
