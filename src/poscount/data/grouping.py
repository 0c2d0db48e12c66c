"""Groups of rows: by the values of columns, and by year, month, week, day or hour of dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.errors import InputError, ask_about_similar

_CALL = re.compile(r"(year|month|week|day|hour)\((.*)\)", re.DOTALL)
# Units of numpy in which the times of one group are equal; weeks are counted in days.
_UNITS = {"year": "Y", "month": "M", "week": "D", "day": "D", "hour": "h"}
# The first of January 1970 was a Thursday; ISO weeks begin on Monday.
_DAYS_TO_MONDAY = 3
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = (
    r"(?:[T ]+(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"(?:\s?(?P<half>[ap])\.?m\.?)?(?:\s?(?:Z|[+-]\d\d(?::?\d\d)?))?)?"
)
_MONTH = r"(?P<word>[a-z]{3})[a-z]*\.?"
_FORMATS = [
    re.compile(date + time, re.IGNORECASE)
    for date, time in (
        (r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})", _TIME),
        (r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)", ""),
        (rf"(?P<day>\d{{1,2}})[-. ]+{_MONTH}[-, ]+(?P<year>\d{{4}}|\d\d)", _TIME),
        (rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})", _TIME),
        (r"(?P<first>\d\d?)(?P<mark>[-/.])(?P<other>\d\d?)(?P=mark)(?P<year>\d{4}|\d\d)", _TIME),
    )
]


def column_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Names of the grouping columns, each once; there may be none."""
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def require_grouping(by: str | Sequence[str]) -> tuple[str, ...]:
    """Names of the grouping columns, each once, of which there must be at least one."""
    names = column_names(by)
    if not names:
        raise InputError("Groups need at least one column to group by.", option="by")
    return names


