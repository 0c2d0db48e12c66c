"""What a check is: a statistic of the evidence for each sample, and a sentence about it.

The same check makes the warnings of one sample and those of a million groups: one sample is n = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poscount.checks.evidence import Evidence
from poscount.results.verdict import SEVERITIES, AnswerWarning, statuses

NOTE, TO_CHECK, DO_NOT_USE = range(1, len(SEVERITIES))

Text = str | Callable[[Evidence, int], str]
# From the evidence and the statistic to places in `SEVERITIES`; 0 where nothing is wrong.
SeverityRule = Callable[[Evidence, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check.

    Parameters
    ----------
    code : str
        Short stable name, for programs.
    statistic : callable
        From an `Evidence` to a number for each sample, or to a single one for all.
    severity : SeverityRule
    sentence : callable
        What was seen in a sample, from the evidence and the place of the sample.
    advice : str or callable
        What to do about it.
    reason : str or callable
        The warning in a few words, for the verdict.
    warning_rate : float
        Share of samples with nothing wrong whose prevalence is warned, as measured; 0 if it was
        never seen.
    """

    code: str
    statistic: Callable[[Evidence], Any]
    severity: SeverityRule
    sentence: Callable[[Evidence, int], str]
    advice: Text = ""
    reason: Text = ""
    warning_rate: float = 0.0

    def look(self, evidence: Evidence) -> CheckResult:
        """Look at all samples; raises `MissingEvidenceError` if there is nothing to look at."""
        statistic = np.atleast_1d(np.asarray(self.statistic(evidence), float))
        return CheckResult(self, evidence, statistic, self.severity(evidence, statistic))


@dataclass(frozen=True)
class CheckResult:
    """What a check has seen in samples.

    Attributes
    ----------
    check : Check
    evidence : Evidence
    statistic : ndarray
        Of each sample, or of all if there is a single one.
    severity : ndarray of int
        Places in `SEVERITIES`.
    """

    check: Check
    evidence: Evidence
    statistic: np.ndarray
    severity: np.ndarray

    def masked(self, kept: np.ndarray) -> CheckResult:
        """The same where `kept`; elsewhere nothing was seen."""
        return replace(self, severity=np.where(kept, self.severity, 0))

    def warning(self, i: int) -> AnswerWarning:
        """The warning that the prevalence of sample `i` carries."""
        check = self.check
        parts = [check.sentence(self.evidence, i), self._text(check.advice, i)]
        if check.warning_rate:
            one_in = round(1 / check.warning_rate)
            parts.append(
                f"About 1 in {one_in} samples with nothing wrong triggers this warning too."
            )
        return AnswerWarning(
            check.code,
            " ".join(filter(None, parts)),
            float(self.statistic[min(i, len(self.statistic) - 1)]),
            SEVERITIES[self.severity[min(i, len(self.severity) - 1)]],
            self._text(check.reason, i),
            self._text(check.advice, i),
        )

    def _text(self, text: Text, i: int) -> str:
        return text(self.evidence, i) if callable(text) else text


class BatchWarnings:
    """The warnings of samples: codes and severities at once, sentences when somebody asks.

    Parameters
    ----------
    n_samples : int
    results : sequence of CheckResult
        In the order of the warnings; one of length 1 holds for all samples.
    """

    def __init__(self, n_samples: int, results: Sequence[CheckResult]) -> None:
        self.results = list(results)
        self._n_samples = n_samples

    def __len__(self) -> int:
        return self._n_samples

    def __getitem__(self, i: int) -> tuple[AnswerWarning, ...]:
        return tuple(result.warning(i) for result in self.results if self._severity(result)[i])

    def __add__(self, other: BatchWarnings) -> BatchWarnings:
        return BatchWarnings(len(self), [*self.results, *other.results])

    def without(self, codes: Collection[str]) -> BatchWarnings:
        """All warnings but those with one of these codes."""
        kept = [result for result in self.results if result.check.code not in codes]
        return BatchWarnings(len(self), kept)

    def fires(self, code: str) -> np.ndarray:
        """Which samples have a warning with this code."""
        found = [self._severity(result) > 0 for result in self.results if result.check.code == code]
        return np.any([np.zeros(len(self), bool), *found], axis=0)

    def statuses(self) -> np.ndarray:
        """The status of each sample's verdict."""
        worst = np.zeros(len(self), np.intp)
        for result in self.results:
            np.maximum(worst, result.severity, out=worst)
        return statuses(worst)

    def codes(self) -> np.ndarray:
        """The codes of each sample's warnings, with spaces between them."""
        if not self.results:
            return np.full(len(self), "", dtype=object)
        fired = np.array([self._severity(result) > 0 for result in self.results]).T
        # There are few different sets of warnings.
        keys = fired @ (1 << np.arange(fired.shape[1]))
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        names = [result.check.code for result in self.results]
        known = [
            " ".join(name for name, on in zip(names, line, strict=True) if on)
            for line in fired[first].tolist()
        ]
        return np.array(known, dtype=object)[which]

    def _severity(self, result: CheckResult) -> np.ndarray:
        return np.broadcast_to(result.severity, len(self))


def joined_results(
    code: str, parts: Sequence[tuple[BatchWarnings, np.ndarray, np.ndarray]], n: int
) -> CheckResult:
    """What a check has seen in samples whose evidence was gathered apart.

    Parameters
    ----------
    code : str
        Of the check.
    parts : sequence of tuples
        Warnings, which of their samples are meant, as bool, and the places of these among all.
    n : int
        Number of samples.
    """
    statistic, severity = np.full(n, np.nan), np.zeros(n, np.intp)
    seen: dict[int, tuple[CheckResult, int]] = {}
    for warnings, chosen, places in parts:
        for result in warnings.results:
            if result.check.code == code:
                statistic[places] = np.broadcast_to(result.statistic, len(chosen))[chosen]
                severity[places] = np.broadcast_to(result.severity, len(chosen))[chosen]
                for place, i in zip(places.tolist(), np.flatnonzero(chosen).tolist(), strict=True):
                    seen[place] = result, i
    check, evidence = next((r.check, r.evidence) for r, _ in seen.values())

    def text(name: str) -> Callable[[Evidence, int], str]:
        def say(_: Evidence, i: int) -> str:
            result, j = seen[i]
            return result._text(getattr(result.check, name), j)

        return say

    texts = {name: text(name) for name in ("sentence", "advice", "reason")}
    joined = replace(check, **texts)  # type: ignore[arg-type]
    return CheckResult(joined, evidence, statistic, severity)


def above(limit: float, severity: int) -> SeverityRule:
    """One severity wherever a statistic is not at most the limit."""
    return lambda evidence, statistic: np.where(statistic <= limit, 0, severity)


def levels(note: float, doubt: float) -> SeverityRule:
    """A note where a statistic is above one limit; to be checked where it is above another."""
    return lambda evidence, statistic: (statistic > note).astype(int) + (statistic > doubt)


def largest_first(values: np.ndarray, limit: float) -> list[int]:
    """Places of the values above a limit, the largest first.

    Examples
    --------
    >>> largest_first(np.array([0.1, 0.0, 0.3]), 0.0)
    [2, 0]
    """
    order = np.argsort(-values, kind="stable")
    return order[: np.count_nonzero(values > limit)].tolist()
