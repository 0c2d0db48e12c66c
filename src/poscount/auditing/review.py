"""How good a review is, by the labels of an audit: its recall and elusion."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from poscount.auditing.labels import Evidence, Labels, Precision, distribution_of
from poscount.errors import InputError
from poscount.results.distribution import Distribution, Interval, Rate
from poscount.results.prevalence import Prevalence


@dataclass(frozen=True)
class Review:
    """What a review has found and missed (`Settlement.review`).

    The intervals hold at all looks together, as those of the labels do.

    Attributes
    ----------
    recall : Rate
        Share of the positives that the review kept.
    elusion : Rate
        Share of positives among the rows that it left out.
    n_kept, n_left_out : int
    """

    recall: Rate
    elusion: Rate
    n_kept: int
    n_left_out: int
    _kept: Labels = field(repr=False, compare=False, kw_only=True)
    _left_out: Labels = field(repr=False, compare=False, kw_only=True)

    def labels_needed(self, recall: float) -> int:
        """About how many labels in all, not in addition, show that the recall is at least this."""
        if not 0 < recall < 1:
            raise InputError(
                f"A recall to be sure of is between 0 and 1, such as 0.95, not {recall}.",
                option="recall",
            )
        if self.recall.value <= recall:
            raise InputError(
                f"By the labels so far the recall is {self.recall.value:.3f}, so that no number of "
                f"labels shows {recall:g}: keep more rows.",
                option="recall",
            )
        level = _level_of_each(self.recall.interval.level)
        parts = [Precision(labels, level) for labels in (self._kept, self._left_out)]
        values = [Evidence(labels).value for labels in (self._kept, self._left_out)]

        def enough(n: int) -> bool:
            found = max(values[0] - parts[0].half_width(n), 0.0)
            missed = values[1] + parts[1].half_width(n)
            return found >= recall * (found + missed)

        return parts[0].fewest(enough)

    def to_dict(self) -> dict[str, Any]:
        """Everything in types that JSON knows."""
        return {
            "recall": asdict(self.recall),
            "elusion": asdict(self.elusion),
            "n_kept": self.n_kept,
            "n_left_out": self.n_left_out,
        }

    def __str__(self) -> str:
        return (
            f"The review kept {self.n_kept:,} rows: recall {self.recall}.\n"
            f"It left out {self.n_left_out:,}: elusion {self.elusion}."
        )


def review(labels: Labels, rows: np.ndarray, kept: Any, settled: Prevalence) -> Review:
    """Judge a review; see `Settlement.review`.

    The share of all rows that is positive and kept, and that which is positive and left out, each
    have a confidence sequence. The recall is the first over the sum of both.

    Parameters
    ----------
    labels : Labels
    rows : ndarray of int, shape (n_labels,)
        The place of each label's row.
    kept : array-like of bool, shape (n_rows,)
    settled : Prevalence
        By all labels.
    """
    kept = np.asarray(kept)
    if kept.dtype != bool or kept.shape != (settled.n_unlabeled,):
        raise InputError(
            f"A review says of each of the {settled.n_unlabeled} rows whether it was kept, as True "
            f"or False; got {kept.dtype} of the shape {' x '.join(map(str, kept.shape))}."
        )
    if kept.all() or not kept.any():
        raise InputError(
            f"The review kept {'all' if kept.all() else 'none'} of the rows: nothing to judge."
        )
    if settled.total_weight != settled.n_unlabeled or (labels.weight != 1).any():
        raise InputError("A review is judged by rows that count equally: audit without weights.")
    inside = kept[rows]
    of_kept, of_rest = (
        labels._replace(positive=labels.positive & there) for there in (inside, ~inside)
    )
    (found, have), (missed, lack) = _share(of_kept), _share(of_rest)
    left = float((~kept).mean())
    each = _level_of_each(settled.level)
    (found_low, found_high), (missed_low, missed_high) = have.interval(each), lack.interval(each)
    low, high = lack.interval(settled.level)
    return Review(
        Rate(
            _part(found, missed),
            Interval(_part(found_low, missed_high), _part(found_high, missed_low), settled.level),
        ),
        Rate(
            min(missed / left, 1.0),
            Interval(min(low / left, 1.0), min(high / left, 1.0), settled.level),
        ),
        int(kept.sum()),
        int((~kept).sum()),
        _kept=of_kept,
        _left_out=of_rest,
    )


def _share(labels: Labels) -> tuple[float, Distribution]:
    evidence = Evidence(labels)
    return distribution_of(evidence, evidence)


def _level_of_each(level: float) -> float:
    """Level of two intervals that hold together with a probability of `level`."""
    return (1 + level) / 2


def _part(found: float, missed: float) -> float:
    """Share of the positives that was found; without any positive, none is missed."""
    return found / (found + missed) if found + missed > 0 else 1.0
