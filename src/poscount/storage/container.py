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
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from poscount.errors import FileError, InputError
from poscount.storage.writer import write_whole

VERSION = 1
_DIGEST = 64
# zipfile itself has other rules for larger ones.
LARGEST_FILE = 2**31 - 1
MOST_MEMBERS = 64
# Of the description, which takes twenty times its size in memory while it is read. A model of
# 400,000 columns has 20 MB.
LARGEST_META, MOST_LISTS = 24 * 2**20, 2 * 10**6
# Of the record that ends every archive, and the most bytes of a member in its list.
_END, _MARK, _LONGEST_ENTRY = struct.Struct("<4s4H2LH"), b"PK\x05\x06", 500


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
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise FileError(
            f"this is a directory, a device or a pipe, not a {kind} file.", file=str(path)
        )
    if found.st_size > LARGEST_FILE:
        raise FileError(
            f"this file has {found.st_size / 2**30:.1f} GB, more than any {kind} file.",
            file=str(path),
        )
    with open(path, "rb") as file:
        # As much as it has now, because reading up to a limit takes the memory of the limit.
        return file.read(found.st_size)


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


# Zip archives that nobody has vouched for: what is in them, before anything of it is unpacked


def open_archive(content: bytes, most_members: int) -> zipfile.ZipFile:
    """Open an archive whose members have names of their own and are not too many.

    Parameters
    ----------
    content : bytes
    most_members : int
        Known from the end of the archive before its list of members is read.

    Raises
    ------
    ValueError
        There are more members; two have one name; or they have more bytes than the archive, as in
        archives whose members overlap.
    """
    place = content.rfind(_MARK, -_END.size - 0xFFFF)
    if place < 0 or place + _END.size > len(content):
        raise ValueError("it is not a zip archive")
    n_members, n_bytes = _END.unpack_from(content, place)[4:6]
    if n_members > most_members or n_bytes > most_members * _LONGEST_ENTRY:
        raise ValueError(f"it has {n_members} members, and at most {most_members} belong there")
    archive = zipfile.ZipFile(io.BytesIO(content))
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("two of its members have the same name")
    if sum(entry.compress_size for entry in entries) > len(content):
        raise ValueError("its members overlap")
    return archive


def stored(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Content of a member that is not compressed, and so is no larger than the archive."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ValueError(f"its member {entry.filename!r} is compressed")
    return archive.read(entry)


def read_array(content: bytes) -> np.ndarray:
    """Array from the content of an npy file, which must have the size that its header claims.

    Not ``np.load``, which allocates what the header claims.
    """
    start, shape, fortran, dtype = _header(content)
    data = content[start:]
    if fortran or len(data) != dtype.itemsize * int(np.prod(shape, dtype=object)):
        raise ValueError("an array in it does not have the size it claims")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def claimed_bytes(start: bytes) -> int:
    """Size of the array that begins like this, as its header claims it."""
    _, shape, _, dtype = _header(start)
    return dtype.itemsize * int(np.prod(shape, dtype=object))


def _header(content: bytes) -> tuple[int, tuple[int, ...], bool, np.dtype]:
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array in it has an unknown layout")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise ValueError("an array in it holds pickled objects, which are never loaded")
    if min(shape, default=0) < 0:
        raise ValueError("an array in it has an unknown layout")
    return stream.tell(), shape, fortran, dtype
