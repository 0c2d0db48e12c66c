"""Samples whose assumptions are broken on purpose, in the ways in which it happens to people.

A break takes a task, a prevalence, a strength from 0 to 1 and a generator, and makes labelled
positives and a sample. Where a task does not have what it needs, it makes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from poscount.calibration.doubt import BREAKS
from poscount.methods.regions.partition import k_means
from poscount.methods.regions.recording import means_and_spreads
from poscount.training.tasks import Task

FEWEST_POSITIVES, FEWEST_ROWS = 25, 60
MOST_LABELED, MOST_ROWS = 800, 1_500
# Of the tasks, clean cases and broken ones alike.
RESCALED = 0.3


class Case(NamedTuple):
    """Labelled positives and a sample with something wrong, or nothing.

    Attributes
    ----------
    name : str
    kind : int
        Place in `BREAKS` of the assumption that is broken.
    labeled, sample : ndarray
    prevalence : float
        True share of positives in the sample.
    words : tuple of int
        Columns that hold codes of words.
    """

    name: str
    kind: int
    labeled: np.ndarray
    sample: np.ndarray
    prevalence: float
    words: tuple[int, ...]


class Drawn(NamedTuple):
    """A clean draw: labelled positives, and positives and negatives of a sample."""

    labeled: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    words: tuple[int, ...]

    @property
    def sample(self) -> np.ndarray:
        """Rows of the sample, positives first."""
        return np.concatenate([self.ours, self.theirs])

    @property
    def numbers(self) -> np.ndarray:
        """Columns that hold numbers."""
        return np.setdiff1d(np.arange(self.labeled.shape[1]), self.words)


# From a task, a clean draw, a strength and a generator to labelled rows, positives and negatives.
Broken = tuple[np.ndarray, np.ndarray, np.ndarray]
Change = Callable[[Task, Drawn, float, np.random.Generator], Broken | None]


def rescaled(task: Task, rng: np.random.Generator) -> Task:
    """A task as it is, or with all rows scaled by the labelled positives, as some people do."""
    numbers = np.setdiff1d(np.arange(task.labeled.shape[1]), task.words)
    known, kind = task.labeled[:, numbers], rng.random()
    if kind > RESCALED or np.isnan(known).all(axis=0).any():
        return task
    if kind < RESCALED / 2:
        start, unit = means_and_spreads(known)
    else:
        start = np.nanmin(known, axis=0)
        unit = np.nanmax(known, axis=0) - start
    unit = _not_zero(unit)

    def scaled(rows: np.ndarray) -> np.ndarray:
        rows = rows.copy()
        rows[:, numbers] = (rows[:, numbers] - start) / unit
        return rows

    return task._replace(
        labeled=scaled(task.labeled),
        positives=lambda n, rng: scaled(task.positives(n, rng)),
        negatives=lambda n, rng: scaled(task.negatives(n, rng)),
    )


def draw_clean(task: Task, prevalence: float, rng: np.random.Generator) -> Drawn:
    """A draw with nothing wrong."""
    n_most = min(
        MOST_ROWS,
        math.floor(task.most_positives / max(prevalence, 1e-9)),
        math.floor(task.most_negatives / max(1 - prevalence, 1e-9)),
    )
    n = round(math.exp(rng.uniform(math.log(min(FEWEST_ROWS, n_most)), math.log(n_most))))
    n = max(n, min(n_most, 300)) if rng.random() < 0.7 else n
    n_positive = round(prevalence * n)
    labeled = task.labeled
    if len(labeled) > MOST_LABELED:
        labeled = labeled[rng.choice(len(labeled), MOST_LABELED, replace=False)]
    return Drawn(
        labeled, task.positives(n_positive, rng), task.negatives(n - n_positive, rng), task.words
    )


def case(
    name: str, task: Task, prevalence: float, strength: float, rng: np.random.Generator
) -> Case | None:
    """A case of one of `CHANGES`, or a clean one; None if the task does not have what it needs."""
    drawn = draw_clean(task, prevalence, rng)
    if name == "clean":
        found: Broken | None = drawn.labeled, drawn.ours, drawn.theirs
        kind = 0
    else:
        kind_name, change = CHANGES[name]
        found, kind = change(task, drawn, strength, rng), BREAKS.index(kind_name)
    if found is None:
        return None
    labeled, ours, theirs = found
    sample = np.concatenate([ours, theirs])
    if len(labeled) < FEWEST_POSITIVES or len(sample) < FEWEST_ROWS // 2:
        return None
    return Case(name, kind, labeled, sample, len(ours) / len(sample), drawn.words)


# Recorded differently: the columns mean the same, and their values are a little different.


def _shifted(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    numbers = drawn.numbers
    _, scale = _scales(drawn)
    return (
        _changed(drawn, lambda rows: rows + 0.6 * strength * scale * rng.choice([-1, 1]))
        if len(numbers)
        else None
    )


def _another_sensor(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    _, scale = _scales(drawn)
    moved = rng.normal(size=len(scale))
    return _changed(drawn, lambda rows: rows + 0.6 * strength * scale * moved)


def _stretched(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    location, _ = _scales(drawn)
    factor = 1 + 0.3 * strength * rng.choice([-1, 1])
    return _changed(drawn, lambda rows: location + (rows - location) * factor)


def _gain(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    factors = np.exp(0.4 * strength * rng.normal(size=len(drawn.numbers)))
    return _changed(drawn, lambda rows: rows * factors)


def _one_shifted(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    _, scale = _scales(drawn)
    if len(scale) == 0:
        return None
    one = np.arange(len(scale)) == rng.integers(len(scale))
    return _changed(drawn, lambda rows: rows + 2.5 * strength * scale * one * rng.choice([-1, 1]))


def _noisy(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    _, scale = _scales(drawn)
    return _changed(drawn, lambda rows: rows + 0.8 * strength * scale * rng.normal(size=rows.shape))


def _rounded(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    _, scale = _scales(drawn)
    step = np.where(scale > 0, 2 * strength * scale, 1.0)
    return _changed(drawn, lambda rows: np.round(rows / step) * step)


def _clipped(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    numbers = drawn.numbers
    if not len(numbers):
        return None
    q = 0.3 * strength
    ends = np.nanquantile(drawn.labeled[:, numbers], [q, 1 - q], axis=0)
    return _changed(drawn, lambda rows: np.clip(rows, *ends))


# Prepared differently: columns that do not mean the same any more.


def _own_scaling(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Either table standardised by itself."""
    return _each_by_itself(drawn, lambda rows: (rows - rows.mean(0)) / _not_zero(rows.std(0)))


