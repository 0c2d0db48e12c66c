"""The JSON that goes in and out, as the OpenAPI description shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(max_length=1000)]


class Refusal(BaseModel):
    """Why something was refused: one sentence, and the field that it belongs to."""

    message: str
    field: str | None


class MethodInfo(BaseModel):
    """A method: `reusable` ones are fitted once and can be saved and sent to other data."""

    name: str
    title: str
    summary: str
    reusable: bool
    options: list[str]


class LimitInfo(BaseModel):
    """What the server takes at most."""

    upload_bytes: int
    files: int
    rows: int
    columns: int
    groups: int
    seconds: int


class Info(BaseModel):
    """The server: its version and limits."""

    version: str
    limits: LimitInfo


class Methods(BaseModel):
    """What can be chosen: methods, the default first, and scorers."""

    methods: list[MethodInfo]
    scorers: list[str]


class ColumnInfo(BaseModel):
    """A column of a file; `distinct` is null where there are too many values to group by."""

    name: str
    numbers: bool
    distinct: int | None
    values: list[str]
    doubt: str | None


class FileInfo(BaseModel):
    """A file that was taken in and read through."""

    id: str
    name: str
    role: Literal["positives", "unlabeled"]
    size: int
    rows: int
    columns: list[ColumnInfo]


class ColumnMatch(BaseModel):
    """A column of the positives and what becomes of it: why it is not used, if it is not."""

    name: str
    use: bool
    why_not: str | None


class SessionInfo(BaseModel):
    """A session: its files, which of their columns match, and which could make groups."""

    session: str
    expires_after_seconds: float
    example: bool
    files: list[FileInfo]
    columns: list[ColumnMatch]
    left_alone: list[str]
    groupings: list[str]


class EstimateRequest(BaseModel):
    """What to estimate, and how. Without `features`, all columns count if none is doubtful."""

    model_config = ConfigDict(extra="forbid")

    method: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None
    by: Annotated[list[Name], Field(max_length=3)] = []
    by_file: bool = False
    scorer: Name | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    bootstrap: Annotated[int, Field(ge=2, le=1000)] | None = None
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0


class IntervalInfo(BaseModel):
    """The range that chance leaves open."""

    low: float
    high: float
    level: float


class CautionInfo(BaseModel):
    """A reason to doubt one number."""

    code: str
    sentence: str
    value: float | None


class ResultEntry(BaseModel):
    """The share of positives in one sample: a group, a file, or everything."""

    label: str
    group: dict[str, Any]
    sentence: str
    prevalence: float
    interval: IntervalInfo | None
    count: float
    n_labeled: int
    n_unlabeled: int
    label_frequency: float
    joint_prior: float
    method: str
    warnings: list[CautionInfo]
    truth: float | None


class WarningInfo(BaseModel):
    """A warning, and all the samples that it was raised for."""

    code: str
    sentence: str
    where: list[str]


class Answer(BaseModel):
    """The result, in numbers and in plain language, and how to get it without the page."""

    headline: str
    labelled: str
    results: list[ResultEntry]
    truth: bool
    warnings: list[WarningInfo]
    meaning: list[str]
    doubts: list[str]
    made: str
    method: str
    features: list[str]
    seed: int
    picture: str | None
    command: str
    python: str
    no_model: str | None


class JobInfo(BaseModel):
    """Work on its way or at its end."""

    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: str
    fraction: float | None
    position: int | None
    seconds: float
    error: Refusal | None
    downloads: list[str]


class EstimateInfo(JobInfo):
    """An estimate, and at its end the answer."""

    id: str
    answer: Answer | None


class FindingInfo(BaseModel):
    """What the check of one assumption has found, and what to do about it."""

    code: str
    severity: Literal["ok", "notice", "warning"]
    title: str
    sentence: str
    advice: str
    quantity: str
    number: float | None
    threshold: float | None
    false_alarm_rate: float
    cannot_detect: str
    figures: str


class UncheckedInfo(BaseModel):
    """A check that could not be made, and why."""

    code: str
    title: str
    reason: str


class Diagnosis(BaseModel):
    """The assumptions behind an estimate: which rows were looked at, and what was found."""

    rows: str
    findings: list[FindingInfo]
    unchecked: list[UncheckedInfo]
    command: str


class DiagnosisInfo(JobInfo):
    """A check of the assumptions, and at its end the findings."""

    diagnosis: Diagnosis | None


class Download(StrEnum):
    """Files that an estimate leaves."""

    csv = "result.csv"
    json = "result.json"
    report = "report.html"
    model = "model.poscount"
    svg = "prevalence.svg"
    png = "prevalence.png"
    diagnosis = "diagnosis.html"
