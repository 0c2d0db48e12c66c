"""Where groups lie in time: their order, their distances, and the periods without rows."""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from poscount.data.grouping import period_label, period_number, period_of
from poscount.errors import InputError

# How the groups of a column of text may be written, and what they are then.
_WRITTEN = {
    "year": r"\d{4}",
    "month": r"\d{4}-\d\d",
    "week": r"\d{4}-W\d\d",
    "day": r"\d{4}-\d\d-\d\d",
    "hour": r"\d{4}-\d\d-\d\d \d\d:00",
}
# A series with more periods without rows than this, for each with rows, does not list them.
_MOST_GAPS = 10


class TimeAxis(NamedTuple):
    """Groups in order.

    Attributes
    ----------
    labels : list of str
        Of the groups, in order.
    places : ndarray of float
        When they are, in units.
    unit : str
        What slopes are "per", such as "week".
    order : list of int
        The place of each in the keys given.
    gaps : dict
        From the places of periods without rows, between the first and the last group, to their
        labels. Only a grouping by period, such as ``week(date)``, has any.
    n_gaps : int
        Their number; too many are not listed in `gaps`.
    """

    labels: list[str]
    places: np.ndarray
    unit: str
    order: list[int]
    gaps: dict[float, str]
    n_gaps: int


def time_axis(keys: Sequence[Hashable], by: str) -> TimeAxis:
    """Put groups on a time axis.

    Parameters
    ----------
    keys : sequence
        Values of the grouping column, without missing ones: dates, times, numbers, or text such as
        "2026-W07".
    by : str
        The grouping.

    Examples
    --------
    >>> axis = time_axis(["2026-W09", "2026-W07"], "week(date)")
    >>> axis.labels, axis.places - axis.places[0], axis.gaps.values()
    (['2026-W07', '2026-W09'], array([0., 2.]), dict_values(['2026-W08']))
    >>> time_axis(["north", "south"], "site")
    Traceback (most recent call last):
    poscount.errors.InputError: column 'site': 'north' is no date, time or number, so that the \
groups have no order in time; group by dates or numbers, such as "week(date)".
    """
    found, unit = _numbers(keys, by)
    order = sorted(range(len(keys)), key=found.__getitem__)
    places = np.array([found[i] for i in order])
    labels = [_label(keys[i]) for i in order]
    period = period_of(by)
    if period is None:
        return TimeAxis(labels, places, unit, order, {}, 0)
    n_gaps = int(places[-1] - places[0]) + 1 - len(places) if len(places) else 0
    gaps: dict[float, str] = {}
    if 0 < n_gaps <= _MOST_GAPS * len(places):
        every = np.arange(places[0], places[-1] + 1)
        gaps = {
            place: period_label(int(place), period)
            for place in np.setdiff1d(every, places).tolist()
        }
    return TimeAxis(labels, places, unit, order, gaps, n_gaps)


def _numbers(keys: Sequence[Any], by: str) -> tuple[list[float], str]:
    """Place of each group, and the unit."""
    if all(isinstance(key, datetime.date) for key in keys):
        midnight = datetime.time()
        if all(getattr(key, "time", lambda: midnight)() == midnight for key in keys):
            return [float(key.toordinal()) for key in keys], "day"
        epoch = datetime.datetime(1970, 1, 1)
        seconds = [(key.replace(tzinfo=None) - epoch).total_seconds() for key in keys]
        return [second / 3600 for second in seconds], "hour"
    if all(isinstance(key, Real) and not isinstance(key, bool) for key in keys):
        return [float(key) for key in keys], by
    for unit, form in _WRITTEN.items():
        if all(isinstance(key, str) and re.fullmatch(form, key) for key in keys):
            try:
                return [float(period_number(key, unit)) for key in keys], unit
            except ValueError:
                break  # such as the 31st of February
    try:
        return [float(key) for key in keys], by
    except (TypeError, ValueError):
        odd = next(key for key in keys if not _is_number(key))
    raise InputError(
        f"{odd!r} is no date, time or number, so that the groups have no order in time; group by "
        'dates or numbers, such as "week(date)".',
        column=by,
    )


def _is_number(key: Any) -> bool:
    try:
        float(key)
    except (TypeError, ValueError):
        return False
    return True


def _label(key: Any) -> str:
    if isinstance(key, datetime.datetime) and key.time() == datetime.time():
        return str(key.date())
    return str(key)
