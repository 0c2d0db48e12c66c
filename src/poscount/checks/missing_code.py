"""Numbers that stand for missing values: -999 far away from all other values, or zeros."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.checks.columns import FAR, FILLED, ColumnEvidence, ManyColumnEvidence
from poscount.errors import join_names
from poscount.results.verdict import CAUTION_SEVERITIES

ADVICE = (
    "Check whether it stands for a missing value; if so, remove these rows, or fill in values as "
    "in the positives."
)
# Added zeros in three of four columns.
MOST_ZEROS = 0.01


def _look(evidence: Evidence) -> Outcome | Missing:
    columns = evidence.columns
    if isinstance(columns, Missing):
        return columns
    largest = columns.filled
    if largest == 0:
        sentence = "No column has a value far away from all others again and again."
        return Outcome("ok", 0.0, FILLED, sentence)
    filled = columns.by_itself * columns.outside
    of_columns = filled.max(axis=(-1, -2))
    strange = np.argsort(-of_columns, kind="stable")[: np.count_nonzero(of_columns)].tolist()
    names = [evidence.feature_names[j] for j in strange]
    below = filled[strange[0], 0].max() >= filled[strange[0], 1].max()
    low, high = columns.positives.ranges[strange[0]]
    side, end = ("below", low) if below else ("above", high)
    sentence = (
        f"In column {names[0]}, {100 * largest:.1f} % of the sample is far {side} {end:.4g}, where "
        f"the {'smallest' if below else 'largest'} of the positives are, with a gap between."
    )
    if len(names) > 1:
        sentence += f" The same is true of {len(names)} columns: {join_names(names)}."
    very_far = bool(_very_far(columns))
    return Outcome(
        "warning" if very_far else "notice",
        largest,
        FILLED,
        sentence,
        ADVICE,
        caution=largest,
        caution_severity="do not use" if very_far else "note",
        reason=f"column {names[0]} has a code for missing values",
    )


def _very_far(columns: ColumnEvidence | ManyColumnEvidence) -> np.ndarray:
    """Whether there are such values very far away, where no rows are by themselves."""
    filled = columns.by_itself[..., FAR:] & (columns.outside[..., FAR:] != 0)
    return filled.any(axis=(-1, -2, -3))


def _look_at_zeros(evidence: Evidence) -> Outcome | Missing:
    columns = evidence.columns
    if isinstance(columns, Missing):
        return columns
    more = columns.more_zeros
    if more <= MOST_ZEROS:
        sentence = "Exact zeros are not more frequent than in the positives, in most columns."
        return Outcome("ok", more, MOST_ZEROS, sentence)
    sentence = (
        f"In three of four columns, at least {100 * more:.1f} % of the sample are exact zeros that "
        "the positives do not have."
    )
    advice = (
        "Check whether zeros stand for missing values; if so, remove these rows, or fill in values "
        "as in the positives."
    )
    return Outcome("warning", more, MOST_ZEROS, sentence, advice, caution=more)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    return not isinstance(samples.columns, Missing) and samples.columns.filled != 0


def _severities(samples: ManySamples) -> np.ndarray:
    assert isinstance(samples.columns, ManyColumnEvidence)  # others do not concern it
    very_far = _very_far(samples.columns)
    return np.where(very_far, CAUTION_SEVERITIES.index("do not use"), 0)


def _zeros_concern(samples: ManySamples) -> np.ndarray | bool:
    return not isinstance(samples.columns, Missing) and ~(samples.columns.more_zeros <= MOST_ZEROS)


MISSING_CODE = Check(
    code="missing-code",
    look=_look,
    concerns=_concerns,
    severities=_severities,
    caution_severity="do not use",
    false_alarm_rate=0.003,
    title="Codes for missing values",
    quantity="largest share of rows far outside of a column's range, with a gap between",
    cannot_detect="codes among the values of a column, or close to them",
)
ADDED_ZEROS = Check(
    code="added-zeros",
    look=_look_at_zeros,
    concerns=_zeros_concern,
    caution_rate=1 / 170,
    caution_severity="doubt",
    reason="many zeros that the positives do not have",
    false_alarm_rate=0.002,
    title="Zeros for missing values",
    quantity="zeros more than in the positives, in three of four columns",
    cannot_detect="zeros in a few columns only, or in columns that are full of zeros anyway",
)
