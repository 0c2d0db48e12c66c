"""Copies of rows: among the positives, in the sample, and of the positives in the sample."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import DO_NOT_USE, NOTE, Check, levels
from poscount.checks.evidence import Evidence
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
    for block in rows.float_blocks():
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
    return 0.0 if copies(row_codes(rows, _shuffle(seed))) > COARSE else share


def _has_fine_columns(rows: Rows, n_distinct: float) -> bool:
    """Whether each of two columns tells nearly all distinct rows apart."""
    columns = np.concatenate(list(rows.float_blocks())).T
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
        Of the positives that are copies, from `duplicate_share`.
    n_positives : int
        All of them.

    Examples
    --------
    >>> use_once(0.9, 400), use_once(0.1, 400), use_once(0.99, 400)
    (True, False, False)
    """
    return share > MOST_COPIES and round((1 - share) * n_positives) >= FEWEST_DISTINCT


def _severity_of_copies(evidence: Evidence, share: np.ndarray) -> np.ndarray:
    once = [use_once(float(each), evidence.n_positives_in) for each in share]
    return np.where(share <= MOST_COPIES, 0, np.where(once, NOTE, DO_NOT_USE))


def _sentence_about_copies(evidence: Evidence, i: int) -> str:
    share, given = evidence.duplicate_share, evidence.n_positives_in
    sentence, n = _copied(share, "positives", 0), round((1 - share) * given)
    if use_once(share, given):
        return f"{sentence}. Each was used once, so the model has learned from {n} positives."
    return f"{sentence}: there are only {n} distinct ones, too few to learn from."


def _advice_about_copies(evidence: Evidence, i: int) -> str:
    share, given = evidence.duplicate_share, evidence.n_positives_in
    return "" if use_once(share, given) else "Label more positives."


def _copied(share: float, what: str, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} % of the {what} are exact copies of others"


def _copies_among(code: str, name: str, what: str, title: str, quantity: str) -> Check:
    """The check for copies among the rows that the evidence has by this name."""

    def coarse(evidence: Evidence) -> bool:
        return copies(row_codes(getattr(evidence, name), _shuffle(evidence.seed))) > COARSE

    def severity(evidence: Evidence, share: np.ndarray) -> np.ndarray:
        found = levels(share, NOTICE, MOST_COPIES)
        return np.minimum(found, NOTE) if found.any() and coarse(evidence) else found

    def sentence(evidence: Evidence, i: int) -> str:
        copied = _copied(copies(row_codes(getattr(evidence, name))), what)
        return copied + (COARSE_VALUES if coarse(evidence) else ".")

    return Check(
        code=code,
        statistic=lambda evidence: copies(row_codes(getattr(evidence, name))),
        severity=severity,
        sentence=sentence,
        advice=lambda evidence, i: (
            FINER
            if coarse(evidence)
            else "Remove copies that were made by mistake: they make the interval too narrow."
        ),
        in_order=lambda evidence, i: (
            _copied(copies(row_codes(getattr(evidence, name))), what) + "."
        ),
        threshold=MOST_COPIES,
        title=title,
        quantity=quantity,
        cannot_detect="copies with noise added or with other digits",
    )


def _share_found(evidence: Evidence) -> float:
    return _found_in(row_codes(evidence.positives), row_codes(evidence.sample))


def _found_by_chance(evidence: Evidence) -> bool:
    generator = _shuffle(evidence.seed)
    positives = row_codes(evidence.positives, generator)
    return _found_in(positives, row_codes(evidence.sample, generator)) > COARSE


def _severity_of_found(evidence: Evidence, share: np.ndarray) -> np.ndarray:
    found = levels(share, NOTICE, MOST_FOUND)
    return np.minimum(found, NOTE) if found.any() and _found_by_chance(evidence) else found


def _found_in_words(evidence: Evidence) -> str:
    share = 100 * _share_found(evidence)
    return f"{share:.1f} % of the labelled positives are also rows of the sample"


def _shuffle(seed: int) -> np.random.Generator:
    return stream(seed, "diagnose copies")


def _found_in(codes: np.ndarray, others: np.ndarray) -> float:
    return float(np.isin(codes, others).mean())


COARSE_VALUES = ", as expected where values are this coarse."
FINER = "Use more or finer features."

REPEATED_POSITIVES = Check(
    code="repeated-positives",
    statistic=lambda evidence: evidence.duplicate_share,
    severity=_severity_of_copies,
    sentence=_sentence_about_copies,
    advice=_advice_about_copies,
    reason="many positives are copies of others",
)
DUPLICATE_POSITIVES = _copies_among(
    "duplicate-positives",
    "positives",
    "positives",
    "Copies among the positives",
    "share of positives that are copies",
)
DUPLICATE_ROWS = _copies_among(
    "duplicate-rows",
    "sample",
    "rows of the sample",
    "Copies in the sample",
    "share of rows that are copies",
)
POSITIVES_IN_SAMPLE = Check(
    code="positives-in-sample",
    statistic=_share_found,
    severity=_severity_of_found,
    sentence=lambda evidence, i: (
        _found_in_words(evidence) + (COARSE_VALUES if _found_by_chance(evidence) else ".")
    ),
    advice=lambda evidence, i: (
        FINER
        if _found_by_chance(evidence)
        else "Remove the labelled positives from the sample: the estimate includes them, and its "
        "interval is too narrow."
    ),
    in_order=lambda evidence, i: _found_in_words(evidence) + ".",
    threshold=MOST_FOUND,
    title="Positives in the sample",
    quantity="share of positives found in the sample",
    cannot_detect="positives in the sample with other digits",
)
