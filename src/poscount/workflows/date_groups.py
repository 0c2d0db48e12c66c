"""Which periods of the dates in a column can make groups, found batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.data.grouping import periods, times_in_text
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.features import is_text

_PERIODS = ("day", "week", "month", "year", "hour")
_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?$"


class DateGroups:
    """The groups that days, weeks, months, years and hours of a column of dates make.

    Parameters
    ----------
    column : str
    most_groups : int
        A period with more groups is not one to group by.
    day_first : bool, optional
        As in `poscount.files.csv_format.CsvFormat`.

    Attributes
    ----------
    problem : InputError or None
        Why there are no groups: the first date that cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> dates = DateGroups("night", most_groups=10)
    >>> dates.add(pa.array(["2026-01-30", "2026-01-31", "2026-02-01"]), first_row=0)
    >>> dates.n_groups
    {'day': 3, 'week': 1, 'month': 2, 'year': 1}
    """

    def __init__(self, column: str, most_groups: int, day_first: bool | None = None) -> None:
        self.column, self.most_groups, self.day_first = column, most_groups, day_first
        self.problem: InputError | None = None
        self._groups: dict[str, set[str | None]] = {period: set() for period in _PERIODS}

    @property
    def n_groups(self) -> dict[str, int]:
        """The number of groups of each period that can be used."""
        return {period: len(groups) for period, groups in self._groups.items()}

    def add(self, values: Any, first_row: int) -> None:
        """Look at another batch, which begins at this row of the file."""
        if not self._groups:
            return
        times = np.unique(self._times(values, first_row))
        for period, groups in list(self._groups.items()):
            groups.update(periods(times, period))
            if len(groups) > self.most_groups:
                del self._groups[period]

    def _times(self, values: Any, first_row: int) -> np.ndarray:
        types, kind = pyarrow().types, values.type
        if is_text(kind):
            times = self._iso_times(values.cast(pyarrow().string()))
            return self._times_in_text(values.to_pylist(), first_row) if times is None else times
        if types.is_date(kind):
            self._groups.pop("hour", None)
        elif not types.is_timestamp(kind):
            # A time of day or a duration is not in any month.
            self._groups.clear()
            return np.empty(0, "datetime64[s]")
        return values.cast(pyarrow().timestamp("s"), safe=False).to_numpy(zero_copy_only=False)

    def _iso_times(self, values: Any) -> np.ndarray | None:
        """Read dates that all have the usual form, which pyarrow does much faster."""
        compute = pyarrow().compute
        # Of nothing but missing values this is null.
        if compute.all(compute.match_substring_regex(values, _ISO)).as_py() is False:
            return None
        try:
            times = values.cast(pyarrow().timestamp("us")).to_numpy(zero_copy_only=False)
        except pyarrow().ArrowInvalid:
            return None  # the slow way says which date is not in the calendar
        if compute.all(compute.match_substring(values, ":")).as_py() is False:
            self._groups.pop("hour", None)
        return times

    def _times_in_text(self, cells: list[str | None], first_row: int) -> np.ndarray:
        if "hour" in self._groups:
            try:
                return times_in_text(cells, self.column, "hour", self.day_first)
            except InputError:
                del self._groups["hour"]
        try:
            return times_in_text(cells, self.column, "day", self.day_first)
        except InputError as error:
            self.problem = error.at(first_row=first_row)
            self._groups.clear()
            return np.empty(0, "datetime64[s]")
