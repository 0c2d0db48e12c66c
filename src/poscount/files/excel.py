"""Excel workbooks, and the others that python-calamine reads: xls, xlsb, ods."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from poscount.errors import InputError, join_names
from poscount.files.arrow import ChooseColumns, OnProgress, pyarrow
from poscount.files.read_options import ReadOptions

_SHEETS_SHOWN = 20


def excel_batches(
    path: str, choose: ChooseColumns, read_options: ReadOptions, progress: OnProgress | None
) -> Iterator[Any]:
    """Yield the chosen columns of a sheet in one batch.

    A column of numbers, of true and false, or of dates has that type. A column that mixes them is
    text, as in a CSV file. Empty cells and errors such as #DIV/0! are null; rows without any value
    are left out.
    """
    rows = list(filled_rows(path, read_options.sheet).items())
    if not rows:
        raise InputError("the sheet is empty.", file=path)
    header_row = read_options.header_row
    if header_row is not None:
        if header_row not in dict(rows):
            raise InputError(
                f"row {header_row} has no column names, because it is empty.",
                file=path,
                option="header_row",
            )
        rows = [(number, row) for number, row in rows if number >= header_row]
    cells = [row for _, row in rows[: max(len(rows) - read_options.footer, 1)]]
    names = _names(cells, read_options.header, path)
    body = cells[1:] if read_options.header else cells
    chosen = choose(names)
    at = {name: i for i, name in enumerate(names)}
    arrays = [_column([row[at[name]] for row in body]) for name in chosen]
    yield pyarrow().RecordBatch.from_arrays(arrays, names=chosen)
    if progress:
        progress(1, 1)


def calamine() -> Any:
    """Return the module, or say what to install."""
    try:
        import python_calamine
    except ImportError as error:
        raise ImportError(
            'Reading Excel files needs python-calamine: pip install "poscount[excel]".'
        ) from error
    return python_calamine


def filled_rows(path: str, sheet: str | None) -> dict[int, list[Any]]:
    """Rows of a sheet that have any value, by their numbers in the sheet, counted from 1."""
    found = filled_sheets(path, sheet)
    if len(found) > 1:
        raise InputError(
            f"the workbook has several sheets with data: {_listed(found)}.",
            file=path,
            option="sheet",
        )
    return next(iter(found.values()), {})


def filled_sheets(path: str, sheet: str | None = None) -> dict[str, dict[int, list[Any]]]:
    """The sheet of this name, or all that are visible and have data, as `filled_rows` has them."""
    module = calamine()
    try:
        workbook = module.CalamineWorkbook.from_path(path)
        if sheet is not None:
            if sheet not in workbook.sheet_names:
                raise InputError(
                    f"the workbook has no sheet {sheet!r}; it has {_listed(workbook.sheet_names)}.",
                    file=path,
                    option="sheet",
                )
            return {sheet: _rows(workbook.get_sheet_by_name(sheet))}
        # A sheet that is hidden is not what somebody who looks at the workbook means.
        visible = [
            about.name
            for about in workbook.sheets_metadata
            if about.visible == module.SheetVisibleEnum.Visible
            and about.typ == module.SheetTypeEnum.WorkSheet
        ]
        found = {name: _rows(workbook.get_sheet_by_name(name)) for name in visible}
    except module.PasswordError as error:
        raise InputError("the workbook needs a password; save it without.", file=path) from error
    except module.CalamineError as error:
        raise InputError(
            "this is not a workbook, although its extension says so, or it is damaged; save it "
            "again.",
            file=path,
        ) from error
    return {name: rows for name, rows in found.items() if rows}


def _rows(sheet: Any) -> dict[int, list[Any]]:
    first = 1 + (sheet.start or (0, 0))[0]
    rows = enumerate(sheet.to_python(), start=first)
    return {number: row for number, row in rows if any(cell != "" for cell in row)}


def _listed(names: Sequence[str] | dict[str, Any]) -> str:
    return join_names(map(repr, names), _SHEETS_SHOWN)


def _names(rows: list[list[Any]], header: bool, path: str) -> list[str]:
    if not header:
        return [str(number) for number in range(1, len(rows[0]) + 1)]
    first = rows[0]
    if len(first) > 1 and sum(cell == "" for cell in first) > 1:
        n_named = sum(cell != "" for cell in first)
        raise InputError(
            f"the first row names {n_named} of {len(first)} columns; remove what is above the "
            "column names, or say in which row they are, and name all columns.",
            file=path,
            option="header_row",
        )
    if all(isinstance(cell, float | int) and not isinstance(cell, bool) for cell in first):
        raise InputError(
            "the first row holds only numbers, not column names.",
            file=path,
            option="header",
            value=False,
        )
    return [_text(cell) or "" for cell in first]


def _column(cells: list[Any]) -> Any:
    pa = pyarrow()
    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        whole = all(value is None or float(value).is_integer() for value in values)
        if whole and all(value is None or abs(value) < 2**53 for value in values):
            return pa.array([None if value is None else int(value) for value in values], pa.int64())
        return pa.array(values, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(values, pa.date32())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        return pa.array(map(_moment, values), pa.timestamp("us"))
    if kinds in ({datetime.time}, {datetime.timedelta}):
        return pa.array(values)
    return pa.array(map(_text, values), pa.string())


def _moment(value: datetime.date | None) -> datetime.datetime | None:
    if value is None or isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, datetime.time())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
