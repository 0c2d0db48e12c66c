"""The bounds of many samples as a compiled loop; `poscount.methods.regions.rule` has its equal.

It takes a third of numpy's time, because it keeps no array between its steps. Weighing and sorting
regions, which were here, too, are no faster than in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from poscount import compiling

# For fewer samples, nobody should wait for machine code.
FEWEST_SAMPLES = 32


def bound(
    in_sample: np.ndarray,
    n_rows: np.ndarray,
    share: np.ndarray,
    spread: np.ndarray,
    curvature: np.ndarray,
    usable: np.ndarray,
    of_noise: np.ndarray,
    ratios: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
) -> None:
    """Ratio, lower and upper bound of each region, as `poscount.methods.regions.rule.bounds`.

    Parameters
    ----------
    in_sample : ndarray of shape (n_samples, n_regions)
    n_rows : ndarray of shape (n_samples,)
    share, spread, curvature, usable : ndarray of shape (n_regions,)
        As there.
    of_noise : ndarray of shape (n_samples, n_regions) or (1, n_regions)
        The same for all samples if there is one line.
    ratios, lows, highs : ndarray of shape (n_samples, n_regions)
        Become the results.
    """
    for sample in range(len(in_sample)):
        n = n_rows[sample]
        row = of_noise[sample if len(of_noise) > 1 else 0]
        for i in range(len(share)):
            ratio = in_sample[sample, i] / n / share[i]
            middle = 2 * ratio + spread[i] / n
            square = middle * middle - 4 * curvature[i] * (ratio * ratio - row[i])
            root = math.sqrt(square if square > 0 else 0.0)
            low = (middle - root) / (2 * curvature[i])
            high = (middle + root) / (2 * curvature[i])
            ratios[sample, i] = ratio
            lows[sample, i] = low if usable[i] else -np.inf
            highs[sample, i] = (high if high > 0 else 0.0) if usable[i] else np.inf


SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1],"
    "boolean[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)


def compiled_bound(n_samples: int, n_regions: int) -> Callable[..., Any] | None:
    """The loop as machine code, if that is worth it for so many samples."""
    if n_samples < FEWEST_SAMPLES or not compiling.worth_compiling(n_samples * n_regions):
        return None
    return compiling.compiled(bound, SIGNATURE, "sample i")
