"""Copies of rows: among the positives, in the sample, and of the positives in the sample."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, Missing, Outcome, blocks, severity_above
from poscount.rows import Rows
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
    """A 64-bit code of every row, to find equal rows; two different rows share one in 10^19 cases.

    Parameters
    ----------
    rows : Rows
        Of finite numbers.
    shuffle : Generator, optional
        Shuffles every column by itself first. Rows that are equal after that are so because values
        are coarse, not because rows were copied.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
    """
    # Odd factors, so that no two values become one.
    salts = stream(0, "row codes").integers(2**64, size=(rows.data.shape[1], 3), dtype=np.uint64)
    salts |= np.uint64(1)
    codes = [np.empty(0, np.uint64)]
    for block in blocks(rows):
        total = np.zeros(len(block), np.uint64)
        for j in range(block.shape[1]):
            # Adding zero turns -0 into 0, which equals it but has other bits.
            column = _mixed((block[:, j] + 0.0).view(np.uint64), salts[j])
            total += column if shuffle is None else shuffle.permutation(column)
        codes.append(total)
    return np.concatenate(codes)


def _mixed(bits: np.ndarray, salts: np.ndarray) -> np.ndarray:
    """Scramble 64 bits, differently for each column."""
    mixed = (bits ^ salts[0]) * salts[1]
    mixed = (mixed ^ (mixed >> np.uint64(32))) * salts[2]
    return mixed ^ (mixed >> np.uint64(32))


def copies(codes: np.ndarray) -> float:
    """Share of rows that are copies of an earlier one.

    Examples
    --------
    >>> copies(np.array([5, 5, 7, 5], dtype=np.uint64))
    0.5
    """
    return 1 - len(np.unique(codes)) / len(codes)


def copied_share(rows: Rows, seed: int) -> float:
    """Share of rows that are copies of an earlier one; 0 where values are so coarse that they are.

    Examples
    --------
    >>> from poscount.rows import InputSupport
    >>> rows = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 4, axis=0)
    >>> copied_share(Rows(rows, None, InputSupport()), 0)
    0.75
    """
    share = copies(row_codes(rows))
    # Only where it matters, because it takes as long again.
    if share <= NOTICE or _has_fine_columns(rows, (1 - share) * len(rows)):
        return share
    return 0.0 if copies(row_codes(rows, _shuffle(seed))) > COARSE else share


def _has_fine_columns(rows: Rows, n_distinct: float) -> bool:
    """Whether each of two columns tells nearly all distinct rows apart."""
    columns = np.concatenate(list(blocks(rows))).T
    n_values = sorted(len(np.unique(column)) for column in columns)
    # In one column alone, equal values may be an accident.
    return len(columns) > 1 and n_values[-2] >= FINE * n_distinct


def use_once(share: float, n_positives: int) -> bool:
    """Whether a model should learn from distinct positives alone.

    With copies, positives look more alike than they are, and estimates are too low: 40 positives
    that were repeated ten times had a mean error of 46 points, and of 5 when each was used once
    (benchmarks/accuracy/attacks.py).

    Parameters
    ----------
    share : float
        Of the positives that are copies, from `copied_share`.
    n_positives : int
        All of them.

    Examples
    --------
    >>> use_once(0.9, 400), use_once(0.1, 400), use_once(0.99, 400)
    (True, False, False)
    """
    return share > MOST_COPIES and round((1 - share) * n_positives) >= FEWEST_DISTINCT


def _look_at_model(evidence: Evidence) -> Outcome | Missing:
    share = evidence.copied
    if isinstance(share, Missing):
        return share
    sentence = f"{100 * share:.0f} % of the positives are exact copies of others"
    if share <= MOST_COPIES:
        return Outcome("ok", share, MOST_COPIES, f"{sentence}.")
    n = round((1 - share) * evidence.n_given)
    if use_once(share, evidence.n_given):
        sentence += f". Each was used once, so the model has learned from {n} positives."
        return Outcome("notice", share, MOST_COPIES, sentence, caution=share)
    sentence += f": there are only {n} distinct ones, too few to learn from."
    return Outcome(
        "warning",
        share,
        MOST_COPIES,
        sentence,
        "Label more positives.",
        caution=share,
        caution_severity="do not use",
    )


def _look_among(rows: Rows | Missing, seed: int, what: str) -> Outcome | Missing:
    if isinstance(rows, Missing):
        return rows
    share = copies(row_codes(rows))
    sentence = f"{100 * share:.1f} % of the {what} are exact copies of others"
    severity = severity_above(share, NOTICE, MOST_COPIES)
    if severity == "ok":
        return Outcome(severity, share, MOST_COPIES, f"{sentence}.")
    if copies(row_codes(rows, _shuffle(seed))) > COARSE:
        return _coarse(share, MOST_COPIES, sentence)
    advice = "Remove copies that were made by mistake: they make the interval too narrow."
    return Outcome(severity, share, MOST_COPIES, f"{sentence}.", advice)


def _look_for_positives(evidence: Evidence) -> Outcome | Missing:
    positives, sample = evidence.positives, evidence.sample
    if isinstance(positives, Missing):
        return positives
    if isinstance(sample, Missing):
        return sample
    share = _found_in(row_codes(positives), row_codes(sample))
    sentence = f"{100 * share:.1f} % of the labelled positives are also rows of the sample"
    severity = severity_above(share, NOTICE, MOST_FOUND)
    if severity == "ok":
        return Outcome(severity, share, MOST_FOUND, f"{sentence}.")
    generator = _shuffle(evidence.seed)
    if _found_in(row_codes(positives, generator), row_codes(sample, generator)) > COARSE:
        return _coarse(share, MOST_FOUND, sentence)
    advice = (
        "Remove the labelled positives from the sample: the estimate includes them, and its "
        "interval is too narrow."
    )
    return Outcome(severity, share, MOST_FOUND, f"{sentence}.", advice)


def _shuffle(seed: int) -> np.random.Generator:
    return stream(seed, "diagnose copies")


def _found_in(codes: np.ndarray, others: np.ndarray) -> float:
    return float(np.isin(codes, others).mean())


def _coarse(share: float, limit: float, sentence: str) -> Outcome:
    sentence += ", as expected where values are this coarse."
    return Outcome("notice", share, limit, sentence, "Use more or finer features.")


REPEATED_POSITIVES = Check(
    code="repeated-positives",
    look=_look_at_model,
    reason="many positives are copies of others",
)
DUPLICATE_POSITIVES = Check(
    code="duplicate-positives",
    look=lambda evidence: _look_among(evidence.positives, evidence.seed, "positives"),
    title="Copies among the positives",
    quantity="share of positives that are copies",
    cannot_detect="copies with noise added or with other digits",
)
DUPLICATE_ROWS = Check(
    code="duplicate-rows",
    look=lambda evidence: _look_among(evidence.sample, evidence.seed, "rows of the sample"),
    title="Copies in the sample",
    quantity="share of rows that are copies",
    cannot_detect="copies with noise added or with other digits",
)
POSITIVES_IN_SAMPLE = Check(
    code="positives-in-sample",
    look=_look_for_positives,
    title="Positives in the sample",
    quantity="share of positives found in the sample",
    cannot_detect="positives in the sample with other digits",
)
