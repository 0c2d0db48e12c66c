"""What a check is: it looks at a record of evidence, and warns of what it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poscount.checks.columns import ColumnEvidence, ManyColumnEvidence
from poscount.checks.finding import SEVERITIES, Finding, Severity, Unchecked
from poscount.checks.gaps import GapEvidence, ManyGapEvidence
from poscount.data.rows import Rows
from poscount.results.prevalence import Interval
from poscount.results.verdict import Caution
from poscount.results.verdict import Severity as CautionSeverity
from poscount.scorers import Mahalanobis

if TYPE_CHECKING:
    from poscount.checks.second_sample import Comparison


class Missing(NamedTuple):
    """Evidence that is not there.

    Attributes
    ----------
    reason : str
        Why not, in a sentence.
    option : str or None
        The parameter of `diagnose` that would provide it, if there is one.
    """

    reason: str = "The method does not provide this."
    option: str | None = None


_MISSING = Missing()


class RegionEvidence(NamedTuple):
    """What RCQ's regions say about a sample; or, with arrays instead of numbers, about many.

    Attributes
    ----------
    estimate : float
        The prevalence.
    pat : float
        PAT's estimate with the same score, before its cap at 1.
    gap : float
        How far the smallest upper bound is above the ratio that the estimate comes from.
    core_difference, core_freedom : float
        How differently the cores of the sample and of the positives are spread, and how many
        independent comparisons that is worth (`poscount.checks.core_differs`).
    disagreement : float
        (PAT - RCQ) / gap.
    """

    estimate: Any
    pat: Any
    gap: Any
    core_difference: Any
    core_freedom: float
    disagreement: Any


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the checks look at; what nobody has filled in is `Missing`.

    A method fills in the first part, for the warnings of a prevalence; `poscount.diagnostics` fills
    in everything it can get, for the assumption report.

    Attributes
    ----------
    n_labeled : int
        Number of positives.
    feature_names : sequence of str
        Names of the features.
    scorer : Mahalanobis
        The scorer of the method, if it is this one.
    redundant : int
        Features of the scorer that follow from others by construction, as categories do.
    largest_tie : float
        Largest share of positives with one score (`poscount.checks.tied_scores`).
    answered_by_pat : bool
        Whether RCQ has used PAT's rule, because it has too few positives for regions.
    interval : Interval
        Of the estimate.
    gap : float or None
        Of RCQ, which judges its precision by it.
    core_excess : float
        How overfull the core of the positives is (`poscount.checks.overlap`).
    regions : RegionEvidence
        What RCQ says.
    columns : ColumnEvidence
        What the columns of the sample say, each by itself.
    gaps : GapEvidence
        Missing values and words of the sample.
    core_share : float
        Rows of the sample in the core, as a share of what it would have if all were positives.
    copied : float
        Share of the positives given that are copies of others, 0 where values are coarse.
    n_given : int
        Number of positives given, copies included.
    unlike_experience : bool
        Whether the calibration has seen nothing like the sample.
    n_rows, n_rows_used : int
        Rows of the sample, and those that the method has used.
    warned : collection of str
        Codes of the warnings that the prevalence carries already.
    count : float
        Estimated number of positives in the sample.
    seed : int
        Of the model.
    positives, sample : Rows
        All of them finite numbers.
    some_positives, some_rows : ndarray
        The same as matrices, or a random part of them if they are many.
    comparison : Comparison
        Of the sample with a second one.
    dedpul : float
        DEDPUL's estimate.
    """

    n_labeled: int
    feature_names: Sequence[str] = ()
    scorer: Mahalanobis | Missing = _MISSING
    redundant: int = 0
    largest_tie: float | Missing = _MISSING
    answered_by_pat: bool = False
    interval: Interval | Missing = _MISSING
    gap: float | None = None
    core_excess: float | Missing = _MISSING
    regions: RegionEvidence | Missing = _MISSING
    columns: ColumnEvidence | Missing = _MISSING
    gaps: GapEvidence | Missing = _MISSING
    core_share: float | Missing = _MISSING
    copied: float | Missing = _MISSING
    n_given: int = 0
    unlike_experience: bool = False
    n_rows: int | Missing = _MISSING
    n_rows_used: int | Missing = _MISSING
    warned: frozenset[str] = frozenset()
    count: float = 0.0
    seed: int = 0
    positives: Rows | Missing = _MISSING
    sample: Rows | Missing = _MISSING
    some_positives: np.ndarray | Missing = _MISSING
    some_rows: np.ndarray | Missing = _MISSING
    comparison: Comparison | Missing = _MISSING
    dedpul: float | Missing = _MISSING


