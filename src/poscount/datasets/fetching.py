"""Fetch a data set of the catalog: download, convert and check it, and only then store it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from poscount.datasets import catalog, overlaps
from poscount.datasets.catalog import Entry
from poscount.datasets.converters import CONVERTERS
from poscount.datasets.directory import (
    Receipt,
    data_directory,
    read_entry,
    read_receipt,
    read_stored,
    receipt_path,
    write_receipt,
)
from poscount.datasets.download import cannot_write, download, read_json
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.storage.writer import csv_writer, replacing


class Fetched(NamedTuple):
    """A stored file, and where it came from (None if it was already there, without a receipt)."""

    path: Path
    receipt: Receipt | None
    new: bool


def fetch(
    name: str,
    *,
    directory: str | os.PathLike[str] | None = None,
    base: str | None = None,
    progress: OnProgress | None = None,
) -> Fetched:
    """Download a data set of the catalog and store it for `load`.

    The download is converted and checked under a temporary name. If the catalog has the checksum of
    the values, a file with another checksum is not kept. If it has none, the first download is
    trusted: its checksums are noted in ``<file>.csv.gz.json``, and a later download with other
    bytes is refused.

    Parameters
    ----------
    name : str
        A letter or file name of the catalog.
    directory : path-like, optional
        Where to store it; `data_directory` by default.
    base : str, optional
        A mirror: the scheme and host to use instead of those in the catalog's addresses.
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes.

    Returns
    -------
    Fetched
        The stored file. If it was already there, nothing is downloaded.

    Raises
    ------
    InputError
        What went wrong, and whether another try may help.
    """
    entry = _fetchable(name)
    folder = data_directory() if directory is None else Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{entry.file}.csv.gz"
    if target.exists():
        read_stored(entry, folder)
        return Fetched(target, read_receipt(target), new=False)
    address, md5 = _located(entry, base)
    part = folder / f".{entry.file}.part"
    download(address, part, progress)
    try:
        receipt = _converted(entry, part, target, address, md5)
        write_receipt(target, receipt)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        # The download is complete, and has been either used or rejected.
        part.unlink()
    return Fetched(target, receipt, new=True)


def _fetchable(name: str) -> Entry:
    entry = catalog.find(name)
    if entry is None:
        if name in overlaps.NAMES:
            raise ValueError(f"{name!r} is generated when it is loaded: there is nothing to fetch.")
        raise ValueError(
            f"The catalog has no data set {name!r}; it has {', '.join(catalog.names())}."
        )
    if entry.address is None:
        raise ValueError(f"{entry.key} is not fetched. {entry.note} See {entry.page}.")
    return entry


def _located(entry: Entry, base: str | None) -> tuple[str, str | None]:
    """Address of the file, and its MD5 if the source states it."""
    address = _rebased(str(entry.address), base)
    if "/api/v1/json/data/" not in address:
        return address, None
    try:
        description = read_json(address)["data_set_description"]
        return _rebased(description["url"], base), description.get("md5_checksum")
    except (KeyError, TypeError) as error:
        raise InputError("the answer does not say where the file is.", file=address) from error


def _rebased(address: str, base: str | None) -> str:
    if base is None:
        return address
    return base.rstrip("/") + urlsplit(address).path


def _converted(entry: Entry, part: Path, target: Path, address: str, md5: str | None) -> Receipt:
    if md5 is not None and _digest(part, "md5") != md5:
        raise InputError("the MD5 is not the one that the source states.", file=address)
    source_sha256 = _digest(part, "sha256")
    earlier = read_receipt(target)
    if earlier and not earlier.verified and earlier.source_sha256 != source_sha256:
        raise InputError(
            f"the file is not the one that was fetched before: its sha256 is {source_sha256}, and "
            f"was {earlier.source_sha256}; if you trust the new one, remove "
            f"{receipt_path(target)}.",
            file=address,
        )
    # The reader of files goes by the suffix.
    with replacing(target, ".csv.gz") as temporary:
        _store(entry, part, temporary, address)
        content = read_entry(entry, temporary, address)
        known = entry.sha256 if entry.exact else None
        if known is not None and content.sha256 != known:
            raise InputError(
                f"the checksum of the values is {content.sha256}, not {known}; the file is not "
                "kept. Either the download is damaged or the source has changed: see "
                f"{entry.page}.",
                file=address,
            )
    return Receipt(address, source_sha256, content.sha256, known is not None)


def _store(entry: Entry, part: Path, path: Path, address: str) -> None:
    """Write the stored form; without a timestamp, so that equal content gives equal bytes."""
    signs = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, LookupError, StopIteration)
    with (
        open(path, "wb") as file,
        gzip.GzipFile("", "wb", 6, fileobj=file, mtime=0) as zipped,
        io.TextIOWrapper(zipped, encoding="utf-8", newline="") as text,
    ):
        writer = csv_writer(text)
        try:
            writer.writerows(CONVERTERS[entry.converter](part))
        except (*signs, csv.Error, RuntimeError) as error:
            raise InputError(
                f"the file is damaged, or not in the form that the data set {entry.key} used to "
                f"have ({error}).",
                file=address,
            ) from error


def _digest(path: Path, algorithm: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
