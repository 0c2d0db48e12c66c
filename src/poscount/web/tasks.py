"""What the server asks of its workers: one type for each kind of work, all of plain values.

Tasks are pickled on their way to a worker. The server imports this module, so it imports nothing
heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from poscount import registry
from poscount.files.read_options import ReadOptions
from poscount.web.limits import Limits

# The page does not offer these: their time grows faster than the number of rows, or is seconds even
# for a small sample.
_SLOW = ("en", "pe", "km1", "km2")

AVAILABLE_METHODS = sorted(
    (name for name in registry.METHODS if name not in _SLOW),
    key=lambda name: name != registry.DEFAULT_METHOD,
)


# Told what is being done and, if that is known, which part of it is done.
ReportStep = Callable[[str, float | None], None]


class SentFile(NamedTuple):
    """A file on the server's disk, what the client calls it, and what it is used as."""

    path: str
    name: str
    role: str


@dataclass(frozen=True)
class MethodsTask:
    """Describe the methods on offer."""

    files: tuple[SentFile, ...] = ()


@dataclass(frozen=True)
class InspectTask:
    """Read a file through, and describe it.

    Attributes
    ----------
    file : SentFile
    read_options : ReadOptions
    limits : Limits
    example : str, optional
        File of the embedded example to copy to `file` first.
    """

    file: SentFile
    read_options: ReadOptions
    limits: Limits
    example: str | None = None

    @property
    def files(self) -> tuple[SentFile, ...]:
        """All files."""
        return (self.file,)


@dataclass(frozen=True)
class EstimateTask:
    """Fit a method on the positives and estimate the prevalence of the unlabeled files.

    Attributes
    ----------
    directory : str
        Where to write the results.
    positives : SentFile
    unlabeled : tuple of SentFile
    positives_format, read_options : ReadOptions
        How the positives are written, and how the unlabeled files are.
    method : str
    options : dict
        Parameters of the method; None leaves one at its default.
    features : tuple of str, optional
        Columns to learn from; those of `default_features` if None.
    default_features : tuple of str, optional
        What would be used without a choice, as the inspection of the positives found; None if a
        column does not look like a feature, so that somebody has to choose.
    by : tuple of str
        Columns whose values make the groups.
    by_file : bool
        Whether each file is a sample of its own.
    target_column : str, optional
        Column of the positives that names the target of each, if there are several targets.
    example : bool
        Whether the files are those of the embedded example.
    most_groups : int
        More groups than this are refused.
    seconds : int
        Replicates that would take longer than this are refused before they are made.
    """

    directory: str
    positives: SentFile
    unlabeled: tuple[SentFile, ...]
    positives_format: ReadOptions
    read_options: ReadOptions
    method: str
    options: dict[str, Any]
    features: tuple[str, ...] | None
    default_features: tuple[str, ...] | None
    by: tuple[str, ...]
    by_file: bool
    target_column: str | None
    example: bool
    most_groups: int
    seconds: int

    @property
    def files(self) -> tuple[SentFile, ...]:
        """All files, the positives first."""
        return (self.positives, *self.unlabeled)


@dataclass(frozen=True)
class FollowUp:
    """Further work on an estimate that is done, by its model file and its files."""

    estimate: EstimateTask

    @property
    def files(self) -> tuple[SentFile, ...]:
        """All files, the positives first."""
        return self.estimate.files


@dataclass(frozen=True)
class DiagnoseTask(FollowUp):
    """Check the assumptions of an estimate."""


@dataclass(frozen=True)
class TrendTask(FollowUp):
    """Look for changes between groups that follow each other.

    Attributes
    ----------
    by : str
        The grouping.
    baseline : int
        Number of groups at the beginning to compare the others with; 0 for none.
    smooth : bool
        Whether small groups borrow strength from the others.
    """

    by: str
    baseline: int
    smooth: bool


@dataclass(frozen=True)
class CompareTask(FollowUp):
    """Compare the share of an estimate's files with that of another sample.

    Attributes
    ----------
    reference : SentFile
        The other sample.
    reference_format : ReadOptions
        How it is written.
    """

    reference: SentFile
    reference_format: ReadOptions

    @property
    def files(self) -> tuple[SentFile, ...]:
        """All files, the positives first and the reference last."""
        return (*super().files, self.reference)


@dataclass(frozen=True)
class AuditTask(FollowUp):
    """Choose rows to be labelled by hand.

    Attributes
    ----------
    n : int
        Number of rows.
    """

    n: int


@dataclass(frozen=True)
class SettleTask(AuditTask):
    """Turn labels of such rows into a prevalence.

    Attributes
    ----------
    labels : dict
        Whether a row is positive, by its name.
    """

    labels: dict[str, bool]


Task = MethodsTask | InspectTask | EstimateTask | FollowUp
