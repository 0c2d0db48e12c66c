"""Sessions: what each page has sent and received, kept apart and deleted in the end."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from poscount.web.jobs import Job
from poscount.web.refusals import RefusedError
from poscount.web.schemas import ColumnMatch, Limits
from poscount.web.tasks import EstimateTask, Upload

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = "poscount-serve-"
# The path of a socket can have 104 to 108 bytes, and multiprocessing adds 33 to this one.
_LONGEST_PATH = 70
_ESTIMATES_KEPT = 5
# A session has one file of each of these.
_ONE_FILE = ("positives", "reference")


@dataclass
class Estimate:
    """A job, what it is to do, the folder with its results, and what followed it.

    `follow_ups` are the newest jobs of each kind: the check of its assumptions, and so on.
    """

    id: str
    directory: Path
    task: EstimateTask
    job: Job
    follow_ups: dict[str, Job] = field(default_factory=dict)


@dataclass
class Session:
    """Everything that belongs to one page; its name cannot be guessed."""

    id: str
    directory: Path
    touched: float
    left: float | None = None
    example: bool = False
    uploads: dict[str, Upload] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    incoming: int = 0
    reading: dict[str, Job] = field(default_factory=dict)
    columns: list[ColumnMatch] = field(default_factory=list)
    changes: int = 0
    closed: bool = False

    @property
    def tables(self) -> list[Upload]:
        """The files with a column that says what is known of each row."""
        return self._of_role("table")

    @property
    def positives(self) -> Upload | None:
        """The file that has the positives."""
        return next(iter([*self._of_role("positives"), *self.tables]), None)

    @property
    def unlabeled(self) -> list[Upload]:
        """The files that have unlabeled rows, in the order in which they came."""
        return [*self._of_role("unlabeled"), *self.tables]

    @property
    def negatives(self) -> list[Upload]:
        """The files of known negatives."""
        return self._of_role("negatives")

    @property
    def reference(self) -> Upload | None:
        """The other sample to compare with."""
        return next(iter(self._of_role("reference")), None)

    def _of_role(self, role: str) -> list[Upload]:
        return [upload for upload in self.uploads.values() if upload.role == role]

    @property
    def live(self) -> Estimate | None:
        """The estimate that waits or runs."""
        return next((e for e in self.estimates.values() if e.job.live), None)

    @property
    def last(self) -> Estimate | None:
        """The newest estimate, unless the files are not those that it was made from any more."""
        newest = next(reversed(self.estimates.values()), None)
        files = {file.id: file for file in self.uploads.values() if file.role != "reference"}
        same = newest and {file.id: file for file in newest.task.files} == files
        return newest if same else None

    @contextlib.contextmanager
    def receiving(self) -> Iterator[None]:
        """Keep the session alive while something comes in."""
        self.incoming += 1
        try:
            yield
        finally:
            self.incoming -= 1
            self.touched = time.monotonic()

    def leave(self) -> None:
        """Note that the page is gone: unless it comes back soon, so is the session."""
        self.left = time.monotonic()

    def upload(self, identifier: str) -> Upload:
        """Find a file."""
        if identifier not in self.uploads:
            raise RefusedError(404, "There is no such file in this session.")
        return self.uploads[identifier]

    def keep_upload(self, upload: Upload) -> None:
        """Keep a new file; there is one file of positives, and one reference."""
        self.example = self.example and upload.role == "reference"
        for old in self._of_role(upload.role) if upload.role in _ONE_FILE else ():
            if old.id != upload.id:
                self.remove_upload(old)
        self.uploads[upload.id] = upload
        self.changes += 1

    def remove_upload(self, upload: Upload) -> None:
        """Delete a file."""
        self.example = self.example and upload.role == "reference"
        Path(upload.path).unlink(missing_ok=True)
        self.uploads.pop(upload.id, None)
        self.changes += 1

    def estimate(self, identifier: str) -> Estimate:
        """Find an estimate."""
        if identifier not in self.estimates:
            raise RefusedError(404, "There is no such estimate in this session; it may be deleted.")
        return self.estimates[identifier]

    def keep_estimate(self, estimate: Estimate) -> None:
        """Keep a new estimate, and delete all but the last few."""
        self.estimates[estimate.id] = estimate
        for old in list(self.estimates.values())[:-_ESTIMATES_KEPT]:
            self.remove_estimate(old)

    def remove_estimate(self, estimate: Estimate) -> None:
        """Delete an estimate that has ended."""
        shutil.rmtree(estimate.directory, ignore_errors=True)
        self.estimates.pop(estimate.id, None)


class ServerDirectory:
    """A private directory of this process, for everything that its clients send.

    A running server has locked it. The system gives up the lock when the process ends, however it
    ends, so that the next server can tell what nobody needs any more.
    """

    def __init__(self) -> None:
        for old in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            if (lock := _lock(old)) is not None:
                if os.fstat(lock).st_uid == os.getuid():
                    shutil.rmtree(old, ignore_errors=True)
                os.close(lock)
        # Readable by nobody else: mkdtemp gives it mode 0700.
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        while (lock := _lock(self.path)) is None and fcntl is not None:
            # Another server took it for an old one before it was locked.
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = lock

    def keep_temporary_files(self) -> None:
        """Have everything temporary of this process, and of processes it starts, kept in here."""
        os.environ["TMPDIR"] = str(self.path)
        if len(str(self.path)) <= _LONGEST_PATH:
            tempfile.tempdir = str(self.path)

    def remove(self) -> None:
        """Delete the directory with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def _lock(directory: Path) -> int | None:
    """Lock a directory until this is closed; None if another server has, and on Windows."""
    if fcntl is None:
        return None
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(directory)
    except OSError:
        os.close(handle)
        return None
    return handle


class Sessions:
    """All sessions, in a private directory that is deleted with the last of them."""

    def __init__(self, limits: Limits, home: ServerDirectory) -> None:
        self.limits, self.home = limits, home
        self.root = home.path / "sessions"
        self.root.mkdir(mode=0o700)
        self._sessions: dict[str, Session] = {}

    def open(self) -> Session:
        """Begin a session."""
        if len(self._sessions) >= self.limits.sessions:
            raise RefusedError(
                503, f"There are {self.limits.sessions} sessions; close some of their pages."
            )
        name = secrets.token_urlsafe(24)
        session = Session(name, self.root / secrets.token_hex(16), time.monotonic())
        session.directory.mkdir(mode=0o700)
        self._sessions[name] = session
        return session

    def find(self, identifier: str) -> Session:
        """Find a session, and note that it is in use."""
        session = self._sessions.get(identifier)
        if session is None or self._is_expired(session):
            raise RefusedError(404, "This session does not exist or has expired; begin a new one.")
        session.touched, session.left = time.monotonic(), None
        return session

    def close(self, session: Session) -> None:
        """Delete a session and all its files; its jobs must have been cancelled."""
        session.closed = True
        self._sessions.pop(session.id, None)
        shutil.rmtree(session.directory, ignore_errors=True)

    def expired(self) -> list[Session]:
        """List the sessions that nobody has used for too long."""
        return [session for session in self._sessions.values() if self._is_expired(session)]

    def close_all(self) -> None:
        """Delete everything."""
        for session in list(self._sessions.values()):
            self.close(session)
        self.home.remove()

    def _is_expired(self, session: Session) -> bool:
        now, limits = time.monotonic(), self.limits
        if session.left is not None and now - session.left > limits.leave_seconds:
            return True
        busy = session.incoming > 0 or session.live is not None
        return now - session.touched > limits.idle_seconds and not busy
