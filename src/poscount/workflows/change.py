"""From files to trends, and from a stream to a line for each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from poscount.base.counting import BatchCounter
from poscount.base.quantifier import Quantifier
from poscount.change import ChangeDetector, Reading, Trend
from poscount.change.series import Baseline
from poscount.change.series import trend as find_trend
from poscount.checks.second_sample import Comparison
from poscount.data.grouping import period_label, period_number, period_of
from poscount.diagnostics.two_samples import compare_samples
from poscount.engines.sliding_windows import Window, windows
from poscount.errors import InputError
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import model_columns
from poscount.files.reading import read_batches
from poscount.files.streams import source_name
from poscount.workflows.estimates import Watch, count, count_groups, unwatched


def trend(
    model: Quantifier,
    paths: Sequence[str],
    by: str,
    *,
    baseline: Baseline = None,
    smooth: bool = False,
    weights: str | None = None,
    engine: str = "auto",
    on_error: str = "raise",
    n_jobs: int = -1,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> Trend:
    """Compare the groups of files of rows as a series.

    Parameters
    ----------
    model : Quantifier
    paths : sequence of str
        Files of rows, globs or directories.
    by, baseline, smooth
        As in `poscount.trend`.
    weights, engine, on_error, n_jobs, csv_format, watch
        As in `poscount.workflows.quantify`.
    """
    counts = count_groups(
        model,
        paths,
        [by],
        weights=weights,
        engine=engine,
        on_error=on_error,
        n_jobs=n_jobs,
        csv_format=csv_format,
        watch=watch,
    )
    return find_trend(model, counts, baseline=baseline, smooth=smooth)


def compare(
    model: Quantifier,
    paths: Sequence[str],
    reference: Sequence[str],
    *,
    n_jobs: int = -1,
    csv_format: CsvFormat = DEFAULT_CSV,
    reference_format: CsvFormat | None = None,
    watch: Watch = unwatched,
) -> Comparison:
    """Compare the rows of files with those of a reference; see `poscount.compare_samples`.

    Parameters
    ----------
    model : RCQ
    paths, reference : sequence of str
        Files of rows, globs, directories or counts files.
    csv_format, reference_format : CsvFormat
        How the files are written, and how those of the reference are, if that differs.
    n_jobs, watch
        As in `poscount.workflows.quantify`.
    """
    written = reference_format or csv_format
    counts = count(model, paths, n_jobs=n_jobs, csv_format=csv_format, watch=watch)
    others = count(model, reference, n_jobs=n_jobs, csv_format=written, watch=watch)
    return compare_samples(model, counts, others)


class WatchedWindow(NamedTuple):
    """A window of a stream, and what the detector says after it.

    Attributes
    ----------
    label : str
        Its period, or its first and last row, counted from 1.
    window : Window
    reading : Reading
    """

    label: str
    window: Window
    reading: Reading

    def record(self) -> dict[str, Any]:
        """Everything about it, in types that JSON has."""
        p = self.window.prevalence
        return {
            "rows": self.label,
            "n": self.window.counts.n,
            "prevalence": float(p),
            "low": p.interval.low if p.interval else None,
            "high": p.interval.high if p.interval else None,
            "warnings": " ".join(caution.code for caution in p.warnings),
            **self.reading._asdict(),
        }


def watch_stream(
    model: Quantifier,
    path: str = "-",
    *,
    rows: int | None = None,
    by: str | None = None,
    baseline: int = 20,
    run_length: float = 1000.0,
    weights: str | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Iterator[WatchedWindow]:
    """Watch a stream of rows for a change, window by window, as they arrive.

    Parameters
    ----------
    model : RCQ, PAT or ODIn
    path : str
        A file or a named pipe; ``-`` is standard input, CSV or JSON lines.
    rows : int, optional
        Rows of a window.
    by : str, optional
        Instead: the period that is a window, such as ``"hour(time)"``. The rows must be in order of
        time, and a window is complete when a row of a later one arrives.
    baseline, run_length
        As in `poscount.ChangeDetector`.
    weights : str, optional
        Column with the weight of each row.
    csv_format : CsvFormat
        How the rows are written.
    """
    if (rows is None) == (by is None):
        raise InputError(
            "A window is either a number of rows or a period of time: give one of the two.",
            option="rows",
        )
    if rows is not None and rows < 1:
        raise InputError(f"A window of {rows} rows is too small.", option="rows")
    period = None if by is None else period_of(by)
    if by is not None and period is None:
        raise InputError(
            f"{by!r} is not a period of time, such as hour(time) or day(date).", option="by"
        )
    detector = ChangeDetector(model, run_length=run_length, baseline=baseline)
    counter = BatchCounter(detector.model, (), weights)
    batches = read_batches(
        path,
        columns=[*model_columns(model), *counter.weight_columns],
        numeric=counter.numeric_columns,
        by=[] if by is None else [by],
        csv_format=csv_format,
        live=True,
    )
    try:
        if by is None:
            found = windows(detector.model, batches, size=rows or 1, weights=weights)
        else:
            numbered = _with_numbers(batches, by, str(period))
            found = windows(detector.model, numbered, size=1, time=by, weights=weights)
        for window in found:
            label = (
                f"{window.start + 1}-{window.end}"
                if period is None
                else period_label(int(window.start), period)
            )
            yield WatchedWindow(label, window, detector.update(window.counts))
    except InputError as error:
        raise error.at(file=source_name(path)) from error


def _with_numbers(batches: Iterator[Any], by: str, period: str) -> Iterator[Any]:
    """Number the periods, so that windows can see which of them is later."""
    import pyarrow as pa

    for batch in batches:
        labels = batch[by].dictionary_encode()
        numbers = [
            None if label is None else period_number(label, period)
            for label in labels.dictionary.to_pylist()
        ]
        column = pa.array(numbers, pa.int64()).take(labels.indices)
        yield batch.set_column(batch.schema.get_field_index(by), by, column)
