"""Refusals: a status, one sentence, and the field of the page that it belongs to.

The library's errors are data and name an option as Python does. Here is what the page calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.web.tasks import Task


class RefusedError(Exception):
    """What a client did that cannot be served, or what the server cannot do now."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        choices: Sequence[str] = (),
        mends: Sequence[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field
        self.choices, self.mends = choices, mends


class _Setting(NamedTuple):
    """An option of the library on the page: its element, its name, and the words of its menu.

    In `menu`, None is what the page shows when nothing is chosen. `advice` is what to do if no
    value is known and there is more to say than to use the setting.
    """

    field: str | None
    label: str = ""
    menu: Mapping[str | bool | None, str] = {}
    advice: str = ""


_COLUMNS = _Setting("features", advice="Choose the columns to use.")
SETTINGS = {
    "delimiter": _Setting(
        *("delimiter", "Delimiter"),
        {None: "detect automatically", ",": "comma", ";": "semicolon", "\t": "tab"},
    ),
    "decimal": _Setting(
        *("decimal", "Decimal mark"),
        {None: "point: 0.5", ".": "point: 0.5", ",": "comma: 0,5"},
    ),
    "header": _Setting(
        *("header", "First line"),
        {None: "column names", True: "column names", False: "data"},
    ),
    "encoding": _Setting(
        *("encoding", "Encoding"),
        {
            None: "UTF-8, or as the file says",
            "cp1252": "Windows, Western Europe (cp1252)",
            "latin-1": "Latin-1",
            "utf-16": "UTF-16",
            "utf-16-le": "UTF-16, little-endian",
            "utf-16-be": "UTF-16, big-endian",
        },
    ),
    "thousands": _Setting(
        *("thousands", "Thousands mark"),
        {
            None: "none: 12000",
            ",": "comma: 12,000",
            ".": "point: 12.000",
            " ": "space: 12 000",
            "'": "apostrophe: 12'000",
            "_": "underscore: 12_000",
        },
    ),
    "units": _Setting("units", "Units"),
    "na": _Setting("na", "Signs of missing values"),
    "sheet": _Setting(None, advice="Choose the sheet."),
    "day_first": _Setting(
        *("day_first", "Dates such as 03/04/2026"),
        {None: "not known", True: "day first: 3 April", False: "month first: 4 March"},
    ),
    "features": _COLUMNS,
    "exclude": _COLUMNS,
    "by": _Setting("by", advice="Choose another column as group."),
    "method": _Setting("method", "Method"),
    "scorer": _Setting("scorer", "Scorer", {None: "the method's default"}),
    "confidence": _Setting("confidence", "Confidence"),
    "bootstrap": _Setting("bootstrap", "Replicates"),
    "random_state": _Setting("random_state", "Seed"),
    # What the page has no setting for, the command line can do.
    "limits": _Setting(None, advice="The command line has no such limit."),
    "positives": _Setting(None, advice="The command poscount diagnose has --positives for it."),
    "reference": _Setting(None, advice="The command poscount diagnose has --reference for it."),
}


def remedy(option: str | None, value: Any = None, leave_out: bool = False) -> str:
    """Say how to set an option on the page; empty if the page has nothing like it.

    Examples
    --------
    >>> remedy("decimal", ","), remedy("bootstrap", leave_out=True)
    ('Change the setting Decimal mark to “comma: 0,5”.', 'Leave the setting Replicates empty.')
    >>> remedy("na", ["-", "."])
    'Write “-, .” into the setting Signs of missing values.'
    """
    if option not in SETTINGS:
        return ""
    setting = SETTINGS[option]
    if leave_out or isinstance(value, str | bool):
        shown = setting.menu.get(None if leave_out else value)
        if shown:
            return f"Change the setting {setting.label} to “{shown}”."
    if leave_out and setting.label:
        return f"Leave the setting {setting.label} empty."
    if isinstance(value, dict):
        lines = " and ".join(f"“{column}={unit}”" for column, unit in value.items())
        return f"Write {lines} into the setting {setting.label}, one in each line."
    if isinstance(value, list | int) and setting.label:
        written = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return f"Write “{written}” into the setting {setting.label}."
    return setting.advice or f"Use the setting {setting.label}."


def mends_of(error: InputError) -> list[dict[str, str]]:
    """Settings that would mend an error, as buttons; empty if somebody has to think first.

    Examples
    --------
    >>> mends_of(InputError("'1,5' is not a number.", option="decimal", value=","))
    [{'label': 'Decimal mark: comma: 0,5', 'setting': 'decimal', 'value': ','}]
    >>> mends_of(InputError("'4 g' is not a number.", option="units", value={"weight": "g"}))
    [{'label': 'Units: weight=g', 'setting': 'units', 'value': 'weight=g'}]
    """
    mends = []
    for option in (error.option, error.otherwise):
        setting = SETTINGS.get(option or "")
        if setting is None or not setting.field or not setting.label or error.leave_out:
            continue
        match error.value:
            case bool() | str() if error.value in setting.menu:
                shown, value = setting.menu[error.value], _written(error.value)
            case dict():
                value = "\n".join(f"{column}={unit}" for column, unit in error.value.items())
                shown = value.replace("\n", ", ")
            case list():
                shown = value = ", ".join(map(str, error.value))
            case _:
                continue
        mends.append(
            {"label": f"{setting.label}: {shown}", "setting": setting.field, "value": value}
        )
    return mends


def _written(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def refusal_of(failure: Mapping[str, Any], task: Task) -> RefusedError:
    """Say what went wrong in a worker in the words of the page.

    Parameters
    ----------
    failure : mapping
        The parameters of an `InputError`, whose `file` is a path on the server, and `choices` if
        there are any.
    task : Task
        What the worker was asked to do: it knows what the client calls each file.

    Examples
    --------
    >>> from poscount.web.tasks import InspectTask, SentFile
    >>> task = InspectTask(SentFile("/tmp/7f.csv", "trap.csv", "unlabeled"), None, None)
    >>> failure = {"message": "the delimiter is not clear.", "option": "delimiter"}
    >>> refusal = refusal_of({**failure, "file": "/tmp/7f.csv"}, task)
    >>> refusal.message, refusal.field
    ('trap.csv: the delimiter is not clear. Use the setting Delimiter.', 'delimiter')
    """
    sent = {file.path: file for file in task.files}.get(failure.get("file") or "")
    about = {name: value for name, value in failure.items() if name != "choices"}
    error = InputError(**{**about, "file": sent.name if sent else None})
    setting = SETTINGS.get(error.option or "")
    field = (setting.field if setting else None) or (sent.role if sent else None)
    advice = remedy(error.option, error.value, error.leave_out)
    if error.otherwise:
        other = remedy(error.otherwise, error.value)
        advice = f"{advice[:-1]}, or {other[:1].lower()}{other[1:]}"
    sheets = failure.get("choices", ())
    return RefusedError(422, error.rendered(advice), field, sheets, mends_of(error))


def size(n_bytes: float) -> str:
    """Write a size for people.

    Examples
    --------
    >>> size(200_000_000), size(2_500_000_000), size(900)
    ('200 MB', '2.5 GB', '0.9 kB')
    """
    for unit, worth in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= worth:
            return f"{n_bytes / worth:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"
