"""Zip archives that nobody has vouched for: what is in them, before anything of it is unpacked."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np

# Of the record that ends every archive, and of the header before every member.
_END, _LOCAL = struct.Struct("<4s4H2LH"), struct.Struct("<4s5H3L2H")
_MARK = b"PK\x05\x06"


def open_archive(content: bytes, most_members: int) -> zipfile.ZipFile:
    """Open an archive whose members are as many as they may be, distinct, and apart.

    Parameters
    ----------
    content : bytes
    most_members : int
        Known from the end of the archive before its list of members is read.

    Raises
    ------
    ValueError
        There are more members; two have one name; or one lies within another, as in archives that
        unpack to much more than they seem to hold.
    """
    place = content.rfind(_MARK, -_END.size - 0xFFFF)
    if place < 0 or place + _END.size > len(content):
        raise ValueError("it is not a zip archive")
    n_members = _END.unpack_from(content, place)[4]
    if n_members > most_members:
        raise ValueError(f"it has {n_members} members, and at most {most_members} belong there")
    archive = zipfile.ZipFile(io.BytesIO(content))
    entries = archive.infolist()
    # The list itself decides; the number at the end was only its announcement.
    if len(entries) != n_members:
        raise ValueError("its list of members has another length than it says")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("two of its members have the same name")
    _refuse_overlap(content, entries, archive.start_dir)
    return archive


def _refuse_overlap(content: bytes, entries: list[zipfile.ZipInfo], end: int) -> None:
    ends = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        start = entry.header_offset
        if start < ends or start + _LOCAL.size > end:
            raise ValueError("its members overlap")
        *_, name_size, extra_size = _LOCAL.unpack_from(content, start)
        ends = start + _LOCAL.size + name_size + extra_size + entry.compress_size
    if ends > end:
        raise ValueError("its members overlap")


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
