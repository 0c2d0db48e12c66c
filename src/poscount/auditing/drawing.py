"""Rows drawn from strata, in two passes over batches: one counts, the other draws."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import (
    Batch,
    Source,
    count_batches,
    require_counting,
    rows_together,
)
from poscount.auditing.row_hashes import content_hashes, keys, seed_number
from poscount.auditing.strata import FEWEST, Strata, make_strata
from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.counts.counts import Counts
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence

# Rows are counted by a part of their hash. A row's number of copies is at most that count, which
# tells most rows that cannot be drawn without remembering any of them.
_BUCKETS = 2**22
FEWEST_LABELS = 10
# From so many copies on, a row is remembered without looking at the key of each.
_MANY_COPIES = 64


class Drawn(NamedTuple):
    """Rows to be labelled, in the order in which they should be.

    Attributes
    ----------
    frame : narwhals.DataFrame
        The rows.
    ids : list of str
        A hash of each, and its number among rows that are the same.
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


def draw(model: CountingQuantifier, source: Source, n: int, seed: int) -> Drawn:
    """Draw `n` rows, stratified by the posterior.

    In each stratum, the rows with the smallest keys are drawn (`row_hashes.keys`): a simple random
    sample that depends on the seed and the rows, not on their order, and that grows if `n` does.
    """
    require_counting(model)
    if n < FEWEST_LABELS:
        raise InputError(
            f"{n} labels say next to nothing: draw at least {FEWEST_LABELS}, better 50 or more.",
            option="n",
        )
    number = seed_number(seed)
    counts, buckets = _first_pass(model, source)
    cells = model._cell_posterior(counts)
    strata = make_strata(cells, n)
    surplus = 1
    while True:
        found = _Candidates(model, strata, number, buckets, surplus)
        for batch in source():
            found.look_at(batch)
        if (found.in_strata() >= strata.drawn).all():
            return found.drawn(cells.prevalence)
        # Hardly ever: the limits were too low for a stratum. If they cannot rise, rows are gone.
        if surplus > 2**40:
            raise InputError("The data changed while they were read: draw again.")
        surplus *= 16


def _first_pass(model: CountingQuantifier, source: Source) -> tuple[Counts, np.ndarray]:
    buckets = np.zeros(_BUCKETS, np.uint32)

    def look_at(batch: Batch) -> None:
        at, times = np.unique(_bucket(content_hashes(batch.frame)), return_counts=True)
        buckets[at] += times.astype(np.uint32)

    return count_batches(BatchCounter(model), source, look_at), buckets


def _bucket(content: np.ndarray) -> np.ndarray:
    return (content & np.uint64(_BUCKETS - 1)).astype(np.int64)


class _Candidates:
    """Rows whose keys are small enough, in memory that does not grow with the data."""

    def __init__(
        self,
        model: CountingQuantifier,
        strata: Strata,
        number: np.uint64,
        buckets: np.ndarray,
        surplus: int,
    ) -> None:
        self.model, self.strata, self.number, self.buckets = model, strata, number, buckets
        enough = strata.drawn + surplus * (10 * np.sqrt(strata.drawn) + 20)
        share = np.minimum(enough / strata.rows, 1.0)
        self.limits = np.full(len(share), np.iinfo(np.uint64).max)
        self.limits[share < 1] = (share[share < 1] * 2.0**64).astype(np.uint64)
        self.seen: dict[int, int] = {}
        self.frames: list[nw.DataFrame] = []
        self.files: list[str | None] = []
        self.numbers: list[np.ndarray] = []
        self.content: list[np.ndarray] = []
        self.copy: list[np.ndarray] = []
        self.cell: list[np.ndarray] = []

    def look_at(self, batch: Batch) -> None:
        """Keep the rows of a batch that may be drawn."""
        content = content_hashes(batch.frame)
        cell = self.model._posterior_cells_of(self.model._sample(batch.frame))
        limit = self.limits[self.strata.of_cell[cell]]
        rows = np.flatnonzero(self._possible(content, limit))
        copy = self._copies(content[rows])
        kept = keys(content[rows], copy, self.number) <= limit[rows]
        rows, copy = rows[kept], copy[kept]
        if not len(rows):
            return
        self.frames.append(batch.frame[rows.tolist()])
        self.files += [batch.file] * len(rows)
        self.numbers.append(batch.first_row + rows + (batch.file is not None))
        self.content.append(content[rows])
        self.copy.append(copy)
        self.cell.append(cell[rows])

    def _possible(self, content: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Rows of which some copy has a small key, if there are as many as there may be."""
        copies = self.buckets[_bucket(content)]
        possible = copies > _MANY_COPIES
        for copy in range(min(int(copies.max(initial=0)), _MANY_COPIES)):
            possible |= (copies > copy) & (keys(content, copy, self.number) <= limit)
        return possible

    def _copies(self, content: np.ndarray) -> np.ndarray:
        """Number of each row among those of the same content, in the order of reading."""
        distinct, inverse, times = np.unique(content, return_inverse=True, return_counts=True)
        order = np.argsort(inverse, kind="stable")
        within = np.empty(len(content), np.int64)
        within[order] = np.arange(len(content)) - np.repeat(np.cumsum(times) - times, times)
        before = np.array([self.seen.get(value, 0) for value in distinct.tolist()], np.int64)
        for value, already, more in zip(
            distinct.tolist(), before.tolist(), times.tolist(), strict=True
        ):
            self.seen[value] = already + more
        return before[inverse] + within

    def in_strata(self) -> np.ndarray:
        """Rows kept of each stratum."""
        kept = np.concatenate([np.empty(0, np.intp), *self.cell])
        return np.bincount(self.strata.of_cell[kept], minlength=len(self.strata.rows))

    def drawn(self, prevalence: Prevalence) -> Drawn:
        """Of the rows kept, those with the smallest keys in each stratum, in their final order."""
        content, copy, cell, numbers = map(
            np.concatenate, (self.content, self.copy, self.cell, self.numbers)
        )
        stratum = self.strata.of_cell[cell]
        key = keys(content, copy, self.number)
        # The content decides between equal keys; equal rows have different keys.
        by_key = np.lexsort((content, key, stratum))
        place = np.empty(len(key), np.int64)
        firsts = np.cumsum(self.in_strata()) - self.in_strata()
        place[by_key] = np.arange(len(key)) - firsts[stratum[by_key]]
        chosen = np.flatnonzero(place < self.strata.drawn[stratum])
        # Any beginning of the file has about the same part of the labels of each stratum, and
        # first of all enough of each to be used.
        turn = (place + 0.5) / self.strata.drawn[stratum]
        turn[place < FEWEST] = place[place < FEWEST] - FEWEST
        chosen = chosen[np.lexsort((content[chosen], key[chosen], turn[chosen]))]
        ids = [f"r{content[i]:016x}-{copy[i]}" for i in chosen.tolist()]
        return Drawn(
            nw.maybe_reset_index(rows_together(self.frames)[chosen.tolist()]),
            ids,
            [self.files[i] for i in chosen.tolist()],
            numbers[chosen],
            stratum[chosen],
            self.strata.outside[cell[chosen]],
            self.strata,
            prevalence,
        )
