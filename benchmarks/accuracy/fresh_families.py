"""Synthetic tasks of families that are in no bank: what a calibration is judged by.

Named in `calibration_split.md` before the bank was made. In each, how far positives and negatives
overlap is drawn at random, and so are the numbers of features, positives and rows.
"""

from __future__ import annotations

import math

import numpy as np

from poscount.training.tasks import Draw as Rows
from poscount.training.tasks import Limits, Task, endless


def _size(rng: np.random.Generator, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def shells(rng: np.random.Generator, limits: Limits) -> Task:
    """Spheres of random thickness around one centre: positives and negatives at other radii."""
    d = _size(rng, 2, 20)
    ours, theirs = rng.uniform(0.5, 3, size=2)
    thickness = rng.uniform(0.1, 0.8, size=2)

    def at(radius: float, spread: float) -> Rows:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            direction = rng.normal(size=(n, d))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            return direction * (radius + spread * rng.normal(size=(n, 1)))

        return rows

    return endless(at(ours, thickness[0]), at(theirs, thickness[1]), rng, limits)


def boxes(rng: np.random.Generator, limits: Limits) -> Task:
    """A checkerboard of two features, blurred, among features of noise: the fields alternate."""
    d = _size(rng, 2, 15)
    fields = int(rng.integers(2, 5))
    blur = rng.uniform(0, 0.4)
    # Some of the white fields belong to both.
    shared = rng.uniform(0, 0.5)

    def of(colour: int) -> Rows:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            block = rng.normal(size=(n, d))
            field = rng.integers(fields, size=(n, 2))
            wrong = (field.sum(axis=1) % 2 != colour) & (rng.random(n) > shared * colour)
            field[wrong, 0] = (field[wrong, 0] + 1) % fields
            block[:, :2] = field + rng.random((n, 2)) + blur * rng.normal(size=(n, 2))
            return block

        return rows

    return endless(of(0), of(1), rng, limits)


def gamma(rng: np.random.Generator, limits: Limits) -> Task:
    """Skewed margins with another shape and scale for the negatives in some of the features."""
    d = _size(rng, 1, 40)
    shape, scale = rng.uniform(0.5, 5, size=(2, d))
    differs = rng.random(d) < rng.uniform(0.1, 1)
    factors = np.where(differs, np.exp(rng.normal(size=(2, d)) * rng.uniform(0.1, 1.2)), 1.0)

    def with_factors(of_shape: np.ndarray, of_scale: np.ndarray) -> Rows:
        return lambda n, rng: rng.gamma(shape * of_shape, scale * of_scale, size=(n, d))

    one = np.ones(d)
    return endless(with_factors(one, one), with_factors(*factors), rng, limits)


def poisson(rng: np.random.Generator, limits: Limits) -> Task:
    """Counts: the rates of the negatives differ in some features, and vary from row to row."""
    d = _size(rng, 2, 60)
    rate = rng.gamma(1.0, 3.0, size=d) + 0.05
    differs = rng.random(d) < rng.uniform(0.1, 1)
    factor = np.where(differs, np.exp(rng.normal(size=d) * rng.uniform(0.2, 1.5)), 1.0)
    varying = rng.uniform(0, 0.6)

    def at(rates: np.ndarray) -> Rows:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            level = np.exp(varying * rng.normal(size=(n, 1)))
            return rng.poisson(rates * level).astype(np.float64)

        return rows

    return endless(at(rate), at(rate * factor), rng, limits)


def moons(rng: np.random.Generator, limits: Limits) -> Task:
    """Two bent bands that hook into each other, among features of noise."""
    d = _size(rng, 2, 15)
    noise = rng.uniform(0.05, 0.5)
    apart = rng.uniform(-0.5, 0.8)

    def half(upper: bool) -> Rows:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            angle = math.pi * rng.random(n)
            block = rng.normal(size=(n, d))
            block[:, 0] = np.cos(angle) if upper else 1 - np.cos(angle)
            block[:, 1] = np.sin(angle) if upper else -np.sin(angle) - apart
            block[:, :2] += noise * rng.normal(size=(n, 2))
            return block

        return rows

    return endless(half(True), half(False), rng, limits)


def spirals(rng: np.random.Generator, limits: Limits) -> Task:
    """Two arms of a spiral, of random width, among features of noise."""
    d = _size(rng, 2, 10)
    turns, width = rng.uniform(0.5, 1.5), rng.uniform(0.05, 0.5)

    def arm(start: float) -> Rows:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            way = np.sqrt(rng.random(n))
            angle = start + 2 * math.pi * turns * way
            block = rng.normal(size=(n, d))
            block[:, 0] = 3 * way * np.cos(angle) + width * rng.normal(size=n)
            block[:, 1] = 3 * way * np.sin(angle) + width * rng.normal(size=n)
            return block

        return rows

    return endless(arm(0.0), arm(math.pi), rng, limits)


def bernoulli(rng: np.random.Generator, limits: Limits) -> Task:
    """Yes and no in every feature, by other shares for the negatives in some of them."""
    d = _size(rng, 6, 60)
    ours = rng.uniform(0.05, 0.95, size=d)
    theirs = np.where(rng.random(d) < rng.uniform(0.2, 1), rng.uniform(0.05, 0.95, size=d), ours)

    def by(shares: np.ndarray) -> Rows:
        return lambda n, rng: (rng.random((n, d)) < shares).astype(np.float64)

    return endless(by(ours), by(theirs), rng, limits)


def simplex(rng: np.random.Generator, limits: Limits) -> Task:
    """Shares that add up to one."""
    d = _size(rng, 3, 20)
    ours = rng.gamma(1.0, 2.0, size=d) + 0.2
    theirs = ours * np.exp(rng.normal(size=d) * rng.uniform(0.3, 1.5))

    def dirichlet(weights: np.ndarray) -> Rows:
        return lambda n, rng: rng.dirichlet(weights, size=n)

    return endless(dirichlet(ours), dirichlet(theirs), rng, limits)


FIRST_ROUND = {f.__name__: f for f in (shells, boxes, gamma, poisson, moons)}
SECOND_ROUND = {f.__name__: f for f in (spirals, bernoulli, simplex)}
FAMILIES = {**FIRST_ROUND, **SECOND_ROUND}
