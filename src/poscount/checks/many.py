"""Warnings of many samples: their codes at once, their sentences when somebody asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples
from poscount.results.prevalence import MadeOnDemand
from poscount.results.verdict import CAUTION_SEVERITIES, LIMITS, Caution


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
        self._samples, self._checks, self._evidence_of = samples, checks, evidence_of
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

    def summaries(self, likely_errors: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The grade of each sample, and the codes of its warnings with spaces between them.

        Parameters
        ----------
        likely_errors : ndarray of shape (n_samples,), or None
            NaN where it is not known.
        """
        of_model = [CAUTION_SEVERITIES.index(c.severity) for c in (*self._first, *self._last)]
        worst = np.full(len(self), max(of_model, default=0))
        for check, concerned in zip(self._checks, self._concerned.T, strict=True):
            if concerned.any():
                own = CAUTION_SEVERITIES.index(check.caution_severity)
                levels = own if check.severities is None else check.severities(self._samples)
                np.maximum(worst, levels, out=worst, where=concerned)
        # There are few different sets of warnings.
        keys = self._concerned @ (1 << np.arange(len(self._checks)))
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        known = np.array([self._codes(line) for line in self._concerned[first]], dtype=object)
        return grades_of(likely_errors, worst), known[which]

    def _codes(self, concerned: np.ndarray) -> str:
        """The codes if these checks warn."""
        warning = itertools.compress(self._checks, concerned.tolist())
        first, last = ([caution.code for caution in part] for part in (self._first, self._last))
        return " ".join([*first, *(check.code for check in warning), *last])


def grades_of(likely_errors: np.ndarray | None, worst: np.ndarray) -> np.ndarray:
    """The grades of many answers, as `grade_of` gives them.

    Parameters
    ----------
    likely_errors : ndarray of shape (n_samples,), or None
        NaN where it is not known.
    worst : ndarray of int, shape (n_samples,)
        Place in `CAUTION_SEVERITIES` of the worst of their warnings; 0 if there are none.

    Examples
    --------
    >>> grades_of(np.array([0.05, 0.05, np.nan]), np.array([0, 1, 0])).tolist()
    ['fair', 'unsure', 'unknown']
    """
    names = [grade for grade, _ in LIMITS]
    unknown = len(names) + 1
    if likely_errors is None:
        place = np.full(len(worst), unknown)
    else:
        place = np.searchsorted([most for _, most in LIMITS], 100 * likely_errors)
        place[np.isnan(likely_errors)] = unknown
    place = np.where(worst == 0, place, len(names) + 2 * (worst - 1))
    return np.array([*names, "unsure", "unknown", "do not use"], dtype=object)[place]
