"""The score of a Mahalanobis model as SQL, with a proof of which rows SQL may decide.

SQL adds in another order than numpy, so that a score that lies on an edge of a cell may round to
the other side. Both are right up to a relative error that is known beforehand; only a row whose
score is farther than that from every edge is counted in SQL. The others, one in billions as a
rule, are fetched and scored by numpy.

The bound. Let c be a row minus the mean, the same numbers in both, M the whitening with its rows
scaled to about 1 by powers of two (which is exact, and c is scaled the other way), z = M^T c and
s2 = |z|^2. A sum of d products in any order, fused or not, errs by at most g_d = d u / (1 - d u)
times the sum of the absolute products (u = 2^-53), and |c| <= |z| / smallest(M). So the computed
z errs by at most g_d k |z| with k = |M|_F / smallest(M), and the sum of squares by

    e = (1 + g_d k)^2 (1 + g_d) - 1

relative to s2. SQL uses a triangular R with R^T R = M M^T up to rounding, at half the cost: the
difference E adds |E|_F / smallest(M)^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from poscount.base import CountingQuantifier
from poscount.reusable.score_quantifier import ScoreQuantifier
from poscount.scorers import Mahalanobis

_UNIT = 2.0**-53
# Wider bands would hand too many rows back to numpy; far from usual.
_WIDEST = 1e-6


class ScoreSQL(NamedTuple):
    """SQL expressions and what their values mean.

    Attributes
    ----------
    centred, white : list of str
        Expressions of the centred features ``c0, c1, ...``, and from these of ``z0, z1, ...``.
    squared : str
        Expression, from the latter, of the squared distance.
    finite : str
        Expression that is true where every feature is a finite number.
    bounds : ndarray
        Upper bounds of bins of the squared distance, ascending; the last is infinity.
    cells : ndarray
        The cell that each bin lies in; -1 where numpy must decide.
    """

    centred: list[str]
    white: list[str]
    squared: str
    finite: str
    bounds: np.ndarray
    cells: np.ndarray


def score_sql(model: CountingQuantifier, features: Sequence[str]) -> ScoreSQL | None:
    """Turn a fitted model into SQL, or give None if its cells are not made of such a score."""
    if not (
        isinstance(model, ScoreQuantifier)
        and type(model)._tally is ScoreQuantifier._tally
        and isinstance(model.scorer_, Mahalanobis)
    ):
        return None
    scorer = model.scorer_
    used = np.flatnonzero(scorer.whitening_.any(axis=1))
    whitening = scorer.whitening_[used]
    if scorer.keep_float32 or len(used) != scorer.rank_:
        return None
    triangle, error = _triangle(whitening)
    found = _bins(-model.edges_, error)
    if found is None:
        return None
    columns = [f"CAST({quoted(name)} AS DOUBLE)" for name in features]
    centred = [f"{columns[i]} - {literal(scorer.location_[i])}" for i in used]
    white = [
        " + ".join(f"c{i} * {literal(row[i])}" for i in range(j, len(row)))
        for j, row in enumerate(triangle)
    ]
    squared = " + ".join(f"z{j} * z{j}" for j in range(len(white)))
    return ScoreSQL(centred, white, squared, f"isfinite({' + '.join(columns)})", *found)


def quoted(name: str) -> str:
    """Name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: float) -> str:
    """Number in SQL, to its last bit: without the cast 0.1 would be a decimal."""
    return f"'{float(value)!r}'::DOUBLE"


def _triangle(whitening: np.ndarray) -> tuple[np.ndarray, float]:
    """Triangular matrix with the same distances, and how far the two may disagree on them.

    The disagreement is relative, between squared distances computed with either.
    """
    d = len(whitening)
    scale = np.exp2(-np.round(np.log2(np.linalg.norm(whitening, axis=1))))
    scaled = whitening * scale[:, np.newaxis]
    triangle = linalg.qr(scaled.T, mode="r")[0]
    # One percent pays for the rounding of the singular values, if they are not too far apart.
    values = linalg.svdvals(scaled)
    smallest = 0.99 * values[-1]
    if values[-1] < 1e-6 * values[0]:
        return triangle / scale, np.inf
    rounding = (d + 4) * _UNIT / (1 - (d + 4) * _UNIT)
    norms = max(np.sum(scaled**2), np.sum(triangle**2)) * 1.01
    difference = linalg.norm(triangle.T @ triangle - scaled @ scaled.T) + 2 * rounding * norms
    one = (1 + rounding * np.sqrt(norms) / smallest) ** 2 * (1 + rounding) - 1
    # Twice what is needed: it costs nothing, and what has been left out above is far smaller.
    return triangle / scale, 2 * (2 * one + difference / smallest**2 + 8 * _UNIT)


def _bins(distances: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Bins of the squared distance: those of the cells, and between them bands of doubt."""
    # Squares beyond would be lost to the range of numbers, where no relative bound holds.
    if error > _WIDEST or not np.all((distances > 1e-100) & (distances < 1e100)):
        return None
    bounds: list[float] = []
    cells: list[int] = []
    # Near ones have the highest scores, and so are in the last cell.
    for passed, square in enumerate(np.sort(distances) ** 2):
        low, high = square * (1 - error), square * (1 + error)
        if bounds and low <= bounds[-1]:
            bounds[-1] = high
        else:
            bounds += [low, high]
            cells += [len(distances) - passed, -1]
    return np.array([*bounds, np.inf]), np.array([*cells, 0])
