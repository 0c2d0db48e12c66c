"""Rows drawn from strata by the posterior, in two passes over batches: one counts, one draws."""

from __future__ import annotations

import hashlib
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import BestRows, Source, count_batches, require_counting
from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.counts.posterior import CellPosterior
from poscount.data.grouping import group_keys
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream

FEWEST_LABELS = 10
_KEY = np.dtype(
    [("group", "i8"), ("random", "u8"), ("place", "i8"), ("row", "i8"), ("outside", "?")]
)
# Chosen on the tuning split of benchmarks/accuracy/audit.py, as is the floor.
MOST_STRATA = 8
# Of labels; with fewer, a stratum would say next to nothing about itself.
LABELS_PER_STRATUM = 5
# A row that the model is sure of is taken to be wrong with this probability, so that no stratum is
# left to the model.
FLOOR = 0.1
# Share of the labelled positives with the lowest scores.
OUTSIDE = 0.25
# In each stratum, so that rows of it can differ.
FEWEST = 2


class Strata(NamedTuple):
    """Rows divided by how likely they are to be positive, from the least likely on.

    Attributes
    ----------
    of_cell : ndarray of int, shape (n_cells,)
        Stratum of each cell of the posterior; -1 for a cell without rows.
    rows : ndarray of int, shape (n_strata,)
        Rows in each.
    drawn : ndarray of int, shape (n_strata,)
        Rows of each that are to be labelled.
    expected : ndarray of shape (n_strata,)
        Share of each that is positive, according to the model.
    shares : ndarray of shape (n_strata,)
        Share of the labelled positives that lie there.
    outside : ndarray of bool, shape (n_cells,)
        Cells with the lowest scores, which hold about a quarter of the labelled positives. They
        depend on the labelled positives alone.
    share_outside : float
        Share of the labelled positives in these cells.
    """

    of_cell: np.ndarray
    rows: np.ndarray
    drawn: np.ndarray
    expected: np.ndarray
    shares: np.ndarray
    outside: np.ndarray
    share_outside: float

    @property
    def probability(self) -> np.ndarray:
        """Probability that a row of each stratum is drawn."""
        return self.drawn / self.rows


class LabelSample(NamedTuple):
    """Rows to be labelled, in the order in which they should be.

    Attributes
    ----------
    frame : narwhals.DataFrame
        The rows.
    ids : list of str
        Place of each among all rows, and a hash of it.
    files : list of str or None
    numbers : ndarray of int
        Row in the file, from 1, or in the frame, from 0.
    stratum : ndarray of int
        Stratum of each row, from 0.
    outside : ndarray of bool
        Whether each row is at the edge of the positives or outside of it (`Strata.outside`).
    strata : Strata
    prevalence : Prevalence
        Of all rows, by the model.
    """

    frame: nw.DataFrame
    ids: list[str]
    files: list[str | None]
    numbers: np.ndarray
    stratum: np.ndarray
    outside: np.ndarray
    strata: Strata
    prevalence: Prevalence


def draw(model: CountingQuantifier, source: Source, n: int, seed: int) -> LabelSample:
    """Draw `n` rows, stratified by the posterior.

    Each row has a random number that depends on the seed and on its place among all rows. In each
    stratum, the rows with the smallest ones are drawn: a simple random sample, which grows if `n`
    does.
    """
    require_counting(model)
    if n < FEWEST_LABELS:
        raise InputError(
            f"{n} labels say next to nothing: draw at least {FEWEST_LABELS}, better 50 or more.",
            option="n",
        )
    cells = model._cell_posterior(count_batches(BatchCounter(model), source))
    strata = make_strata(cells, n)
    best = BestRows(strata.drawn, _KEY)
    numbers = stream(seed, "audit")
    found = np.zeros_like(strata.rows)
    for batch in source():
        cell = model._posterior_cells_of(model._sample(batch.frame))
        keys = np.empty(len(cell), _KEY)
        keys["group"] = strata.of_cell[cell]
        keys["random"] = numbers.integers(2**64, size=len(cell), dtype=np.uint64)
        keys["outside"] = strata.outside[cell]
        found += np.bincount(keys["group"].clip(0), minlength=len(found))
        best.add(batch, keys)
    if (found != strata.rows).any():
        raise InputError("The data changed while they were read: draw again.")
    frame, files, keys = best.collect()
    stratum = keys["group"]
    rank = np.arange(len(keys)) - np.searchsorted(stratum, stratum)
    # Any beginning of the table has about the same part of the labels of each stratum, and first
    # of all enough of each to be used.
    turn = np.where(rank < FEWEST, rank - FEWEST, (rank + 0.5) / strata.drawn[stratum])
    order = np.lexsort((keys["place"], keys["random"], turn))
    frame, keys = nw.maybe_reset_index(frame[order.tolist()]), keys[order]
    return LabelSample(
        frame,
        _ids(keys["place"], frame),
        [files[i] for i in order.tolist()],
        keys["row"],
        keys["group"],
        keys["outside"],
        strata,
        cells.prevalence,
    )


