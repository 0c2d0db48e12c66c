"""Files that somebody has sent, and what the server asks its workers to do with them.

Tasks are pickled on their way to a worker. The server imports this module, so it imports nothing
heavy.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poscount import registry
from poscount.errors import InputError
from poscount.files.read_options import SUFFIXES, ColumnDescription, ReadOptions
from poscount.web.schemas import EstimateRequest, ExampleName, FollowUpRequest, Limits

_SUFFIXES = (*(each for kind in SUFFIXES if kind != "Arrow" for each in SUFFIXES[kind]), ".zip")
KNOWN_SUFFIXES = ", ".join(suffix for suffix in _SUFFIXES if suffix.count(".") == 1)

# The page does not offer these: their time grows faster than the number of rows, or is seconds even
# for a small sample.
_SLOW = ("en", "pe", "km1", "km2")

AVAILABLE_METHODS = sorted(
    (name for name in registry.METHODS if name not in _SLOW),
    key=lambda name: name != registry.DEFAULT_METHOD,
)

# Files of the examples, and their forms. Those of the first are the library's.
EXAMPLES: dict[ExampleName, dict[str, dict[str, str]]] = {
    "insects": {"positives.csv": {"role": "positives"}, "trap.csv.gz": {"role": "unlabeled"}},
    "register": {"register.csv.gz": {"role": "table", "label": "diagnosed"}},
    "species": {"penguins.csv.gz": {"role": "table", "label": "species"}},
}

# Told what is being done and, if that is known, which part of it is done.
ReportStep = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Upload:
    """A file of a session.

    Attributes
    ----------
    id : str
    name : str
        What the client calls it.
    role : str
        "positives", "unlabeled", "negatives", "reference" or "table".
    path : str
    read_options : ReadOptions
        How it is written.
    settings : dict
        What was said about that, in the words of the form that it came with.
    size : int
    sha256 : str
    rows : int
    reading : str
        How it is read, where that was guessed.
    description : str
        Path of the file with everything else that the inspection found. The server itself never
        opens it, because it grows with the number of columns.
    """

    id: str
    name: str
    role: str
    path: str
    read_options: ReadOptions
    settings: dict[str, str] = field(default_factory=dict)
    size: int = 0
    sha256: str = ""
    rows: int = 0
    reading: str = ""
    description: str = ""

    @functools.cached_property
    def described(self) -> dict[str, Any]:
        """What the inspection found: `columns`, `preview`, `top`, `sketches` and `by_label`."""
        return json.loads(Path(self.description).read_bytes())

    @functools.cached_property
    def columns(self) -> tuple[ColumnDescription, ...]:
        """What is in each column."""
        return tuple(map(_column, self.described["columns"]))

    @property
    def label(self) -> str:
        """What it is called beside other files, which may be other sheets of the same workbook."""
        sheet = self.read_options.sheet
        return self.name if sheet is None else f"{self.name} (sheet {sheet})"

    @property
    def default_features(self) -> tuple[str, ...] | None:
        """The columns that the command line would use, or None if it would refuse the file."""
        if any(column.problem for column in self.columns):
            return None
        return tuple(column.name for column in self.columns if column.why_not_used is None)

    def heeds(self, setting: str) -> bool:
        """Tell whether a setting means anything for a file of this kind."""
        workbook = self.path.endswith(SUFFIXES["Excel"])
        parquet = self.path.endswith(".parquet")
        if setting in ("delimiter", "encoding", "row_names"):
            return not workbook and not parquet
        if setting in ("header_row", "footer"):
            return not parquet
        if setting == "sheet":
            return workbook
        # The rest is about what is in the cells; those of Parquet have types, but may have signs.
        return not parquet or setting in ("na", "day_first")


def _column(column: dict[str, Any]) -> ColumnDescription:
    """Give the description of a column back what JSON has not: its errors."""
    wrong = {name: column[name] for name in ("problem", "no_periods") if column[name] is not None}
    return ColumnDescription(
        **{**column, **{name: InputError(**error) for name, error in wrong.items()}}
    )


def known_suffix(name: str) -> str | None:
    """Give the extension of a name, if files with it can be read."""
    # The longest: what is packed ends like what is in it, and more.
    return max((each for each in _SUFFIXES if name.lower().endswith(each)), key=len, default=None)


def shown_name(name: str) -> str:
    r"""Reduce a name to its last part, without anything that cannot be printed.

    Examples
    --------
    >>> shown_name("../../etc/passwd.csv"), shown_name(r"C:\data\trap.csv")
    ('passwd.csv', 'trap.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    return "".join(c for c in last if c.isprintable())[-150:].strip() or "unnamed"


def untaken_name(name: str, suffix: str, taken: set[str]) -> str:
    """Number a name that is taken.

    Examples
    --------
    >>> untaken_name("a.csv", ".csv", {"a.csv", "a (2).csv"})
    'a (3).csv'
    """
    stem, number, candidate = name[: -len(suffix)], 1, name
    while candidate in taken:
        number += 1
        candidate = f"{stem} ({number}){name[-len(suffix) :]}"
    return candidate


@dataclass(frozen=True)
class LibraryTask:
    """Import the library, and say where the files of the example are."""

    files: tuple[Upload, ...] = ()


@dataclass(frozen=True)
class InspectTask:
    """Guess how a file is written, read it through, and write down what is in it.

    Attributes
    ----------
    file : Upload
    said : tuple of str
        The options that are not to be guessed.
    others : tuple of Upload
        The other files of the session: what text in cells means is the same in all of them.
    limits : Limits
    """

    file: Upload
    said: tuple[str, ...]
    others: tuple[Upload, ...]
    limits: Limits

    @property
    def files(self) -> tuple[Upload, ...]:
        """All files."""
        return (self.file, *self.others)


@dataclass(frozen=True)
class MatchTask:
    """Say how the columns of all files of a session match, and what can be done with each of them.

    Attributes
    ----------
    uploads : tuple of Upload
    positives : Upload, optional
    unlabeled : tuple of Upload
    most_groups : int
    path : str
        Where to write the `files` and `columns` of `poscount.web.schemas.SessionInfo`.
    """

    uploads: tuple[Upload, ...]
    positives: Upload | None
    unlabeled: tuple[Upload, ...]
    most_groups: int
    path: str

    @property
    def files(self) -> tuple[Upload, ...]:
        """No files: their descriptions are all that is needed."""
        return ()


@dataclass(frozen=True)
class EstimateTask:
    """Fit a method on the positives and estimate the prevalence of the unlabeled files.

    Attributes
    ----------
    directory : str
        Where to write the results.
    wanted : EstimateRequest
    positives : Upload
        With a label column, the first of the unlabeled files, which have all rows.
    unlabeled, negatives : tuple of Upload
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
    negatives: tuple[Upload, ...] = ()

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.wanted.method or registry.DEFAULT_METHOD

    @property
    def options(self) -> dict[str, Any]:
        """Parameters of the method; None leaves one at its default."""
        wanted = self.wanted
        return {
            "confidence": wanted.confidence,
            "recognisable": wanted.recognisable,
            "n_resamples": wanted.bootstrap,
            "random_state": wanted.random_state,
        }

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
        known = () if self.wanted.label is not None else (self.positives, *self.negatives)
        return (*known, *self.unlabeled)


@dataclass(frozen=True)
class CheckTask:
    """Refuse an estimate whose columns do not exist or cannot be used as it wants.

    Attributes
    ----------
    estimate : EstimateTask
    matches : str
        Path of what a `MatchTask` has written.
    """

    estimate: EstimateTask
    matches: str

    @property
    def files(self) -> tuple[Upload, ...]:
        """No files: their descriptions are all that is needed."""
        return ()


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


Task = LibraryTask | InspectTask | MatchTask | CheckTask | EstimateTask | FollowUpTask
