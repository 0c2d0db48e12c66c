"""Sessions: what each client has sent and received, kept apart and deleted in the end."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from poscount.files.read_options import ReadOptions
from poscount.web.fair_queue import Owner
from poscount.web.jobs import Job
from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError, size
from poscount.web.schemas import EstimateRequest, FileContent
from poscount.web.server_directory import ServerDirectory
from poscount.web.tasks import EstimateTask, SentFile

_PACKED = (".gz", ".zst", ".zip", "")
_TEXT = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
_SUFFIXES = (
    *(kind + end for end in _PACKED for kind in _TEXT),
    *(".zip", ".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".parquet"),
)
# .gz, .zst and .zip may follow those of text.
_TOLD_SUFFIXES = ", ".join(suffix for suffix in _SUFFIXES if suffix.count(".") == 1)
_ESTIMATES_KEPT = 5


@dataclass
class Upload:
    """A file: where it is, how it is written and, once it is inspected, what is in it.

    `settings` says how it is written in the words of the form that came with it.
    """

    id: str
    name: str
    role: str
    path: Path
    read_options: ReadOptions
    settings: dict[str, str] = field(default_factory=dict)
    size: int = 0
    content: FileContent = field(default_factory=FileContent)

    @property
    def label(self) -> str:
        """What it is called beside other files, which may be other sheets of the same workbook."""
        sheet = self.read_options.sheet
        return self.name if sheet is None else f"{self.name} (sheet {sheet})"

    @property
    def sent(self) -> SentFile:
        """The file as workers know it."""
        return SentFile(str(self.path), self.name, self.role)


@dataclass
class Estimate:
    """A job, the files it was made from, the folder with its results, and what followed it.

    `follow_ups` are the newest jobs of each kind: the check of its assumptions, and so on.
    """

    id: str
    directory: Path
    task: EstimateTask
    wanted: EstimateRequest
    uploads: tuple[Upload, ...]
    job: Job
    follow_ups: dict[str, Job] = field(default_factory=dict)
    size: int = 0


@dataclass
class Session:
    """Everything that belongs to one client."""

    owner: Owner
    directory: Path
    touched: float
    left: float | None = None
    example: bool = False
    uploads: dict[str, Upload] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    incoming: int = 0
    reading: dict[str, Job] = field(default_factory=dict)
    closed: bool = False

    @property
    def id(self) -> str:
        """Its name, which is also its only key."""
        return self.owner.session

    @property
    def busy(self) -> bool:
        """Whether a file is coming in or an estimate waits or runs."""
        return self.incoming > 0 or self.live is not None

    @contextlib.contextmanager
    def receiving(self) -> Iterator[None]:
        """Keep the session alive while something comes in."""
        self.incoming += 1
        try:
            yield
        finally:
            self.incoming -= 1
            self.touched = time.monotonic()

    @property
    def live(self) -> Estimate | None:
        """The estimate that waits or runs."""
        return next((e for e in self.estimates.values() if e.job.live), None)

    @property
    def last(self) -> Estimate | None:
        """The newest estimate, unless the files are not those that it was made from any more."""
        newest = next(reversed(self.estimates.values()), None)
        same = newest is not None and newest.uploads == self.estimated
        return newest if same else None

    @property
    def estimated(self) -> tuple[Upload, ...]:
        """The files that estimates are made from: all but the reference."""
        return tuple(upload for upload in self.uploads.values() if upload.role != "reference")

    def of_role(self, role: str) -> list[Upload]:
        """List the uploads of one role, in the order in which they came."""
        return [upload for upload in self.uploads.values() if upload.role == role]

    def upload(self, identifier: str) -> Upload:
        """Find a file."""
        if identifier not in self.uploads:
            raise RefusedError(404, "There is no such file in this session.")
        return self.uploads[identifier]

    def estimate(self, identifier: str) -> Estimate:
        """Find an estimate."""
        if identifier not in self.estimates:
            raise RefusedError(404, "There is no such estimate in this session; it may be deleted.")
        return self.estimates[identifier]


class Sessions:
    """All sessions, in a private directory that is deleted with the last of them."""

    def __init__(self, limits: Limits, home: ServerDirectory) -> None:
        self.limits, self.home = limits, home
        self.root = home.path / "sessions"
        self.root.mkdir(mode=0o700)
        # Bytes on the disk, by client.
        self.disk: Counter[str] = Counter()
        self._sessions: dict[str, Session] = {}

    @property
    def used(self) -> int:
        """Bytes on the disk for all clients together."""
        return self.disk.total()

    def open(self, client: str) -> Session:
        """Begin a session with a name that nobody can guess."""
        if len(self._sessions) >= self.limits.sessions:
            raise RefusedError(503, "Too many people are using this server now; try again later.")
        clients = Counter(session.owner.client for session in self._sessions.values())
        if clients[client] >= self.limits.sessions_per_client:
            raise RefusedError(
                429,
                f"Your address has {clients[client]} sessions, as many as this server allows; "
                "close a page or delete a session.",
            )
        owner = Owner(client, secrets.token_urlsafe(24))
        session = Session(owner, self.root / secrets.token_hex(16), time.monotonic())
        session.directory.mkdir(mode=0o700)
        self._sessions[session.id] = session
        return session

    def find(self, identifier: str) -> Session:
        """Find a session, and note that it is in use."""
        session = self._sessions.get(identifier)
        if session is None or self._expired(session):
            raise RefusedError(404, "This session does not exist or has expired; begin a new one.")
        session.touched, session.left = time.monotonic(), None
        return session

    def leave(self, session: Session) -> None:
        """Note that the page of a session is gone: unless it comes back soon, so is the session."""
        session.left = time.monotonic()

    def take(self, session: Session, n_bytes: int) -> None:
        """Account for bytes that are about to be written."""
        client = session.owner.client
        if self.used + n_bytes > self.limits.disk_bytes:
            raise RefusedError(507, "The server's disk space for files is full; try again later.")
        if self.disk[client] + n_bytes > self.limits.disk_bytes_per_client:
            raise RefusedError(
                507,
                f"Your files have {size(self.limits.disk_bytes_per_client)} together, as much as "
                "this server keeps for one address; remove some.",
            )
        self.disk[client] += n_bytes

    def give_back(self, session: Session, n_bytes: int) -> None:
        """Account for bytes that were deleted."""
        client = session.owner.client
        self.disk[client] -= n_bytes
        if not self.disk[client]:
            del self.disk[client]

    def new_upload(
        self, session: Session, name: str, role: str, read_options: ReadOptions
    ) -> Upload:
        """Give a new file its place; what the client calls it is only shown, never a path."""
        shown = _shown_name(name)
        suffix = next((end for end in _SUFFIXES if shown.lower().endswith(end)), None)
        if suffix is None:
            raise RefusedError(
                415,
                f"{shown}: files with this extension cannot be read here; use one of "
                f"{_TOLD_SUFFIXES} (text also as .gz, .zst or .zip).",
                role,
            )
        # Two sheets of one workbook have one name, so that commands and code can be repeated.
        taken = {
            upload.name
            for upload in session.uploads.values()
            if upload.read_options.sheet == read_options.sheet
        }
        identifier = secrets.token_hex(8)
        path = session.directory / f"{identifier}{suffix}"
        return Upload(identifier, _untaken(shown, suffix, taken), role, path, read_options)

    def remove_upload(self, session: Session, upload: Upload) -> None:
        """Delete a file."""
        upload.path.unlink(missing_ok=True)
        self.give_back(session, upload.size)
        session.uploads.pop(upload.id, None)

    def keep_estimate(self, session: Session, estimate: Estimate) -> None:
        """Keep a new estimate, and delete all but the last few."""
        session.estimates[estimate.id] = estimate
        for old in list(session.estimates.values())[:-_ESTIMATES_KEPT]:
            self.remove_estimate(session, old)

    def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Delete an estimate that has ended."""
        shutil.rmtree(estimate.directory, ignore_errors=True)
        self.give_back(session, estimate.size)
        session.estimates.pop(estimate.id, None)

    def update_disk_usage(self, session: Session, estimate: Estimate) -> None:
        """Account for what an estimate has written."""
        n_bytes = sum(file.stat().st_size for file in estimate.directory.iterdir())
        self.give_back(session, estimate.size - n_bytes)
        estimate.size = n_bytes

    def close(self, session: Session) -> None:
        """Delete a session and all its files; its jobs must have been cancelled."""
        session.closed = True
        self._sessions.pop(session.id, None)
        n_bytes = sum(upload.size for upload in session.uploads.values())
        n_bytes += sum(estimate.size for estimate in session.estimates.values())
        self.give_back(session, n_bytes)
        shutil.rmtree(session.directory, ignore_errors=True)

    def expired(self) -> list[Session]:
        """List the sessions that nobody has used for too long."""
        return [session for session in self._sessions.values() if self._expired(session)]

    def close_all(self) -> None:
        """Delete everything."""
        for session in list(self._sessions.values()):
            self.close(session)
        self.home.remove()

    def _expired(self, session: Session) -> bool:
        now, limits = time.monotonic(), self.limits
        if session.left is not None and now - session.left > limits.leave_seconds:
            return True
        return now - session.touched > limits.idle_seconds and not session.busy


def _shown_name(name: str) -> str:
    r"""Reduce a name to its last part, without anything that cannot be printed.

    Examples
    --------
    >>> _shown_name("../../etc/passwd.csv"), _shown_name(r"C:\data\trap.csv")
    ('passwd.csv', 'trap.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    return "".join(c for c in last if c.isprintable())[-150:].strip() or "unnamed"


def _untaken(name: str, suffix: str, taken: set[str]) -> str:
    """Number a name that is taken.

    Examples
    --------
    >>> _untaken("a.csv", ".csv", {"a.csv", "a (2).csv"})
    'a (3).csv'
    """
    stem, number, candidate = name[: -len(suffix)], 1, name
    while candidate in taken:
        number += 1
        candidate = f"{stem} ({number}){name[-len(suffix) :]}"
    return candidate
