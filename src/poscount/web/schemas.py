"""The JSON that goes in and out, as the OpenAPI description shows it, and its limits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationInfo, field_validator

MEGABYTE = 1_000_000
Name = Annotated[str, Field(max_length=1000)]
# A table has rows of every kind, and a column that says what is known of each.
Role = Literal["positives", "unlabeled", "negatives", "reference", "table"]
ExampleName = Literal["insects", "register", "species"]


@dataclass(frozen=True)
class Limits:
    """What is beyond these limits is refused with a sentence.

    Attributes
    ----------
    upload_bytes, unpacked_bytes : int
        Size of a file as it is sent, and after decompression.
    json_bytes : int
        Size of the body of a request without a file.
    files, rows, columns : int
        Files in a session; rows and columns in a file.
    groups : int
        Groups in a result.
    seconds, memory_bytes : int
        Time and memory of a job.
    workers : int
        Jobs that run at the same time.
    sessions : int
        Sessions at the same time.
    idle_seconds, leave_seconds : float
        A session that nobody uses for this long is deleted with all its files; the second holds
        once its page was closed.
    """

    upload_bytes: int = 200 * MEGABYTE
    unpacked_bytes: int = 2_000 * MEGABYTE
    json_bytes: int = MEGABYTE
    files: int = 50
    rows: int = 5_000_000
    columns: int = 1_000
    groups: int = 1_000
    seconds: int = 300
    memory_bytes: int = 2_000 * MEGABYTE
    workers: int = max(2, os.cpu_count() or 2)
    sessions: int = 50
    idle_seconds: float = 3600.0
    leave_seconds: float = 60.0


def as_json(value: Any) -> bytes:
    """JSON of whatever Python's own writes; null for NaN and infinity, which JSON has not."""
    return TypeAdapter(Any).dump_json(json.loads(json.dumps(value, default=str)))


