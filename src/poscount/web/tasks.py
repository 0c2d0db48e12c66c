"""What the server asks of its workers: one type for each kind of work, all of plain values.

Tasks are pickled on their way to a worker. The server imports this module, so it imports nothing
heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poscount import registry
from poscount.files.read_options import ReadOptions
from poscount.web.limits import Limits
from poscount.web.schemas import EstimateRequest, FollowUpRequest
from poscount.web.uploads import Upload

# The page does not offer these: their time grows faster than the number of rows, or is seconds even
# for a small sample.
_SLOW = ("en", "pe", "km1", "km2")

AVAILABLE_METHODS = sorted(
    (name for name in registry.METHODS if name not in _SLOW),
    key=lambda name: name != registry.DEFAULT_METHOD,
)

# Files of the embedded example, and what they are used as.
EXAMPLE = {"positives.csv": "positives", "trap.csv.gz": "unlabeled"}

# Told what is being done and, if that is known, which part of it is done.
ReportStep = Callable[[str, float | None], None]


@dataclass(frozen=True)
class LibraryTask:
    """Describe the methods on offer, and say where the files of the example are."""

    files: tuple[Upload, ...] = ()


@dataclass(frozen=True)
class InspectTask:
    """Read a file through, and describe it.

    Attributes
    ----------
    file : Upload
    limits : Limits
    """

    file: Upload
    limits: Limits

    @property
    def files(self) -> tuple[Upload, ...]:
        """All files."""
        return (self.file,)


@dataclass(frozen=True)
class EstimateTask:
    """Fit a method on the positives and estimate the prevalence of the unlabeled files.

    Attributes
    ----------
    directory : str
        Where to write the results.
    wanted : EstimateRequest
    positives : Upload
    unlabeled : tuple of Upload
    positives_format, read_options : ReadOptions
        How the positives are written, and how the unlabeled files are.
    example : bool
        Whether the files are those of the embedded example.
    most_groups : int
        More groups than this are refused.
    """

    directory: str
    wanted: EstimateRequest
    positives: Upload
    unlabeled: tuple[Upload, ...]
    positives_format: ReadOptions
    read_options: ReadOptions
    example: bool
    most_groups: int

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.wanted.method or registry.DEFAULT_METHOD

    @property
    def options(self) -> dict[str, Any]:
        """Parameters of the method; None leaves one at its default."""
        return self.wanted.model_dump(include={"scorer", "confidence", "bootstrap", "random_state"})

    @property
    def by(self) -> tuple[str, ...]:
        """What makes the groups."""
        return tuple(dict.fromkeys(self.wanted.by))

    @property
    def paths(self) -> list[str]:
        """Files of unlabeled rows."""
        return [file.path for file in self.unlabeled]

    @property
    def files(self) -> tuple[Upload, ...]:
        """All files, the positives first."""
        return (self.positives, *self.unlabeled)


@dataclass(frozen=True)
class FollowUpTask:
    """Further work on an estimate that is done, by its model file and its files.

    Attributes
    ----------
    estimate : EstimateTask
    wanted : FollowUpRequest
    reference : Upload, optional
        The other sample of a comparison.
    """

    estimate: EstimateTask
    wanted: FollowUpRequest
    reference: Upload | None = None

    @property
    def files(self) -> tuple[Upload, ...]:
        """All files, the positives first and the reference last."""
        return (*self.estimate.files, *([self.reference] if self.reference else []))


Task = LibraryTask | InspectTask | EstimateTask | FollowUpTask
