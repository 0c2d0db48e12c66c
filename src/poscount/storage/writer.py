"""The one way to write a file: whole or not at all, never over a device or an input.

A file is written under a temporary name beside its target, which it then replaces. Links are
followed, permissions are kept, and errors have the name that the user gave.
"""

from __future__ import annotations

import csv
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from poscount.errors import InputError

AnyPath = str | os.PathLike[str]

PREFIX = ".poscount-writing-"
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_CSV_LINE_END = "\r\n"


def is_standard_output(path: AnyPath) -> bool:
    """Tell whether a name means standard output.

    Examples
    --------
    >>> is_standard_output("-"), is_standard_output("model.poscount")
    (True, False)
    """
    return os.fspath(path) in _STANDARD_OUTPUT


def write_whole(path: AnyPath, content: bytes) -> None:
    """Write a file completely or not at all; ``-`` is standard output.

    Raises
    ------
    InputError
        Something that is not a regular file has this name.
    OSError
        It cannot be written, for example because the disk is full; `filename` is `path`.
    """
    if is_standard_output(path):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing(path: AnyPath, suffix: str = "") -> Iterator[Path]:
    """Yield an empty temporary file that replaces `path` unless the block raises an error.

    A process that is killed leaves its temporary file behind, beside the target.

    Parameters
    ----------
    path : path
        What exists there must be a regular file, or a link to one: then the link stays.
    suffix : str
        How the temporary name ends.
    """
    target = _target(path)
    # Of a fixed length, because the name of the target may be as long as names can be.
    name = f"{target.parent / PREFIX}{secrets.token_hex(8)}{suffix}"
    with _told_of(path):
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            yield Path(name)
        except OSError as error:
            # Errors of other files that the block uses are its own affair.
            if error.filename in (None, name):
                raise _failed(path, error) from error
            raise
        with _told_of(path):
            _take_permissions(handle, target)
            # Otherwise, after a power failure, the new name may have the content of no file.
            os.fsync(handle)
            # Windows replaces no file by one that is open.
            os.close(handle)
            handle = -1
            os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    finally:
        if handle >= 0:
            os.close(handle)


class _UnixLines:
    """A text file in which the line ends of the csv module are line feeds."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, record: str) -> int:
        return self.file.write(f"{record.removesuffix(_CSV_LINE_END)}\n")


def csv_writer(file: IO[str]) -> Any:
    r"""A writer of the csv module, with line feeds as line ends.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> _ = csv_writer(file).writerow(["one\rtwo", 3])
    >>> file.getvalue()
    '"one\rtwo",3\n'
    """
    # Told to write line feeds itself, Python 3.11 does not quote a carriage return in a cell, and
    # readers take it for the end of the line.
    return csv.writer(_UnixLines(file), lineterminator=_CSV_LINE_END)


def check_output(path: AnyPath | None, inputs: Iterable[AnyPath | None] = ()) -> None:
    """Refuse a name for an output before any work is done for it.

    Parameters
    ----------
    path : path or None
        Where something is to be written; None if nothing is.
    inputs : iterable of path or None
        Files that are going to be read, under whatever names; None for what is not given.

    Raises
    ------
    InputError
        It is not a regular file, or it is one of the inputs.
    OSError
        There is no such directory, or it cannot be written to.

    Examples
    --------
    >>> check_output("/dev/null")
    Traceback (most recent call last):
    poscount.errors.InputError: /dev/null: this is a device; write to a regular file...
    """
    if path is None or is_standard_output(path):
        return
    target = _target(path)
    if not target.exists():
        return
    for file in inputs:
        if file is not None and os.path.exists(file) and os.path.samefile(file, target):
            raise InputError(
                f"this is also an input ({os.fspath(file)}), which would be lost; write to another "
                "file.",
                file=os.fspath(path),
            )


def _target(path: AnyPath) -> Path:
    """The file that a name leads to, after all links, if it can be written."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        folder = target.parent if os.path.islink(path) else Path(path).parent
        raise FileNotFoundError(errno.ENOENT, "There is no such directory", str(folder))
    with _told_of(path):
        try:
            # Of the name as given, because a chain of links may have no end.
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode):
            raise InputError(
                f"this is {_KINDS.get(stat.S_IFMT(mode), 'no file')}; write to a regular file, or "
                "to - for standard output.",
                file=os.fspath(path),
            )
        if mode is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "This file is write-protected")
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, "You are not allowed to write to this directory")
    return target


def _take_permissions(handle: int, target: Path) -> None:
    """Give a new file the owner and the permissions of the one that it replaces."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    if hasattr(os, "fchown"):  # not on Windows
        with suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, old.st_mode & 0o777)


@contextmanager
def _told_of(path: AnyPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(path, error) from error


def _failed(path: AnyPath, error: OSError) -> OSError:
    """The same error, of the file that the user named; nobody knows the temporary one."""
    if error.errno is None:  # matplotlib and others raise some of their own
        return OSError(f"{os.fspath(path)}: {error}")
    return OSError(error.errno, error.strerror, os.fspath(path))