def with_groups(frame: Any, by: Any) -> tuple[Any, Any]:
    """A frame and the names of its grouping columns, of which a series becomes one.

    Examples
    --------
    >>> import pandas as pd
    >>> frame, by = with_groups(pd.DataFrame({"a": [1, 2]}), pd.Series(["x", "y"]))
    >>> frame["group"].tolist(), by
    (['x', 'y'], 'group')
    """
    series = nw.from_native(by, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return frame, by
    rows = nw.from_native(frame, eager_only=True)
    if len(series) != len(rows):
        raise InputError(
            f"The groups are {len(series)} values for {len(rows)} rows: give one for each row.",
            option="by",
        )
    name = str(series.name or "group")
    column = nw.new_series(name, series.to_list(), backend=rows.implementation)
    return rows.with_columns(column).to_native(), name


class GroupColumn(NamedTuple):
    """What rows are grouped by.

    Parameters
    ----------
    label : str
        As the user wrote it, and as the result calls it.
    column : str
        The column of the table.
    period : {"year", "month", "week", "day", "hour"} or None
        Rows with times in the same one are a group; None if equal values are.
    """

    label: str
    column: str
    period: str | None


def group_column(label: str, names: Collection[str]) -> GroupColumn:
    """Find out what a grouping column is in a table with columns of these names.

    A column that is really called ``month(date)`` is one like any other.

    Examples
    --------
    >>> group_column("month(night)", ["night", "size"])
    GroupColumn(label='month(night)', column='night', period='month')
    >>> group_column("night", ["night", "size"])
    GroupColumn(label='night', column='night', period=None)
    """
    call = None if label in names else _CALL.fullmatch(label)
    if call is None:
        return GroupColumn(label, label, None)
    return GroupColumn(label, call[2].strip(), call[1])


def period_of(label: str) -> str | None:
    """The period that a label asks for, as ``week(date)`` does; a column may be called so, too."""
    call = _CALL.fullmatch(label)
    return None if call is None else call[1]


def group_columns(by: Iterable[str], names: Collection[str]) -> list[str]:
    """Columns of a table that are needed to group by these labels, each once."""
    return list(dict.fromkeys(group_column(label, names).column for label in by))


def group_codes(frame: nw.DataFrame, by: tuple[str, ...]) -> tuple[nw.DataFrame, np.ndarray]:
    """Return the sorted distinct groups, and for every row the index of its group.

    A missing value is a group of its own, behind all others. `by` names columns, or periods of time
    in them, such as ``month(date)``.
    """
    keys = [_group_key(frame, label) for label in by]
    codes = np.zeros(len(frame), np.int64)
    for key in keys:
        ranks = _ranks_of_group(key)
        # Numbers that sort as the ranks in all keys so far do.
        codes = _dense(codes * (ranks.max(initial=0) + 1) + ranks)
    first = np.empty(codes.max(initial=-1) + 1, np.int64)
    # Backwards, because the last assignment counts.
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    groups = keys[0].to_frame().with_columns(*keys[1:])[first.tolist()]
    return nw.maybe_reset_index(groups), codes.astype(np.intp)


def group_keys(groups: nw.DataFrame) -> list[tuple]:
    """Values of the grouping columns of each group; None for a missing one."""
    missing = [_is_missing(column).to_list() for column in groups.iter_columns()]
    return [
        tuple(None if gone else value for value, gone in zip(row, gones, strict=True))
        for row, gones in zip(groups.rows(), zip(*missing, strict=True), strict=True)
    ]


def refuse_missing(column: nw.Series, what: str) -> None:
    """Raise an error that names the row if a value is missing."""
    missing = _is_missing(column)
    if missing.any():
        raise InputError(
            f"the {what} is missing; fill in the value or remove the row.",
            column=column.name,
            row=int(np.argmax(missing.to_numpy())),
        )


def _group_key(frame: nw.DataFrame, label: str) -> nw.Series:
    """Return the values that make the groups: a column, or the periods of its times."""
    group, names = group_column(label, frame.columns), frame.columns
    if group.column not in names:
        rest = ask_about_similar(group.column, names, f"the columns are {', '.join(names)}.")
        raise InputError(f"there is no such grouping column; {rest}", column=group.column)
    column = frame[group.column]
    if group.period is None:
        return _one_zero(column) if column.dtype.is_float() and len(column) else column
    if isinstance(column.dtype, nw.Datetime | nw.Date):
        if group.period == "hour" and column.dtype == nw.Date:
            raise InputError("it holds dates without a time of day.", column=group.column)
        times = column
        if isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None:
            # The time that a clock there shows.
            times = column.dt.replace_time_zone(None)
        values = times.cast(nw.Datetime("us")).to_numpy().astype("datetime64[s]")
    elif column.dtype.is_numeric() or column.dtype == nw.Boolean:
        raise InputError(
            f"it holds numbers, not dates, so its {group.period} is not known.", column=group.column
        )
    else:
        cells = column.to_list()
        gone = _is_missing(column).to_list()
        known = (None if out else cell for cell, out in zip(cells, gone, strict=True))
        try:
            values = times_in_text(known, group.column, group.period)
        except InputError as error:
            if error.option is None:
                raise
            # The option is one of files; a frame can say it by itself.
            raise InputError(
                f"{error.message} Convert the column to dates.",
                column=error.column,
                row=error.row,
            ) from None
    labels = periods(values, group.period)
    return nw.new_series(label, labels, nw.String, backend=frame.implementation)


def _one_zero(column: nw.Series) -> nw.Series:
    """Write -0.0 as 0.0: they are equal, and so one group, but not all engines think so."""
    value = nw.col(column.name)
    plain = column.to_frame().select(nw.when(value == 0).then(0.0).otherwise(value))
    return plain[plain.columns[0]].cast(column.dtype).alias(column.name)


def _is_missing(column: nw.Series) -> nw.Series:
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan().fill_null(True)
    return missing


def _ranks_of_group(column: nw.Series) -> np.ndarray:
    try:
        if column.dtype.is_nested():
            raise TypeError
        if column.dtype == nw.Object:
            set(column.to_list())  # an error if there are lists or the like among them
        return _ranks(column)
    except (TypeError, ValueError, NotImplementedError) as error:  # of pandas and pyarrow
        raise InputError(
            f"rows cannot be grouped by what it holds ({column.dtype}), such as lists or values of "
            "several types; group by a column of text, numbers or dates.",
            column=column.name,
        ) from error


def _ranks(column: nw.Series) -> np.ndarray:
    """Rank of each value among the distinct ones, from 0; missing values have the last."""
    if column.implementation.is_pyarrow():
        return _arrow_ranks(column.to_native(), _is_missing(column).to_numpy())
    missing = _is_missing(column).to_numpy().astype(bool)
    values = column.alias("value")
    if missing.any():
        values = values.filter((~missing).tolist())
    values = nw.maybe_reset_index(values)
    distinct = values.to_frame().unique().sort("value").with_row_index("rank")
    # Engines may reorder the rows of a join; the row number puts them back.
    joined = values.to_frame().with_row_index("row").join(distinct, on="value").sort("row")
    ranks = np.full(len(column), len(distinct), np.int64)
    ranks[~missing] = joined["rank"].to_numpy()
    return ranks


def _dense(numbers: np.ndarray) -> np.ndarray:
    """Give each number its rank among the distinct ones."""
    if numbers.max(initial=0) > 4 * len(numbers):
        return np.unique(numbers, return_inverse=True)[1]
    there = np.bincount(numbers) > 0
    return (np.cumsum(there) - 1)[numbers]


def _arrow_ranks(column: Any, missing: np.ndarray) -> np.ndarray:
    """Do as `_ranks`, faster: every batch of a file comes this way."""
    from pyarrow import compute

    if hasattr(column.type, "index_type"):
        # Already a dictionary, perhaps with values that no row has.
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    order = compute.sort_indices(encoded.dictionary)
    rank = np.empty(len(order) + 1, np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    rank[-1] = len(order)
    indices = compute.fill_null(encoded.indices, len(order)).to_numpy()
    # NaN is a value of a dictionary, but means a missing one.
    return np.where(missing, len(order), rank[indices])


def periods(times: np.ndarray, period: str) -> list[str | None]:
    """Name the year, month, ISO week, day or hour of each time; None for a missing one.

    Parameters
    ----------
    times : ndarray of datetime64
    period : {"year", "month", "week", "day", "hour"}

    Examples
    --------
    >>> times = np.array(["2026-02-09T13:45", "NaT"], "datetime64[s]")
    >>> [periods(times, period)[0] for period in ("year", "month", "week", "day", "hour")]
    ['2026', '2026-02', '2026-W07', '2026-02-09', '2026-02-09 13:00']
    >>> periods(times, "day")
    ['2026-02-09', None]
    """
    missing = np.isnat(times)
    counted = times.astype(f"datetime64[{_UNITS[period]}]").astype(np.int64)
    if period == "week":
        counted = (counted + _DAYS_TO_MONDAY) // 7
    counted[missing] = 0
    distinct, at = np.unique(counted, return_inverse=True)
    labels = np.array([period_label(int(number), period) for number in distinct], dtype=object)[at]
    labels[missing] = None
    return labels.tolist()


def period_label(number: int, period: str) -> str:
    """Name of a year, month, week, day or hour, given how many lie between it and 1970's first."""
    if period == "week":
        monday = datetime.date(1970, 1, 1) + datetime.timedelta(7 * number - _DAYS_TO_MONDAY)
        year, week, _ = monday.isocalendar()
        return f"{year:04}-W{week:02}"
    text = str(np.array(number, f"datetime64[{_UNITS[period]}]"))
    return f"{text.replace('T', ' ')}:00" if period == "hour" else text


def period_number(label: str, period: str) -> int:
    """The number from which `period_label` makes a label.

    Examples
    --------
    >>> period_number("2027-W01", "week") - period_number("2026-W52", "week")
    2
    """
    if period == "week":
        year, week = label.split("-W")
        monday = datetime.date.fromisocalendar(int(year), int(week), 1)
        return (monday.toordinal() - datetime.date(1970, 1, 1).toordinal() + _DAYS_TO_MONDAY) // 7
    return int(np.array(label, f"datetime64[{_UNITS[period]}]").astype(np.int64))


def times_in_text(
    cells: Iterable[Any], column: str, period: str, day_first: bool | None = None
) -> np.ndarray:
    """Read the dates in text; the time is taken as it is written, whatever its time zone.

    Parameters
    ----------
    cells : iterable of str, date or None
    column : str
        Its name, for errors.
    period : str
        What rows are grouped by: an hour needs cells with a time.
    day_first : bool, optional
        Whether 03/04/2026 is in April (True) or in March (False); None makes it an error.

    Returns
    -------
    ndarray of datetime64[s]

    Examples
    --------
    >>> times_in_text(["31/01/2026", "1 Feb 2026", None], "night", "day").astype(str).tolist()
    ['2026-01-31T00:00:00', '2026-02-01T00:00:00', 'NaT']
    """
    known: dict[Any, datetime.datetime | None] = {None: None}
    found = []
    for row, cell in enumerate(cells):
        if cell is not None and cell not in known:
            try:
                known[cell] = _time(cell, period, day_first)
            except _AmbiguousError:
                raise InputError(
                    f"{cell!r} may be a day in {_month_of(cell, 1)} or in {_month_of(cell, 0)}.",
                    column=column,
                    row=row,
                    option="day_first",
                ) from None
            except ValueError as error:
                raise InputError(
                    f"{str(cell)[:40]!r} {error}, so its {period} is not known.",
                    column=column,
                    row=row,
                ) from None
        found.append(known[cell])
    return np.array(found, "datetime64[s]")


class _AmbiguousError(Exception):
    """A date whose day and month might be exchanged."""


def _month_of(cell: str, part: int) -> str:
    return _MONTHS[int(re.findall(r"\d+", cell)[part]) - 1].capitalize()


def _time(cell: Any, period: str, day_first: bool | None) -> datetime.datetime | None:
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, datetime.date):
        cell = cell.isoformat()
    text = str(cell).strip()
    if not text:
        return None
    for pattern in _FORMATS:
        if match := pattern.fullmatch(text):
            break
    else:
        raise ValueError("is not a date that poscount can read")
    parts = {name: part for name, part in match.groupdict().items() if part is not None}
    if period == "hour" and "hour" not in parts:
        raise ValueError("has no time of day")
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        # As POSIX reads two digits.
        year += 1900 if year > 68 else 2000
    month, day = _month_and_day(parts, day_first)
    hour = int(parts.get("hour", 0))
    if "half" in parts:
        hour = hour % 12 + 12 * (parts["half"].lower() == "p")
    try:
        return datetime.datetime(
            year,
            month,
            day,
            hour,
            int(parts.get("minute", 0)),
            # A leap second belongs to its minute.
            min(int(parts.get("second", 0)), 59),
        )
    except ValueError:
        raise ValueError("is not a date of the calendar") from None


def _month_and_day(parts: dict[str, str], day_first: bool | None) -> tuple[int, int]:
    if "word" in parts:
        word = parts["word"].lower()
        if word not in _MONTHS:
            raise ValueError("is not a date that poscount can read")
        return _MONTHS.index(word) + 1, int(parts["day"])
    if "first" not in parts:
        return int(parts["month"]), int(parts["day"])
    first, second = int(parts["first"]), int(parts["other"])
    if parts["mark"] == ".":
        # Nobody writes the month first with points.
        day_first = True
    if day_first is None:
        if first <= 12 and second <= 12 and first != second:
            raise _AmbiguousError
        day_first = first > 12
    return (second, first) if day_first else (first, second)
