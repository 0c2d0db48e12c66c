"""Planning: how many positives and how many rows a wanted error needs."""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from poscount.calibration.files import shipped
from poscount.methods.intervals import half_width, pat_variance
from poscount.theory.formulas import (
    MEAN_ABSOLUTE_NORMAL,
    checked_counts,
    checked_shares,
    expected_error,
)

Widths = tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Sample sizes and their expected precision, as found by `plan`.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
        Number of labelled positives and of rows in the sample.
    expected_error : float
        Expected absolute error of PAT with these sizes.
    half_width : float
        Half-width of the interval with these sizes.
    confidence : float
        Coverage of that interval.
    prevalence : float
        The share of positives planned for.
    rcq_widths : tuple of three floats, or None
        Quartiles of the widths of RCQ's 95 % intervals at such sizes, in tasks from data sets that
        its calibration was not learned from; None if there were too few.
    rcq_widths_recognisable : tuple of three floats, or None
        Those of ``RCQ(recognisable=True)`` in recognisable tasks.
    rcq_widths_with_unlabeled, rcq_widths_with_unlabeled_recognisable
        The same for RCQ with unlabeled rows to learn from.
    """

    n_labeled: int
    n_unlabeled: int
    expected_error: float
    half_width: float
    confidence: float
    prevalence: float
    rcq_widths: Widths
    rcq_widths_recognisable: Widths
    rcq_widths_with_unlabeled: Widths
    rcq_widths_with_unlabeled_recognisable: Widths


def plan(
    error: float,
    *,
    prevalence: float = 1.0,
    confidence: float = 0.95,
    n_labeled: int | None = None,
    n_unlabeled: int | None = None,
) -> Plan:
    r"""Find how many positives and how many unlabeled rows a wanted error needs.

    The expected absolute error, `pat_expected_error`, must not exceed `error`. Of all pairs that
    achieve this, the one with the smallest sum is taken, in which :math:`n_L = \sqrt{p} \, n_U` up
    to rounding (while :math:`p n_U \geq 1`).
    Whatever the plan says, PAT needs at least ten positives, and its default scorer needs at least
    two more positives than there are features.

    Parameters
    ----------
    error : float
        Wanted expected absolute error :math:`E|p - p'|`, at least 0.000001 and below 1.
    prevalence : float, default=1.0
        Share of positives to plan for, in (0, 1]. The default is the worst case.
    confidence : float, default=0.95
        Coverage of the interval whose half-width the plan reports.
    n_labeled, n_unlabeled : int, optional
        Give one of them if it is already fixed; then only the other is searched for.

    Raises
    ------
    ValueError
        If the fixed number is so small that no other number achieves the wanted error.

    Notes
    -----
    The formula leaves out PAT's cap at 1, which halves the error of a sample of positives only,
    and is mostly a little cautious: on simulated scores PAT's error is about 5 % smaller, except
    that with only a handful of positives in the sample it is up to 3 % larger. The formula assumes
    that no negative scores like a positive; no number of rows makes up for negatives that do.

    Examples
    --------
    >>> needed = plan(0.02)
    >>> needed.n_labeled, needed.n_unlabeled, round(needed.half_width, 3)
    (2547, 2546, 0.049)

    With only 200 positives at hand, and a quarter of the sample expected to be positive:

    >>> plan(0.02, prevalence=0.25, n_labeled=200).n_unlabeled
    529
    """
    checked_shares("error", error, "[)", low=1e-6)
    p = float(checked_shares("prevalence", prevalence, "(]"))
    checked_shares("confidence", confidence, "()")
    if n_labeled is not None and n_unlabeled is not None:
        raise ValueError("Give n_labeled or n_unlabeled or neither: a plan searches for the other.")
    if n_labeled is None:
        if n_unlabeled is None:
            n_unlabeled = _cheapest_n_unlabeled(error, p)
        rows = int(checked_counts("n_unlabeled", n_unlabeled))
        limit = expected_error(p, math.inf, rows)
        if limit >= error:
            least = _smallest(lambda n: expected_error(p, math.inf, n) < error)
            raise ValueError(
                f"With {rows} unlabeled rows no number of labelled positives brings the expected "
                f"error below {limit:.4g}: {error:.4g} needs at least {least} unlabeled rows."
            )
        positives = _smallest(lambda n: expected_error(p, n, rows) <= error)
    else:
        positives = int(checked_counts("n_labeled", n_labeled))
        limit = expected_error(p, positives, math.inf)
        if limit >= error:
            least = _smallest(lambda n: expected_error(p, n, math.inf) < error)
            raise ValueError(
                f"With {positives} labelled positives no number of unlabeled rows brings the "
                f"expected error below {limit:.4g}: {error:.4g} needs at least {least} labelled "
                "positives."
            )
        rows = _smallest(lambda n: expected_error(p, positives, n) <= error)
    return Plan(
        n_labeled=positives,
        n_unlabeled=rows,
        expected_error=float(expected_error(p, positives, rows)),
        half_width=float(half_width(p, positives, rows, confidence)),
        confidence=float(confidence),
        prevalence=p,
        rcq_widths=_rcq_widths("RCQ", "widths", positives, rows),
        rcq_widths_recognisable=_rcq_widths("RCQ", "widths_recognisable", positives, rows),
        rcq_widths_with_unlabeled=_rcq_widths("RCQ-reference", "widths", positives, rows),
        rcq_widths_with_unlabeled_recognisable=_rcq_widths(
            "RCQ-reference", "widths_recognisable", positives, rows
        ),
    )


def _rcq_widths(calibration: str, kind: str, n_labeled: int, n_unlabeled: int) -> Widths:
    """Quartiles of RCQ's widths in experience, at sizes like these; more count as the most."""
    known = json.loads(shipped(calibration).provenance_)[kind]
    places = [
        bisect.bisect_right(known[sizes], n) - 1
        for sizes, n in (("n_labeled_from", n_labeled), ("n_rows_from", n_unlabeled))
    ]
    if min(places) < 0:
        return None
    found = known["quartiles"][places[0]][places[1]]
    return tuple(found) if found else None


def _cheapest_n_unlabeled(error: float, p: float) -> int:
    """Rows of the sample in the pair with the smallest sum.

    The number of positives needed with n rows is a convex function of n, so that the sum is
    smallest where one more row first saves no more than one positive.
    """
    variance = (error / MEAN_ABSOLUTE_NORMAL) ** 2

    def n_labeled(n: int) -> float:
        left = variance - pat_variance(p, math.inf, n)
        return pat_variance(p, 1, math.inf) / left if left > 0 else math.inf

    return _smallest(
        lambda n: expected_error(p, math.inf, n) < error and n_labeled(n) - n_labeled(n + 1) <= 1
    )


def _smallest(enough: Callable[[int], bool]) -> int:
    """The smallest positive integer that is enough, if all larger ones are enough, too."""
    high = 1
    while not enough(high):
        high *= 2
    return bisect.bisect_left(range(high), True, lo=1, key=enough)
