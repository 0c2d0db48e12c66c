"""The JSON that goes in and out, as the OpenAPI description shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(max_length=1000)]
FileSettings = Annotated[dict[Name, Name], Field(max_length=20)]


class Mend(BaseModel):
    """A setting that would mend a problem, as a button: its label, the setting and its value.

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
    mends: list[Mend] = []


class MethodInfo(BaseModel):
    """A method; a `reusable` one is fitted once and can be saved and used on other data."""

    name: str
    title: str
    summary: str
    reusable: bool
    fewest_positives: int
    options: list[str]


class LimitInfo(BaseModel):
    """The most that the server accepts."""

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
    """A column of a file.

    `missing` is a share. `distinct` is null if it has too many values to group by. `problem` says
    why it cannot be read as numbers, and what to do about it; in files of unlabeled rows that
    matters only where the positives have numbers. `periods` is the number of groups that days,
    weeks and so on of a column of dates make, and `no_periods` why there are none.
    """

    name: str
    kind: str
    missing: float
    numeric: bool
    distinct: int | None
    values: list[str]
    why_not_used: str | None
    problem: str | None
    periods: dict[str, int]
    no_periods: str | None
    mends: list[Mend] = []


class FileContent(BaseModel):
    """What an inspection found in a file; null in the preview is a missing value."""

    rows: int = 0
    columns: list[ColumnInfo] = []
    preview: list[list[str | None]] = []

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def default_features(self) -> tuple[str, ...] | None:
        """The columns that the command line would use, or None if it would ask."""
        for column in self.columns:
            if column.problem or column.kind not in ("number", "category", "date"):
                return None
        return tuple(column.name for column in self.columns if column.why_not_used is None)


class FileInfo(FileContent):
    """A file that was received and inspected, and the `settings` that were sent with it."""

    id: str
    name: str
    role: Literal["positives", "unlabeled", "reference"]
    size: int
    settings: dict[str, str]


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
    how to mend it, and `no_periods` one about dates that make no groups.
    """

    name: str
    kind: str
    distinct: int | None
    missing: float | None
    missing_unlabeled: float | None
    usable: bool
    use: bool
    targets: int | None = None
    groupings: list[Grouping]
    why_not: str | None
    problem: str | None
    no_periods: str | None
    mends: list[Mend] = []


class EstimateRequest(BaseModel):
    """What to estimate, and how.

    Without `features` all columns are used; the request fails if one does not look like a feature.
    `target_column` is the column of the positives that names the target of each, if there are
    several targets.
    """

    model_config = ConfigDict(extra="forbid")

    method: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None
    by: Annotated[list[Name], Field(max_length=3)] = []
    by_file: bool = False
    target_column: Name | None = None
    scorer: Name | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    bootstrap: Annotated[int, Field(ge=2, le=1000)] | None = None
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0


class LastEstimate(BaseModel):
    """The newest estimate of the files of a session, and what it was asked for."""

    id: str
    wanted: EstimateRequest


class SessionInfo(BaseModel):
    """A session: its files, what can be done with each of their columns, and its last estimate."""

    session: str
    expires_after_seconds: float
    example: bool
    files: list[FileInfo]
    columns: list[ColumnMatch]
    estimate: LastEstimate | None


class IntervalInfo(BaseModel):
    """A confidence interval."""

    low: float
    high: float
    level: float


class CautionInfo(BaseModel):
    """A reason to doubt one number."""

    code: str
    sentence: str
    value: float | None
    severity: str
    reason: str


class VerdictInfo(BaseModel):
    """How far a number may be off."""

    grade: str
    sentence: str


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
    verdict: VerdictInfo
    warnings: list[CautionInfo]
    truth: float | None


class UsedColumn(BaseModel):
    """A column, and what the model did with it."""

    name: str
    kind: str
    done: str


class WarningInfo(BaseModel):
    """A warning in the words of its worst case, and the labels of the samples that have it."""

    code: str
    severity: str
    sentence: str
    where: list[str]
    worst: str


class UsedFile(BaseModel):
    """A file that the answer is made of, and the SHA-256 of its content."""

    name: str
    role: str
    sha256: str


class ScoreHistogram(BaseModel):
    """Rows of the sample along the score, and how many of them should be positive."""

    edges: list[float]
    sample: list[float]
    positives: list[float]
    sentence: str


class Answer(BaseModel):
    """The result, in numbers and in plain language, and how to get it without the page.

    `series` says whether the groups follow each other in time. `targets` are the names of several
    targets, "other" last: there is then a result for each target of every group.
    """

    headline: str
    label_title: str
    verdict: str
    results: list[ResultEntry]
    series: bool
    targets: list[str]
    scores: ScoreHistogram | None
    truth: bool
    warnings: list[WarningInfo]
    meaning: list[str]
    doubts: list[str]
    made: str
    methods_paragraph: str
    files: list[UsedFile]
    date: str
    method: str
    features: list[str]
    columns: list[UsedColumn]
    seed: int
    picture: str | None
    command: str
    python: str
    no_model: str | None


class ReportRequest(BaseModel):
    """What somebody adds to the report of an estimate."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(max_length=200)] = ""
    notes: Annotated[str, Field(max_length=10_000)] = ""


class JobInfo(BaseModel):
    """The state of some work."""

    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: str
    fraction: float | None
    position: int | None
    seconds: float
    error: Refusal | None
    downloads: list[str]


class EstimateInfo(JobInfo):
    """An estimate and, when it is done, the answer."""

    id: str
    answer: Answer | None


class FindingInfo(BaseModel):
    """The result of the check of one assumption, and what to do about it."""

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
    """The check of the assumptions: which rows were used, and what was found."""

    rows: str
    findings: list[FindingInfo]
    unchecked: list[UncheckedInfo]
    command: str


class DiagnosisInfo(JobInfo):
    """A check of the assumptions and, when it is done, the findings."""

    diagnosis: Diagnosis | None


class FileProgress(BaseModel):
    """A file that is being read, and which part of it has been, if that is known."""

    name: str
    fraction: float | None


class TrendRequest(BaseModel):
    """By what to group rows that follow each other in time, and what to compare groups with."""

    model_config = ConfigDict(extra="forbid")

    by: Name
    baseline: Annotated[int, Field(ge=0, le=10_000)] = 0
    smooth: bool = False


class AuditRequest(BaseModel):
    """How many rows to label."""

    model_config = ConfigDict(extra="forbid")

    n: Annotated[int, Field(ge=1, le=2000)] = 50


class SettlementRequest(AuditRequest):
    """Labels of the rows that an audit of the same number has chosen, by their audit_id."""

    labels: Annotated[dict[Name, bool], Field(max_length=2000)]


class FollowUpKind(StrEnum):
    """Further work on an estimate, besides the check of its assumptions."""

    trend = "trend"
    comparison = "comparison"
    audit = "audit"
    settlement = "settlement"


class FollowUpInfo(JobInfo):
    """Further work on an estimate and, when it is done, its result.

    That is what `poscount.Trend.to_dict` and `poscount.Settlement.to_dict` give; of an audit the
    names of `columns` and the cells of `rows`; of a comparison the `difference` with its
    `interval`, both `samples`, a `reading` ("clean", "overlap" or "drift") and a `sentence`.
    """

    result: dict[str, Any] | None


class Download(StrEnum):
    """Files that an estimate writes."""

    csv = "result.csv"
    json = "result.json"
    report = "report.html"
    model = "model.poscount"
    svg = "prevalence.svg"
    png = "prevalence.png"
    diagnosis = "diagnosis.html"
