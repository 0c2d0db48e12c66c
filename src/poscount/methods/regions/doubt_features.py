"""What tells whether the assumptions of an answer are broken, as a line for each sample.

What the calibration looks at, the answer itself, how the core of the sample differs from that of
the positives, and how the columns, each by itself, differ: by how much more of the sample lies in
one of a column's bins, by how differently it is spread over them, by how much more of it lies at
the ends of the column or outside of its range. Of many columns, the largest and the smallest of
such numbers, and what is between. And whether the positives look as if they had been scaled by
themselves.
"""

from __future__ import annotations

import numpy as np

from poscount.calibration.doubt import LARGEST_VALUE
from poscount.checks.evidence import Evidence, MissingEvidenceError
from poscount.methods.regions.core import core_difference
from poscount.methods.regions.features import DECIMALS, feature_names
from poscount.methods.regions.layout import CLUSTERINGS, CORE
from poscount.methods.regions.ranges import BEYOND
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates

_OF_ANSWER = (
    *("answer", "answer_low", "answer_high", "answer_width"),
    *("p_recognisable", "pat_above", "tolerant_above"),
)
# The largest squared difference between the cores, in units of its variance, of all cuts and of
# clusters; and the ratio of sample to positives in the emptiest and in the fullest cluster.
_OF_CORE = ("core_most", "core_far", "core_clusters", "cluster_least", "cluster_most")
# Columns of the positives with mean 0 and standard deviation 1, and with range 0 to 1.
_OF_SCALING = ("standardised", "unit_range")
# Of the statistics of columns: the largest, the second largest, the mean, the median, the smallest.
_SUMMARY = ("most", "second", "mean", "middle", "least")
_OF_BINS = ("crowded", "spread", "ends", "shifted")
_OF_RANGES = ("outside", "far", "lopsided")
_OF_COLUMNS = (
    *("filled", "more_zeros", "by_columns", "by_all_but_two", "by_one_end", "other_scale"),
    *(f"{name}_{part}" for name in (*_OF_BINS, *_OF_RANGES) for part in _SUMMARY),
)
# A squared difference of three standard errors; how close to 0 or 1 a scaled column comes.
_FAR, _CLOSE = 9.0, 0.01
_OF_VALUES = ("missing_more", "missing_less", "unseen", "vanished", "different")
DOUBT_FEATURES = [
    *feature_names(learned=True),
    *_OF_ANSWER,
    *_OF_CORE,
    *_OF_SCALING,
    *("core_excess", "disagreement", "core_share"),
    *_OF_COLUMNS,
    *_OF_VALUES,
]


def doubt_features(view: PartView, estimates: Estimates, evidence: Evidence) -> np.ndarray:
    """Lines of `DOUBT_FEATURES`, NaN where something is not known.

    Parameters
    ----------
    view : PartView
        Of the samples.
    estimates : Estimates
        The calibrated answers.
    evidence : Evidence
        What the checks see.
    """
    n = len(view)
    features = np.full((n, len(feature_names(learned=True))), np.nan)
    features[:, : view.features.shape[1]] = view.features
    low, high = estimates.ends
    value = estimates.value
    recognisable = np.asarray(estimates.details.get("p_recognisable", np.full(n, np.nan)), float)
    tolerant = view.tolerant(view.tolerance).prevalence
    columns = [
        *(value, low, high, high - low, recognisable),
        *(np.minimum(1.0, view.pat) - value, tolerant - value),
        *_of_core(view),
        *(np.full(n, share) for share in _of_scaling(view)),
        *(evidence.core_excess, evidence.disagreement, evidence.core_share),
        *_of_columns(view, evidence),
        *_of_values(evidence),
    ]
    lines = np.column_stack([features, np.array(columns).T])
    lines[~np.isfinite(lines)] = np.nan
    return lines.clip(-LARGEST_VALUE, LARGEST_VALUE).round(DECIMALS)


def _of_core(view: PartView) -> list[np.ndarray]:
    """How differently the cores of samples and positives are spread."""
    below, total = view.rule.core(view.counts.in_cuts)
    ours_below, ours = view.rule.core_of_positives
    # Each cut by itself.
    squares = core_difference(
        below[..., np.newaxis], total[:, np.newaxis], ours_below[:, np.newaxis], ours[np.newaxis]
    )
    n_clusters = CLUSTERINGS[-1]
    of_clusterings = np.flatnonzero(view.part.layout.partition_of_cuts < 0)[1:]
    clusters = of_clusterings[: sum(CLUSTERINGS)][-n_clusters:]
    in_clusters = view.counts.in_cuts[:, CORE, clusters]
    expected = view.rule.positives_in_cuts[CORE, clusters] / view.part.n_labeled_
    # Half a row more on both sides, so that every cluster has a ratio.
    n_rows = view.counts.n_rows[:, np.newaxis]
    ratios = (in_clusters + 0.5) / (n_rows * expected + 0.5)
    return [
        squares.max(axis=1, initial=0.0),
        (squares > _FAR).mean(axis=1) if squares.shape[1] else np.zeros(len(view)),
        core_difference(in_clusters, total, view.rule.positives_in_cuts[CORE, clusters], ours),
        ratios.min(axis=1),
        ratios.max(axis=1),
    ]


