"""The groups that a column of dates would make, found as the rows of a file go by."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.data.grouping import periods
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.derived_columns import distinct_cells, distinct_times
from poscount.files.features import is_text

_PERIODS = ("day", "week", "month", "year", "hour")


class DateGroups:
    """The groups that days, weeks, months, years and hours of a column of dates make.

    Parameters
    ----------
    column : str
    most_groups : int
        A period with more groups is not one to group by.
    day_first : bool, optional
        As in `poscount.files.read_options.ReadOptions`.

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
            return self._times_in_text(values, first_row)
        if types.is_date(kind):
            self._groups.pop("hour", None)
        elif not types.is_timestamp(kind):
            # A time of day or a duration is not in any month.
            self._groups.clear()
            return np.empty(0, "datetime64[s]")
        return values.cast(pyarrow().timestamp("s"), safe=False).to_numpy(zero_copy_only=False)

    def _times_in_text(self, values: Any, first_row: int) -> np.ndarray:
        encoded = distinct_cells(values)
        for period in ("hour", "day") if "hour" in self._groups else ("day",):
            try:
                times = distinct_times(encoded, self.column, period, self.day_first)
            except InputError as error:
                self._groups.pop("hour", None)
                self.problem = error.at(first_row=first_row)
            else:
                self.problem = None
                return np.append(times, np.datetime64("NaT")) if values.null_count else times
        self._groups.clear()
        return np.empty(0, "datetime64[s]")
