"""Constructed data in which negatives look like a part of the positives.

Such negatives have the scores of good positives, so that a method that counts rows above a
threshold of one score (PAT) answers near 1 whatever the truth is. Yet the prevalence can be
identified in all of them: some region holds positives and no negatives, and how many rows the
sample has there says how many positives it has. Each generator's docstring names that region.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poscount.seeds import stream
from research.datasets.dataset import Content

POSITIVE = "positive"
_OVERLAPPING, _SEPARATE = "overlapping", "separate"
_N = 2000

_Parts = tuple[np.ndarray, np.ndarray]


def cluster(rng: np.random.Generator) -> _Parts:
    """Negatives equal to one of three clusters of the positives.

    Six features. The positives are three round clusters of standard deviation 1 whose centres are
    the corners of an equilateral triangle with sides of 8 in the first two features. The negatives
    are drawn from the first cluster. All three corners are equally far from the mean of the
    positives, so that the score cannot tell them apart. Without negatives: the other two clusters.
    """
    centres = _triangle(8.0, 6)
    positives = centres[rng.integers(3, size=_N)] + rng.standard_normal((_N, 6))
    return positives, centres[0] + rng.standard_normal((_N, 6))


def inside(rng: np.random.Generator) -> _Parts:
    """Negatives in the middle of the positives' ellipsoid.

    Five features. The positives are one correlated normal distribution; the negatives have the same
    mean and 0.3 times its deviations, so that they score as better positives than most positives
    do. Without negatives: the outer shell of the ellipsoid, which no single cut on a feature
    isolates (each cut has a tail of it).
    """
    mixing = np.eye(5) + 0.5 * np.tri(5, k=-1)
    positives = rng.standard_normal((_N, 5)) @ mixing
    return positives, 0.3 * rng.standard_normal((_N, 5)) @ mixing


def heavy_tails(rng: np.random.Generator) -> _Parts:
    """Heavy tails and a rotation: negatives equal to one of two clusters of the positives.

    Eight features. Before a random rotation, the positives are two clusters at -4 and +4 on the
    first axis, each a multivariate t distribution with 3 degrees of freedom; the negatives are
    drawn from the cluster at +4, keeping only rows above 0 on that axis. The tails inflate the
    covariance, and the rotation spreads the separating axis over all features. Without negatives:
    the half-space of the other cluster, which is no cut on a feature.
    """
    rotation = _rotation(rng, 8)
    centre = np.eye(8)[0] * 4.0
    signs = rng.choice([-1.0, 1.0], size=(_N, 1))
    positives = signs * centre + _t3(rng, _N, 8)
    # Twice as many as are needed: about one in a hundred falls below 0.
    candidates = centre + _t3(rng, 2 * _N, 8)
    negatives = candidates[candidates[:, 0] > 0.0][:_N]
    return positives @ rotation, negatives @ rotation


def fifty_features(rng: np.random.Generator) -> _Parts:
    """Fifty features, in ten of which the positives fall into two clusters.

    The positives are two round clusters of standard deviation 1 at -1.5 and +1.5 in each of the
    first ten features; the other forty are noise. The negatives are drawn from the cluster at
    +1.5. Without negatives: the other cluster, 9.5 deviations away, which every one of the ten
    features shows blurred by its own noise.
    """
    centre = np.repeat([1.5, 0.0], [10, 40])
    signs = rng.choice([-1.0, 1.0], size=(_N, 1))
    positives = signs * centre + rng.standard_normal((_N, 50))
    return positives, centre + rng.standard_normal((_N, 50))


def one_of_25(rng: np.random.Generator) -> _Parts:
    """One informative feature of 25.

    The positives are two clusters at -3 and +3 in the first feature, with standard deviation 1;
    the other 24 features are noise. The negatives are drawn from the cluster at +3. Without
    negatives: the rows with a first feature below about -1; no other feature shows anything.
    """
    centre = np.eye(25)[0] * 3.0
    signs = rng.choice([-1.0, 1.0], size=(_N, 1))
    positives = signs * centre + rng.standard_normal((_N, 25))
    return positives, centre + rng.standard_normal((_N, 25))


def half(rng: np.random.Generator) -> _Parts:
    """Half of the negatives overlap, half are far away.

    As `cluster`; but only the first half of the negatives is drawn from a cluster of the positives,
    the other half lies 30 away in the third feature. A score counts the overlapping half as
    positives. Without negatives: the other two clusters.
    """
    positives, negatives = cluster(rng)
    negatives[_N // 2 :, 2] += 30.0
    return positives, negatives


_GENERATORS: dict[str, Callable[[np.random.Generator], _Parts]] = {
    "overlap-cluster": cluster,
    "overlap-inside": inside,
    "overlap-heavy-tails": heavy_tails,
    "overlap-50-features": fifty_features,
    "overlap-one-of-25": one_of_25,
    "overlap-half": half,
}
NAMES = tuple(_GENERATORS)


def generate(name: str, seed: int = 0) -> Content:
    """Generate one of `NAMES`: 2,000 positives, then 2,000 negatives.

    Examples
    --------
    >>> generate("overlap-50-features").features.shape
    (4000, 50)
    """
    positives, negatives = _GENERATORS[name](stream(seed, name))
    features = np.concatenate([positives, negatives])
    labels = np.repeat([POSITIVE, _OVERLAPPING], _N)
    if name == "overlap-half":
        labels[-_N // 2 :] = _SEPARATE
    return Content(tuple(f"x{j + 1}" for j in range(features.shape[1])), features, labels)


def title(name: str) -> str:
    """Description of one of `NAMES`, in one line."""
    return str(_GENERATORS[name].__doc__).splitlines()[0]


def _triangle(side: float, n_features: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(3) / 3
    corners = np.zeros((3, n_features))
    corners[:, :2] = side / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
    return corners


def _t3(rng: np.random.Generator, n: int, n_features: int) -> np.ndarray:
    """Multivariate t with 3 degrees of freedom: one chi-square for all features of a row."""
    return rng.standard_normal((n, n_features)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def _rotation(rng: np.random.Generator, n: int) -> np.ndarray:
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    # With the signs of r's diagonal, all rotations are equally likely.
    return q * np.sign(np.diag(r))