def _ids(places: np.ndarray, frame: nw.DataFrame) -> list[str]:
    # In one order, because that of the columns does not matter.
    rows = group_keys(frame.select(sorted(frame.columns)))
    return [f"r{place}-{_hash(row)}" for place, row in zip(places, rows, strict=True)]


def _hash(row: tuple[Any, ...]) -> str:
    """Hash of a row, the same in frames of all kinds: numbers as floats, everything else as text.

    Examples
    --------
    >>> _hash((1, "x ", None)) == _hash((1.0, "x", None)) != _hash((2, "x", None))
    True
    """
    texts = [str(float(value) if isinstance(value, Real) else value).strip() for value in row]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:8]


def make_strata(cells: CellPosterior, n: int) -> Strata:
    r"""Divide the rows of a sample into strata, and `n` labels among them.

    Cells are sorted by the ratio of the positives' share to the sample's, as the posterior sorts
    them, and cut where a row's expected standard deviation

    .. math:: \sqrt{q (1 - q)}, \quad q = 0.1 + 0.8 P(\text{positive})

    adds up to equal parts (Dalenius and Hodges 1959 do the same with the square root of a density).
    Labels are divided in proportion to the sums of this standard deviation (Neyman 1934). With q
    and not with the posterior itself every stratum gets labels, whatever the model thinks of it.

    Parameters
    ----------
    cells : CellPosterior
    n : int
        Number of labels; all rows if there are fewer.

    Examples
    --------
    >>> rows, shares = np.array([600, 200, 200]), np.array([0.0, 0.5, 0.5])
    >>> cells = CellPosterior(rows, shares, np.array([0.0, 0.5, 1.0]), prevalence=None)
    >>> strata = make_strata(cells, 40)
    >>> strata.rows.tolist(), strata.drawn.tolist()
    ([600, 200, 200], [21, 12, 7])
    """
    there = np.flatnonzero(cells.rows)
    ratio = cells.shares[there] / cells.rows[there]
    # Equal ratios are a matter of the cells' order, never of a last bit.
    there = there[np.lexsort((there, ratio))]
    rows, probability = cells.rows[there], cells.probability[there]
    q = FLOOR + (1 - 2 * FLOOR) * probability
    spread = rows * np.sqrt(q * (1 - q))
    n_strata = max(1, min(MOST_STRATA, n // LABELS_PER_STRATUM))
    middle = (np.cumsum(spread) - spread / 2) / spread.sum()
    stratum = np.unique(
        np.minimum((middle * n_strata).astype(int), n_strata - 1), return_inverse=True
    )[1]
    # The cells of every model are in the order of the score.
    outside = np.cumsum(cells.shares) <= OUTSIDE + 1e-9
    of_cell = np.full(len(cells.rows), -1)
    of_cell[there] = stratum
    sizes = np.bincount(stratum, rows).astype(np.int64)
    return Strata(
        of_cell,
        sizes,
        _allocate(sizes, np.bincount(stratum, spread), n),
        np.bincount(stratum, rows * probability) / sizes,
        np.bincount(stratum, cells.shares[there]),
        outside,
        float(cells.shares[outside].sum()),
    )


def _allocate(sizes: np.ndarray, spread: np.ndarray, n: int) -> np.ndarray:
    """Labels of each stratum; more labels in all are never fewer in any."""
    n = min(n, int(sizes.sum()))
    drawn = np.minimum(sizes, FEWEST)
    while drawn.sum() < n:
        # The stratum that is worst off, so that the strata of fewer labels are the same ones.
        short = np.where(drawn < sizes, spread / (drawn + 0.5), -1.0)
        drawn[np.argmax(short)] += 1
    return drawn
