"""Rows whose negatives are far away from the positives."""

import pandas as pd

COLUMNS = [*"abcd"]


def frame(rng, n, p=1.0, shift=7.0):
    """Rows of which a share p, by chance, is positive; negatives are far away."""
    negative = rng.random((n, 1)) > p
    return pd.DataFrame(rng.normal(size=(n, 4)) + shift * negative, columns=COLUMNS)