def _own_range(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Either table scaled to 0 to 1 by itself."""
    return _each_by_itself(drawn, lambda rows: (rows - rows.min(0)) / _not_zero(np.ptp(rows, 0)))


def _sample_scaled(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """The sample standardised, the positives not, or by the positives' own numbers."""
    location, scale = _scales(drawn)
    rows = drawn.sample[:, drawn.numbers]
    if not _complete(drawn):
        return None
    own = (rows - rows.mean(0)) / _not_zero(rows.std(0))
    return _with_sample(
        drawn, own * (scale if strength < 0.5 else 1.0) + (location * (strength < 0.5))
    )


def _row_normalised(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    if not _complete(drawn) or len(drawn.numbers) < 2:
        return None
    size = np.linalg.norm(drawn.sample[:, drawn.numbers], axis=1, keepdims=True)
    typical = np.linalg.norm(drawn.labeled[:, drawn.numbers], axis=1).mean()
    factor = typical if rng.random() < 0.5 else 1.0
    return _changed(drawn, lambda rows: factor * rows / _not_zero(size))


def _units(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """Other units in one column, or in a part of all."""
    numbers = drawn.numbers
    if not len(numbers):
        return None
    some = rng.random(len(numbers)) < (strength if rng.random() < 0.5 else 0)
    some[rng.integers(len(numbers))] = True
    factor, offset = ((2.54, 0), (1.8, 32), (10, 0), (1000, 0), (0.45, 0))[rng.integers(5)]
    return _changed(drawn, lambda rows: np.where(some, rows * factor + offset, rows))


def _logarithms(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    numbers = drawn.numbers
    if not len(numbers):
        return None
    some = np.ones(len(numbers), bool)
    if rng.random() < 0.5:
        some = np.arange(len(numbers)) == rng.integers(len(numbers))
    return _changed(
        drawn, lambda rows: np.where(some, np.sign(rows) * np.log1p(np.abs(rows)), rows)
    )


def _exchanged(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    numbers = drawn.numbers
    if len(numbers) < 2:
        return None
    order = np.arange(len(numbers))
    one, other = rng.choice(len(numbers), 2, replace=False)
    order[[one, other]] = order[[other, one]]
    return _changed(drawn, lambda rows: rows[:, order])


def _reversed(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    if len(drawn.numbers) < 3:
        return None
    return _changed(drawn, lambda rows: rows[:, ::-1])


def _misaligned(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """One column sorted, or shifted by a row, so that its values belong to other rows."""
    numbers = drawn.numbers
    if len(numbers) < 2:
        return None
    j = rng.integers(len(numbers))
    n = len(drawn.sample)
    if not n:
        return None
    mixed = drawn.sample[rng.permutation(n)][:, numbers[j]]

    def change(rows: np.ndarray) -> np.ndarray:
        made = rows.copy()
        made[:, j] = np.sort(mixed) if rng.random() < 0.5 else mixed
        return made

    return _changed(drawn, change)


def _lost_points(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Decimal points lost in some rows of some columns."""
    numbers = drawn.numbers
    if not len(numbers):
        return None
    columns = rng.random(len(numbers)) < 0.5
    columns[rng.integers(len(numbers))] = True
    lost = (rng.random(len(drawn.sample)) < 0.1 + 0.4 * strength)[:, np.newaxis] & columns
    return _changed(drawn, lambda rows: np.where(lost, 10.0 * rows, rows))


def _running_number(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """A number of rows as a column: the positives were numbered together, or each table anew."""
    n_labeled, n = len(drawn.labeled), len(drawn.sample)
    start = 0 if rng.random() < 0.5 else n_labeled
    of_sample = start + rng.permutation(n)
    k = len(drawn.ours)
    return (
        np.column_stack([drawn.labeled, np.arange(n_labeled)]),
        np.column_stack([drawn.ours, of_sample[:k]]),
        np.column_stack([drawn.theirs, of_sample[k:]]),
    )


# Codes for what is missing.


def _codes(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    numbers = drawn.numbers
    if not len(numbers):
        return None
    columns = np.zeros(len(numbers), bool)
    columns[rng.choice(len(numbers), min(len(numbers), int(rng.integers(1, 4))), False)] = True
    code = rng.choice([-9999.0, -999.0, -1.0, 0.0, 99.0, 9999.0])
    gone = (rng.random(len(drawn.sample)) < 0.05 + 0.5 * strength)[:, np.newaxis] & columns
    return _changed(drawn, lambda rows: np.where(gone, code, rows))


def _codes_among_positives(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    numbers = drawn.numbers
    if not len(numbers):
        return None
    labeled = drawn.labeled.copy()
    n = max(1, round(0.1 * strength * len(labeled)))
    labeled[rng.choice(len(labeled), n, replace=False), rng.choice(numbers)] = rng.choice(
        [-9999.0, -999.0, 9999.0]
    )
    return labeled, drawn.ours, drawn.theirs


def _imputed(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """Gaps of the sample filled with means, where the positives have none."""
    if not _complete(drawn) or not len(drawn.numbers):
        return None
    mean = drawn.sample[:, drawn.numbers].mean(axis=0)
    gone = rng.random((len(drawn.sample), len(mean))) < 0.05 + 0.4 * strength
    return _changed(drawn, lambda rows: np.where(gone, mean, rows))


# Positives that are not typical.


def _kinds_drift(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Clusters of the positives have other shares in the sample than among the labelled ones."""
    pool = _pool(task, drawn, rng)
    if pool is None:
        return None
    n_labeled, n_ours = len(drawn.labeled), len(drawn.ours)
    cluster = _clusters(pool, drawn.numbers, int(rng.integers(2, 6)), rng)
    k = int(cluster.max()) + 1
    of_labeled, of_sample = (
        rng.dirichlet(np.full(k, 3.0 / max(strength, 0.1) ** 1.5)) for _ in "LU"
    )
    if rng.random() < 0.3:
        powers = 2.0 ** (3 * strength * rng.permutation(k) / k)
        of_sample = powers / powers.sum()
    return _by_weights(drawn, pool, of_labeled[cluster], of_sample[cluster], n_labeled, n_ours, rng)


def _picked(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """Labelled positives were chosen by a column, or along a direction, and not at random."""
    pool = _pool(task, drawn, rng)
    if pool is None or not len(drawn.numbers):
        return None
    points = _standardised(pool, drawn.numbers)
    if rng.random() < 0.5:
        along = points[:, rng.integers(points.shape[1])]
    else:
        along = points @ np.linalg.svd(points[:500], full_matrices=False)[2][0]
    along = along - along.mean()
    weights = 1 / (1 + np.exp(-4 * strength * along / max(along.std(), 1e-9)))
    rest = np.full(len(pool), 1.0)
    return _by_weights(drawn, pool, weights, rest, len(drawn.labeled), len(drawn.ours), rng)


def _one_side(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """Labelled positives are from one side of the first component only, or of one cluster."""
    pool = _pool(task, drawn, rng)
    if pool is None or not len(drawn.numbers):
        return None
    if rng.random() < 0.5:
        points = _standardised(pool, drawn.numbers)
        along = points @ np.linalg.svd(points[:500], full_matrices=False)[2][0]
        chosen = along > np.quantile(along, 0.2 + 0.4 * strength)
    else:
        cluster = _clusters(pool, drawn.numbers, 2, rng)
        chosen = cluster == rng.integers(2)
    weights = np.where(chosen, 1.0, 0.0)
    rest = np.full(len(pool), 1.0)
    return _by_weights(drawn, pool, weights, rest, len(drawn.labeled), len(drawn.ours), rng)


def _context(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """A column that says where or when: many values among the positives, one in the sample."""
    k, n = int(rng.integers(2, 9)), len(drawn.sample)
    shares = rng.dirichlet(np.full(k, 3.0))
    of_labeled = rng.choice(k, len(drawn.labeled), p=shares)
    value = int(rng.integers(k))
    of_sample = np.where(rng.random(n) < 0.05 * (1 - strength), rng.integers(k, size=n), value)
    noise = (lambda size: rng.normal(size=size)) if rng.random() < 0.4 else np.zeros
    step = rng.choice([1.0, 3.0, 10.0])
    made = [step * of_labeled + noise(len(of_labeled)), step * of_sample + noise(n)]
    j = len(drawn.ours)
    return (
        np.column_stack([drawn.labeled, made[0]]),
        np.column_stack([drawn.ours, made[1][:j]]),
        np.column_stack([drawn.theirs, made[1][j:]]),
    )


def _only_some_contexts(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Positives of a few hours, the sample of the whole day."""
    n = len(drawn.sample)
    part = 1 - 0.8 * strength
    hours = [24 * part * rng.random(len(drawn.labeled)), 24 * rng.random(n)]
    j = len(drawn.ours)
    return (
        np.column_stack([drawn.labeled, hours[0]]),
        np.column_stack([drawn.ours, hours[1][:j]]),
        np.column_stack([drawn.theirs, hours[1][j:]]),
    )


# Tables that are not what they are called.


def _contaminated(
    task: Task, drawn: Drawn, strength: float, rng: np.random.Generator
) -> Broken | None:
    """Negatives among the labelled positives."""
    share = 0.05 + 0.25 * strength
    n = len(drawn.labeled)
    wrong = min(round(share * n), task.most_negatives)
    labeled = drawn.labeled.copy()
    labeled[rng.choice(n, wrong, replace=False)] = task.negatives(wrong, rng)
    return labeled, drawn.ours, drawn.theirs


def _swapped(task: Task, drawn: Drawn, strength: float, rng: np.random.Generator) -> Broken | None:
    """The sample as the positives, and the positives as the sample."""
    share = len(drawn.ours) / max(len(drawn.sample), 1)
    if share > 0.8 or len(drawn.sample) < 100:
        return None
    return drawn.sample, drawn.labeled, drawn.labeled[:0]


CHANGES: dict[str, tuple[str, Change]] = {
    "shifted": ("recorded", _shifted),
    "another sensor": ("recorded", _another_sensor),
    "stretched": ("recorded", _stretched),
    "gain": ("recorded", _gain),
    "one column shifted": ("recorded", _one_shifted),
    "noise": ("recorded", _noisy),
    "rounded": ("recorded", _rounded),
    "clipped": ("recorded", _clipped),
    "scaled by itself": ("prepared", _own_scaling),
    "range by itself": ("prepared", _own_range),
    "sample scaled": ("prepared", _sample_scaled),
    "rows normalised": ("prepared", _row_normalised),
    "units": ("prepared", _units),
    "logarithms": ("prepared", _logarithms),
    "exchanged": ("prepared", _exchanged),
    "reversed": ("prepared", _reversed),
    "misaligned": ("prepared", _misaligned),
    "lost points": ("prepared", _lost_points),
    "imputed": ("prepared", _imputed),
    "codes": ("codes", _codes),
    "codes among positives": ("codes", _codes_among_positives),
    "kinds drift": ("typical", _kinds_drift),
    "picked": ("typical", _picked),
    "one side": ("typical", _one_side),
    "context": ("context", _context),
    "some contexts": ("context", _only_some_contexts),
    "running number": ("context", _running_number),
    "contaminated": ("contaminated", _contaminated),
    "swapped": ("swapped", _swapped),
}


def _scales(drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
    numbers = drawn.labeled[:, drawn.numbers]
    if not numbers.shape[1]:
        return np.zeros(0), np.zeros(0)
    return means_and_spreads(numbers)


def _complete(drawn: Drawn) -> bool:
    numbers = drawn.numbers
    rows = drawn.labeled, drawn.sample
    return len(drawn.sample) > 1 and not any(np.isnan(each[:, numbers]).any() for each in rows)


def _changed(drawn: Drawn, change: Callable[[np.ndarray], np.ndarray]) -> Broken | None:
    """The numbers of the sample changed; None if nothing is."""
    return _with_sample(drawn, change(drawn.sample[:, drawn.numbers]))


def _with_sample(drawn: Drawn, numbers: np.ndarray) -> Broken | None:
    sample = drawn.sample.copy()
    if np.array_equal(sample[:, drawn.numbers], numbers, equal_nan=True):
        return None
    sample[:, drawn.numbers] = numbers
    k = len(drawn.ours)
    return drawn.labeled, sample[:k], sample[k:]


def _each_by_itself(drawn: Drawn, change: Callable[[np.ndarray], np.ndarray]) -> Broken | None:
    if not _complete(drawn) or not len(drawn.numbers):
        return None
    labeled = drawn.labeled.copy()
    labeled[:, drawn.numbers] = change(labeled[:, drawn.numbers])
    found = _changed(drawn, change)
    return None if found is None else (labeled, *found[1:])


def _not_zero(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)


def _pool(task: Task, drawn: Drawn, rng: np.random.Generator) -> np.ndarray | None:
    """Positives to label and to count, together."""
    more = task.positives(min(task.most_positives, 1_500), rng)
    pool = np.concatenate([drawn.labeled, more])
    return pool if len(pool) >= 4 * FEWEST_POSITIVES else None


def _standardised(rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    points = rows[:, numbers]
    points = np.where(np.isnan(points), np.nanmean(points, axis=0), points)
    # Nothing is known of a column without a value.
    return np.nan_to_num((points - points.mean(axis=0)) / _not_zero(points.std(axis=0)))


def _clusters(
    rows: np.ndarray, numbers: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    columns = numbers if len(numbers) else np.arange(rows.shape[1])
    points = np.ascontiguousarray(_standardised(rows, columns))
    centres = k_means(points, k, rng)
    return ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)


def _by_weights(
    drawn: Drawn,
    pool: np.ndarray,
    of_labeled: np.ndarray,
    of_sample: np.ndarray,
    n_labeled: int,
    n_ours: int,
    rng: np.random.Generator,
) -> Broken | None:
    """Rows to label and rows for the sample, each with its own weights, none in both."""
    side = rng.random(len(pool)) < n_labeled / max(n_labeled + n_ours, 1)
    found = []
    for weights, here, wanted in ((of_labeled, side, n_labeled), (of_sample, ~side, n_ours)):
        there = np.flatnonzero(here & (weights > 0))
        # At most a part, so that weights matter.
        n = min(wanted, math.ceil(0.6 * len(there)))
        if n == 0:
            found.append(pool[:0])
            continue
        chances = weights[there] / weights[there].sum()
        found.append(pool[rng.choice(there, n, replace=False, p=chances)])
    labeled, ours = found
    n_theirs = round(len(drawn.theirs) * len(ours) / n_ours) if n_ours else len(drawn.theirs)
    return labeled, ours, drawn.theirs[:n_theirs]
