"""Whether the sample looks like those in which an assumption was broken on purpose.

A single sign hardly ever tells a broken assumption from an unusual sample; all of them together
often do. How they go together was learned from such samples (`poscount.calibration.doubt`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.calibration.doubt import BREAKS, shipped_doubt
from poscount.checks.check import DO_NOT_USE, NOTE, TO_CHECK, Check
from poscount.checks.evidence import Evidence


class _Break(NamedTuple):
    """What to say about a kind of break, and what to do."""

    reason: str
    sentence: str
    action: str


_BREAKS = {
    "recorded": _Break(
        "positives may look different here",
        "Either there are few positives in the sample, or they look different here, because it was "
        "recorded with another sensor, at another time or by somebody else.",
        "Label 20 rows of the sample to know.",
    ),
    "prepared": _Break(
        "columns may not mean the same in both tables",
        "The columns of the sample differ from those of the positives as if they were in other "
        "units, in another order, or scaled in another way.",
        "Check that both tables were prepared in the same way.",
    ),
    "codes": _Break(
        "some values may be codes for missing ones",
        "Some values, of the sample or of the positives, look like codes for missing ones.",
        "Look for values such as -999, 0 or 99, and leave the cells empty instead.",
    ),
    "typical": _Break(
        "the labelled positives may not be typical",
        "The rows most like positives are spread differently than the labelled positives: kinds of "
        "positives may have other shares here, or the labelled ones were picked.",
        "Count by kinds (SubclassRCQ), or label 30 rows of the sample.",
    ),
    "context": _Break(
        "a column may tell where or when, and not what",
        "A column has other values here than among the positives, as dates, places and row numbers "
        "have.",
        "Leave out columns that do not describe the row itself.",
    ),
    "contaminated": _Break(
        "some labelled positives may be negatives",
        "The labelled positives are spread as if some of them were negatives.",
        "Look at the labelled positives that are least like the others.",
    ),
    "swapped": _Break(
        "the two tables may have been swapped",
        "The positives are spread more widely than the sample, as if each were the other.",
        "Check which file holds the labelled positives.",
    ),
}


def _likeliest(evidence: Evidence, i: int) -> _Break:
    return _BREAKS[BREAKS[1 + int(evidence.broken[i, 1:].argmax())]]


def _severity(evidence: Evidence, doubt: np.ndarray) -> np.ndarray:
    limits = shipped_doubt()
    checked = limits.to_check(doubt, evidence.estimate)
    return np.where(doubt > limits.do_not_use_, DO_NOT_USE, np.where(checked, TO_CHECK, 0))


def check_if_doubted(evidence: Evidence, fired: np.ndarray) -> np.ndarray:
    """Severities of a check that fires for good answers, too, but names what is to be checked.

    Where a doubt was learned, it decides, and the check is a note elsewhere.

    Parameters
    ----------
    evidence : Evidence
    fired : ndarray of bool, shape (n_samples,)
    """
    if not evidence.has("broken"):
        return np.where(fired, TO_CHECK, 0)
    doubted = BROKEN_ASSUMPTION.severity(evidence, BROKEN_ASSUMPTION.statistic(evidence)) > 0
    return np.where(fired, np.where(doubted, TO_CHECK, NOTE), 0)


BROKEN_ASSUMPTION = Check(
    code="broken-assumption",
    statistic=lambda evidence: 1 - evidence.broken[:, 0],
    severity=_severity,
    sentence=lambda evidence, i: _likeliest(evidence, i).sentence,
    advice=lambda evidence, i: _likeliest(evidence, i).action,
    reason=lambda evidence, i: _likeliest(evidence, i).reason,
    warning_rate=0.076,
)
