"""The point of a simplex that lies nearest to a target, in a space known only by inner products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, lapack

# Small compared with the eigenvalues that matter, and large compared with rounding errors.
# Near-duplicates of a row make the Gram matrix singular; with the ridge they share their weight.
RIDGE = 1e-10


class Nearest(NamedTuple):
    """The nearest point, as weights of the vertices that it is made of, and its distance.

    The true distance is at most `distance` and at least ``distance - gap / distance``.
    """

    support: np.ndarray
    weights: np.ndarray
    distance: float
    gap: float


def nearest_on_simplex(
    gram: np.ndarray,
    products: np.ndarray,
    square: float,
    start: np.ndarray,
    tolerance: float,
    enough: float = 0.0,
) -> Nearest:
    r"""Minimise :math:`\|t - \sum_i v_i x_i\|` over :math:`v \ge 0, \sum_i v_i = 1`.

    An active set method that keeps the vertices with positive weight. It adds many vertices at once
    and drops all whose weight becomes negative, which takes few steps if the Gram matrix is well
    conditioned. If that does not reduce the distance, it adds fewer, in the end one at a time with
    steps that never leave the simplex (Lawson and Hanson), which always reduces it.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Inner products of the vertices.
    products : ndarray of shape (n,)
        Inner products of the vertices and the target t.
    square : float
        Squared norm of the target.
    start : ndarray of int
        Vertices to start with, at least one; those of a similar problem make it fast.
    tolerance : float
        Stop when the distance is known to be at most this much too large.
    enough : float, default=0
        Also stop when the distance is at most this, however much smaller it could become.

    Returns
    -------
    Nearest
        The support in ascending order.
    """
    support, weights = _drop_negatives(gram, products, np.sort(start))
    slopes, squared, gap = _optimality(gram, products, square, support, weights)
    batch = len(support)
    enough = max(enough, tolerance)
    while squared > enough**2 and gap > tolerance * np.sqrt(squared):
        entering = _entering(slopes, support, weights, batch)
        batch = len(entering)
        if batch == 0:
            break
        widened = np.concatenate([support, entering])
        if batch > 1:
            trial = _drop_negatives(gram, products, widened)
        else:
            trial = _step_inside(gram, products, widened, np.append(weights, 0.0))
        found = _optimality(gram, products, square, *trial)
        if found[1] < squared * (1 - 1e-10):
            support, weights = trial
            slopes, squared, gap = found
            batch *= 2
        elif batch == 1:
            break  # Any further gain is below the rounding errors.
        else:
            batch = max(1, batch // 4)
    order = np.argsort(support)
    return Nearest(support[order], weights[order], float(np.sqrt(squared)), float(gap))


def _entering(
    slopes: np.ndarray, support: np.ndarray, weights: np.ndarray, batch: int
) -> np.ndarray:
    """Vertices towards which the distance falls fastest, at most `batch` of them."""
    gain = weights @ slopes[support] - slopes
    gain[support] = 0
    entering = np.flatnonzero(gain > 1e-14)
    if len(entering) > batch:
        entering = entering[np.argpartition(-gain[entering], batch - 1)[:batch]]
    return entering


def _optimality(
    gram: np.ndarray,
    products: np.ndarray,
    square: float,
    support: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, float, float]:
    """Half the gradient, the squared distance, and a bound on half of its excess."""
    image = weights @ gram[support]
    slopes = image - products
    squared = weights @ image[support] - 2 * weights @ products[support] + square
    gap = weights @ slopes[support] - slopes.min()
    return slopes, max(0.0, float(squared)), max(0.0, float(gap))


def _drop_negatives(
    gram: np.ndarray, products: np.ndarray, support: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve on the plane through the vertices, without those whose weights are negative."""
    while True:
        weights = _on_plane(gram, products, support)
        positive = weights > 0
        if positive.all():
            return support, weights
        support = support[positive]


def _step_inside(
    gram: np.ndarray, products: np.ndarray, support: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Go towards the solution on the plane until the simplex ends, and again from there."""
    while True:
        goal = _on_plane(gram, products, support)
        falling = goal <= 0
        if not falling.any():
            return support, goal
        reach = np.full(len(goal), np.inf)
        reach[falling] = weights[falling] / (weights[falling] - goal[falling])
        step = reach.min()
        keep = reach > step
        weights = (weights + step * (goal - weights))[keep]
        support = support[keep]


def _on_plane(gram: np.ndarray, products: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Weights of sum 1, of either sign, that come nearest to the target."""
    right = np.empty((len(support), 2), order="F")
    right[:, 0] = products[support]
    right[:, 1] = 1
    ridge = RIDGE
    while ridge < 1:
        block = gram[np.ix_(support, support)]
        block.flat[:: len(support) + 1] += ridge
        # The block is symmetric: its transpose is in LAPACK's memory order, without a copy.
        _, solved, failed = lapack.dposv(block.T, right, lower=1, overwrite_a=1)
        if not failed:
            free, unit = solved.T
            return free - unit * ((free.sum() - 1) / unit.sum())
        ridge *= 100
    raise LinAlgError("the Gram matrix is not positive semi-definite")
