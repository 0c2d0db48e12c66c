"""The settings that come with a file: what it is used as, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poscount.files.read_options import ReadOptions
from poscount.web.refusals import RefusedError
from poscount.web.sessions import Upload

ROLES = ("positives", "unlabeled", "reference")
# Fields of the form; for an empty one the default is used.
CHOICES: dict[str, tuple[str, ...]] = {
    "role": ROLES,
    "decimal": (".", ","),
    "header": ("true", "false"),
    "thousands": ("", ",", ".", " ", "'", "_"),
    "day_first": ("", "true", "false"),
}
TEXTS = {
    "delimiter": "Of a CSV file, one character; detected if empty.",
    "encoding": "Of text, such as cp1252; UTF-8 or by its byte-order mark if empty.",
    "units": "One column and its unit in each line, such as weight=g.",
    "na": "More signs of missing values, separated by commas, such as -,-999.",
    "sheet": "Of an Excel workbook; the only one with data if empty.",
}
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_TRUTH = {"true": True, "false": False}


def read_fields(fields: dict[str, str]) -> tuple[str, ReadOptions]:
    """Read the fields that come with a file: its role, and how it is written.

    Examples
    --------
    >>> role, written = read_fields({"role": "positives", "units": "weight=g", "na": "-, -999"})
    >>> role, written.units, written.na
    ('positives', (('weight', 'g'),), ('-', '-999'))
    """
    for name, value in fields.items():
        if name not in TEXTS and name not in CHOICES:
            raise RefusedError(422, f"The form has an unknown field {name[:60]!r}.")
        if name in CHOICES and value not in CHOICES[name]:
            raise RefusedError(422, f"{name} must be one of {' '.join(CHOICES[name])}.", name)
    if "role" not in fields:
        raise RefusedError(
            422, "The form needs a field role: positives, unlabeled or reference.", "role"
        )
    return fields["role"], ReadOptions(
        delimiter=fields.get("delimiter") or None,
        decimal=fields.get("decimal", "."),
        header=_TRUTH[fields.get("header", "true")],
        encoding=fields.get("encoding") or None,
        thousands=fields.get("thousands") or None,
        units=_units(fields.get("units", "")),
        na=tuple(sign.strip() for sign in fields.get("na", "").split(",") if sign.strip()),
        sheet=fields.get("sheet") or None,
        day_first=_TRUTH.get(fields.get("day_first", "")),
    )


def without_role(fields: dict[str, str]) -> dict[str, str]:
    """Give only the fields that say how a file is written."""
    return {name: value for name, value in fields.items() if name != "role"}


def _units(text: str) -> tuple[tuple[str, str], ...]:
    units = []
    for line in filter(None, map(str.strip, text.splitlines())):
        column, _, unit = line.rpartition("=")
        if not column.strip() or not unit.strip():
            raise RefusedError(
                422,
                f"{line!r} is not a column and its unit; write them like weight=g.",
                "units",
            )
        units.append((column.strip(), unit.strip()))
    return tuple(units)


def common_settings(uploads: Sequence[Upload]) -> ReadOptions:
    """Give the settings by which all of these files are read, or refuse files that differ.

    A setting that means nothing for a file, such as the delimiter of a workbook, may differ.
    """
    settings: dict[str, Any] = {}
    for name in ReadOptions._fields:
        values = {
            getattr(upload.read_options, name) for upload in uploads if _matters(name, upload)
        }
        if len(values) > 1:
            raise RefusedError(
                422,
                "The files of unlabeled rows were sent with different settings; send them with the "
                "same ones.",
                "unlabeled" if name == "sheet" else name,
            )
        if values:
            settings[name] = values.pop()
    return ReadOptions(**settings)


def _matters(setting: str, upload: Upload) -> bool:
    workbook, parquet = upload.path.suffix in _WORKBOOKS, upload.path.suffix == ".parquet"
    if setting in ("delimiter", "encoding"):
        return not workbook and not parquet
    if setting == "sheet":
        return workbook
    # The rest is about what is in the cells; those of Parquet have types, but may have signs.
    return not parquet or setting in ("na", "day_first")
