"""Prevalence in windows of a stream: counts are added as rows enter, subtracted as they leave."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from numbers import Integral
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np

from poscount.base.batch_counter import BatchCounter
from poscount.base.counting import CountingQuantifier
from poscount.counts.counts import Counts
from poscount.data.validation import as_frame
from poscount.errors import InputError
from poscount.results.prevalence import Prevalence

_MICROSECOND = timedelta(microseconds=1)
# Every row may be a step of its own, which needs a row of cells.
_ROWS_AT_ONCE = 16384


class Window(NamedTuple):
    """A part of a stream.

    Attributes
    ----------
    start, end : int, float or datetime
        First row or time in the window, and first one after it.
    complete : bool
        False if the stream began after `start` or stopped before `end`.
    counts : Counts
        Counts of the rows in the window.
    prevalence : Prevalence
        Estimated from the counts, with its interval.
    """

    start: Any
    end: Any
    complete: bool
    counts: Counts
    prevalence: Prevalence


def windows(
    model: CountingQuantifier,
    batches: Iterable[Any],
    *,
    size: int | float | timedelta,
    step: int | float | timedelta | None = None,
    time: str | None = None,
    weights: str | None = None,
) -> Iterator[Window]:
    """Estimate the prevalence in a window that moves along a stream.

    Each row is counted once. When the window moves, the counts of the rows that enter are added
    and those of the rows that leave are subtracted, so that the cost of a step does not depend on
    the size of the window.

    Parameters
    ----------
    model : CountingQuantifier
        A fitted reusable quantifier.
    batches : iterable of arrays, frames or Arrow record batches
        The stream, cut into batches of any size.
    size : int, float or timedelta
        Size of the window: in rows, or in the unit of the time column.
    step : int, float or timedelta, optional
        How far the window moves each time; `size` must be a whole multiple of it. By default it
        is `size`, so that each window begins where the last one ends.
    time : str, optional
        Column with the time of each row, in ascending order: numbers, or dates and times, for
        which `size` is a timedelta. Windows end at multiples of `step` since 0 or 1970-01-01, so
        that hours begin on the hour.
    weights : str, optional
        Column with the weight of each row, as in `CountingQuantifier.count`. The size of a window
        does not depend on the weights.

    Yields
    ------
    Window
        As soon as it is complete. When the stream ends, one more for rows that have not been in
        any window. Windows without rows, or whose rows all have the weight 0, are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import PAT
    >>> from poscount.engines import windows
    >>> rng = np.random.default_rng(0)
    >>> model = PAT(random_state=0).fit(rng.normal(size=(5000, 2)))
    >>> stream = (rng.normal(size=(1000, 2)) + 9 * (i > 5) for i in range(12))
    >>> for window in windows(model, stream, size=4000, step=2000):
    ...     print(window.start, window.end, round(window.prevalence, 1))
    0 4000 1.0
    2000 6000 1.0
    4000 8000 0.5
    6000 10000 0.0
    8000 12000 0.0
    """
    clock = _RowClock(size, step) if time is None else _TimeClock(size, step, time)
    inside = _Inside(model, clock)
    for pane in _panes(BatchCounter(model, (), weights), batches, clock):
        yield from inside.move_to(pane.number)
        inside.add(pane)
        # One of 100 rows needs 100 rows before.
        long_enough = inside.last - inside.first + 1 >= clock.panes
        if pane.over and (clock.partial_at_first or long_enough):
            yield from inside.window(whole=True)
    if inside.unseen:
        yield from inside.window(whole=False)


class _Pane(NamedTuple):
    """The rows of one step, its number, and whether more of its rows may come."""

    number: int
    counts: Counts
    over: bool


class _Inside:
    """What is in the window: the last panes that have rows, and the sum of their counts."""

    def __init__(self, model: CountingQuantifier, clock: _Clock) -> None:
        self.model, self.clock = model, clock
        self.panes: deque[_Pane] = deque()
        self.total: Counts | None = None
        self.first = self.last = 0
        self.unseen = False

    def add(self, pane: _Pane) -> None:
        if self.total is None:
            self.first = pane.number
        self.total = pane.counts if self.total is None else self.total + pane.counts
        self.panes.append(pane)
        self.unseen = True
        self._end_with(pane.number)

    def move_to(self, number: int) -> Iterator[Window]:
        """Move over the steps without rows before a pane, until the window is empty."""
        for empty in range(self.last + 1, number):
            self._end_with(empty)
            if not self.panes:
                return
            yield from self.window(whole=True)

    def _end_with(self, number: int) -> None:
        self.last = number
        while self.panes and self.panes[0].number <= number - self.clock.panes:
            self.total = cast(Counts, self.total) - self.panes.popleft().counts

    def window(self, whole: bool) -> Iterator[Window]:
        """The window that ends here; none if its rows count nothing."""
        self.unseen = False
        begin = self.last - self.clock.panes + 1
        counts = cast(Counts, self.total)
        if counts.n == 0:
            return
        start, end = self.clock.ends(begin, self.last + 1)
        prevalence = self.model.estimate(counts)
        yield Window(start, end, whole and begin >= self.first, counts, prevalence)


def _panes(counter: BatchCounter, batches: Iterable[Any], clock: _Clock) -> Iterator[_Pane]:
    """Count the rows of each step, in order; steps without rows are left out."""
    number, counts = None, None
    for data in _blocks(batches):
        try:
            numbers = clock.numbers(data)
            begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
            lengths = np.diff(begins, append=len(numbers))
            codes = np.repeat(np.arange(len(begins)), lengths)
            cells, n_rows, weights = counter.count_codes(data, codes, len(begins))
        except InputError as error:
            raise error.at(first_row=clock.n_rows) from error
        clock.n_rows += len(numbers)
        for i, n in enumerate(n_rows.tolist()):
            sums = None if weights is None else weights[i]
            part = Counts(cells[i], n, counter.model.hash_, weights=sums)
            if numbers[begins[i]] == number:
                counts = cast(Counts, counts) + part
            else:
                if counts is not None:
                    yield _Pane(cast(int, number), counts, True)
                number, counts = int(numbers[begins[i]]), part
        if counts is not None and clock.is_over(cast(int, number)):
            yield _Pane(cast(int, number), counts, True)
            counts = None
    if counts is not None:
        yield _Pane(cast(int, number), counts, False)


def _blocks(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        frame = as_frame(batch)
        data = np.asarray(batch) if frame is None else frame
        for start in range(0, len(data), _ROWS_AT_ONCE):
            yield data[start : start + _ROWS_AT_ONCE]


class _Clock:
    """Finds the step that each row belongs to."""

    partial_at_first: bool

    def __init__(self, size: Any, step: Any) -> None:
        step = size if step is None else step
        zero = type(step)(0)
        if not zero < step <= size:
            raise InputError(
                f"step must lie between 0 and size, got a step of {step} and a size of {size}."
            )
        self.panes = round(size / step)
        if abs(self.panes * step - size) > step * 1e-9:
            raise InputError(
                f"size must be a whole multiple of step, got a size of {size} and a step of {step}."
            )
        self.step = step
        self.n_rows = 0

    @abstractmethod
    def numbers(self, data: Any) -> np.ndarray:
        """Step of each row of a block."""

    @abstractmethod
    def is_over(self, number: int) -> bool:
        """Whether a step can have no more rows, even before the next one begins."""

    @abstractmethod
    def ends(self, begin: int, end: int) -> tuple[Any, Any]:
        """First row or time of one step and of another."""


class _RowClock(_Clock):
    partial_at_first = False

    def __init__(self, size: Any, step: Any) -> None:
        for value in (size, step):
            if value is not None and not isinstance(value, Integral):
                raise TypeError(
                    f"Without a time column, size and step are numbers of rows, not {value!r}."
                )
        super().__init__(size, step)

    def numbers(self, data: Any) -> np.ndarray:
        return (self.n_rows + np.arange(len(data))) // self.step

    def is_over(self, number: int) -> bool:
        return self.n_rows >= (number + 1) * self.step

    def ends(self, begin: int, end: int) -> tuple[int, int]:
        return max(0, begin * self.step), min(end * self.step, self.n_rows)


class _TimeClock(_Clock):
    partial_at_first = True

    def __init__(self, size: Any, step: Any, column: str) -> None:
        super().__init__(size, step)
        self.column = column
        self.latest = -np.inf
        self.zone: Any = None

    def numbers(self, data: Any) -> np.ndarray:
        times, step = self._times(data)
        # In order within the block and after the last one; NaN is not in order.
        ordered = np.diff(times, prepend=min(times[0], self.latest)) >= 0
        if times[0] < self.latest or not ordered.all():
            raise InputError(
                "the time is missing or earlier than the one before; sort the stream by time.",
                column=self.column,
                row=int(np.argmin(ordered)) if times[0] >= self.latest else 0,
            )
        self.latest = times[-1]
        return np.floor_divide(times, step).astype(np.int64)

    def _times(self, data: Any) -> tuple[np.ndarray, Any]:
        if not isinstance(data, nw.DataFrame) or self.column not in data.columns:
            raise InputError(
                "the stream has no such column for the time.", column=self.column, option="time"
            )
        series = data[self.column]
        if series.is_null().any():
            raise InputError(
                "the time is missing; fill in the value or remove the row.",
                column=self.column,
                row=int(np.argmax(series.is_null().to_numpy())),
            )
        if series.dtype.is_numeric() != (not isinstance(self.step, timedelta)):
            raise InputError(
                "size and step must be timedeltas for a column of dates or times, and numbers for "
                "a column of numbers.",
                column=self.column,
            )
        if series.dtype.is_numeric():
            return series.to_numpy(), self.step
        self.zone = getattr(series.dtype, "time_zone", None) and UTC
        microseconds = series.cast(nw.Datetime("us", self.zone and "UTC")).dt.timestamp("us")
        return microseconds.to_numpy(), self.step // _MICROSECOND

    def is_over(self, number: int) -> bool:
        return False

    def ends(self, begin: int, end: int) -> tuple[Any, Any]:
        if not isinstance(self.step, timedelta):
            return begin * self.step, end * self.step
        epoch = datetime(1970, 1, 1, tzinfo=self.zone)
        return epoch + begin * self.step, epoch + end * self.step
