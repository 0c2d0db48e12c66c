"""One seed per model, and independent streams from it that do not depend on the order of calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator

RandomState = int | np.integer | np.random.RandomState | np.random.Generator | None


def seed_of(random_state: RandomState) -> int:
    """Seed for a `random_state`: an integer is the seed itself, None draws a new one.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    return int(random_state)


def stream(seed: int, place: str) -> np.random.Generator:
    """Generator for one named place in the program, independent of those for other places.

    Examples
    --------
    >>> bool(stream(0, "folds").integers(100) == stream(0, "folds").integers(100))
    True
    """
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(place.encode()))
    return np.random.default_rng(sequence)


@contextmanager
def own_global_generator(seed: int) -> Iterator[None]:
    """Seed numpy's global generator for the block, and restore its state afterwards.

    Some scorers, such as `OneClassSVM`, draw from it and have no `random_state`.
    """
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(stream(seed, "global").integers(2**32, size=4))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def seed_scorer(scorer: BaseEstimator, seed: int) -> None:
    """Set every `random_state` of a scorer or pipeline that is None to a seed of its own."""
    generator = stream(seed, "scorer")
    parameters = scorer.get_params()
    for name in sorted(parameters):
        if name.rpartition("__")[2] == "random_state" and parameters[name] is None:
            scorer.set_params(**{name: int(generator.integers(2**31))})
