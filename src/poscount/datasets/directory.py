"""The data directory: where it is, and the stored files of the catalog with their receipts."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from poscount.datasets.catalog import Entry
from poscount.datasets.dataset import Content, reread_content
from poscount.errors import InputError
from poscount.storage.writer import write_whole

VARIABLE = "POSCOUNT_DATA"


def data_directory() -> Path:
    r"""Directory of the stored data sets and of the list of registered ones.

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


def read_stored(entry: Entry, directory: Path) -> Content:
    """Read the stored file of an entry, and check that it is the right one."""
    path = directory / f"{entry.file}.csv.gz"
    if not path.exists():
        how = (
            f"fetch it with `poscount datasets fetch {entry.key}`"
            if entry.address
            else f"put it there yourself ({entry.note} See {entry.page}.)"
        )
        raise InputError(
            f"the data set {entry.key} is not in this directory; {how}, or set {VARIABLE} to the "
            "directory that has it.",
            file=str(path),
        )
    content = read_entry(entry, path)
    receipt = read_receipt(path)
    known = {entry.sha256, receipt.sha256 if receipt else None} - {None}
    if known and content.sha256 not in known:
        raise InputError(
            f"the checksum of the values is {content.sha256}, not that of the data set "
            f"{entry.key}; remove the file and fetch it again.",
            file=str(path),
        )
    return content


def read_entry(entry: Entry, path: Path, source: str | None = None) -> Content:
    """Read a file in the stored form, and check its size.

    Parameters
    ----------
    entry : Entry
    path : Path
    source : str, optional
        Where the file came from, for errors; the path by default.
    """
    source = source or str(path)
    content = reread_content(path, "class", entry.dropped, source)
    expected = (entry.rows, entry.n_features)
    if content.features.shape != expected:
        rows, columns = content.features.shape
        raise InputError(
            f"{rows} rows x {columns} features, but the data set {entry.key} has {expected[0]} x "
            f"{expected[1]}; remove the file and fetch it again.",
            file=source,
        )
    return content


@dataclass(frozen=True)
class Receipt:
    """Where a stored file came from: a note beside it, so that a later change is noticed.

    Attributes
    ----------
    address : str
        What was downloaded.
    source_sha256 : str
        Checksum of the downloaded bytes.
    sha256 : str
        Checksum of the values in the stored file.
    verified : bool
        Whether `sha256` was known beforehand. If not, it is trusted because it was the first.
    """

    address: str
    source_sha256: str
    sha256: str
    verified: bool


def read_receipt(path: Path) -> Receipt | None:
    """Receipt of a stored file, or None if it was not fetched."""
    place = receipt_path(path)
    if not place.exists():
        return None
    try:
        return Receipt(**json.loads(place.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError(
            "this note about a download is damaged; remove it and fetch the data set again.",
            file=str(place),
        ) from error


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write the receipt of a stored file."""
    write_whole(receipt_path(path), f"{json.dumps(asdict(receipt), indent=1)}\n".encode())


def receipt_path(path: Path) -> Path:
    """Path of the receipt of a stored file."""
    return path.with_name(f"{path.name}.json")
