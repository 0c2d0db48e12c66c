"""Samples whose columns look like the positives, each by itself, but whose rows do not.

Each column bounds the prevalence by itself: if few rows are where many positives are, few rows are
positive. Where this bound is far above the estimate, no single column tells the rows apart from
positives, but the estimate says that they are none. Negatives can be like that. But so is a sample
whose columns were shuffled, exchanged or blurred by noise. A shift of all columns to one side is
seen if the bounds are taken at that side only, two exchanged columns if the two worst are left out.
"""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, TO_CHECK, Check, above
from poscount.checks.columns import ENDS
from poscount.checks.evidence import Evidence

# How far the bounds may be above the estimate: of all columns; and of one end, or all but two.
NOTICE, NOTICE_OF_SOME = 0.15, 0.3
# Often two columns tell what all others do not, so all others must contradict them loudly.
EXCHANGED = 0.7
SAME = "prepared in the same way as the positives: same units, same order, same sensors"


def _excess(evidence: Evidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far the bounds of all columns, all but two, and one end are above the estimate's."""
    columns, estimate = evidence.columns, evidence.estimate + evidence.region_gap
    return (
        columns.by_columns - estimate,
        columns.by_all_but_two - estimate,
        columns.by_one_end - estimate,
    )


def _severity_of_exchange(evidence: Evidence, statistic: np.ndarray) -> np.ndarray:
    all_columns, but_two, one_end = _excess(evidence)
    in_order = (but_two <= EXCHANGED) | (all_columns > NOTICE) | (one_end > but_two)
    return np.where(in_order, 0, TO_CHECK)


def _severity_of_shift(evidence: Evidence, statistic: np.ndarray) -> np.ndarray:
    all_columns, but_two, one_end = _excess(evidence)
    in_order = (one_end <= NOTICE_OF_SOME) | (all_columns > NOTICE) | (but_two >= one_end)
    return np.where(in_order, 0, NOTE)


def _sentence(evidence: Evidence, i: int) -> str:
    return (
        f"By every single column, {100 * evidence.columns.by_columns[i]:.0f} % of the sample could "
        "be positives, but hardly any row is like one in all of them together."
    )


def _worst_two(evidence: Evidence, i: int) -> list[str]:
    columns = evidence.columns
    worst = np.argsort(columns.at_most[i].min(axis=1), kind="stable")[:2]
    return [evidence.feature_names[j] for j in columns.positives.cut[worst].tolist()]


def _sentence_about_exchange(evidence: Evidence, i: int) -> str:
    one, other = _worst_two(evidence, i)
    return (
        f"Without columns {one} and {other}, {100 * evidence.columns.by_all_but_two[i]:.0f} % of "
        "the sample could be positives, by every single column."
    )


def _sentence_about_shift(evidence: Evidence, i: int) -> str:
    columns = evidence.columns
    return (
        f"The values of the sample tend to be {ENDS[columns.end[i]]}, in all columns. But for "
        f"that, {100 * columns.by_one_end[i]:.0f} % of the sample could be positives, by every "
        "single column."
    )


ONLY_COLUMNS_FIT = Check(
    code="only-columns-fit",
    statistic=lambda evidence: _excess(evidence)[0],
    severity=above(NOTICE, NOTE),
    sentence=_sentence,
    advice=f"If you expect more positives than estimated, check that the sample was {SAME}; and "
    "that no columns were shuffled or noise added.",
    reason="every column looks like the positives, but the rows do not",
    in_order="Where rows are no positives, single columns show it.",
    threshold=NOTICE,
    title="Columns and rows",
    quantity="largest share of positives by single columns, above the estimate",
    cannot_detect="rows that are spoilt in a few columns only, or in samples with few positives",
)
EXCHANGED_COLUMNS = Check(
    code="exchanged-columns",
    statistic=lambda evidence: _excess(evidence)[1],
    severity=_severity_of_exchange,
    sentence=_sentence_about_exchange,
    advice="If you expect more positives than estimated, check that these two were not exchanged, "
    "and that they were measured as in the positives.",
    reason=lambda evidence, i: "columns {} and {} contradict all others".format(
        *_worst_two(evidence, i)
    ),
    in_order="No two columns alone decide about the estimate.",
    threshold=EXCHANGED,
    title="Exchanged columns",
    quantity="largest share of positives by all columns but two, above the estimate",
    cannot_detect="columns with the same distribution, and which columns were exchanged",
)
SHIFTED_COLUMNS = Check(
    code="shifted-columns",
    statistic=lambda evidence: _excess(evidence)[2],
    severity=_severity_of_shift,
    sentence=_sentence_about_shift,
    advice=f"If you expect more positives than estimated, check that the sample was {SAME}.",
    reason="all columns are shifted or stretched in one direction",
    in_order="The columns are not shifted or stretched all in one direction.",
    threshold=NOTICE_OF_SOME,
    title="Shift of all columns",
    quantity="largest share of positives by one end of all columns, above the estimate",
    cannot_detect="shifts that differ from column to column",
)
