"""Rows drawn from strata by the posterior, in two passes over batches: one counts, one draws."""

from __future__ import annotations

import hashlib
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import BestRows, Source, count_batches, require_counting
from poscount.base.batch_counter import BatchCounter
from poscount.base.counting import CountingQuantifier
from poscount.counts.posterior import CellPosterior
from poscount.counts.weights import UNITS, row_weights
from poscount.data.grouping import group_codes, group_keys
from poscount.data.validation import as_frame
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream

_KEY = np.dtype(
    [("group", "i8"), ("random", "f8"), ("place", "i8"), ("row", "i8"), ("cell", "i8"), ("w", "f8")]
)
# Chosen on other samples than those of benchmarks/accuracy/audit.py, as is the floor.
MOST_STRATA = 8
# Of labels; with fewer, a stratum would say next to nothing about itself.
LABELS_PER_STRATUM = 5
# A row that the model is sure of is taken to be wrong with this probability, so that no stratum is
# left to the model.
FLOOR = 0.1
# Share of the labels that go where positives would be, however few the model thinks there are;
# not tuned.
WHERE_POSITIVES_ARE = 1 / 3
# Share of the labelled positives with the lowest scores.
OUTSIDE = 0.25


class Strata(NamedTuple):
    """Rows divided by how likely they are to be positive, from the least likely on.

    Those of one group come after those of another.

    Attributes
    ----------
    keys : list
        Keys of the groups; a single empty one without groups.
    group : ndarray of int, shape (n_strata,)
        Place of each stratum's group among them.
    of_cell : ndarray of int, shape (n_groups, n_cells)
        Stratum of each cell of the posterior; -1 for a cell without rows.
    rows, totals : ndarray of shape (n_strata,)
        Rows in each, and their weight.
    chance : ndarray of shape (n_strata,)
        Probability that the next row is drawn from each.
    expected : ndarray of shape (n_strata,)
        Share of each that is positive, according to the model.
    looks_positive : ndarray of bool, shape (n_strata,)
        Whether it has a larger part of the labelled positives than of the rows of its group.
    outside : ndarray of bool, shape (n_cells,)
        Cells with the lowest scores, which hold about a quarter of the labelled positives. They
        depend on the labelled positives alone.
    share_outside : float
        Share of the labelled positives in these cells.
    """

    keys: list[tuple[Any, ...]]
    group: np.ndarray
    of_cell: np.ndarray
    rows: np.ndarray
    totals: np.ndarray
    chance: np.ndarray
    expected: np.ndarray
    looks_positive: np.ndarray
    outside: np.ndarray
    share_outside: float


class Design(NamedTuple):
    """How rows are drawn: how many, by which seed, in which groups, and with which weights."""

    n: int
    seed: int
    by: tuple[str, ...] = ()
    weights: str | None = None


class LabelSample(NamedTuple):
    """Rows to be labelled, in the order in which they should be.

    Attributes
    ----------
    frame : narwhals.DataFrame
        The rows.
    ids : list of str
        Place of each among all rows, and a hash of it.
    places : ndarray of int
        Place of each among all rows, from 0.
    files : list of str or None
    numbers : ndarray of int
        Row in the file, from 1, or in the frame, from 0.
    stratum : ndarray of int
        Stratum of each row, from 0.
    chance : ndarray of shape (n_drawn, n_strata)
        Probability that a row of each stratum came next.
    weight : ndarray of shape (n_drawn,)
    outside : ndarray of bool
        Whether each row is at the edge of the positives or outside of it (`Strata.outside`).
    strata : Strata
    prevalence : Prevalence
        Of all rows, by the model.
    by_group : list of Prevalence
        Of the rows of each group.
    """

    frame: nw.DataFrame
    ids: list[str]
    places: np.ndarray
    files: list[str | None]
    numbers: np.ndarray
    stratum: np.ndarray
    chance: np.ndarray
    weight: np.ndarray
    outside: np.ndarray
    strata: Strata
    prevalence: Prevalence
    by_group: list[Prevalence]


