"""The score of a Mahalanobis model as SQL, with a proof of which rows SQL can count.

SQL adds in another order than numpy, so a score on the edge of a cell may be rounded to the other
side. Both are right up to a relative error with a known bound, and SQL counts only the rows whose
score is farther than that from every edge. The others, usually one in billions, are fetched and
scored by numpy.

The bound. Let c be a row minus the mean (the same numbers in both), M the whitening with its rows
scaled to about 1 by powers of two (which is exact; c is scaled by their inverses), z = M^T c and
s2 = |z|^2. The error of a sum of d products, in any order, fused or not, is at most
g_d = d u / (1 - d u) times the sum of the absolute products (u = 2^-53), and
|c| <= |z| / smallest(M). So the error of the computed z is at most g_d k |z| with
k = |M|_F / smallest(M), and that of the sum of squares

    e = (1 + g_d k)^2 (1 + g_d) - 1

relative to s2. SQL uses a triangular R with R^T R = M M^T + E, because it costs half as much; the
rounding error E adds |E|_F / smallest(M)^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from poscount.base.counting import CountingQuantifier
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.scorers import Mahalanobis

_UNIT = 2.0**-53
# Wider bands would leave too many rows to numpy; the usual ones are far narrower.
_WIDEST = 1e-6


class ScoreSQL(NamedTuple):
    """SQL expressions for a score, and the queries made of them.

    Attributes
    ----------
    centred, white : list of str
        Expressions of the centred features ``c0, c1, ...``, and of ``z0, z1, ...`` from these.
    squared : str
        Expression of the squared distance from ``z0, z1, ...``.
    finite : str
        Expression that is true if every feature is a finite number.
    bounds : ndarray
        Upper bounds of bins of the squared distance, ascending; the last one is infinity.
    cells : ndarray
        The cell that each bin lies in; -1 if numpy must decide.
    """

    centred: list[str]
    white: list[str]
    squared: str
    finite: str
    bounds: np.ndarray
    cells: np.ndarray

    def histogram_query(self, by: Sequence[str]) -> str:
        """Query that counts the rows of ``source`` in each bin, and those with bad values."""
        keys = "".join(f"{quoted(name)}, " for name in by)
        bounds = ", ".join(map(literal, self.bounds))
        groups = f"\nGROUP BY {keys.removesuffix(', ')}" if by else ""
        return (
            f"SELECT {keys}count(*) FILTER (bad) AS bad,\n"
            f"  map_values(histogram(s2, [{bounds}])) AS bins\n"
            f"FROM {self._scored(by)}{groups}"
        )

    def doubtful_query(self, columns: Sequence[str]) -> str:
        """Query for the rows of ``source`` that numpy must score."""
        bands = [
            f"s2 > {literal(self.bounds[i - 1])} AND s2 <= {literal(self.bounds[i])}"
            for i in np.flatnonzero(self.cells < 0)
        ]
        kept = ", ".join(map(quoted, columns))
        return f"SELECT {kept} FROM {self._scored(columns)}\nWHERE {' OR '.join(bands)}"

    def _scored(self, columns: Sequence[str]) -> str:
        """Subquery that adds the squared distance ``s2`` and the flag ``bad`` to some columns."""
        kept = "".join(f"{quoted(name)}, " for name in columns)
        centred = ", ".join(f"{text} AS c{i}" for i, text in enumerate(self.centred))
        white = ", ".join(f"{text} AS z{j}" for j, text in enumerate(self.white))
        # A square that overflows is far away; a NaN would be sorted into the first bin.
        square = "CASE WHEN isfinite(s) THEN s ELSE 'inf'::DOUBLE END"
        return (
            f"(SELECT {kept}bad, {square} AS s2 FROM\n"
            f"  (SELECT {kept}bad, {self.squared} AS s FROM\n"
            f"    (SELECT {kept}bad, {white} FROM\n"
            f"      (SELECT {kept}({self.finite}) IS NOT TRUE AS bad, {centred} FROM source))))"
        )


def score_sql(model: CountingQuantifier, features: Sequence[str]) -> ScoreSQL | None:
    """Turn a fitted model into SQL; None if its cells are not those of a Mahalanobis score."""
    if not (
        isinstance(model, ScoreQuantifier)
        and type(model)._tally is ScoreQuantifier._tally
        and isinstance(model.scorer_, Mahalanobis)
        and not model.columns_.described()
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
    """Number in SQL, exact to the last bit: without the cast 0.1 would be a decimal."""
    return f"'{float(value)!r}'::DOUBLE"


def _triangle(whitening: np.ndarray) -> tuple[np.ndarray, float]:
    """Triangular matrix that gives the same distances, and a bound of their relative difference.

    The bound is for squared distances, one computed with each matrix.
    """
    d = len(whitening)
    scale = np.exp2(-np.round(np.log2(np.linalg.norm(whitening, axis=1))))
    scaled = whitening * scale[:, np.newaxis]
    triangle = linalg.qr(scaled.T, mode="r")[0]
    # One percent allows for rounding in the singular values, if they are not too far apart.
    values = linalg.svdvals(scaled)
    smallest = 0.99 * values[-1]
    if values[-1] < 1e-6 * values[0]:
        return triangle / scale, np.inf
    rounding = (d + 4) * _UNIT / (1 - (d + 4) * _UNIT)
    norms = max(np.sum(scaled**2), np.sum(triangle**2)) * 1.01
    difference = linalg.norm(triangle.T @ triangle - scaled @ scaled.T) + 2 * rounding * norms
    one = (1 + rounding * np.sqrt(norms) / smallest) ** 2 * (1 + rounding) - 1
    # Doubled, which costs nothing; the terms left out above are far smaller than that.
    return triangle / scale, 2 * (2 * one + difference / smallest**2 + 8 * _UNIT)


def _bins(distances: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Bins of the squared distance: the cells, and between them the bands where numpy decides."""
    # Squares of other distances could overflow or underflow, where no relative bound holds.
    if error > _WIDEST or not np.all((distances > 1e-100) & (distances < 1e100)):
        return None
    bounds: list[float] = []
    cells: list[int] = []
    # Near rows have the highest scores, so the nearest are in the last cell.
    for passed, square in enumerate(np.sort(distances) ** 2):
        low, high = square * (1 - error), square * (1 + error)
        if bounds and low <= bounds[-1]:
            bounds[-1] = high
        else:
            bounds += [low, high]
            cells += [len(distances) - passed, -1]
    return np.array([*bounds, np.inf]), np.array([*cells, 0])
