"""The assumption report: all reasons to trust or to doubt an estimate."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from poscount import checks
from poscount.base.quantifier import Quantifier
from poscount.checks.check import Check
from poscount.checks.evidence import Evidence, MissingEvidenceError
from poscount.checks.finding import Finding, SkippedCheck
from poscount.diagnostics.evidence import gather
from poscount.diagnostics.html import drawings, html_page
from poscount.diagnostics.kinds import readings
from poscount.errors import InputError
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.results.prevalence import Prevalence
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.verdict import SEVERITIES, Severity
from poscount.results.what_if import WhatIf
from poscount.storage.writer import write_whole


@dataclass(frozen=True)
class Diagnosis:
    """An estimate with all findings about it.

    Attributes
    ----------
    prevalence : Prevalence
        The estimate for the sample.
    findings : tuple of Finding
        The result of every check, including those that found nothing wrong.
    skipped : tuple of SkippedCheck
        What could not be checked, and why.
    what_if : WhatIf or None
        The answer under each assumption that the data cannot settle, as far as it can be told:
        kinds of positives need the positives.
    other_methods : dict of str to float
        What methods of other kinds say of the same rows, by their names.
    """

    prevalence: Prevalence
    findings: tuple[Finding, ...]
    skipped: tuple[SkippedCheck, ...] = ()
    what_if: WhatIf | None = None
    other_methods: dict[str, float] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """Severity of the worst finding."""
        return max((f.severity for f in self.findings), key=SEVERITIES.index, default="ok")

    @property
    def by_severity(self) -> tuple[Finding, ...]:
        """The findings, the worst first."""
        order = SEVERITIES[::-1]
        return tuple(sorted(self.findings, key=lambda finding: order.index(finding.severity)))

    @property
    def summary(self) -> str:
        """How many findings there are of each severity; first of all, if few checks were made."""
        n = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        words: dict[Severity, str] = {
            "do not use": "do not use",
            "check": "to check",
            "note": "notes",
        }
        parts = [
            f"{n[name]} {word if n[name] != 1 else name}"
            for name, word in words.items()
            if n[name] or name != "do not use"
        ]
        made, missing = len(self.findings), len(self.skipped)
        few = f"Only {made} of {made + missing} checks could be made: " if missing >= made else ""
        more = f", {missing} not checked" if missing else ""
        return f"{few}{', '.join(parts)}, {n['ok']} in order{more}"

    def rendered(self, remedy: Callable[[SkippedCheck], str]) -> str:
        """The whole report as text.

        Parameters
        ----------
        remedy : callable
            Says how to get a finding that is missing, in the words of the user's front end.
        """
        p = self.prevalence
        known = knowledge_in_words(p.details)
        head = "\n".join([repr(p), str(p.verdict), *known, self.summary])
        parts = [head, *([str(self.what_if)] if self.what_if else [])]
        parts += map(str, self.by_severity)
        if self.skipped:
            lines = (f"  {skipped.rendered(remedy(skipped))}" for skipped in self.skipped)
            parts.append("\n".join(["NOT CHECKED", *lines]))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.rendered(attrgetter("remedy"))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pictures, in types that JSON knows."""
        return {
            "severity": self.severity,
            "prevalence": self.prevalence.to_dict(),
            "what_if": self.what_if.to_dict() if self.what_if else None,
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": [asdict(skipped) for skipped in self.skipped],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one HTML file that includes its pictures; they need matplotlib.

        Parameters
        ----------
        path : path, optional
            Where to write it; if that fails, no part of it is left there.

        Returns
        -------
        str
            The page.
        """
        text = html_page(self)
        if path is not None:
            write_whole(path, text.encode())
        return text


def diagnose(
    model: Quantifier, sample: Any, *, positives: Any = None, reference: Any = None
) -> Diagnosis:
    """Look for reasons to doubt what a model says about a sample.

    The checks are about the number of positives and of rows, overlap of negatives with positives,
    drift of the positives, the agreement of PAT, RCQ and DEDPUL, and constants and copies in the
    data. Each finding says how often it is a false alarm, and what it cannot see. A report without
    warnings is no proof: negatives that look exactly like positives cannot be detected.

    Parameters
    ----------
    model : fitted quantifier
        Of any method; most is known about RCQ.
    sample : array or frame
        Unlabeled rows, as for `quantify`.
    positives : array or frame, optional
        The positives that the model was fitted on. A reusable model does not keep them. With them,
        copies can be found, the result can be compared with DEDPUL, and models other than RCQ get
        RCQ's checks as well.
    reference : array or frame, optional
        A second sample with the same kinds of positives and negatives, but a different prevalence:
        it tells overlap from drift, which one sample cannot.

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
    >>> [finding.code for finding in diagnosis.findings if finding.severity == "note"][:2]
    ['core-differs', 'pat-disagrees']
    """
    if isinstance(model, MultiRCQ):
        raise InputError(
            "The report is about one target, and this model has "
            f"{len(model.targets_)}: fit RCQ on the positives of one of them."
        )
    answer, evidence = gather(model, sample, positives, reference)
    warned = {warning.code: warning.severity for warning in answer.warnings}
    carried = [
        checks.CARRIED[warning.code].carried(warning)
        for warning in answer.warnings
        if warning.code in checks.CARRIED
    ]
    results = [_look(check, evidence, warned.get(check.code)) for check in checks.REPORT]
    plots = dict(drawings(answer, evidence))
    return Diagnosis(
        answer,
        (
            *carried,
            *(replace(f, plot=plots.get(f.code)) for f in results if isinstance(f, Finding)),
        ),
        tuple(f for f in results if isinstance(f, SkippedCheck)),
        readings(model, answer, evidence, sample, positives),
        _other_methods(answer, evidence),
    )


def _other_methods(answer: Prevalence, evidence: Evidence) -> dict[str, float]:
    """The estimates that checks have compared, but for that of the answer's own method."""
    known = {"RCQ": "estimate", "PAT": "pat", "DEDPUL": "dedpul"}
    return {
        method: min(1.0, float(np.squeeze(getattr(evidence, name))))
        for method, name in known.items()
        if method != answer.method and evidence.has(name)
    }


def _look(check: Check, evidence: Evidence, warned: Severity | None) -> Finding | SkippedCheck:
    """What a check has found; at least as severe as the warning that the answer carries."""
    try:
        result = check.look(evidence)
    except MissingEvidenceError as missing:
        return SkippedCheck(check.code, check.title, missing.reason, missing.option)
    if warned is not None:
        at_least = SEVERITIES.index(warned)
        result = replace(result, severity=np.maximum(result.severity, at_least))
    return result.finding()
