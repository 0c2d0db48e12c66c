"""Numbers among the positives that stand for missing values: a single -9999 spoils a model."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import DO_NOT_USE, NOTE, Check
from poscount.checks.evidence import Evidence

# How far a value is from all others, as a multiple of their range.
FAR, VERY_FAR = 1.0, 10.0
# Others that are needed to say what far is.
FEWEST_VALUES = 5
# Of the rows; more are a kind of positives.
MOST_ROWS = 0.2


def far_values(numbers: np.ndarray) -> np.ndarray:
    """The value of each column that is far from all others, as a code for missing values is.

    Parameters
    ----------
    numbers : ndarray of shape (n_positives, n_numbers)
        NaN where there is no value.

    Returns
    -------
    ndarray of shape (n_numbers, 3)
        The value, the rows that have it, and its distance from the others as a multiple of their
        range; NaN, 0 and 0 if there is none.

    Examples
    --------
    >>> widths = np.append(np.linspace(1, 2, 11), -9999)
    >>> far_values(widths[:, np.newaxis]).tolist()
    [[-9999.0, 1.0, 10000.0]]
    """
    found = np.zeros((numbers.shape[1], 3))
    found[:, 0] = np.nan
    for j, column in enumerate(numbers.T):
        values, sizes = np.unique(column[~np.isnan(column)], return_counts=True)
        if len(values) <= FEWEST_VALUES:
            continue
        for end, others in ((0, values[1:]), (-1, values[:-1])):
            # Halves, so that no difference overflows.
            spread = others[-1] / 2 - others[0] / 2
            gap = abs(values[end] / 2 - others[end] / 2)
            ratio = min(gap / spread, np.finfo(float).max) if spread > 0 else 0.0
            few = sizes[end] <= MOST_ROWS * sizes.sum()
            limit = FAR if is_code(values[end]) else VERY_FAR
            if few and ratio > max(limit, found[j, 2]):
                found[j] = values[end], sizes[end], ratio
    return found


def is_code(value: float) -> bool:
    """Tell whether a number is one of those that usually stand for missing values.

    Examples
    --------
    >>> [is_code(value) for value in (-9999.0, 99.0, -1e20, 9.97e36, 97.0)]
    [True, True, True, True, False]
    """
    size = abs(value)
    # Nines and eights; what files of measurements and of climate models are filled with.
    repeated = size % 1 == 0 and size < 1e15 and set(f"{size:.0f}") in ({"9"}, {"8"})
    return (repeated and size > 9) or size >= 1e20


def _worst(evidence: Evidence) -> int:
    return int(evidence.far_values[:, 2].argmax())


def _severity(evidence: Evidence, statistic: np.ndarray) -> np.ndarray:
    if not statistic.any():
        return np.zeros(1, np.intp)
    value, _, ratio = evidence.far_values[_worst(evidence)]
    # Columns with long tails have values that are far from all others, too.
    return np.array([DO_NOT_USE if is_code(value) and ratio > VERY_FAR else NOTE])


def _sentence(evidence: Evidence, i: int) -> str:
    value, n, _ = evidence.far_values[_worst(evidence)]
    rows = "1 positive has" if n == 1 else f"{int(n)} positives have"
    sentence = (
        f"In column {evidence.feature_names[_worst(evidence)]}, {rows} {value:.10g}, far away from "
        "all others."
    )
    more = int(np.count_nonzero(evidence.far_values[:, 2])) - 1
    if more:
        sentence += f" {more} more {'column has' if more == 1 else 'columns have'} such a value."
    return sentence


CODE_AMONG_POSITIVES = Check(
    code="code-among-positives",
    statistic=lambda evidence: evidence.far_values[:, 2].max(initial=0.0),
    severity=_severity,
    sentence=_sentence,
    advice="If it stands for a missing value, say so when the file is read, or leave these rows "
    "out, and fit the model again.",
    reason=lambda evidence, i: (
        f"positives with {evidence.far_values[_worst(evidence), 0]:.10g} in column "
        f"{evidence.feature_names[_worst(evidence)]}"
    ),
)
