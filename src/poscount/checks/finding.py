"""What checks report: a finding, or why there is none, and a picture to go with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from poscount.printable import printable
from poscount.results.verdict import Severity


@dataclass(frozen=True)
class Drawing:
    """A picture that can be drawn later, also in another process.

    Attributes
    ----------
    draw : callable
        Takes the arguments and `ax`.
    arguments : mapping of str to object
        Keyword arguments of `draw`.
    size : (float, float)
        Width and height of a figure for it, in inches.
    """

    draw: Callable[..., Any]
    arguments: Mapping[str, Any]
    size: tuple[float, float] = (9.0, 4.6)

    def __call__(self, ax: Any) -> Any:
        """Draw it on matplotlib's axes."""
        return self.draw(**self.arguments, ax=ax)


@dataclass(frozen=True)
class Finding:
    """What one check has found.

    Attributes
    ----------
    code : str
        Short stable name, for programs.
    severity : {"ok", "note", "check", "do not use"}
        A note is good to know; the others are to be checked, or forbid to use the estimate.
    title : str
        What was checked, in a few words.
    sentence : str
        What was found.
    advice : str
        What to do about it; empty if nothing.
    quantity : str
        What the number is.
    number : float
        The statistic of the check.
    threshold : float or None
        Where the number becomes a reason to doubt; None if it never does.
    false_alarm_rate : float
        Share of samples with nothing wrong that got this finding, as measured
        (``benchmarks/diagnostics.py``).
    cannot_detect : str
        What the check is blind to.
    plot : callable or None
        ``plot(ax)`` draws what was found on matplotlib's axes.
    """

    code: str
    severity: Severity
    title: str
    sentence: str
    advice: str
    quantity: str
    number: float
    threshold: float | None
    false_alarm_rate: float
    cannot_detect: str
    plot: Drawing | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # It may name columns and words of the data.
        object.__setattr__(self, "sentence", printable(self.sentence))

    def __str__(self) -> str:
        lines = [f"{self.severity.upper()}: {self.title} ({self.code})", f"  {self.sentence}"]
        if self.advice:
            lines.append(f"  What to do: {self.advice}")
        return "\n".join([*lines, f"  {self.figures}"])

    @property
    def figures(self) -> str:
        """The number, how often the finding is a false alarm, and what the check is blind to."""
        limit, rate = "", "This alone is never a reason to doubt."
        if self.threshold is not None:
            limit = f", limit {self.threshold:.3g}"
            share = f"{100 * self.false_alarm_rate:.1f} %"
            rate = f"{share} of samples with nothing wrong get this finding."
        return (
            f"{self.quantity}: {self.number:.3g}{limit}. {rate} It cannot see {self.cannot_detect}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the picture, in types that JSON knows."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        del found["plot"]
        return found | {"number": self.number if math.isfinite(self.number) else None}


@dataclass(frozen=True)
class SkippedCheck:
    """A check that could not be made.

    Attributes
    ----------
    code, title : str
        Those of the finding that is missing.
    reason : str
        Why it is missing, in a sentence that names no option.
    option : str or None
        The parameter of `diagnose` that would provide what is missing, if there is one.
    """

    code: str
    title: str
    reason: str
    option: str | None = None

    @property
    def remedy(self) -> str:
        """How to get the finding in Python; empty if no option would help."""
        return "" if self.option is None else f"Pass {self.option}=."

    def rendered(self, remedy: str) -> str:
        """The whole sentence, with a remedy in the words of the user's front end."""
        text = f"{self.title} ({self.code}): {self.reason}"
        return f"{text} {remedy}" if remedy else text

    def __str__(self) -> str:
        return self.rendered(self.remedy)
