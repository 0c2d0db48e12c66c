"""The samples of the experiments: seeded, and the same for every method.

Every sample has a random stream of its own, named after its place in the experiment, so that it can
be drawn alone, in any order and in any process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from poscount.errors import InputError
from poscount.seeds import seed_of, stream
from research.datasets import DataSet

N_FOLDS = 5
N_POINTS = 11  # prevalences 0, 0.1, ..., 1
MAX_POSITIVES = 500  # and as many negatives, for a method that learns from them
MIN_POSITIVES = 10
TWENTIETHS = tuple(i / 20 for i in range(21))
MIN_ROWS = 10  # with fewer, a tenth of the sample is less than a row


class Protocol(NamedTuple):
    """What distinguishes one experiment from the others.

    Attributes
    ----------
    title : str
        What it shows.
    samples_of : str
        The experiment whose samples it uses.
    repetitions : int
        How often the paper repeats it.
    n_folds : int
        How many of the five folds are learned from, one after the other.
    max_rows : int
        Size of the largest sample.
    by_negative : bool
        Whether each negative sub-class in turn provides all the negatives.
    vary_negatives : bool
        Whether each sample has its own random shares of the negative sub-classes.
    """

    title: str
    samples_of: str
    repetitions: int
    n_folds: int = N_FOLDS
    max_rows: int = 2000
    by_negative: bool = False
    vary_negatives: bool = False


PROTOCOLS = {
    "1": Protocol("General quantification", "1", repetitions=5),
    "2": Protocol(
        "Varying shares of the negative sub-classes",
        "2",
        repetitions=30,
        max_rows=500,
        vary_negatives=True,
    ),
    # The text says 500 rows, the authors' script has 2,000 by default.
    "2large": Protocol(
        "#2 with samples of up to 2,000 rows", "2large", repetitions=30, vary_negatives=True
    ),
    "3": Protocol("One negative sub-class at a time", "3", repetitions=5, by_negative=True),
    "4": Protocol("Time", "1", repetitions=1, n_folds=1),
}


class Place(NamedTuple):
    """A place in an experiment: a repetition and a fold, with eleven samples."""

    experiment: str
    dataset: str
    negative: str
    repetition: int
    fold: int


class Sample(NamedTuple):
    """Unlabeled rows, and the share of positives among them.

    Attributes
    ----------
    point : int
        The share that was asked for, in tenths.
    truth : float
        The share that was drawn.
    rows : ndarray
        The rows.
    """

    point: int
    truth: float
    rows: np.ndarray


def places(experiment: str, dataset: DataSet, repetitions: int | None = None) -> Iterator[Place]:
    """All places of an experiment on a data set, in order.

    Parameters
    ----------
    experiment : str
        Key of `PROTOCOLS`.
    dataset : DataSet
    repetitions : int, optional
        As many as in the paper by default.
    """
    protocol = _protocol(experiment)
    count = protocol.repetitions if repetitions is None else repetitions
    for repetition in range(count):
        for negative in dataset.negatives if protocol.by_negative else ("",):
            for fold in range(protocol.n_folds):
                yield Place(experiment, dataset.key, negative, repetition, fold)


def _protocol(experiment: str) -> Protocol:
    if experiment not in PROTOCOLS:
        raise ValueError(
            f"There is no experiment {experiment!r}; the experiments are {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[experiment]


def evaluations(dataset: DataSet, place: Place, seed: int) -> Iterator[tuple[np.ndarray, Sample]]:
    """Draw the eleven evaluations of one place as the paper does.

    The folds are drawn anew for every prevalence, so that each has positives of its own, and the
    errors of one repetition are less alike than if all prevalences shared the folds.

    Parameters
    ----------
    dataset : DataSet
    place : Place
    seed : int

    Yields
    ------
    positives : ndarray
        Rows to learn from.
    sample : Sample
        Prevalences 0, 0.1, ..., 1.

    Raises
    ------
    InputError
        If the data set has too few rows of some kind for the experiment.
    """
    for point in range(N_POINTS):
        pools = _Pools.of(dataset, place, seed, point)
        yield dataset.features[pools.labeled], pools.sample(dataset, point)


def negatives(dataset: DataSet, place: Place, seed: int, point: int) -> np.ndarray:
    """Draw negatives for a method that learns from them: of the fold that the positives are from.

    Parameters
    ----------
    dataset : DataSet
    place : Place
    seed : int
    point : int
        The evaluation, in tenths of positives.

    Returns
    -------
    ndarray
        At most 500 rows, none of which is in the sample.
    """
    pools = _Pools.of(dataset, place, seed, point)
    return dataset.features[pools.known_negatives]


def draw(dataset: DataSet, place: Place, seed: int) -> tuple[np.ndarray, Iterator[Sample]]:
    """Draw positives to learn from and eleven samples of one place, which share their folds.

    The paper's experiments draw folds anew for every prevalence (`evaluations`); this is for
    questions in which one model is to answer for several samples.

    Parameters
    ----------
    dataset : DataSet
    place : Place
    seed : int

    Returns
    -------
    positives : ndarray
    samples : iterator of Sample
        Prevalences 0, 0.1, ..., 1.

    Raises
    ------
    InputError
        If the data set has too few rows of some kind for the experiment.
    """
    pools = _Pools.of(dataset, place, seed)
    samples = (pools.sample(dataset, point) for point in range(N_POINTS))
    return dataset.features[pools.labeled], samples


def check(dataset: DataSet, place: Place, seed: int) -> None:
    """Raise an `InputError` if a place cannot be drawn; it names the number that is too small."""
    for point in range(N_POINTS):
        _Pools.of(dataset, place, seed, point)


@lru_cache(maxsize=2 * N_POINTS)
def _folds(dataset: DataSet, negative: str | None, stem: str, seed: int) -> list[np.ndarray]:
    """Row numbers of the folds of one repetition and prevalence, which its places share."""
    used = np.arange(len(dataset.labels))
    if negative is not None:
        used = used[dataset.is_positive | (dataset.labels == negative)]
    return np.array_split(stream(seed, f"{stem}/folds").permutation(used), N_FOLDS)


class _Pools(NamedTuple):
    """Row numbers to draw from."""

    protocol: Protocol
    seed: int
    stem: str
    labeled: np.ndarray
    known_negatives: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray

    @classmethod
    def of(cls, dataset: DataSet, place: Place, seed: int, point: int | None = None) -> _Pools:
        """Pools of the folds of one prevalence, or of the folds that all prevalences share."""
        protocol = _protocol(place.experiment)
        stem = f"{protocol.samples_of}/{place.dataset}/{place.negative}/{place.repetition}"
        if point is not None:
            stem = f"{stem}/{point}"
        negative = place.negative if protocol.by_negative else None
        folds = _folds(dataset, negative, stem, seed)
        fold = folds[place.fold]
        rest = np.concatenate(folds[: place.fold] + folds[place.fold + 1 :])
        stem = f"{stem}/{place.fold}"
        known = fold[dataset.is_positive[fold]]
        labeled = stream(seed, f"{stem}/positives").permutation(known)[:MAX_POSITIVES]
        other = fold[~dataset.is_positive[fold]]
        known_negatives = stream(seed, f"{stem}/negatives").permutation(other)[:MAX_POSITIVES]
        in_rest = dataset.is_positive[rest]
        pools = cls(protocol, seed, stem, labeled, known_negatives, rest[in_rest], rest[~in_rest])
        pools.check(dataset, place)
        return pools

    def check(self, dataset: DataSet, place: Place) -> None:
        negatives = f"negatives of sub-class {place.negative!r}" if place.negative else "negatives"
        needs = [
            (self.labeled, MIN_POSITIVES, "positives in the fold to learn from"),
            (self.positives, MIN_ROWS, "positives in the other folds to draw samples from"),
            (self.negatives, MIN_ROWS, f"{negatives} in the other folds to draw samples from"),
        ]
        for rows, needed, what in needs:
            if len(rows) < needed:
                raise InputError(
                    f"experiment #{place.experiment} needs at least {needed} {what}, and data set "
                    f"{dataset.key!r} has {len(rows)} (repetition {place.repetition}, fold "
                    f"{place.fold}; {dataset.is_positive.sum()} positives and "
                    f"{(~dataset.is_positive).sum()} negatives in all)."
                )

    def sample(self, dataset: DataSet, point: int) -> Sample:
        size = min(len(self.positives), len(self.negatives), self.protocol.max_rows)
        generator = stream(self.seed, f"{self.stem}/{point}")
        n_positives = point * size // (N_POINTS - 1)
        if self.protocol.vary_negatives:
            n_positives, negatives = self._varied(dataset, n_positives, size, generator)
        else:
            negatives = generator.choice(self.negatives, size - n_positives, replace=False)
        positives = generator.choice(self.positives, n_positives, replace=False)
        drawn = generator.permutation(np.concatenate([positives, negatives]))
        return Sample(point, n_positives / len(drawn), dataset.features[drawn])

    def _varied(
        self, dataset: DataSet, n_positives: int, size: int, generator: np.random.Generator
    ) -> tuple[int, np.ndarray]:
        """Negatives in random shares of their sub-classes, and how many positives go with them.

        Rounding to whole rows, and sub-classes that run out, make them fewer than wanted. The
        positives shrink in the same ratio, so that the sample keeps the prevalence asked for.
        """
        wanted = size - n_positives
        if wanted == 0:
            return n_positives, self.negatives[:0]
        weights = generator.random(len(dataset.negatives))
        weights /= weights.sum()
        labels = dataset.labels[self.negatives]
        pools = [self.negatives[labels == negative] for negative in dataset.negatives]
        available = np.array([len(pool) for pool in pools])
        totals = np.arange(wanted + 1)
        parts = np.floor(np.multiply.outer(totals, weights)).astype(np.int64)
        part = parts[np.all(parts <= available, axis=1)][-1]
        drawn = [
            generator.choice(pool, n, replace=False) for pool, n in zip(pools, part, strict=True)
        ]
        return n_positives * int(part.sum()) // wanted, np.concatenate(drawn)


class ArtificialSample(NamedTuple):
    """A sample with a known share of positives, from `artificial_prevalences`."""

    truth: float
    rows: Any


def artificial_prevalences(
    features: Any,
    is_positive: Any,
    *,
    n_rows: int,
    prevalences: Sequence[float] = TWENTIETHS,
    repetitions: int = 1,
    random_state: Any = None,
) -> Iterator[ArtificialSample]:
    """Draw samples whose share of positives is known, to try quantifiers on your own data.

    This is the artificial-prevalence protocol of the quantification literature: for every
    prevalence and repetition a sample of `n_rows`, drawn without replacement.

    Parameters
    ----------
    features : array or frame of shape (n, n_features)
        Rows to draw from; leave out rows that the quantifier has learned from.
    is_positive : array-like of bool of shape (n,)
        Whether each row is positive.
    n_rows : int
        Number of rows in a sample.
    prevalences : sequence of float
        Shares of positives, each in [0, 1]; 0, 0.05, ..., 1 by default.
    repetitions : int, default=1
        Number of samples of each prevalence.
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same samples.

    Yields
    ------
    ArtificialSample
        `truth`, the share that was drawn (a whole number of rows), and `rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from research.experiments import artificial_prevalences
    >>> is_positive = np.arange(100) < 40
    >>> samples = artificial_prevalences(
    ...     np.eye(100), is_positive, n_rows=30, prevalences=[0.1, 0.5], random_state=0
    ... )
    >>> [(sample.truth, sample.rows.shape) for sample in samples]
    [(0.1, (30, 100)), (0.5, (30, 100))]
    """
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _num_samples

    truth = np.asarray(is_positive)
    if truth.dtype != bool or truth.shape != (_num_samples(features),):
        raise ValueError(
            f"is_positive must be true or false for each of the {_num_samples(features)} rows: "
            f"got an array of {truth.dtype} of shape {truth.shape}."
        )
    seed = seed_of(random_state)
    positives, negatives = np.flatnonzero(truth), np.flatnonzero(~truth)
    for i, prevalence in enumerate(prevalences):
        if not 0 <= prevalence <= 1:
            raise ValueError(f"A prevalence is between 0 and 1: prevalences[{i}] is {prevalence}.")
        n_positives = round(prevalence * n_rows)
        for pool, needed, what in [
            (positives, n_positives, "positives"),
            (negatives, n_rows - n_positives, "negatives"),
        ]:
            if needed > len(pool):
                raise ValueError(
                    f"A sample of {n_rows} rows with prevalence {prevalence} needs {needed} "
                    f"{what}, and there are {len(pool)}: draw smaller samples."
                )
        for repetition in range(repetitions):
            generator = stream(seed, f"{i}/{repetition}")
            drawn = np.concatenate(
                [
                    generator.choice(positives, n_positives, replace=False),
                    generator.choice(negatives, n_rows - n_positives, replace=False),
                ]
            )
            rows = _safe_indexing(features, generator.permutation(drawn))
            yield ArtificialSample(n_positives / n_rows, rows)
