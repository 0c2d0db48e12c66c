"""Rows drawn from strata, in two passes over batches: one counts, the other draws."""

from __future__ import annotations

import hashlib
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import BestRows, Source, count_batches, require_counting
from poscount.auditing.strata import FEWEST, Strata, make_strata
from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.data.grouping import group_keys
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream

FEWEST_LABELS = 10
_KEY = np.dtype(
    [("group", "i8"), ("random", "u8"), ("place", "i8"), ("row", "i8"), ("outside", "?")]
)


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
    found, n_before = np.zeros_like(strata.rows), 0
    for batch in source():
        cell = model._posterior_cells_of(model._sample(batch.frame))
        keys = np.empty(len(cell), _KEY)
        keys["group"] = strata.of_cell[cell]
        keys["random"] = numbers.integers(2**64, size=len(cell), dtype=np.uint64)
        keys["place"] = n_before + np.arange(len(cell))
        keys["row"] = batch.row_numbers
        keys["outside"] = strata.outside[cell]
        n_before += len(cell)
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
