"""The formats of results, for every command that prints some."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"


class TextFormat(StrEnum):
    """How a report is printed."""

    text = "text"
    json = "json"
