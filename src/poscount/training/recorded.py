"""Samples that were recorded a little differently than the positives to learn from."""

from __future__ import annotations

import numpy as np

from poscount.methods.regions.recording import means_and_spreads
from poscount.training.tasks import Task

# What users may allow for, in standard deviations of the positives, and the share of such samples
# that do differ.
SMALLEST_TOLERANCE, LARGEST_TOLERANCE = 0.02, 0.25
SHARE_DIFFERENT = 0.6
# A single column may differ by more than all of them, and so may noise, which is independent.
ONE_COLUMN, NOISE = 4.0, 2.0


def draw_tolerance(rng: np.random.Generator) -> float:
    """A tolerance that a user might choose."""
    return float(rng.uniform(SMALLEST_TOLERANCE, LARGEST_TOLERANCE))


def record_differently(
    task: Task, rows: np.ndarray, tolerance: float, rng: np.random.Generator
) -> np.ndarray:
    """Rows of a sample as they are, in two of five samples, or changed by up to the tolerance.

    In two of seven ways all columns are shifted by the same number of standard deviations, up or
    down; in two, by normal numbers; in the others, they are stretched around the positives' mean, a
    single one is shifted by more, or noise is added. Words stay.
    """
    amount = tolerance * rng.random()
    if rng.random() >= SHARE_DIFFERENT:
        return rows
    numbers = np.setdiff1d(np.arange(rows.shape[1]), task.words)
    labeled, changed = task.labeled[:, numbers], rows[:, numbers]
    if not len(numbers):
        return rows
    location, scale = means_and_spreads(labeled)
    kind, n_columns = rng.integers(7), len(numbers)
    if kind < 2:
        changed = changed + amount * scale * rng.choice([-1, 1], n_columns)
    elif kind < 4:
        changed = changed + amount * scale * rng.normal(size=n_columns)
    elif kind == 4:
        changed = location + (changed - location) * (1 + amount * rng.choice([-1, 1]))
    elif kind == 5:
        one = np.arange(n_columns) == rng.integers(n_columns)
        changed = changed + ONE_COLUMN * amount * scale * one
    else:
        changed = changed + NOISE * amount * scale * rng.normal(size=changed.shape)
    found = rows.copy()
    found[:, numbers] = changed
    return found