@dataclass(frozen=True, kw_only=True)
class ManySamples:
    """What the checks look at in many samples at once, to see which of them need a closer look.

    Attributes
    ----------
    width : ndarray of shape (n_samples,)
        Of the intervals.
    gap, core_excess, core_share, regions, unlike_experience
        As in `Evidence`, with arrays instead of numbers.
    columns : ManyColumnEvidence
    gaps : ManyGapEvidence
    """

    width: np.ndarray
    gap: np.ndarray | None = None
    core_excess: np.ndarray | Missing = _MISSING
    regions: RegionEvidence | Missing = _MISSING
    columns: ManyColumnEvidence | Missing = _MISSING
    gaps: ManyGapEvidence | Missing = _MISSING
    core_share: np.ndarray | Missing = _MISSING
    unlike_experience: np.ndarray | bool = False


def blocks(rows: Rows) -> Iterator[np.ndarray]:
    """The rows as float64, block by block."""
    for block in rows.blocks():
        yield np.asarray(block, np.float64)


class Outcome(NamedTuple):
    """What a check has seen.

    Attributes
    ----------
    severity, number, threshold, sentence, advice
        As in `Finding`.
    caution : float or None
        The statistic of the warning that the prevalence carries; None if it carries none.
    reason : str
        For the verdict, if it names a column; otherwise that of the check.
    caution_severity : {"note", "doubt", "do not use"} or None
        Of the warning, if it depends on what was seen; otherwise that of the check.
    """

    severity: Severity
    number: float
    threshold: float | None
    sentence: str
    advice: str = ""
    caution: float | None = None
    reason: str = ""
    caution_severity: CautionSeverity | None = None


@dataclass(frozen=True)
class Check:
    """One check: from evidence to a warning of a prevalence and to a finding of the report.

    Parameters
    ----------
    code : str
        Short stable name, for programs.
    look : callable
        From an `Evidence` to an `Outcome`, or to the part of the evidence that is `Missing`.
    caution_rate : float
        Share of samples with nothing wrong whose prevalence is warned, as measured; 0 if it was
        never seen.
    caution_severity : {"note", "doubt", "do not use"}
        Of the warning.
    reason : str
        The warning in a few words, for the verdict.
    concerns : callable
        From `ManySamples` to which of them are warned.
    severities : callable, optional
        From `ManySamples` to the places in `CAUTION_SEVERITIES` of their warnings, if the severity
        depends on what was seen.
    title, quantity, false_alarm_rate, cannot_detect
        As in `Finding`; left out where a check warns of something that is not in the report.
    """

    code: str
    look: Callable[[Evidence], Outcome | Missing]
    caution_rate: float = 0.0
    caution_severity: CautionSeverity = "note"
    reason: str = ""
    concerns: Callable[[ManySamples], np.ndarray | bool] = lambda samples: True
    severities: Callable[[ManySamples], np.ndarray] | None = None
    title: str = ""
    quantity: str = ""
    false_alarm_rate: float = 0.0
    cannot_detect: str = ""

    def caution(self, evidence: Evidence) -> Caution | None:
        """The warning that a prevalence should carry, if any."""
        seen = self.look(evidence)
        if isinstance(seen, Missing) or seen.caution is None:
            return None
        parts = [seen.sentence, seen.advice]
        if self.caution_rate:
            one_in = round(1 / self.caution_rate)
            parts.append(
                f"About 1 in {one_in} samples with nothing wrong triggers this warning too."
            )
        sentence = " ".join(filter(None, parts))
        reason = seen.reason or self.reason
        severity = seen.caution_severity or self.caution_severity
        return Caution(self.code, sentence, float(seen.caution), severity, reason)

    def finding(self, evidence: Evidence) -> Finding | Unchecked:
        """The entry in the report."""
        seen = self.look(evidence)
        if isinstance(seen, Missing):
            return Unchecked(self.code, self.title, seen.reason, seen.option)
        return Finding(
            code=self.code,
            severity=seen.severity,
            title=self.title,
            sentence=seen.sentence,
            advice=seen.advice,
            quantity=self.quantity,
            number=float(seen.number),
            threshold=seen.threshold,
            false_alarm_rate=self.false_alarm_rate,
            cannot_detect=self.cannot_detect,
        )


def severity_above(number: float, notice: float, warning: float) -> Severity:
    """Severity of a number that is bad when it is large.

    Examples
    --------
    >>> [severity_above(x, 1, 2) for x in (1, 2, 3)]
    ['ok', 'notice', 'warning']
    """
    return SEVERITIES[int(number > notice) + int(number > warning)]
