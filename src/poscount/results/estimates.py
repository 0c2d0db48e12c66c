"""What a rule says about samples, before prevalences are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from poscount.results.distribution import Distribution, Interval, ends_at, widened
from poscount.results.verdict import AnswerWarning


class SampleWarnings(Protocol):
    """Warnings of several samples (`poscount.checks.BatchWarnings`)."""

    def __getitem__(self, i: int, /) -> tuple[AnswerWarning, ...]:
        """Warnings of one sample."""

    def statuses(self) -> np.ndarray:
        """Statuses of the verdicts of all samples."""

    def codes(self) -> np.ndarray:
        """Codes of the warnings of all samples, with spaces between them."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """What a rule says about samples: columns with an entry for each of them.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        Prevalences, in [0, 1].
    quantiles : ndarray of shape (n_samples, 49), optional
        Of their distributions, at `poscount.results.distribution.LEVELS`; None for a method
        without intervals.
    level : float
        Of the intervals that are shown.
    details : mapping of str to sequence or callable
        Intermediate results of the method: a column, or a function from the place of a sample to
        its entry, for what takes long to make and is seldom asked for.
    warnings : SampleWarnings
        Reasons to doubt them.
    """

    value: np.ndarray
    quantiles: np.ndarray | None = None
    level: float = 0.95
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: SampleWarnings | Sequence[tuple[AnswerWarning, ...]] = ()

    def __len__(self) -> int:
        return len(self.value)

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the intervals, of a method that has them."""
        assert self.quantiles is not None
        return ends_at(self.quantiles, self.level)

    def distribution(self, i: int) -> Distribution | None:
        """Distribution of sample `i`."""
        return None if self.quantiles is None else Distribution(self.quantiles[i])

    def interval(self, i: int) -> Interval | None:
        """Interval of sample `i`."""
        if self.quantiles is None:
            return None
        low, high = ends_at(self.quantiles[i], self.level)
        return Interval(float(low), float(high), self.level)

    def part(self, i: int, name: str, share: float, **more: Any) -> dict[str, Any]:
        """What is told of a part of sample `i`, such as a kind of positives, with its share."""
        interval = self.interval(i)
        assert interval is not None  # regions always have one
        low, high = min(interval.low, share), max(interval.high, share)
        return {"name": name, **more, "prevalence": share, "low": low, "high": high}

    def details_of(self, i: int) -> dict[str, Any]:
        """Details of sample `i`."""
        return {name: _entry(column, i) for name, column in self.details.items()}

    def warnings_of(self, i: int) -> tuple[AnswerWarning, ...]:
        """Warnings of sample `i`."""
        return self.warnings[i] if self.warnings else ()

    @classmethod
    def joined(cls, parts: Sequence[tuple[Estimates, np.ndarray, np.ndarray]]) -> Estimates:
        """What was said of samples apart, in one, but for the warnings.

        Parameters
        ----------
        parts : sequence of tuples
            Estimates, with the same details; which of their samples are meant, as bool; and the
            places of these among all.
        """
        order = np.argsort(np.concatenate([places for *_, places in parts]))
        which = [
            (k, i)
            for k, (_, chosen, _) in enumerate(parts)
            for i in np.flatnonzero(chosen).tolist()
        ]
        which = [which[i] for i in order.tolist()]

        def column(values: Sequence[Any]) -> Any:
            if callable(values[0]):
                return lambda i: values[which[i][0]](which[i][1])
            if not isinstance(values[0], np.ndarray):
                return [values[k][i] for k, i in which]
            kept = [each[chosen] for each, (_, chosen, _) in zip(values, parts, strict=True)]
            return np.concatenate(kept)[order]

        found = [estimates for estimates, *_ in parts]
        return replace(
            found[0],
            value=column([each.value for each in found]),
            quantiles=column([each.quantiles for each in found]),
            details={
                name: column([each.details[name] for each in found]) for name in found[0].details
            },
            warnings=(),
        )

    def widened_by(self, other: Estimates, *, below: np.ndarray) -> Estimates:
        """The same with quantiles as high as those of others; as low only `below`.

        Parameters
        ----------
        other : Estimates
            Of the same samples.
        below : ndarray of bool, shape (n_samples,)
            Whose lower quantiles are also as low.
        """
        assert self.quantiles is not None
        assert other.quantiles is not None
        found = widened(self.quantiles, other.quantiles, below=below[:, np.newaxis])
        return replace(self, quantiles=found)


def single_estimate(value: float, details: Mapping[str, Any]) -> Estimates:
    """What a rule says about one sample.

    Examples
    --------
    >>> single_estimate(0.25, {"ratio": 0.2}).details_of(0)
    {'ratio': 0.2}
    """
    columns = {name: [entry] for name, entry in details.items()}
    return Estimates(value=np.array([value]), details=columns)


def _entry(column: Any, i: int) -> Any:
    if callable(column):
        return column(i)
    return column[i].item() if isinstance(column, np.ndarray) and column.ndim == 1 else column[i]