def _of_scaling(view: PartView) -> tuple[float, float]:
    """Shares of the numbers whose positives have mean 0 and variance 1, and range 0 to 1."""
    limits, n_derived = view.part.range_limits_, view.part.n_derived_
    n = len(limits) - n_derived
    if n == 0 or view.part.projected_:
        return 0.0, 0.0
    lower, upper = limits[:n, : len(BEYOND)], limits[:n, len(BEYOND) :]
    spread = (lower[:, 0] - lower[:, 1]) / (BEYOND[1] - BEYOND[0])
    location = view.part.scorer_.location_[:n]
    low, high = lower[:, 0] + BEYOND[0] * spread, upper[:, 0] - BEYOND[0] * spread
    standardised = (np.abs(location) < _CLOSE) & (np.abs(spread - 1) < _CLOSE)
    unit_range = (np.abs(low) < _CLOSE) & (np.abs(high - 1) < _CLOSE)
    return float(standardised.mean()), float(unit_range.mean())


def _of_columns(view: PartView, evidence: Evidence) -> list[np.ndarray]:
    n = len(view)
    try:
        found = evidence.columns
    except MissingEvidenceError:
        return [np.full(n, np.nan)] * len(_OF_COLUMNS)
    judged = found.positives.judged
    other_scale = found.other_scale[:, judged].sum(axis=1) / max(1, np.count_nonzero(judged))
    columns = [
        *(found.filled, found.more_zeros, found.by_columns, found.by_all_but_two),
        *(found.by_one_end, other_scale),
    ]
    for statistic in (*_of_bins(view), *_of_ranges(evidence)):
        columns += _summary(statistic)
    return columns


def _of_bins(view: PartView) -> list[np.ndarray]:
    """How differently rows lie in the bins of each column that is cut: (n_samples, n_columns)."""
    below, ours_below = view.rule.below(view.counts.in_cuts)
    below = below / view.counts.n_rows[:, np.newaxis, np.newaxis]
    ours_below = ours_below / view.part.n_labeled_
    samples = np.diff(below, prepend=0.0, append=1.0, axis=-1)
    positives = np.diff(ours_below, prepend=0.0, append=1.0, axis=-1)
    differences = samples - positives
    return [
        samples.max(axis=-1) - positives.max(axis=-1),
        np.abs(differences).sum(axis=-1) / 2,
        differences[..., 0] + differences[..., -1],
        np.abs((below - ours_below).mean(axis=-1)),
    ]


def _of_ranges(evidence: Evidence) -> list[np.ndarray]:
    """Shares of rows outside of the range of each column, far outside, and more on one side."""
    outside = evidence.columns.outside
    by_side = outside.sum(axis=-1)
    return [
        by_side.sum(axis=-1),
        outside[..., 1:].sum(axis=(-1, -2)),
        np.abs(by_side[..., 0] - by_side[..., 1]),
    ]


def _summary(statistic: np.ndarray) -> list[np.ndarray]:
    """The largest values of columns, and what is between them and the smallest."""
    n, n_columns = statistic.shape
    if not n_columns:
        return [np.full(n, np.nan)] * len(_SUMMARY)
    ascending = np.sort(statistic, axis=1)
    return [
        ascending[:, -1],
        ascending[:, max(n_columns - 2, 0)],
        ascending.mean(axis=1),
        ascending[:, n_columns // 2],
        ascending[:, 0],
    ]


def _of_values(evidence: Evidence) -> list[np.ndarray]:
    """By how much more, and less, some column is missing; words that are new, or gone."""
    values = evidence.unknown_values
    n_rows = values.n_rows[:, np.newaxis]
    more = values.missing / n_rows - values.columns.missing_ / values.columns.n_
    vanished = np.zeros_like(more) if values.vanished is None else values.vanished
    return [
        more.max(axis=1, initial=0.0),
        -more.min(axis=1, initial=0.0),
        (values.unseen / n_rows).max(axis=1, initial=0.0),
        vanished.max(axis=1, initial=0.0),
        values.different / values.n_rows,
    ]
