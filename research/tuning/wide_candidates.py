"""Projections that `wide.py` compares: drawn from a seed, or fitted to the positives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from poscount.data.projection import learn_projection
from poscount.seeds import stream

Block = Any  # dense or sparse
Apply = Callable[[Block], np.ndarray]
Project = Callable[[Block, int], Apply]


def unit(labeled: Block) -> np.ndarray:
    """One over the standard deviation of each column, 0 for constant ones."""
    mean = np.asarray(labeled.mean(axis=0)).ravel()
    square = labeled.multiply(labeled) if sparse.issparse(labeled) else labeled**2
    sd = np.sqrt(np.maximum(np.asarray(square.mean(axis=0)).ravel() - mean**2, 0))
    return np.divide(1, sd, where=sd > 1e-9 * sd.max(), out=np.zeros(len(sd)))


def by_matrix(labeled: Block, matrix: Callable[[Block], np.ndarray], scale: bool = True) -> Apply:
    """Rows, standardised if asked for, times the matrix that the function makes of positives."""
    weight = unit(labeled) if scale else np.ones(labeled.shape[1])
    diagonal = sparse.diags_array(weight)
    directions = matrix(labeled @ diagonal)
    return lambda block: np.asarray((block @ diagonal) @ directions)


def random_directions(seed: int, k: int, kind: str) -> Callable[[Block], np.ndarray]:
    def draw(labeled: Block) -> np.ndarray:
        rng, shape = stream(seed, "projection"), (labeled.shape[1], k)
        if kind == "gauss":
            return rng.normal(size=shape)
        signs = rng.integers(0, 2, shape) * 2.0 - 1
        if kind == "dealt":  # every column to one dimension
            signs *= (rng.permutation(shape[0]) % k)[:, np.newaxis] == np.arange(k)
        return signs

    return draw


def principal_directions(k: int) -> Callable[[Block], np.ndarray]:
    def find(labeled: Block) -> np.ndarray:
        # By the matrix of products of rows, because there are fewer rows than columns.
        mean = np.asarray(labeled.mean(axis=0)).ravel()
        products = labeled @ labeled.T
        products = products.toarray() if sparse.issparse(products) else products
        cross = labeled @ mean
        values, vectors = np.linalg.eigh(products - cross[:, None] - cross + mean @ mean)
        kept = np.argsort(-values)[: min(k, len(values) - 1)]
        kept = kept[values[kept] > 1e-9 * values.max()]
        weights = vectors[:, kept] / np.sqrt(values[kept])
        return labeled.T @ weights - np.outer(mean, weights.sum(axis=0))

    return find


def with_length(labeled: Block, apply: Apply, residual: bool) -> Apply:
    """Add the distance from the mean; only what the other dimensions leave of it, if asked for."""
    diagonal = sparse.diags_array(unit(labeled))
    centre = np.asarray((labeled @ diagonal).mean(axis=0)).ravel()
    at_centre = apply(centre[np.newaxis] / np.where(diagonal.diagonal(), diagonal.diagonal(), 1))

    def longer(block: Block) -> np.ndarray:
        rows, projected = block @ diagonal, apply(block)
        square = rows.multiply(rows) if sparse.issparse(rows) else rows**2
        left = np.asarray(square.sum(axis=1)).ravel() - 2 * (rows @ centre) + centre @ centre
        if residual:
            left = left - ((projected - at_centre) ** 2).sum(axis=1)
        return np.column_stack([projected, np.sqrt(np.maximum(left, 0))])

    return longer


def rotated(labeled: Block, apply: Apply) -> Apply:
    """Turn dimensions to their principal components."""
    points = apply(labeled)
    turn = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2].T
    return lambda block: apply(block) @ turn


def beside(*parts: Apply) -> Apply:
    return lambda block: np.hstack([part(block) for part in parts])


def drawn(k: int, kind: str, scale: bool = True) -> Project:
    return lambda rows, seed: by_matrix(rows, random_directions(seed, k, kind), scale)


def principal(k: int, scale: bool = True) -> Project:
    return lambda rows, seed: by_matrix(rows, principal_directions(k), scale)


def shipped(rows: Block, seed: int) -> Apply:
    return learn_projection(rows, seed).apply


CANDIDATES: dict[str, Project | None] = {
    "none": None,
    "shipped": shipped,
    **{f"dealt {k}": drawn(k, "dealt") for k in (16, 32, 48, 64, 96, 128)},
    **{f"signs {k}": drawn(k, "signs") for k in (16, 32, 64, 128)},
    "gauss 64": drawn(64, "gauss"),
    "dealt 64, not scaled": drawn(64, "dealt", False),
    "signs 64, not scaled": drawn(64, "signs", False),
    **{f"principal {k}": principal(k) for k in (4, 16, 32, 64)},
    "principal 16, not scaled": principal(16, False),
    "principal 16 + signs 32": lambda rows, seed: beside(
        principal(16)(rows, seed), drawn(32, "signs")(rows, seed)
    ),
    "principal 16 + residual": lambda rows, seed: with_length(
        rows, principal(16)(rows, seed), True
    ),
    "signs 64 + length": lambda rows, seed: with_length(
        rows, drawn(64, "signs")(rows, seed), False
    ),
    "signs 64, rotated": lambda rows, seed: rotated(rows, drawn(64, "signs")(rows, seed)),
}
