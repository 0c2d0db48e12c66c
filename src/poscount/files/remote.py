"""Files behind URLs: s3://, gs:// and the like through Arrow, https:// and others through fsspec.

The network is used only for URLs that the caller has named.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from poscount.errors import InputError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)(.*)", re.DOTALL)
# Arrow reads these itself, and faster than a file of Python.
_BY_ARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")
_HTTP = ("http", "https")
_FORBIDDEN = "you are not allowed to read it; check the credentials."
_UNREACHABLE = "its server cannot be reached; check the address and the network."
_ONLY_WHOLE = "its server gives files only as a whole, and this format needs parts; download it."
# Words in the errors of the libraries, by what they mean.
_SIGNS = {
    _FORBIDDEN: (
        "ACCESS_DENIED",
        "AccessDenied",
        "PERMISSION_DENIED",
        "Unauthorized",
        "Forbidden",
        "HTTP status 403",
        "HTTP status 401",
        "INVALID_ACCESS_KEY_ID",
        "SIGNATURE_DOES_NOT_MATCH",
    ),
    "there is no such file.": ("NO_SUCH_KEY", "NO_SUCH_BUCKET", "Not Found", "NOT_FOUND"),
    _UNREACHABLE: (
        "NETWORK_CONNECTION",
        "Cannot connect",
        "Could not connect",
        "Couldn't connect",
        "resolve host",
        "Connection refused",
        "timed out",
        "Timeout",
        "Connector",
        "Disconnected",
    ),
    _ONLY_WHOLE: ("Cannot seek streaming", "support range requests"),
}


def is_url(path: str) -> bool:
    r"""Tell whether a path is a URL.

    Examples
    --------
    >>> is_url("s3://traps/2026/night.csv"), is_url("traps/2026/night.csv"), is_url(r"C:\trap.csv")
    (True, False, False)
    """
    return _URL.match(path) is not None


def without_query(path: str) -> str:
    """Leave out what follows the path in a URL of HTTP.

    Examples
    --------
    >>> without_query("https://example.org/trap.csv?version=2")
    'https://example.org/trap.csv'
    """
    return re.split("[?#]", path)[0] if path.lower().startswith(_HTTP) else path


def open_url(url: str) -> Any:
    """Open a file behind a URL as a `pyarrow.NativeFile`."""
    place = _place(url)
    with _told(url):
        return place.filesystem.open_input_file(place.path)


def size_of_url(url: str) -> int:
    """Size in bytes; zero if the server does not tell."""
    return _info(url).size or 0


def check_url(url: str) -> None:
    """Raise an `InputError` unless there is a file, and something in it."""
    found = _info(url)
    if found.type.name == "NotFound":
        raise InputError("there is no such file.", file=url)
    if found.type.name == "Directory":
        raise InputError("this is a directory, not a file.", file=url)
    if found.size == 0:
        raise InputError("the file is empty.", file=url)


def matching_urls(url: str, supported: Callable[[str], bool]) -> list[str]:
    """Find the files of a URL: itself, those below a directory, or those that match a pattern.

    Parameters
    ----------
    url : str
    supported : callable
        Tells by the path below a directory whether a file there is wanted.

    Returns
    -------
    list of str
        In alphabetical order; empty if nothing matches.
    """
    place = _place(url)
    folder, pattern = place.path, re.escape(place.path.rstrip("/"))
    if any(mark in without_query(url) for mark in "*?["):
        pattern = _pattern(folder)
        # All folders before the first with a wildcard.
        folder = re.split(r"/[^/]*[*?\[]", folder)[0]
    elif not folder.endswith("/"):
        kind = _info(url).type.name
        if kind == "NotFound":
            raise InputError("there is no such file or directory.", file=url)
        if kind != "Directory":
            return [url]
    import pyarrow.fs

    below = pyarrow.fs.FileSelector(folder.rstrip("/"), recursive=True, allow_not_found=True)
    with _told(url):
        found = place.filesystem.get_file_info(below)
    matches = re.compile(f"(?:{pattern})(/.*)?", re.DOTALL)
    urls = []
    for one in found:
        match = matches.fullmatch(one.path)
        if match and one.type.name == "File" and (match[1] is None or supported(match[1][1:])):
            urls.append(place.start + one.path.removeprefix(place.base))
    return sorted(urls)


def unreachable(error: Exception, url: str) -> InputError | None:
    """Say in one sentence what kept a file from being read, if it is not the file itself."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file.", file=url)
    if isinstance(error, ConnectionError):
        return InputError(_UNREACHABLE, file=url)
    if isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403):
        return InputError(_FORBIDDEN, file=url)
    text = f"{type(error).__name__}: {error}"
    for sentence, signs in _SIGNS.items():
        if any(sign in text for sign in signs):
            return InputError(sentence, file=url)
    return None


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    try:
        yield
    except (InputError, ImportError):
        raise
    except Exception as error:  # clients of HTTP have errors of their own
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        known = unreachable(error, url)
        raise known or InputError(f"it cannot be read: {first}", file=url) from error


