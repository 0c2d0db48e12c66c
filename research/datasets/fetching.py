"""Fetch a data set of the catalog: download, convert and check it, and only then store it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.client
import io
import json
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from poscount import __version__
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.storage.writer import csv_writer, replacing
from research.datasets import catalog, overlaps
from research.datasets.catalog import Entry
from research.datasets.converters import CONVERTERS
from research.datasets.directory import data_directory, read_entry, read_stored, stored_path

TIMEOUT = 30.0  # seconds without any byte
_CHUNK = 1 << 16
_AGENT = f"poscount/{__version__}"
# What a converter raises for a file that is not in the form that it expects.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    csv.Error,
)


def fetch(name: str, *, base: str | None = None, progress: OnProgress | None = None) -> Path:
    """Download a data set of the catalog and store it in the data directory for `load`.

    The download is converted and checked under a temporary name. A file with another size, or
    with another checksum than the catalog's, is not kept.

    Parameters
    ----------
    name : str
        A key or file name of the catalog.
    base : str, optional
        A mirror: the scheme and host to use instead of those in the catalog's addresses.
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes; the total is 0 if the server does not say.

    Returns
    -------
    Path
        The stored file. If it was already there, it is checked and nothing is downloaded.

    Raises
    ------
    InputError
        What went wrong with the download or with its content.
    """
    entry = _fetchable(name)
    folder = data_directory()
    target = stored_path(entry, folder)
    if target.exists():
        read_stored(entry, folder)
        return target
    folder.mkdir(parents=True, exist_ok=True)
    address, md5 = _located(entry, base)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as temporary:
        downloaded = Path(temporary) / "download"
        _download(address, downloaded, progress)
        if md5 is not None and _md5(downloaded) != md5:
            raise InputError("the MD5 is not the one that the source states.", file=address)
        # The reader of files goes by the suffix.
        with replacing(target, ".csv.gz") as converted:
            _convert(entry, downloaded, converted, address)
            try:
                read_entry(entry, converted)
            except InputError as error:
                raise InputError(
                    f"{error.message} It is not kept: either the download is damaged or the source "
                    f"has changed, see {entry.page}.",
                    file=address,
                ) from error
    return target


def _fetchable(name: str) -> Entry:
    entry = catalog.find(name)
    if entry is None:
        if name in overlaps.NAMES:
            raise ValueError(f"{name!r} is generated when it is loaded: there is nothing to fetch.")
        raise ValueError(
            f"The catalog has no data set {name!r}; it has {', '.join(catalog.CATALOG)}."
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
        with _opened(address) as response:
            description = json.loads(response.read())["data_set_description"]
        return _rebased(description["url"], base), description.get("md5_checksum")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the answer does not say where the file is.", file=address) from error


def _rebased(address: str, base: str | None) -> str:
    if base is None:
        return address
    return base.rstrip("/") + urlsplit(address).path


def _opened(address: str) -> Any:
    if urlsplit(address).scheme not in ("http", "https"):
        raise InputError("only http and https addresses can be fetched.", file=address)
    request = urllib.request.Request(address, headers={"User-Agent": _AGENT})
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except OSError as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise InputError(
            f"it cannot be downloaded ({error}). A file that you already have can be put into the "
            "data directory by hand.",
            file=address,
        ) from error


def _download(address: str, path: Path, progress: OnProgress | None) -> None:
    with _opened(address) as response, open(path, "wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        done = 0
        while chunk := _next_chunk(response, address):
            file.write(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
    if total and done != total:
        raise InputError(f"the download broke off after {done} of {total} bytes.", file=address)


def _next_chunk(response: Any, address: str) -> bytes:
    try:
        return response.read1(_CHUNK)
    except (http.client.HTTPException, OSError) as error:
        raise InputError(f"the download broke off ({error!r}).", file=address) from error


def _convert(entry: Entry, downloaded: Path, path: Path, address: str) -> None:
    """Write the stored form; without a timestamp, so that equal content gives equal bytes."""
    with (
        open(path, "wb") as file,
        gzip.GzipFile("", "wb", 6, fileobj=file, mtime=0) as zipped,
        io.TextIOWrapper(zipped, encoding="utf-8", newline="") as text,
    ):
        try:
            csv_writer(text).writerows(CONVERTERS[entry.converter](downloaded))
        except _DAMAGED as error:
            raise InputError(
                f"the file is damaged, or not in the form that the data set {entry.key} used to "
                f"have ({error}).",
                file=address,
            ) from error


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
