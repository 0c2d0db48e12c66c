"""Warnings of many samples: their codes at once, their sentences when somebody asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples
from poscount.prevalence import MadeOnDemand
from poscount.verdict import Caution, Grade, Severity, grade_of


class ManyCautions(MadeOnDemand[tuple[Caution, ...]]):
    """The warnings of each of many samples, made when they are asked for.

    Parameters
    ----------
    samples : ManySamples
    checks : sequence of Check
        Of samples.
    evidence_of : callable
        From the number of a sample to its `Evidence`.
    first, last : tuple of Caution
        Warnings of the model, which come before and after those of a sample.
    """

    def __init__(
        self,
        samples: ManySamples,
        checks: Sequence[Check],
        evidence_of: Callable[[int], Evidence],
        first: tuple[Caution, ...],
        last: tuple[Caution, ...],
    ) -> None:
        n = len(samples.width)
        self._checks, self._evidence_of = checks, evidence_of
        self._first, self._last = first, last
        self._concerned = np.array(
            [np.broadcast_to(check.concerns(samples), n) for check in checks]
        ).T.reshape(n, len(checks))

    def __len__(self) -> int:
        return len(self._concerned)

    def _make(self, i: int) -> tuple[Caution, ...]:
        concerned = np.flatnonzero(self._concerned[i]).tolist()
        if not concerned:
            return (*self._first, *self._last)
        evidence = self._evidence_of(i)
        found = [self._checks[k].caution(evidence) for k in concerned]
        return (*self._first, *(c for c in found if c is not None), *self._last)

    def summaries(self, likely_errors: Iterable[float | None]) -> tuple[list[Grade], list[str]]:
        """The grade of each sample, and the codes of its warnings with spaces between them.

        Parameters
        ----------
        likely_errors : iterable of float or None
            Of the samples.
        """
        certain = np.array([check.certain for check in self._checks])
        looked_at = (self._concerned & ~certain).any(axis=1).tolist()
        # There are few different sets of warnings.
        keys = self._concerned @ (1 << np.arange(len(self._checks)))
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        known = [self._summary(line) for line in self._concerned[first]]
        grades, codes = [], []
        each = zip(which.tolist(), looked_at, likely_errors, strict=True)
        for i, (of_set, closer, likely_error) in enumerate(each):
            severities, text = known[of_set]
            if closer:
                cautions = self[i]
                severities = [caution.severity for caution in cautions]
                text = " ".join(caution.code for caution in cautions)
            grades.append(grade_of(likely_error, severities))
            codes.append(text)
        return grades, codes

    def _summary(self, concerned: np.ndarray) -> tuple[list[Severity], str]:
        """Severities and codes if all of these checks warn with their own severity."""
        warning = itertools.compress(self._checks, concerned.tolist())
        found = [(check.caution_severity, check.code) for check in warning]
        of_model = [[(c.severity, c.code) for c in part] for part in (self._first, self._last)]
        whole = [*of_model[0], *found, *of_model[1]]
        return [severity for severity, _ in whole], " ".join(code for _, code in whole)
