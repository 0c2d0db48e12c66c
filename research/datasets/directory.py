"""The data directory: where it is, and the stored files of the catalog."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from poscount.errors import InputError
from research.datasets.catalog import Entry
from research.datasets.dataset import Content, read_content

VARIABLE = "POSCOUNT_DATA"


def data_directory() -> Path:
    r"""Directory of the stored data sets.

    It need not exist. Without the environment variable ``POSCOUNT_DATA`` it is the usual place for
    caches on this platform: ``~/.cache/poscount`` (or ``$XDG_CACHE_HOME/poscount``) on Linux,
    ``~/Library/Caches/poscount`` on macOS, ``%LOCALAPPDATA%\poscount`` on Windows.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "poscount"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "poscount"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say to ignore a path that is not absolute.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "poscount"


def stored_path(entry: Entry, directory: Path) -> Path:
    """Where the file of an entry is, or would be."""
    return directory / f"{entry.file}.csv.gz"


def read_stored(entry: Entry, directory: Path) -> Content:
    """Read the stored file of an entry, and check that it is the right one."""
    path = stored_path(entry, directory)
    if not path.exists():
        how = (
            f"fetch it with `python -m research datasets fetch {entry.key}`"
            if entry.address
            else f"put it there yourself ({entry.note} See {entry.page}.)"
        )
        raise InputError(
            f"the data set {entry.key} is not in this directory; {how}, or set {VARIABLE} to the "
            "directory that has it.",
            file=str(path),
        )
    return read_entry(entry, path)


def read_entry(entry: Entry, path: Path) -> Content:
    """Read a file in the stored form; check its size, and its values if their checksum is known."""
    content = read_content(path, entry.dropped)
    rows, columns = content.features.shape
    if (rows, columns) != (entry.rows, entry.n_features):
        raise InputError(
            f"{rows} rows x {columns} features, but the data set {entry.key} has {entry.rows} x "
            f"{entry.n_features}; remove the file and fetch it again.",
            file=str(path),
        )
    if entry.exact and entry.sha256 is not None and content.sha256 != entry.sha256:
        raise InputError(
            f"the checksum of the values is {content.sha256}, not {entry.sha256}, that of the "
            f"data set {entry.key}; remove the file and fetch it again.",
            file=str(path),
        )
    return content
