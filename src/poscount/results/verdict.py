"""The warnings of an answer, and the verdict: whether an assumption looks broken.

How far off an answer may be is what its interval says, and nothing here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poscount.printable import printable

Severity = Literal["ok", "note", "check", "do not use"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "check", "do not use")
Status = Literal["no reason to doubt", "check", "do not use"]
NO_DOUBT: Status = "no reason to doubt"
# A note changes nothing.
STATUSES: tuple[Status, ...] = (NO_DOUBT, NO_DOUBT, "check", "do not use")


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """Something that was seen in the data and that the reader of an answer should know.

    Attributes
    ----------
    code : str
        Short stable name, for programs.
    sentence : str
        What was seen and what to do about it, for people.
    value : float or None
        The statistic that triggered it.
    severity : {"note", "check", "do not use"}
        Whether it is good to know, should be checked, or forbids the use of the answer.
    reason : str
        A few words for the verdict.
    action : str
        What to do about it, for the verdict.
    """

    code: str
    sentence: str
    value: float | None = None
    severity: Severity = "note"
    reason: str = ""
    action: str = ""

    def __post_init__(self) -> None:
        # They may name columns and words of the data.
        for name in ("sentence", "reason", "action"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the assumptions of an answer look broken.

    Attributes
    ----------
    status : {"no reason to doubt", "check", "do not use"}
    reason : str
        What looks broken; empty if nothing does.
    action : str
        What to do about it.
    """

    status: Status
    reason: str = ""
    action: str = ""

    def __str__(self) -> str:
        beginning = self.status.capitalize()
        if not self.reason:
            return f"{beginning}."
        return " ".join(filter(None, [f"{beginning}: {self.reason}.", self.action]))


def verdict(warnings: Sequence[AnswerWarning]) -> Verdict:
    """Judge an answer by its warnings: the worst of them decide, and the first says what to do.

    Examples
    --------
    >>> print(verdict([]))
    No reason to doubt.
    >>> units = AnswerWarning("other-units", "Height is in inches.", severity="do not use",
    ...                       reason="Height is in other units", action="Convert it.")
    >>> print(verdict([AnswerWarning("copies", "12 rows are copies."), units]))
    Do not use: Height is in other units. Convert it.
    """
    status = status_of([warning.severity for warning in warnings])
    worst = [warning for warning in warnings if warning.severity == status]
    if not worst:
        return Verdict(status)
    reasons = dict.fromkeys(warning.reason or warning.code for warning in worst)
    return Verdict(status, "; ".join(reasons), worst[0].action)


def status_of(severities: Collection[Severity]) -> Status:
    """The status of an answer with warnings of these severities.

    Examples
    --------
    >>> status_of(["note", "check"]), status_of([])
    ('check', 'no reason to doubt')
    """
    return STATUSES[max(map(SEVERITIES.index, severities), default=0)]


def statuses(worst: np.ndarray) -> np.ndarray:
    """The statuses of many answers.

    Parameters
    ----------
    worst : ndarray of int, shape (n_samples,)
        Place in `SEVERITIES` of the worst of their warnings; 0 if there are none.

    Examples
    --------
    >>> statuses(np.array([0, 1, 3])).tolist()
    ['no reason to doubt', 'no reason to doubt', 'do not use']
    """
    return np.array(STATUSES, dtype=object)[worst]


def verdict_of_many(verdicts: Sequence[Verdict], what: str = "groups") -> str:
    """The verdicts on many answers in one sentence, the worst first.

    Examples
    --------
    >>> verdict_of_many([Verdict("check", "copies"), Verdict(NO_DOUBT), Verdict(NO_DOUBT)])
    'Check 1 of 3 groups; no reason to doubt the others.'
    >>> verdict_of_many([Verdict(NO_DOUBT), Verdict(NO_DOUBT)])
    'No reason to doubt any of the 2 groups.'
    """
    n = Counter(verdict.status for verdict in verdicts)
    worse = [(status, n[status]) for status in ("do not use", "check") if n[status]]
    if not worse:
        return f"No reason to doubt any of the {len(verdicts)} {what}."
    (status, first), *rest = worse
    parts = [f"{status} {first} of {len(verdicts)} {what}", *(f"{s} {k}" for s, k in rest)]
    if n[NO_DOUBT]:
        parts.append(f"{NO_DOUBT} the others")
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]}."
