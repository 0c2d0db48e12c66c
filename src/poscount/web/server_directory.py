"""Where one server keeps its files, and what becomes of those of servers that were killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

PREFIX = "poscount-serve-"
_LOCK = "lock"
# The path of a socket can have 104 to 108 bytes, and multiprocessing adds 33 to this one.
_LONGEST_PATH = 70
# A directory without a lock belongs to a server that was killed, or that is just starting.
_ABANDONED_SECONDS = 3600.0


class ServerDirectory:
    """A private directory of this process.

    A running server holds a lock on a file in it. The system gives up the lock when the process
    ends, however it ends, so that the next server can tell what nobody needs any more. Process
    numbers, which are used again, could not say so.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        # Readable by nobody else: mkdtemp gives it mode 0700.
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it has its name, so that nobody sees it without its lock.
        unnamed = self.path / f"{_LOCK}.new"
        self._lock = open(unnamed, "xb")  # noqa: SIM115 (open as long as the server runs)
        _acquire(self._lock)
        unnamed.rename(self.path / _LOCK)

    def keep_temporary_files(self) -> None:
        """Have everything temporary of this process, and of processes it starts, kept in here."""
        os.environ["TMPDIR"] = str(self.path)
        if len(str(self.path)) <= _LONGEST_PATH:
            tempfile.tempdir = str(self.path)

    def remove(self) -> None:
        """Delete the directory with everything in it."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_abandoned() -> None:
    """Delete the directories of this user's servers that run no more."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_private(path) and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_private(path: Path) -> bool:
    """Tell whether it is a directory of this user that nobody else could have put anything into."""
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode):
        return False
    return sys.platform == "win32" or (
        about.st_uid == os.getuid() and stat.S_IMODE(about.st_mode) == 0o700
    )


def _is_abandoned(path: Path) -> bool:
    try:
        with open(path / _LOCK, "r+b") as lock:
            _acquire(lock)
    except FileNotFoundError:
        return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    except OSError:
        return False  # its server runs
    return True


def _acquire(file: IO[bytes]) -> None:
    """Lock a file until it is closed; an `OSError` if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