def draw(model: CountingQuantifier, source: Source, design: Design) -> LabelSample:
    """Draw rows, one after the other, from strata by the posterior.

    Before each draw a stratum is chosen at random by `Strata.chance`. In each stratum, rows come in
    the order of random times, exponential with the row's weight as rate: a simple random sample, or
    one in proportion to the weights. The times depend on the seed and on the place of a row among
    all rows, and the choices on the seed alone, so that a larger `n` draws the same rows and more.
    """
    require_counting(model)
    if design.n < 1:
        raise InputError(f"At least one row must be drawn, not {design.n}.", option="n")
    counts = count_batches(BatchCounter(model, design.by, design.weights), source)
    samples = dict(counts.in_order().items()) if design.by else {(): counts}
    cells = [model._cell_posterior(sample) for sample in samples.values()]
    sizes = [each.rows for each in cells]
    if design.weights is not None:
        cells = [each._replace(rows=each.rows / UNITS) for each in cells]
        sizes = _rows_with_weight(model, source, design, list(samples))
    strata = make_strata(list(samples), cells, sizes, design.n)
    order, chance = _order(strata, design)
    best = BestRows(np.bincount(order, minlength=len(strata.rows)), _KEY)
    groups = {key: i for i, key in enumerate(samples)}
    times = stream(design.seed, "audit")
    found = np.zeros_like(strata.rows)
    for batch in source():
        cell = model._posterior_cells_of(model._sample(batch.frame))
        weight = _weights(batch.frame, design)
        keys = np.empty(len(cell), _KEY)
        keys["cell"], keys["w"] = cell, weight
        keys["group"] = strata.of_cell[_groups_of(batch.frame, design.by, groups), cell]
        late = times.exponential(size=len(cell))
        keys["random"] = np.divide(late, weight, out=np.full(len(cell), np.inf), where=weight > 0)
        found += np.bincount(keys["group"][weight > 0].clip(0), minlength=len(found))
        best.add(batch, keys)
    if (found != strata.rows).any():
        raise InputError("The data changed while they were read: draw again.")
    frame, files, keys = best.collect()
    # The rows are sorted by stratum and time; they are labelled in the order of the draws.
    place = np.empty(len(order), np.intp)
    place[np.argsort(order, kind="stable")] = np.arange(len(order))
    frame, keys = nw.maybe_reset_index(frame[place.tolist()]), keys[place]
    # In one order, because that of the columns does not matter.
    rows = group_keys(frame.select(sorted(frame.columns)))
    return LabelSample(
        frame,
        [f"r{place}-{_hash(row)}" for place, row in zip(keys["place"], rows, strict=True)],
        keys["place"],
        [files[i] for i in place.tolist()],
        keys["row"],
        order,
        chance,
        keys["w"],
        strata.outside[keys["cell"]],
        strata,
        cells[0].prevalence if not design.by else model.estimate(reduce(add, samples.values())),
        [each.prevalence for each in cells],
    )


def _weights(frame: nw.DataFrame, design: Design) -> np.ndarray:
    """Weights of rows as they are counted."""
    units = row_weights(as_frame(frame), design.weights, len(frame))
    return np.ones(len(frame)) if units is None else units / UNITS


def _groups_of(
    frame: nw.DataFrame, by: tuple[str, ...], groups: dict[tuple[Any, ...], int]
) -> np.ndarray:
    if not by:
        return np.zeros(len(frame), np.intp)
    found, codes = group_codes(frame, by)
    # A group whose weights are all 0 has no stratum.
    return np.array([groups.get(key, 0) for key in group_keys(found)], np.intp)[codes]


def _rows_with_weight(
    model: CountingQuantifier, source: Source, design: Design, keys: list[tuple[Any, ...]]
) -> list[np.ndarray]:
    """Rows in each cell of each group whose weight is not 0."""
    groups = {key: i for i, key in enumerate(keys)}
    found = np.zeros((len(keys), len(model._posterior_shares)), np.int64)
    for batch in source():
        weighing = _weights(batch.frame, design) > 0
        cell = model._posterior_cells_of(model._sample(batch.frame))[weighing]
        np.add.at(found, (_groups_of(batch.frame, design.by, groups)[weighing], cell), 1)
    return list(found)


def _order(strata: Strata, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """The stratum of each draw, and the probabilities with which it was chosen."""
    n = min(design.n, int(strata.rows.sum()))
    left = strata.rows.copy()
    order, chance = np.empty(n, np.intp), np.empty((n, len(left)))
    for i, number in enumerate(stream(design.seed, "audit order").random(n)):
        weights = np.where(left > 0, strata.chance, 0.0)
        chance[i] = weights / weights.sum()
        ends = np.cumsum(weights)
        order[i] = min(np.searchsorted(ends, number * ends[-1], "right"), np.flatnonzero(left)[-1])
        left[order[i]] -= 1
    return order, chance


def _hash(row: tuple[Any, ...]) -> str:
    """Hash of a row, the same in frames of all kinds: numbers as floats, everything else as text.

    Examples
    --------
    >>> _hash((1, "x ", None)) == _hash((1.0, "x", None)) != _hash((2, "x", None))
    True
    """
    texts = [str(float(value) if isinstance(value, Real) else value).strip() for value in row]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:8]


