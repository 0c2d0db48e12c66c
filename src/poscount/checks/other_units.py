"""A column in other units: hardly any row of the sample is where the positives are."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.checks.columns import FAR, HARDLY_INSIDE, MANY_FAR, ColumnEvidence, ManyColumnEvidence
from poscount.errors import join_names
from poscount.results.verdict import CAUTION_SEVERITIES

# Columns with fewer rows inside are like the one that stands out.
HALF = 0.5


def _look(evidence: Evidence) -> Outcome | Missing:
    columns = evidence.columns
    if isinstance(columns, Missing):
        return columns
    least = columns.least_inside
    if columns.n_other_scale == 0:
        sentence = "In every column, rows of the sample are in the range of the positives."
        return Outcome("ok", least, HARDLY_INSIDE, sentence)
    strange = np.flatnonzero(columns.other_scale).tolist()
    names = [evidence.feature_names[j] for j in strange]
    sentence = " ".join(_where(evidence, columns, j) for j in strange[:2])
    if len(strange) > 1:
        sentence += f" Such columns are {join_names(names)}."
    advice = (
        "Check whether these columns are in other units than in the positives, or were exchanged."
        if len(strange) > 1
        else "Check whether this column is in other units, or from another sensor, than in the "
        "positives."
    )
    severity = CAUTION_SEVERITIES[int(_severity(columns))]
    return Outcome(
        "notice" if severity == "note" else "warning",
        least,
        HARDLY_INSIDE,
        sentence,
        advice,
        caution=len(strange),
        caution_severity=severity,
        reason=f"column{'s' if len(names) > 1 else ''} {join_names(names)} may be in other units",
    )


def _severity(columns: ColumnEvidence | ManyColumnEvidence) -> np.ndarray:
    """In some columns other units are likely; in most of them, negatives may be far away.

    Returns
    -------
    ndarray of int
        Places in `CAUTION_SEVERITIES`.
    """
    judged = columns.positives.judged
    n_judged = np.count_nonzero(judged)
    share_far = columns.outside[..., FAR] + columns.outside[..., FAR + 1]
    very_far = columns.other_scale & (share_far[..., 0] + share_far[..., 1] > MANY_FAR)
    few = 2 * np.count_nonzero(judged & (columns.inside < HALF), axis=-1) <= n_judged
    most_far = 2 * np.count_nonzero(very_far, axis=-1) > n_judged
    # From "doubt" on if few columns differ, else from "note" on.
    return np.where(few, 1 + very_far.any(axis=-1), most_far)


def _where(evidence: Evidence, columns: ColumnEvidence, j: int) -> str:
    low, high = columns.positives.ranges[j]
    return (
        f"Column {evidence.feature_names[j]} is between {low:.4g} and {high:.4g} in the positives, "
        f"with a standard deviation to spare, but only in {100 * columns.inside[j]:.1f} % of the "
        "sample."
    )


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    return not isinstance(samples.columns, Missing) and samples.columns.n_other_scale > 0


def _severities(samples: ManySamples) -> np.ndarray:
    assert isinstance(samples.columns, ManyColumnEvidence)  # others do not concern it
    return _severity(samples.columns)


OTHER_UNITS = Check(
    code="other-units",
    look=_look,
    concerns=_concerns,
    severities=_severities,
    caution_rate=1 / 70,
    false_alarm_rate=0.028,
    title="Units of the columns",
    quantity="share of the sample in the positives' range, in the column where it is smallest",
    cannot_detect="other units that leave most values within the range of the positives",
)
