"""Synthetic families that the verdict's bank draws tasks from."""

from __future__ import annotations

import math

import numpy as np

import research.calibrations  # noqa: F401 (adds its families)
from poscount.training import bank
from poscount.training.tasks import Limits, Task, endless, log_uniform


def draw_decisive(rng: np.random.Generator, limits: Limits) -> Task:
    """Species that differ a little in most columns, and much in one to three of them.

    Measurements of things are often like that, and then one column of the sample looks as columns
    look that were recorded in other units: far away in most rows.
    """
    d = log_uniform(rng, 4, 20)
    n_species, n_decisive = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    alike = rng.uniform(0, 0.6) * rng.normal(size=(n_species, d))
    decisive = rng.choice(d, n_decisive, replace=False)
    alike[:, decisive] += rng.choice([-1, 1], (n_species, n_decisive)) * rng.uniform(
        2, 12, (n_species, n_decisive)
    )
    spread = np.exp(0.3 * rng.normal(size=(n_species, d)))
    mixing = np.eye(d) + rng.uniform(0, 0.5) * rng.normal(size=(d, d)) / math.sqrt(d)
    weights = rng.dirichlet(np.ones(n_species))

    def positives(n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=(n, d)) @ mixing

    def negatives(n: int, rng: np.random.Generator) -> np.ndarray:
        species = rng.choice(n_species, n, p=weights)
        return (rng.normal(size=(n, d)) * spread[species]) @ mixing + alike[species]

    return endless(positives, negatives, rng, limits)


FAMILIES = {**bank.FAMILIES, "decisive": bank.Family("decisive", draw_decisive)}
