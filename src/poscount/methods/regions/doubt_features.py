"""What tells whether the assumptions of an answer are broken, as a line for each sample.

What the calibration looks at, the answer itself, and how the columns of the sample, each by itself,
differ from those of the positives: by how much more of the sample lies in one of a column's bins,
by how differently it is spread over them, by how much more of it lies at the ends of the column or
outside of its range. Of many columns, the largest and the smallest of such numbers, and what is
between.
"""

from __future__ import annotations

import numpy as np

from poscount.calibration.doubt import LARGEST_VALUE
from poscount.checks.evidence import Evidence, MissingEvidenceError
from poscount.methods.regions.features import DECIMALS, feature_names
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates

_OF_ANSWER = (
    *("answer", "answer_low", "answer_high", "answer_width"),
    *("p_recognisable", "pat_above", "tolerant_above"),
)
# Of the statistics of columns: the largest, the second largest, the mean, the median, the smallest.
_SUMMARY = ("most", "second", "mean", "middle", "least")
_OF_BINS = ("crowded", "spread", "ends", "shifted")
_OF_RANGES = ("outside", "far", "lopsided")
_OF_COLUMNS = (
    *("filled", "more_zeros", "by_columns", "by_all_but_two", "by_one_end", "other_scale"),
    *(f"{name}_{part}" for name in (*_OF_BINS, *_OF_RANGES) for part in _SUMMARY),
)
_OF_VALUES = ("missing_more", "missing_less", "unseen", "vanished", "different")
DOUBT_FEATURES = [
    *feature_names(learned=True),
    *_OF_ANSWER,
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
        *(evidence.core_excess, evidence.disagreement, evidence.core_share),
        *_of_columns(view, evidence),
        *_of_values(evidence),
    ]
    lines = np.column_stack([features, np.array(columns).T])
    lines[~np.isfinite(lines)] = np.nan
    return lines.clip(-LARGEST_VALUE, LARGEST_VALUE).round(DECIMALS)


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
