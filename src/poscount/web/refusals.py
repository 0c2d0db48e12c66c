"""Refusals: a status, one sentence, and the field of the page that it belongs to.

The library's errors are data and name an option as Python does. Here is what the page calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.web.tasks import Upload


class RefusedError(Exception):
    """What a client did that cannot be served, or what the server cannot do now.

    Parameters
    ----------
    status : int
        Of HTTP.
    message : str
        One sentence.
    field : str, optional
        The element of the page that it belongs to.
    choices : sequence of str
        The sheets of a workbook of which one must be chosen.
    fixes : sequence of dict
        Settings that would fix the problem, as buttons; see `fixes_of`.
    top : sequence of (int, sequence of str)
        The first rows of a file that cannot be read, with their numbers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        choices: Sequence[str] = (),
        fixes: Sequence[Mapping[str, str]] = (),
        top: Sequence[tuple[int, Sequence[str]]] = (),
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field
        self.choices, self.fixes, self.top = choices, fixes, top

    def to_dict(self) -> dict[str, Any]:
        """Everything but the status, in types that JSON has."""
        return {
            "message": self.message,
            "field": self.field,
            "choices": list(self.choices),
            "fixes": list(self.fixes),
            "top": list(self.top),
        }


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
        "delimiter",
        "Delimiter",
        {None: "guessed", ",": "comma", ";": "semicolon", "\t": "tab"},
    ),
    "decimal": _Setting(
        "decimal", "Decimal mark", {None: "guessed", ".": "point: 0.5", ",": "comma: 0,5"}
    ),
    "header": _Setting(
        "header", "First line", {None: "guessed", True: "column names", False: "data"}
    ),
    "encoding": _Setting(
        "encoding",
        "Encoding",
        {
            None: "guessed",
            "cp1252": "Windows, Western Europe (cp1252)",
            "latin-1": "Latin-1",
            "utf-16": "UTF-16",
            "utf-16-le": "UTF-16, little-endian",
            "utf-16-be": "UTF-16, big-endian",
        },
    ),
    "thousands": _Setting(
        "thousands",
        "Thousands mark",
        {
            None: "guessed",
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
        "day_first",
        "Dates such as 03/04/2026",
        {None: "guessed", True: "day first: 3 April", False: "month first: 4 March"},
    ),
    "features": _COLUMNS,
    "by": _Setting("by", advice="Choose another column as group."),
    "method": _Setting("method", "Method"),
    "confidence": _Setting("confidence", "Confidence"),
    "recognisable": _Setting("recognisable", "Recognisable", {None: "not sure"}),
    "n_resamples": _Setting("bootstrap", "Replicates"),
    "random_state": _Setting("random_state", "Seed"),
    "header_row": _Setting("header_row", "Row of the column names"),
    "footer": _Setting("footer", "Rows of notes at the end"),
    "row_names": _Setting(
        "row_names", "Row names", {None: "guessed", True: "in the first column", False: "none"}
    ),
    "rename": _Setting("rename", "Other names of columns"),
    "label": _Setting("label", advice="Choose the column that says what is known."),
    "positive": _Setting("label", advice="Say which of its values mean positives."),
    "negative": _Setting("label", advice="Say which of its values mean known negatives."),
    # What the page has no setting for, the command line can do.
    "limits": _Setting(None, advice="The command line has no such limit."),
    "drop_positives": _Setting(None, advice="Count all rows."),
    "positives": _Setting(None, advice="The command poscount diagnose has --positives for it."),
    "reference": _Setting(None, advice="The command poscount diagnose has --reference for it."),
}


def remedy(option: str | None, value: Any = None, leave_out: bool = False) -> str:
    """Say how to set an option on the page; empty if the page has nothing like it.

    Examples
    --------
    >>> remedy("decimal", ","), remedy("n_resamples", leave_out=True)
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
    if isinstance(value, list) and setting.label:
        written = ", ".join(map(str, value))
        return f"Write “{written}” into the setting {setting.label}."
    return setting.advice or f"Use the setting {setting.label}."


def fixes_of(error: InputError) -> list[dict[str, str]]:
    """Settings that would fix an error, as buttons; empty if somebody has to think first.

    Examples
    --------
    >>> fixes_of(InputError("'1,5' is not a number.", option="decimal", value=","))
    [{'label': 'Decimal mark: comma: 0,5', 'setting': 'decimal', 'value': ','}]
    >>> fixes_of(InputError("'4 g' is not a number.", option="units", value={"weight": "g"}))
    [{'label': 'Units: weight=g', 'setting': 'units', 'value': 'weight=g'}]
    """
    fixes = []
    for option in (error.option, error.otherwise):
        setting = SETTINGS.get(option or "")
        if setting is None or not setting.field or not setting.label or error.leave_out:
            continue
        match error.value:
            case bool() if error.value in setting.menu:
                shown, value = setting.menu[error.value], str(error.value).lower()
            case str() if error.value in setting.menu:
                shown, value = setting.menu[error.value], error.value
            case dict():
                value = "\n".join(f"{column}={unit}" for column, unit in error.value.items())
                shown = value.replace("\n", ", ")
            case list():
                shown = value = ", ".join(map(str, error.value))
            case _:
                continue
        label = f"{setting.label}: {shown}"
        fixes.append({"label": label, "setting": setting.field, "value": value})
    return fixes


def refusal_of(
    error: InputError, files: Iterable[Upload], choices: Sequence[str] = ()
) -> RefusedError:
    """Say what is wrong in the words of the page.

    Parameters
    ----------
    error : InputError
        Its `file` is a path on the server, which nobody is shown.
    files : iterable of Upload
        What the client calls the files that it may be about.
    choices : sequence of str
        The sheets of which one must be chosen, if that is what the error is about.
    """
    file = next((file for file in files if file.path == error.file), None)
    setting = SETTINGS.get(error.option or "")
    field = (setting.field if setting else None) or (file.role if file else None)
    advice = remedy(error.option, error.value, error.leave_out)
    if error.otherwise:
        other = remedy(error.otherwise, error.value)
        advice = f"{advice[:-1]}, or {other[:1].lower()}{other[1:]}"
    shown = InputError(**{**vars(error), "file": file.name if file else None})
    return RefusedError(422, shown.rendered(advice), field, choices, fixes_of(error))


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
