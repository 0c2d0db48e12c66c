"""The JSON that goes in and out, as the OpenAPI description shows it, and its limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from poscount.files.read_options import ReadOptions

MEGABYTE = 1_000_000
Name = Annotated[str, Field(max_length=1000)]
Role = Literal["positives", "unlabeled", "reference"]


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


class _Request(BaseModel):
    """What a client sends: nothing but the fields that are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# What is sent


class FileSettings(_Request):
    """How a file is written, in the words of the form; an empty field is the default."""

    delimiter: Annotated[Name, Field(description="Of CSV; detected if empty.")] = ""
    decimal: Literal[".", ","] = "."
    header: Literal["true", "false"] = "true"
    encoding: Annotated[Name, Field(description="Of text, such as cp1252.")] = ""
    thousands: Literal["", ",", ".", " ", "'", "_"] = ""
    day_first: Literal["", "true", "false"] = ""
    na: Annotated[Name, Field(description="More signs of missing values, separated by commas.")] = (
        ""
    )
    units: Annotated[
        Name, Field(description="A column and its unit in each line, such as weight=g.")
    ] = ""
    sheet: Annotated[Name, Field(description="Of a workbook.")] = ""

    @field_validator("units")
    @classmethod
    def _check_units(cls, text: str) -> str:
        for line in filter(str.strip, text.splitlines()):
            column, _, unit = line.rpartition("=")
            if not column.strip() or not unit.strip():
                raise ValueError(f"{line!r} is not a column and its unit; write them like weight=g")
        return text

    @property
    def read_options(self) -> ReadOptions:
        """The same in the words of the library.

        Examples
        --------
        >>> FileSettings(units="weight = g", na="-, -999").read_options.units
        (('weight', 'g'),)
        """
        truth = {"true": True, "false": False}
        units = (line.rpartition("=") for line in self.units.splitlines() if line.strip())
        return ReadOptions(
            delimiter=self.delimiter or None,
            decimal=self.decimal,
            header=truth[self.header],
            encoding=self.encoding or None,
            thousands=self.thousands or None,
            units=tuple((column.strip(), unit.strip()) for column, _, unit in units),
            na=tuple(sign.strip() for sign in self.na.split(",") if sign.strip()),
            sheet=self.sheet or None,
            day_first=truth.get(self.day_first),
        )


class FileForm(FileSettings):
    """The form that a file comes with: what it is used as, and how it is written."""

    role: Role


class EstimateRequest(_Request):
    """What to estimate, and how.

    Without `features` all columns are used; the request fails if one does not look like a feature.
    `target_column` is the column of the positives that names the target of each, if there are
    several targets.
    """

    method: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None
    by: Annotated[list[Name], Field(max_length=3)] = []
    by_file: bool = False
    target_column: Name | None = None
    scorer: Name | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    recognisable: bool | None = None
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    bootstrap: Annotated[int, Field(ge=2, le=1000)] | None = None
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0


class DiagnosisRequest(_Request):
    """Check the assumptions of an estimate."""

    kind: Literal["diagnosis"]


class TrendRequest(_Request):
    """Look for changes between groups that follow each other in time.

    `baseline` is the number of groups at the beginning to compare the others with, 0 for none.
    `smooth` says whether small groups borrow strength from the others.
    """

    kind: Literal["trend"]
    by: Name
    baseline: Annotated[int, Field(ge=0, le=10_000)] = 0
    smooth: bool = False


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
    DiagnosisRequest | TrendRequest | ComparisonRequest | AuditRequest | SettlementRequest,
    Field(discriminator="kind"),
]


class ReportRequest(_Request):
    """What somebody adds to the report of an estimate."""

    title: Annotated[str, Field(max_length=200)] = ""
    notes: Annotated[str, Field(max_length=10_000)] = ""


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

    `choices` are the sheets of a workbook of which one must be chosen, and otherwise empty.
    """

    message: str
    field: str | None
    choices: list[str]
    fixes: list[Fix]


class Info(BaseModel):
    """The server: its version and limits."""

    version: str
    limits: Limits


class Methods(BaseModel):
    """What can be chosen: methods, the default first, and scorers.

    A `reusable` method is fitted once, and its model can be saved and used on other data.
    """

    methods: list[dict[str, Any]]
    scorers: list[str]


class FileInfo(BaseModel):
    """A file, the settings that were sent with it, the names of its columns and its first rows."""

    id: str
    name: str
    role: Role
    size: int
    settings: dict[str, str]
    rows: int
    columns: list[str]
    preview: list[list[str | None]]


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


class SessionInfo(BaseModel):
    """A session: its files, what can be done with each of their columns, its last estimate."""

    session: str
    example: bool
    files: list[FileInfo]
    columns: list[ColumnMatch]
    estimate: str | None


class FileProgress(BaseModel):
    """A file that is being read, and which part of it has been, if that is known."""

    name: str
    fraction: float | None


class JobInfo(BaseModel):
    """Some work and, when it is done, its result and the files that can be downloaded.

    Of an estimate, the result is the content of ``result.json``. Of what follows it, it is what
    `Trend.to_dict` and `Settlement.to_dict` give; the `findings` and `skipped` of a diagnosis;
    the `columns` and `rows` of an audit; the `difference`, `interval`, `samples` and `sentence` of
    a comparison.
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
    report = "report.html"
    model = "model.poscount"
    svg = "prevalence.svg"
    png = "prevalence.png"
    diagnosis = "diagnosis.html"