class _Place(NamedTuple):
    """A file system and a path in it; the URL begins with `start` where the path has `base`."""

    filesystem: Any
    path: str
    start: str
    base: str


def _place(url: str) -> _Place:
    match = _URL.match(url)
    assert match
    scheme, host, path = match.groups()
    with _told(url):
        filesystem, base = _connected(scheme.lower(), host)
    base = base.rstrip("/")
    return _Place(filesystem, base + path, f"{scheme}://{host}", base)


def _info(url: str) -> Any:
    filesystem, path, *_ = _place(url)
    with _told(url):
        found = filesystem.get_file_info(path)
        if found.type.name == "NotFound" and hasattr(filesystem, "handler"):
            # To fsspec, a file that it may not read, or not from this server, is not there either.
            try:
                filesystem.handler.fs.info(path)
            except FileNotFoundError as error:
                if error.__cause__ is not None and type(error.__cause__) is not type(error):
                    raise error.__cause__ from error
    return found


@functools.lru_cache(maxsize=16)
def _connected(scheme: str, host: str) -> tuple[Any, str]:
    """A file system, and its path of the host or bucket."""
    import pyarrow.fs

    start = f"{scheme}://{host}"
    if scheme in _BY_ARROW:
        return pyarrow.fs.FileSystem.from_uri(start if host else f"{start}/")
    try:
        import fsspec

        filesystem, path = fsspec.core.url_to_fs(start)
    except ImportError as error:
        raise ImportError(
            f"Reading {scheme}:// needs a package that is not installed: pip install "
            f'"poscount[remote]" brings that for https://. ({error})'
        ) from error
    except ValueError as error:
        raise InputError(
            f"nothing here reads {scheme}://; use a path, or s3://, gs://, abfs:// or https://.",
            file=start,
        ) from error
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem)), path


def _pattern(path: str) -> str:
    """A glob as a regular expression; ``**`` is any number of folders.

    Examples
    --------
    >>> bool(re.fullmatch(_pattern("traps/**/[a-c]*.csv"), "traps/2026/may/b.csv"))
    True
    >>> bool(re.fullmatch(_pattern("traps/*.csv"), "traps/2026/b.csv"))
    False
    """
    parts = []
    for part in path.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
            continue
        for piece in re.split(r"(\*|\?|\[[^\]]+\])", part):
            if piece in ("*", "?"):
                # A wildcard stays within its folder.
                parts.append("[^/]*" if piece == "*" else "[^/]")
            else:
                is_set = piece.startswith("[") and piece.endswith("]")
                parts.append(piece.replace("[!", "[^", 1) if is_set else re.escape(piece))
        parts.append("/")
    return "".join(parts).removesuffix("/")
