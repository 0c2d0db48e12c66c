"""The warnings of an answer, and the verdict on top of them: how far it may be off."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poscount.printable import printable

Severity = Literal["ok", "note", "doubt", "do not use"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "doubt", "do not use")
Grade = Literal["good", "fair", "rough", "unsure", "do not use", "unknown"]
# In points: up to which likely error an answer is good, fair or rough.
LIMITS: tuple[tuple[Grade, float], ...] = (("good", 3), ("fair", 8), ("rough", 15))
# What the grades mean, in a few words.
MEANINGS: dict[Grade, str] = {
    "good": "probably within 3 points",
    "fair": "probably within 8 points",
    "rough": "could be off by up to 15 points",
    "unsure": "could be off by more than 15 points",
    "do not use": "see the warnings",
    "unknown": "the method does not predict how far it may be off",
}
IF = "if the labelled positives are like those in the sample"
OTHERS = "answers that looked like this one were, too"


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """A reason not to take an estimate at face value.

    Attributes
    ----------
    code : str
        Short stable name, for programs.
    sentence : str
        What was seen and what to do about it, for people.
    value : float or None
        The statistic that triggered it.
    severity : {"note", "doubt", "do not use"}
        Whether the answer takes it into account, should be doubted, or should not be used.
    reason : str
        A few words for the verdict.
    """

    code: str
    sentence: str
    value: float | None = None
    severity: Severity = "note"
    reason: str = ""

    def __post_init__(self) -> None:
        # It may name columns and words of the data.
        object.__setattr__(self, "sentence", printable(self.sentence))

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to expect of an answer.

    Attributes
    ----------
    grade : {"good", "fair", "rough", "unsure", "do not use", "unknown"}
        By the likely error: at most 3, 8 or 15 points, or more. "do not use" if a warning says so;
        "unknown" for methods that do not predict their error.
    sentence : str
        The same for people, with the reason.
    """

    grade: Grade
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def verdict(likely_error: float | None, warnings: Sequence[AnswerWarning]) -> Verdict:
    """Judge an answer by its likely error and its warnings.

    Parameters
    ----------
    likely_error : float or None
        What 80 of 100 answers that looked like this one were not farther off than.
    warnings : sequence of AnswerWarning

    Examples
    --------
    >>> print(verdict(0.021, []))
    Probably within 3 points, if the labelled positives are like those in the sample.
    """
    grade = grade_of(likely_error, [w.severity for w in warnings])
    for severity, beginning in (("do not use", "Do not use this number"), ("doubt", "Doubtful")):
        reasons = [w.reason for w in warnings if w.severity == severity]
        if reasons:
            return Verdict(grade, f"{beginning}: {'; '.join(dict.fromkeys(reasons))}.")
    if likely_error is None:
        return Verdict(grade, "This method does not predict how far it may be off.")
    if grade in ("good", "fair"):
        return Verdict(grade, f"{MEANINGS[grade].capitalize()}, {IF}.")
    because = [w.reason for w in warnings if w.reason] or [OTHERS]
    return Verdict(grade, f"{MEANINGS[grade].capitalize()}: {because[0]}.")


def grade_of(likely_error: float | None, severities: Collection[Severity]) -> Grade:
    """The grade of an answer, by its likely error and the severities of its warnings.

    Examples
    --------
    >>> grade_of(0.05, []), grade_of(0.05, ["note", "doubt"]), grade_of(None, [])
    ('fair', 'unsure', 'unknown')
    """
    if "do not use" in severities:
        return "do not use"
    if "doubt" in severities:
        return "unsure"
    if likely_error is None:
        return "unknown"
    return next((grade for grade, most in LIMITS if 100 * likely_error <= most), "unsure")


def grades(likely_errors: np.ndarray | None, worst: np.ndarray) -> np.ndarray:
    """The grades of many answers, as `grade_of` gives them.

    Parameters
    ----------
    likely_errors : ndarray of shape (n_samples,), or None
        NaN where it is not known.
    worst : ndarray of int, shape (n_samples,)
        Place in `SEVERITIES` of the worst of their warnings; 0 if there are none.

    Examples
    --------
    >>> grades(np.array([0.05, 0.05, np.nan]), np.array([0, 2, 1])).tolist()
    ['fair', 'unsure', 'unknown']
    """
    names = [grade for grade, _ in LIMITS]
    unknown = len(names) + 1
    if likely_errors is None:
        place = np.full(len(worst), unknown)
    else:
        place = np.searchsorted([most for _, most in LIMITS], 100 * likely_errors)
        place[np.isnan(likely_errors)] = unknown
    # A doubt is "unsure", whatever the error; a note changes nothing.
    place = np.where(worst <= 1, place, len(names) + 2 * (worst - 2))
    return np.array([*names, "unsure", "unknown", "do not use"], dtype=object)[place]
