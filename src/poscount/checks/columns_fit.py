"""Samples whose columns look like the positives, each by itself, but whose rows do not.

Each column bounds the prevalence by itself: if few rows are where many positives are, few rows are
positive. Where this bound is far above the estimate, no single column tells the rows apart from
positives, but the estimate says that they are none. Negatives can be like that. But so is a sample
whose columns were shuffled, exchanged or blurred by noise. A shift of all columns to one side is
seen if the bounds are taken at that side only, two exchanged columns if the two worst are left out.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.checks.columns import ENDS, ColumnEvidence
from poscount.checks.finding import Severity
from poscount.results.verdict import CAUTION_SEVERITIES

# How far the bounds may be above the estimate: of all columns; and of one end, or all but two.
NOTICE, WARNING = 0.15, 0.3
NOTICE_OF_SOME, WARNING_OF_SOME = 0.3, 0.5
# Often two columns tell what all others do not, so all others must contradict them loudly, and
# there is no notice before.
EXCHANGED = 0.7
SAME = "prepared in the same way as the positives: same units, same order, same sensors"


class _Seen(NamedTuple):
    """The columns, and how far three bounds are above that of the estimate."""

    columns: ColumnEvidence
    all_columns: float
    but_two: float
    one_end: float


def _seen(evidence: Evidence) -> _Seen | Missing:
    columns, regions = evidence.columns, evidence.regions
    if isinstance(columns, Missing):
        return columns
    if isinstance(regions, Missing):
        return regions
    estimate = regions.estimate + regions.gap
    bounds = columns.by_columns, columns.by_all_but_two, columns.by_one_end
    return _Seen(columns, *(bound - estimate for bound in bounds))


def _outcome(
    excess: float, notice: float, warning: float, sentence: str, advice: str, reason: str = ""
) -> Outcome:
    severity: Severity = "warning" if excess > warning else "notice"
    return Outcome(
        severity,
        excess,
        notice,
        sentence,
        advice,
        caution=excess,
        caution_severity="doubt" if severity == "warning" else "note",
        reason=reason,
    )


def _look(evidence: Evidence) -> Outcome | Missing:
    seen = _seen(evidence)
    if isinstance(seen, Missing):
        return seen
    columns, excess, _, _ = seen
    if excess <= NOTICE:
        sentence = "Where rows are no positives, single columns show it."
        return Outcome("ok", excess, NOTICE, sentence)
    sentence = (
        f"By every single column, {100 * columns.by_columns:.0f} % of the sample could be "
        "positives, but hardly any row is like one in all of them together."
    )
    advice = (
        f"If you expect more positives than estimated, check that the sample was {SAME}; and that "
        "no columns were shuffled or noise added."
    )
    return _outcome(excess, NOTICE, WARNING, sentence, advice)


def _look_for_exchange(evidence: Evidence) -> Outcome | Missing:
    seen = _seen(evidence)
    if isinstance(seen, Missing):
        return seen
    columns, all_columns, but_two, one_end = seen
    if but_two <= EXCHANGED or all_columns > NOTICE or one_end > but_two:
        sentence = "No two columns alone decide about the estimate."
        return Outcome("ok", but_two, EXCHANGED, sentence)
    worst = np.argsort(columns.at_most.min(axis=1), kind="stable")[:2]
    one, other = (evidence.feature_names[j] for j in columns.positives.cut[worst].tolist())
    sentence = (
        f"Without columns {one} and {other}, {100 * columns.by_all_but_two:.0f} % of the sample "
        "could be positives, by every single column."
    )
    advice = (
        "If you expect more positives than estimated, check that these two were not exchanged, and "
        "that they were measured as in the positives."
    )
    reason = f"columns {one} and {other} contradict all others"
    return _outcome(but_two, EXCHANGED, EXCHANGED, sentence, advice, reason)


def _look_for_shift(evidence: Evidence) -> Outcome | Missing:
    seen = _seen(evidence)
    if isinstance(seen, Missing):
        return seen
    columns, all_columns, but_two, one_end = seen
    if one_end <= NOTICE_OF_SOME or all_columns > NOTICE or but_two >= one_end:
        sentence = "The columns are not shifted or stretched all in one direction."
        return Outcome("ok", one_end, NOTICE_OF_SOME, sentence)
    sentence = (
        f"The values of the sample tend to be {ENDS[columns.end]}, in all columns. But for that, "
        f"{100 * columns.by_one_end:.0f} % of the sample could be positives, by every single "
        "column."
    )
    advice = f"If you expect more positives than estimated, check that the sample was {SAME}."
    return _outcome(one_end, NOTICE_OF_SOME, WARNING_OF_SOME, sentence, advice)


def _excesses(samples: ManySamples) -> np.ndarray | None:
    """How far the three bounds are above that of the estimate, in many samples."""
    columns, regions = samples.columns, samples.regions
    if isinstance(columns, Missing) or isinstance(regions, Missing):
        return None
    bounds = np.array([columns.by_columns, columns.by_all_but_two, columns.by_one_end])
    return bounds - (regions.estimate + regions.gap)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    excesses = _excesses(samples)
    return False if excesses is None else ~(excesses[0] <= NOTICE)


def _exchange_concerns(samples: ManySamples) -> np.ndarray | bool:
    excesses = _excesses(samples)
    if excesses is None:
        return False
    all_columns, but_two, one_end = excesses
    return ~((but_two <= EXCHANGED) | (all_columns > NOTICE) | (one_end > but_two))


def _shift_concerns(samples: ManySamples) -> np.ndarray | bool:
    excesses = _excesses(samples)
    if excesses is None:
        return False
    all_columns, but_two, one_end = excesses
    return ~((one_end <= NOTICE_OF_SOME) | (all_columns > NOTICE) | (but_two >= one_end))


def _severities(samples: ManySamples, bound: int, warning: float) -> np.ndarray:
    excesses = _excesses(samples)
    assert excesses is not None  # others do not concern it
    return np.where(excesses[bound] > warning, CAUTION_SEVERITIES.index("doubt"), 0)


ONLY_COLUMNS_FIT = Check(
    code="only-columns-fit",
    look=_look,
    concerns=_concerns,
    severities=functools.partial(_severities, bound=0, warning=WARNING),
    caution_rate=1 / 18,
    reason="every column looks like the positives, but the rows do not",
    title="Columns and rows",
    quantity="largest share of positives by single columns, above the estimate",
    cannot_detect="rows that are spoilt in a few columns only, or in samples with few positives",
)
EXCHANGED_COLUMNS = Check(
    code="exchanged-columns",
    look=_look_for_exchange,
    concerns=_exchange_concerns,
    severities=functools.partial(_severities, bound=1, warning=EXCHANGED),
    title="Exchanged columns",
    quantity="largest share of positives by all columns but two, above the estimate",
    cannot_detect="columns with the same distribution, and which columns were exchanged",
)
SHIFTED_COLUMNS = Check(
    code="shifted-columns",
    look=_look_for_shift,
    concerns=_shift_concerns,
    severities=functools.partial(_severities, bound=2, warning=WARNING_OF_SOME),
    caution_rate=1 / 18,
    reason="all columns are shifted or stretched in one direction",
    title="Shift of all columns",
    quantity="largest share of positives by one end of all columns, above the estimate",
    cannot_detect="shifts that differ from column to column",
)
