"""One finding of the assumption report, and what every finding of its kind has in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["ok", "notice", "warning"]
SEVERITIES: tuple[Severity, ...] = ("ok", "notice", "warning")


@dataclass(frozen=True)
class Drawing:
    """A picture that can be drawn later, also in another process.

    Attributes
    ----------
    draw : callable
        Takes the arguments and `ax`.
    arguments : mapping of str to object
    size : (float, float)
        Of a figure for it, in inches.
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
    severity : {"ok", "notice", "warning"}
        A notice is good to know; a warning is a reason to doubt the answer.
    title : str
        What was checked, in a few words.
    sentence : str
        What was found.
    advice : str
        What to do about it; empty if nothing.
    quantity : str
        What the number is.
    number : float
    threshold : float or None
        Where the number becomes a warning; None if it never does.
    false_alarm_rate : float
        Share of samples without any fault that got this warning, as measured
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

    def __str__(self) -> str:
        lines = [f"{self.severity.upper()}: {self.title} ({self.code})", f"  {self.sentence}"]
        if self.advice:
            lines.append(f"  What to do: {self.advice}")
        return "\n".join([*lines, f"  {self.figures}"])

    @property
    def figures(self) -> str:
        """The number, how often the warning is a false alarm, and what the check is blind to."""
        limit, rate = "", "It is never a warning."
        if self.threshold is not None:
            limit = f", limit {self.threshold:.3g}"
            rate = f"{100 * self.false_alarm_rate:.1f} % of clean samples get this warning."
        return (
            f"{self.quantity}: {self.number:.3g}{limit}. {rate} It cannot see {self.cannot_detect}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the picture, in types that JSON knows."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "sentence": self.sentence,
            "advice": self.advice,
            "quantity": self.quantity,
            "number": self.number if math.isfinite(self.number) else None,
            "threshold": self.threshold,
            "false_alarm_rate": self.false_alarm_rate,
            "cannot_detect": self.cannot_detect,
        }


@dataclass(frozen=True)
class Unchecked:
    """A check that could not be made.

    Attributes
    ----------
    code, title : str
        Those of the finding that is missing.
    reason : str
        Why, and how to get it.
    """

    code: str
    title: str
    reason: str

    def __str__(self) -> str:
        return f"{self.title} ({self.code}): {self.reason}"


@dataclass(frozen=True)
class About:
    """What all findings of one code have in common; the attributes are those of `Finding`."""

    code: str
    title: str
    quantity: str
    false_alarm_rate: float
    cannot_detect: str

    def found(
        self,
        severity: Severity,
        number: float,
        threshold: float | None,
        sentence: str,
        advice: str = "",
        plot: Drawing | None = None,
    ) -> Finding:
        """A finding of this code."""
        return Finding(
            code=self.code,
            severity=severity,
            title=self.title,
            sentence=sentence,
            advice=advice,
            quantity=self.quantity,
            number=float(number),
            threshold=threshold,
            false_alarm_rate=self.false_alarm_rate,
            cannot_detect=self.cannot_detect,
            plot=plot,
        )

    def unchecked(self, reason: str) -> Unchecked:
        """Say why there is no finding of this code."""
        return Unchecked(self.code, self.title, reason)


def severity_above(number: float, notice: float, warning: float) -> Severity:
    """Severity of a number that is bad when it is large.

    Examples
    --------
    >>> [severity_above(x, 1, 2) for x in (1, 2, 3)]
    ['ok', 'notice', 'warning']
    """
    return SEVERITIES[int(number > notice) + int(number > warning)]
