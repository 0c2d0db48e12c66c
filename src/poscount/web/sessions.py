"""Sessions: what each page has sent and received, kept apart and deleted in the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poscount.web.jobs import Job, JobQueue
from poscount.web.refusals import RefusedError
from poscount.web.schemas import Limits
from poscount.web.tasks import EstimateTask, Task, Upload

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = "poscount-serve-"
# The path of a socket can have 104 to 108 bytes, and multiprocessing adds 33 to this one.
_LONGEST_PATH = 70
_ESTIMATES_KEPT = 5


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

    async def cancel(self) -> None:
        """Stop it and what follows it, and wait until nothing of it runs."""
        for job in (self.job, *self.follow_ups.values()):
            job.cancel()
            await job.ended()


@dataclass
class Session:
    """Everything that belongs to one page; its name cannot be guessed.

    `matches` is the path of what the last `MatchTask` has written about the files, and `pages` how
    many pages show the session. Whoever changes the files or begins an estimate holds the `lock`.
    """

    id: str
    directory: Path
    touched: float
    left: float | None = None
    pages: int = 1
    example: bool = False
    uploads: dict[str, Upload] = field(default_factory=dict)
    matches: str = ""
    estimates: dict[str, Estimate] = field(default_factory=dict)
    incoming: int = 0
    jobs: dict[Job, str] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    closed: bool = False

    @property
    def tables(self) -> list[Upload]:
        """The files with a column that says what is known of each row."""
        return of_role(self.uploads, "table")

    @property
    def reference(self) -> Upload | None:
        """The other sample to compare with."""
        return next(iter(of_role(self.uploads, "reference")), None)

    @property
    def live(self) -> Estimate | None:
        """The estimate that waits or runs."""
        return next((e for e in self.estimates.values() if e.job.live), None)

    @property
    def last(self) -> Estimate | None:
        """The newest estimate, unless the files are not those that it was made from any more."""
        newest = next(reversed(self.estimates.values()), None)
        same = newest and {file.id: file for file in newest.task.files} == counted(self.uploads)
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

    @contextlib.asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Be the only one who changes it, and leave no file behind that belongs to nothing.

        No estimate is disturbed; what follows earlier ones, which is out of date, is stopped.
        """
        async with self.lock:
            self.require_open()
            self.require_idle()
            for estimate in list(self.estimates.values()):
                await estimate.cancel()
            try:
                yield
            finally:
                if not self.closed:
                    self.tidy()

    async def result_of(self, queue: JobQueue, task: Task, name: str = "") -> Any:
        """Have something done while it is being changed, and wait for the result."""
        self.require_open()
        job = queue.submit(task)
        self.jobs[job] = name
        try:
            await job.ended()
        finally:
            del self.jobs[job]
        self.require_open()
        return job.answer()

    def require_open(self) -> None:
        """Refuse to go on in a session that has been deleted meanwhile."""
        if self.closed:
            raise RefusedError(404, "This session was closed meanwhile.")

    def require_idle(self) -> None:
        """Refuse to change what an estimate is being made from."""
        if self.live is not None:
            raise RefusedError(409, "This session has an estimate running; cancel it or wait.")

    def leave(self) -> None:
        """Note that a page is gone: unless one comes back soon, so is the session with the last."""
        self.pages -= 1
        if self.pages <= 0:
            self.left = time.monotonic()

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

    def keep_estimate(self, estimate: Estimate) -> None:
        """Keep a new estimate, and forget all but the last few."""
        self.estimates[estimate.id] = estimate
        for old in list(self.estimates)[:-_ESTIMATES_KEPT]:
            del self.estimates[old]

    def tidy(self) -> None:
        """Delete what belongs to none of its files and estimates; nothing may be coming in."""
        files = [path for file in self.uploads.values() for path in (file.path, file.description)]
        used = {self.matches, *files, *(str(e.directory) for e in self.estimates.values())}
        for path in self.directory.iterdir():
            if str(path) not in used:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def of_role(uploads: Mapping[str, Upload], role: str) -> list[Upload]:
    """Files that are used as one thing, in the order in which they came."""
    return [upload for upload in uploads.values() if upload.role == role]


def counted(uploads: Mapping[str, Upload]) -> dict[str, Upload]:
    """The files that an estimate is made from."""
    return {name: upload for name, upload in uploads.items() if upload.role != "reference"}


def positives_and_unlabeled(uploads: Mapping[str, Upload]) -> tuple[Upload | None, list[Upload]]:
    """The file that has the positives, and those that have unlabeled rows; tables have both."""
    positives, unlabeled, tables = (
        of_role(uploads, role) for role in ("positives", "unlabeled", "table")
    )
    return next(iter([*positives, *tables]), None), [*unlabeled, *tables]


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

    def forget(self, session: Session) -> bool:
        """Let nobody find a session any more; whether it could still be found."""
        session.closed = True
        return self._sessions.pop(session.id, None) is not None

    def expired(self) -> list[Session]:
        """List the sessions that nobody has used for too long."""
        return [session for session in self._sessions.values() if self._is_expired(session)]

    def close_all(self) -> None:
        """Delete everything; all jobs must have been stopped."""
        for session in list(self._sessions.values()):
            self.forget(session)
        self.home.remove()

    def _is_expired(self, session: Session) -> bool:
        now, limits = time.monotonic(), self.limits
        if session.left is not None and now - session.left > limits.leave_seconds:
            return True
        busy = session.incoming > 0 or session.live is not None
        return now - session.touched > limits.idle_seconds and not busy
