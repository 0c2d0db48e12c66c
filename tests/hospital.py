"""A hospital's register, with words, gaps and dates."""

import datetime

import numpy as np
import pyarrow as pa


def register(rng, n_positives, n_negatives):
    """A hospital's register: positives and negatives differ in a word, a number and a yes or no."""
    n = n_positives + n_negatives
    positive = np.arange(n) < n_positives
    ward = np.where(positive, rng.choice(["north", "south"], n), rng.choice(["south", "west"], n))
    age = rng.normal(np.where(positive, 60, 45), 8)
    smokes = rng.random(n) < np.where(positive, 0.7, 0.3)
    weight = 70 + 0.5 * (age - 50) + rng.normal(size=n)
    return pa.table(
        {
            "ward": pa.array(ward.tolist(), mask=rng.random(n) < 0.1),
            "age": pa.array(age, mask=rng.random(n) < 0.1),
            "smokes": pa.array(smokes.tolist(), mask=rng.random(n) < 0.05),
            "weight": weight,
            "visit": pa.array([datetime.date(2026, 1, 1 + i % 28) for i in range(n)]),
        }
    )


FEATURES = ["ward", "age", "smokes", "weight"]
