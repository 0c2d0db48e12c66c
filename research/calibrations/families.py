"""Families of synthetic tasks that the shipped calibrations learn from besides mixtures."""

from __future__ import annotations

import math

import numpy as np

from poscount.training.tasks import (
    FEWEST_LABELED,
    Draw,
    Limits,
    Task,
    clusters,
    endless,
    log_uniform,
    unit_vector,
)


def draw_regression(rng: np.random.Generator, limits: Limits) -> Task:
    """A linear score plus noise decides the class, so that there is no gap between the classes."""
    d = log_uniform(rng, 2, 30)
    centres, mixing, weights = clusters(rng, d, rng.uniform(0, 2))
    direction = rng.normal(size=d) * (rng.random(d) < max(rng.random(), 2 / d))
    direction /= max(float(np.linalg.norm(direction)), 1e-9)
    noise = rng.choice([0.05, 0.2, 0.5])
    limit = rng.normal() * 0.7
    sign = rng.choice([-1, 1])

    def draw(positive: bool) -> Draw:
        def rows(n: int, rng: np.random.Generator) -> np.ndarray:
            found = [np.empty((0, d))]
            missing = n
            for _ in range(200):
                if missing <= 0:
                    break
                cluster = rng.choice(len(weights), 4 * missing + 50, p=weights)
                block = centres[cluster] + np.einsum(
                    "nd,nde->ne", rng.normal(size=(len(cluster), d)), mixing[cluster]
                )
                score = block @ direction + noise * rng.normal(size=len(block))
                found.append(block[(sign * (score - limit) > 0) == positive][:missing])
                missing -= len(found[-1])
            return np.concatenate(found)

        return rows

    task = endless(draw(True), draw(False), rng, limits)
    # The rarer class may be too rare for a sample; then another task.
    enough = len(task.labeled) >= FEWEST_LABELED and len(task.negatives(200, rng)) == 200
    return task if enough else draw_regression(rng, limits)


def draw_margins(rng: np.random.Generator, limits: Limits) -> Task:
    """Negatives differ from positives in some features, by scale, shift or both, and by chance."""
    d = log_uniform(rng, 1, 40)
    differs = rng.random(d) < rng.uniform(0.1, 1)
    strength = rng.uniform(0.2, 1.5)
    scale = np.where(differs, np.exp(strength * rng.normal(size=d) * 0.7), 1.0)
    shift = np.where(differs & (rng.random(d) < 0.5), strength * rng.normal(size=d), 0.0)
    mixing = np.eye(d) + rng.uniform(0, 0.5) * rng.normal(size=(d, d)) / math.sqrt(d)
    skewed = rng.random(d) < rng.choice([0.0, 0.5, 1.0])
    coarse = rng.random(d) < rng.choice([0.0, 0.0, 0.7])

    def with_margins(scale: np.ndarray, shift: np.ndarray) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> np.ndarray:
            rows = rng.normal(size=(n, d)) @ mixing * scale + shift
            rows = np.where(skewed, np.exp(np.clip(rows, -20, 20)), rows)
            return np.where(coarse, np.round(2 * rows), rows)

        return draw

    return endless(with_margins(np.ones(d), np.zeros(d)), with_margins(scale, shift), rng, limits)


def draw_parity(rng: np.random.Generator, limits: Limits) -> Task:
    """The signs of two or three features together decide the class, and no feature alone does."""
    d = log_uniform(rng, 2, 12)
    k = min(d, int(rng.integers(2, 4)))
    gap, wrong = rng.uniform(0, 1.5), rng.uniform(0, 0.3)

    def of(parity: int) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> np.ndarray:
            rows = rng.normal(size=(n, d))
            signs = rng.integers(2, size=(n, k))
            # Some of the negatives are where the positives are.
            odd = (signs.sum(axis=1) % 2 != parity) & (rng.random(n) >= wrong * parity)
            signs[odd, 0] = 1 - signs[odd, 0]
            rows[:, :k] = (2 * signs - 1) * (np.abs(rows[:, :k]) + gap)
            return rows

        return draw

    return endless(of(0), of(1), rng, limits)


def draw_gaps(rng: np.random.Generator, limits: Limits) -> Task:
    """Clusters far apart in few columns, which any histogram tells from each other."""
    d = log_uniform(rng, 1, 8)
    ours, theirs = clusters(rng, d, rng.uniform(0, 2)), clusters(rng, d, rng.uniform(0, 2))
    theirs[0][:] += unit_vector(rng, d) * rng.uniform(8, 40)

    def rows_of(side: tuple) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> np.ndarray:
            cluster = rng.choice(len(side[2]), n, p=side[2])
            return side[0][cluster] + np.einsum(
                "nd,nde->ne", rng.normal(size=(n, d)), side[1][cluster]
            )

        return draw

    return endless(rows_of(ours), rows_of(theirs), rng, limits)
