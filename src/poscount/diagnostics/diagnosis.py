"""The assumption report: everything that speaks for or against an estimate."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from poscount.base import Quantifier
from poscount.container import write_whole
from poscount.diagnostics.evidence import gather
from poscount.diagnostics.finding import SEVERITIES, Finding, Severity, Unchecked
from poscount.diagnostics.findings import CHECKS
from poscount.prevalence import Prevalence


@dataclass(frozen=True)
class Diagnosis:
    """An estimate with all findings about it.

    Attributes
    ----------
    prevalence : Prevalence
        What the model says of the sample.
    findings : tuple of Finding
        Everything that was checked, also what is in order.
    unchecked : tuple of Unchecked
        What could not be checked, and why.
    """

    prevalence: Prevalence
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def severity(self) -> Severity:
        """That of the worst finding."""
        return max((f.severity for f in self.findings), key=SEVERITIES.index, default="ok")

    @property
    def by_severity(self) -> tuple[Finding, ...]:
        """The findings, the worst first."""
        order = SEVERITIES[::-1]
        return tuple(sorted(self.findings, key=lambda finding: order.index(finding.severity)))

    @property
    def summary(self) -> str:
        """How many findings there are of each severity."""
        n = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        parts = [f"{n[name]} {name}{'s' if n[name] != 1 else ''}" for name in ("warning", "notice")]
        more = f", {len(self.unchecked)} not checked" if self.unchecked else ""
        return f"{', '.join(parts)}, {n['ok']} in order{more}"

    def __str__(self) -> str:
        parts = [f"{self.prevalence!r}\n{self.summary}", *map(str, self.by_severity)]
        if self.unchecked:
            parts.append("\n".join(["NOT CHECKED", *(f"  {u}" for u in self.unchecked)]))
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pictures, in types that JSON knows."""
        return {
            "severity": self.severity,
            "prevalence": self.prevalence.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "unchecked": [asdict(unchecked) for unchecked in self.unchecked],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One HTML page with pictures that needs nothing beside it; matplotlib draws them.

        Parameters
        ----------
        path : path, optional
            Where to write it, whole or not at all.

        Returns
        -------
        str
            The page.
        """
        from poscount.diagnostics.report import report

        text = report(self)
        if path is not None:
            write_whole(path, text.encode())
        return text


def diagnose(
    model: Quantifier, sample: Any, *, positives: Any = None, reference: Any = None
) -> Diagnosis:
    """Look for reasons to doubt what a model says of a sample.

    Checked are the number of positives and of rows, overlap of negatives with positives and drift
    of the positives, the agreement of PAT, RCQ and DEDPUL, and constants and copies in the data.
    Each finding says how often it is a false alarm, and what it cannot see. No finding is a proof:
    negatives that look exactly like positives cannot be seen by anybody.

    Parameters
    ----------
    model : fitted quantifier
        Any of them; most can be said about RCQ.
    sample : array or frame
        Unlabeled rows, as for `quantify`.
    positives : array or frame, optional
        Those that the model was fitted on. A reusable model does not keep them; with them, copies
        can be found, DEDPUL can be asked, and a model that is not RCQ gets RCQ's checks, too.
    reference : array or frame, optional
        A second sample whose positives and negatives are of the same kinds, in other shares: it
        tells overlap from drift, which one sample cannot.

    Returns
    -------
    Diagnosis

    Examples
    --------
    Half of the positives are around 0, half around 3; all negatives are around 3, too:

    >>> import numpy as np
    >>> from poscount import RCQ, diagnose
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> positives = np.vstack([around(0, 250), around(3, 250)])
    >>> sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
    >>> diagnosis = diagnose(RCQ(random_state=0).fit(positives), sample)
    >>> [finding.code for finding in diagnosis.findings if finding.severity == "warning"]
    ['core-differs', 'pat-disagrees']
    """
    evidence = gather(model, sample, positives, reference)
    found = [check(evidence) for check in CHECKS]
    return Diagnosis(
        evidence.answer,
        tuple(f for f in found if isinstance(f, Finding)),
        tuple(f for f in found if isinstance(f, Unchecked)),
    )
