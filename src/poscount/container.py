"""The file format of models and counts: arrays and JSON, and nothing that runs when it is read.

A file is an ordinary, uncompressed npz whose member ``meta`` is UTF-8 JSON. Its zip comment is
the SHA-256 of all bytes before it, so that a truncated or changed file is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from poscount.errors import FileError
from poscount.output_files import write_whole

VERSION = 1
_DIGEST = 64


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
    write_whole(path, _pack({"kind": kind, "version": VERSION, **meta}, arrays))


def read(
    path: str | os.PathLike[str], kind: str, *other_kinds: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file of the given kind, or of one of the others, or raise `FileError`.

    Returns
    -------
    meta : dict
        With the kind that it is.
    arrays : dict of ndarray
    """

    def refused(reason: str) -> FileError:
        return FileError(reason, file=str(path))

    content = Path(path).read_bytes()
    if not content.startswith(b"PK"):
        raise refused(f"this is not a poscount {kind} file.")
    body, comment = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() != comment:
        raise refused(f"this is not a poscount {kind} file, or it is damaged: wrong checksum.")
    try:
        meta, arrays = _unpack(content)
    except Exception as error:  # a malicious file may cause any
        raise refused(f"this is not a poscount {kind} file: {error}.") from error
    if meta.get("kind") not in (kind, *other_kinds):
        raise refused(f"this is a {meta.get('kind')} file, not a {kind} file.")
    if not isinstance(meta.get("version"), int):
        raise refused(f"this is not a poscount {kind} file: it has no version.")
    if meta["version"] > VERSION:
        raise refused(
            f"a newer poscount wrote this file (version {meta['version']} of the format, and this "
            f"poscount reads up to version {VERSION}): upgrade poscount to read it."
        )
    return meta, arrays


def _pack(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    text = json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()
    members = {"meta": np.frombuffer(text, dtype=np.uint8), **arrays}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            member = io.BytesIO()
            np.lib.format.write_array(
                member, np.ascontiguousarray(members[name]), allow_pickle=False
            )
            # Without a date, so that equal content gives equal bytes.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
        archive.comment = b"0" * _DIGEST
    body = buffer.getvalue()[:-_DIGEST]
    return body + hashlib.sha256(body).hexdigest().encode()


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            # Uncompressed members cannot grow beyond the size of the file.
            if entry.compress_type != zipfile.ZIP_STORED or not entry.filename.endswith(".npy"):
                raise ValueError(f"its member {entry.filename!r} does not belong there")
            arrays[entry.filename.removesuffix(".npy")] = _array(archive.read(entry))
    meta = json.loads(arrays.pop("meta").tobytes())
    if not isinstance(meta, dict):
        raise ValueError("its description is not a JSON object")
    return meta, arrays


def _array(content: bytes) -> np.ndarray:
    # Not np.load: a header that claims a huge shape must not allocate anything.
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array in it has an unknown layout")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise ValueError("an array in it holds pickled objects, which are never loaded")
    data = content[stream.tell() :]
    if fortran or len(data) != dtype.itemsize * int(np.prod(shape, dtype=object)):
        raise ValueError("an array in it does not have the size it claims")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()