class _Request(BaseModel):
    """What a client sends: nothing but the fields that are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# What is sent


class FileSettings(_Request):
    """What a file is used as and how it is written; what is empty is guessed.

    Without a `role`, a file that is there keeps its own.
    """

    role: Role | None = None
    delimiter: Name = ""
    decimal: Literal["", ".", ","] = ""
    header: Literal["", "true", "false"] = ""
    header_row: Annotated[str, Field(pattern=r"^[1-9]?\d{0,5}$")] = ""
    row_names: Literal["", "true", "false"] = ""
    footer: Annotated[str, Field(pattern=r"^\d{0,5}$")] = ""
    encoding: Name = ""
    thousands: Literal["", ",", ".", " ", "'", "_"] = ""
    day_first: Literal["", "true", "false"] = ""
    na: Annotated[Name, Field(description="More signs of missing values, separated by commas.")] = (
        ""
    )
    units: Annotated[
        Name, Field(description="A column and its unit in each line, such as weight=g.")
    ] = ""
    rename: Annotated[
        Name, Field(description="In each line the name of a column, and the one to use instead.")
    ] = ""
    sheet: Annotated[Name, Field(description="Of a workbook.")] = ""
    label: Annotated[
        Name, Field(description="Of a table: by this column its sketches are told apart.")
    ] = ""

    @field_validator("units", "rename")
    @classmethod
    def _check_pairs(cls, text: str, info: ValidationInfo) -> str:
        what = "a column and its unit" if info.field_name == "units" else "two names of a column"
        for line in filter(str.strip, text.splitlines()):
            column, _, other = line.rpartition("=")
            if not column.strip() or not other.strip():
                raise ValueError(f"{line!r} is not {what}; write them with = between them")
        return text

    @property
    def said(self) -> dict[str, Any]:
        """What is not empty, in the words of the library.

        Examples
        --------
        >>> FileSettings(units="weight = g", na="-, -999", header_row="4").said
        {'header_row': 4, 'na': ('-', '-999'), 'units': (('weight', 'g'),)}
        """
        return {
            name: _VALUES.get(name, str)(text)
            for name, text in self.model_dump(exclude={"role", "label"}).items()
            if text.strip(" ") or (name == "thousands" and text)
        }


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    lines = (line.rpartition("=") for line in text.splitlines() if line.strip())
    return tuple((first.strip(), second.strip()) for first, _, second in lines)


def _rename(text: str) -> tuple[tuple[str, str], ...]:
    # Names may have spaces at their ends: that may be all that is wrong with them.
    lines = (line.rpartition("=") for line in text.splitlines() if line.strip())
    return tuple((first, second) for first, _, second in lines)


# How the text of a setting is read.
_VALUES: dict[str, Callable[[str], Any]] = {
    "header": "true".__eq__,
    "day_first": "true".__eq__,
    "row_names": "true".__eq__,
    "header_row": int,
    "footer": int,
    "units": _pairs,
    "rename": _rename,
    "na": lambda text: tuple(sign.strip() for sign in text.split(",") if sign.strip()),
}


class FileForm(FileSettings):
    """The form that a file comes with: what it is used as, and how it is written."""

    role: Role


class EstimateRequest(_Request):
    """What to estimate, and how.

    Without `features` all columns are used; the request fails if one does not look like a feature.
    `target_column` is the column of the positives that names the target of each, if there are
    several targets. Of a table, `label` is the column that says what is known of its rows, and
    `positive` and `negative` are what it says of positives and of known negatives; several of the
    first are targets. `drop_known` leaves positives out that are in the sample, too.
    """

    method: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None
    by: Annotated[list[Name], Field(max_length=3)] = []
    by_file: bool = False
    target_column: Name | None = None
    label: Name | None = None
    positive: Annotated[list[Name], Field(max_length=50)] = []
    negative: Annotated[list[Name], Field(max_length=50)] = []
    drop_known: bool = False
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    recognisable: bool | None = None
    bootstrap: Annotated[int, Field(ge=2, le=1000)] | None = None
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0


class DiagnosisRequest(_Request):
    """Check the assumptions of an estimate."""

    kind: Literal["diagnosis"]


class ComparisonRequest(_Request):
    """Compare the share with that of the file whose role is reference."""

    kind: Literal["comparison"]


class AuditRequest(_Request):
    """Choose `n` rows to be labelled by hand."""

    kind: Literal["audit"]
    n: Annotated[int, Field(ge=1, le=2000)] = 50


class SettlementRequest(_Request):
    """What the labels say of the rows that an audit of the same `n` has chosen, by audit_id."""

    kind: Literal["settlement"]
    n: Annotated[int, Field(ge=1, le=2000)] = 50
    labels: Annotated[dict[Name, bool], Field(max_length=2000)]


FollowUpRequest = Annotated[
    DiagnosisRequest | ComparisonRequest | AuditRequest | SettlementRequest,
    Field(discriminator="kind"),
]


# What is answered


class Fix(BaseModel):
    """A setting that would fix a problem, as a button: its label, the setting and its value.

    `role` is that of the files to be read again with it.
    """

    label: str
    setting: str
    value: str
    role: str | None = None


class Refusal(BaseModel):
    """Why a request was refused: one sentence, and the field that it belongs to.

    `choices` are the sheets of a workbook of which one must be chosen, and otherwise empty. `top`
    are the first rows of a file that cannot be read, as they stand in it, with their numbers.
    """

    message: str
    field: str | None
    choices: list[str]
    fixes: list[Fix]
    top: list[tuple[int, list[str]]]


class Info(BaseModel):
    """The server: its version and limits."""

    version: str
    limits: Limits


class FileInfo(BaseModel):
    """A file, the settings that were sent with it, the names of its columns and its first rows.

    `reading` says how it is read, where that was guessed, and `sketches` how the values of its
    columns are spread, `by_label` in the rows with each value of its column of labels. `top` are
    its first rows as they stand in it, with their numbers, and `header_row` that of the row of
    names, if it is not the first.
    """

    id: str
    name: str
    role: Role
    size: int
    settings: dict[str, str]
    reading: str
    rows: int
    columns: list[str]
    preview: list[list[str | None]]
    top: list[tuple[int, list[str]]]
    header_row: int | None
    sketches: dict[str, Any]
    by_label: list[tuple[str | None, dict[str, Any]]]


class Grouping(BaseModel):
    """One way to make groups of the values of a column: `by` is what an estimate takes.

    `period` is day, week, month, year or hour, or null where each value is a group. There are at
    most so many `groups`: those of several files are added up.
    """

    by: str
    period: str | None
    groups: int


class ColumnMatch(BaseModel):
    """A column of all files together: what it is, and what can be done with it.

    The positives decide the kind. `missing` and `missing_unlabeled` are shares, null if no such
    file has the column. `usable` says whether a model can learn from it, `use` whether it does by
    default, and `why_not` why it does not. `targets` is the number of its values among the
    positives if these can name targets, or null. `problem` is a sentence about what is wrong and
    how to fix it, and `no_periods` one about dates that make no groups.
    """

    name: str
    kind: str
    distinct: int | None
    missing: float | None
    missing_unlabeled: float | None
    usable: bool
    use: bool
    targets: int | None
    groupings: list[Grouping]
    why_not: str | None
    problem: str | None
    no_periods: str | None
    fixes: list[Fix]


class SessionHead(BaseModel):
    """A session: whether it shows the example, and its last estimate."""

    session: str
    example: bool
    estimate: str | None


class SessionInfo(SessionHead):
    """A session with its files, and what can be done with each of their columns."""

    files: list[FileInfo]
    columns: list[ColumnMatch]


class FileProgress(BaseModel):
    """A file that is being read, and which part of it has been, if that is known."""

    name: str
    fraction: float | None


class JobInfo(BaseModel):
    """Some work and, when it is done, its result and the files that can be downloaded.

    Of an estimate, the result is the content of ``result.json``. Of what follows it, it is what
    `Settlement.to_dict` gives; the `findings` and `scores` of a diagnosis; the `columns`
    and `rows` of an audit; the `difference`, `interval`, `samples` and `sentence` of a comparison.
    """

    id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: str
    fraction: float | None
    position: int | None
    seconds: float
    error: Refusal | None
    downloads: list[str]
    result: Any


class Download(StrEnum):
    """Files that an estimate writes."""

    csv = "result.csv"
    json = "result.json"
    model = "model.poscount"