def make_strata(
    keys: list[tuple[Any, ...]], cells: list[CellPosterior], rows: list[np.ndarray], n: int
) -> Strata:
    r"""Divide the rows of each group into strata, and the labels among them.

    The cells of a group are sorted by the ratio of the positives' share to the sample's, as the
    posterior sorts them. Two thirds of the labels go where a row's expected standard deviation is
    large (Neyman 1934),

    .. math:: \sqrt{q (1 - q)}, \quad q = 0.1 + 0.8 P(\text{positive})

    and one third where the labelled positives lie, so that rare positives are found although a
    model may see none. With q and not with the posterior itself every row may be drawn. The cells
    are cut into strata that get equal parts of the labels. Half of the labels are divided equally
    among groups, and half by their rows.

    Parameters
    ----------
    keys : list
        Of the groups.
    cells : list of CellPosterior
        Of each group.
    rows : list of ndarray of int, shape (n_cells,)
        Rows of each group in each cell, which with weights are not those of `cells`.
    n : int
        Number of labels.

    Examples
    --------
    >>> rows, shares = np.array([600, 200, 200]), np.array([0.0, 0.5, 0.5])
    >>> cells = CellPosterior(rows, shares, np.array([0.0, 0.5, 1.0]), prevalence=None)
    >>> strata = make_strata([()], [cells], [rows], 40)
    >>> strata.rows.tolist(), strata.chance.round(2).tolist()
    ([600, 200, 200], [0.35, 0.36, 0.28])
    """
    weight = np.array([each.rows.sum() for each in cells], float)
    shares = (1 / len(cells) + weight / weight.sum()) / 2
    of_cell = np.full((len(cells), len(rows[0])), -1)
    parts: list[tuple[np.ndarray, ...]] = []
    for i, (each, there) in enumerate(zip(cells, rows, strict=True)):
        stratum, chance = _cut(each, there, max(1, round(n * shares[i])))
        of_cell[i] = np.where(stratum < 0, -1, stratum + sum(len(part[0]) for part in parts))
        inside = stratum >= 0

        def sums(values: np.ndarray, inside: Any = inside, stratum: Any = stratum) -> np.ndarray:
            return np.bincount(stratum[inside], values[inside])

        totals = sums(each.rows)
        looks = sums(each.shares) >= totals / totals.sum()
        expected = sums(each.rows * each.probability) / totals
        number = np.full(len(totals), i)
        parts.append((number, sums(there), totals, shares[i] * sums(chance), expected, looks))
    group, n_rows, totals, chance, expected, looks = map(np.concatenate, zip(*parts, strict=True))
    # The cells of every model are in the order of the score.
    outside = np.cumsum(cells[0].shares) <= OUTSIDE + 1e-9
    return Strata(
        keys,
        group,
        of_cell,
        n_rows.astype(np.int64),
        totals,
        chance,
        expected,
        looks,
        outside,
        float(cells[0].shares[outside].sum()),
    )


def _cut(cells: CellPosterior, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Stratum of each cell of a group, -1 where there are no rows, and part of its labels."""
    there = np.flatnonzero((cells.rows > 0) & (rows > 0))
    ratio = cells.shares[there] / cells.rows[there]
    # Equal ratios are a matter of the cells' order, never of a last bit.
    there = there[np.lexsort((there, ratio))]
    q = FLOOR + (1 - 2 * FLOOR) * cells.probability[there]
    spread, positives = cells.rows[there] * np.sqrt(q * (1 - q)), cells.shares[there]
    of_positives = WHERE_POSITIVES_ARE if positives.sum() > 0 else 0.0
    chance = np.zeros(len(rows))
    chance[there] = (1 - of_positives) * spread / spread.sum()
    chance[there] += of_positives * positives / max(positives.sum(), 1e-300)
    n_strata = max(1, min(MOST_STRATA, n // LABELS_PER_STRATUM))
    middle = np.cumsum(chance[there]) - chance[there] / 2
    stratum = np.full(len(rows), -1)
    stratum[there] = np.unique(
        np.minimum((middle * n_strata).astype(int), n_strata - 1), return_inverse=True
    )[1]
    return stratum, chance
