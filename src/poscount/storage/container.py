"""The file format of models and counts: arrays and JSON, and nothing that runs when it is read.

A file is an ordinary, uncompressed npz whose member ``meta`` is UTF-8 JSON. Its zip comment is
the SHA-256 of all bytes before it, so that a truncated or changed file is noticed. The checksum
says nothing about who has written the file: what is read is believed only after whoever asked for
it has checked it (`poscount.storage.schema`).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from poscount.errors import FileError, InputError
from poscount.storage.archives import open_archive, read_array, stored
from poscount.storage.writer import write_whole

VERSION = 1
_DIGEST = 64
# zipfile itself has other rules for larger ones.
LARGEST_FILE = 2**31 - 1
MOST_MEMBERS = 64
# Of the description, which takes twenty times its size in memory while it is read. A model of
# 400,000 columns has 20 MB.
LARGEST_META, MOST_LISTS = 24 * 2**20, 2 * 10**6


def digest(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the content, which does not depend on the order of the keys.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}, {}) == digest({"b": 2, "a": 1}, {})
    True
    """
    return hashlib.sha256(_pack(meta, arrays)).hexdigest()


def write(
    path: str | os.PathLike[str],
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Write a file of the given kind, completely or not at all."""
    content = _pack({"kind": kind, "version": VERSION, **meta}, arrays)
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"The {kind} takes {len(content) / 2**30:.1f} GB, and a file of poscount may have "
            f"{LARGEST_FILE / 2**30:.0f} GB.",
            file=str(path),
        )
    write_whole(path, content)


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the description and the arrays of a file of the given kind, or raise `FileError`."""

    def refused(reason: str) -> FileError:
        return FileError(reason, file=str(path))

    content = _read_regular(path, kind)
    if not content.startswith(b"PK"):
        raise refused(f"this is not a poscount {kind} file.")
    body, comment = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() != comment:
        raise refused(f"this is not a poscount {kind} file, or it is damaged: wrong checksum.")
    try:
        meta, arrays = _unpack(content)
    except Exception as error:  # a malicious file may cause any
        raise refused(f"this is not a poscount {kind} file: {error}.") from error
    found, version = meta.pop("kind", None), meta.pop("version", None)
    if found != kind:
        raise refused(f"this is a {found} file, not a {kind} file.")
    if version != VERSION:
        raise refused(
            f"another version of poscount wrote this file, and this one reads version {VERSION} of "
            "the format."
        )
    return meta, arrays


def _pack(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    text = json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()
    if _too_long(text):
        raise InputError("There are too many columns or categories for a file of poscount.")
    members = {"meta": np.frombuffer(text, dtype=np.uint8), **arrays}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            member = io.BytesIO()
            np.lib.format.write_array(
                member, np.ascontiguousarray(members[name]), allow_pickle=False
            )
            # Without a date and the system's number, so that equal content gives equal bytes.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.create_system = 3
            archive.writestr(entry, member.getvalue())
        archive.comment = b"0" * _DIGEST
    body = buffer.getvalue()[:-_DIGEST]
    return body + hashlib.sha256(body).hexdigest().encode()


def _read_regular(path: str | os.PathLike[str], kind: str) -> bytes:
    """Content of a file, not of a device or a pipe, which may have no end or no beginning."""

    def regular(name: str, flags: int) -> int:
        # Without waiting, because opening a pipe would wait for somebody who writes to it.
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        found = os.fstat(handle)
        problem = ""
        if not stat.S_ISREG(found.st_mode):
            problem = f"this is a directory, a device or a pipe, not a {kind} file."
        elif found.st_size > LARGEST_FILE:
            problem = f"this file has {found.st_size / 2**30:.1f} GB, more than any {kind} file."
        if problem:
            os.close(handle)
            raise FileError(problem, file=str(path))
        return handle

    with open(path, "rb", opener=regular) as file:
        # As much as it has now, because reading up to a limit takes the memory of the limit.
        return file.read(os.fstat(file.fileno()).st_size)


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    arrays = {}
    with open_archive(content, MOST_MEMBERS) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".npy"):
                raise ValueError(f"its member {entry.filename!r} does not belong there")
            arrays[entry.filename.removesuffix(".npy")] = read_array(stored(archive, entry))
    return _description(arrays.pop("meta").tobytes()), arrays


def _description(text: bytes) -> dict[str, Any]:
    if _too_long(text):
        raise ValueError("its description is too long")
    meta = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    if not isinstance(meta, dict):
        raise ValueError("its description is not a JSON object")
    return meta


def _too_long(text: bytes) -> bool:
    return len(text) > LARGEST_META or text.count(b"[") + text.count(b"{") > MOST_LISTS


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its description says something twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its description holds {name}")
