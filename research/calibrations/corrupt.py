"""Tables of numbers, as people have them: some columns as words, some values missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from poscount.training.tasks import Draw, Task

# Tasks that have no words, words in some columns, and nothing but words.
NO_WORDS, SOME_WORDS = 0.35, 0.45
# Tasks without gaps; with gaps at random, as frequent in all rows; with gaps that depend on the
# value; in the others negatives have other gaps than positives.
NO_GAPS, AT_RANDOM, BY_VALUE = 0.35, 0.35, 0.15
RATES = (0.01, 0.4)

# From rows and a generator to rows.
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


class Changes(NamedTuple):
    """What happens to positives and to negatives, and which columns hold codes of words then."""

    ours: Change
    theirs: Change
    words: tuple[int, ...]


def corrupt(labeled: np.ndarray, rng: np.random.Generator) -> Changes:
    """Draw what happens to a table, given the positives that are learned from.

    Parameters
    ----------
    labeled : ndarray of shape (n_labeled, n_features)
        Complete numbers.
    rng : numpy.random.Generator
    """
    d = labeled.shape[1]
    kind = rng.random()
    share = 0.0 if kind < NO_WORDS else rng.random() if kind < NO_WORDS + SOME_WORDS else 1.0
    words = np.flatnonzero(rng.random(d) < share)
    edges = {j: _edges(labeled[:, j], rng) for j in words.tolist()}
    names = {j: rng.permutation(len(edges[j]) + 1) for j in words.tolist()}
    kind = rng.random()
    gapped = rng.random(d) < rng.random()
    rate = math.exp(rng.uniform(math.log(RATES[0]), math.log(RATES[1])))
    other = math.exp(rng.uniform(math.log(RATES[0]), math.log(RATES[1])))
    by_value = NO_GAPS + AT_RANDOM <= kind < NO_GAPS + AT_RANDOM + BY_VALUE
    above = np.quantile(labeled, rng.uniform(0.3, 0.9), axis=0) if by_value else None
    if kind < NO_GAPS:
        rate = other = 0.0
    elif kind < NO_GAPS + AT_RANDOM + BY_VALUE:
        other = rate

    def change(rate: float) -> Change:
        def changed(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            gone = gapped & (rng.random(rows.shape) < rate)
            if above is not None:
                gone &= rows > above
            made = rows.copy()
            for j, limits in edges.items():
                made[:, j] = names[j][np.searchsorted(limits, rows[:, j])]
            made[gone] = np.nan
            return made

        return changed

    return Changes(change(rate), change(other), tuple(words.tolist()))


def _edges(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where a number is cut into two to eight words."""
    n = int(rng.integers(2, 9))
    return np.unique(np.quantile(values, np.arange(1, n) / n))


def corrupted(task: Task, rng: np.random.Generator) -> Task:
    """The same task after some numbers have become words, and some values have gone."""
    ours, theirs, words = corrupt(task.labeled, rng)

    def after(draw: Draw, change: Change) -> Draw:
        return lambda n, rng: change(draw(n, rng), rng)

    return task._replace(
        labeled=ours(task.labeled, rng),
        positives=after(task.positives, ours),
        negatives=after(task.negatives, theirs),
        words=words,
    )
