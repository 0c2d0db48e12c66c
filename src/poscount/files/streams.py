"""Files of text as streams of UTF-8: unpacked, decoded, with errors that name the line."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from poscount.errors import InputError, join_names
from poscount.files.arrow import pyarrow

# How much is read at a time.
BLOCK_BYTES = 1 << 22
# Bytes of a line, or of a record of several: what has more is no table of text.
LONGEST_RECORD = 1 << 26
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# The second is that of an archive without files.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
# The longer ones first, because one begins like the other.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile)


def source_name(path: str) -> str:
    """What a file is called in errors."""
    return "standard input" if path == "-" else path


def archive_member(path: str) -> str:
    """Name of the one file in a zip archive.

    A folder of its own that macOS adds, and hidden files, do not count.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _only_member(archive, path)
    except _DAMAGED as error:
        raise _damaged(path) from error


@contextlib.contextmanager
def unpacked(path: str) -> Iterator[tuple[Any, Any]]:
    """Open a file, and give a stream of its bytes after decompression, and the file itself.

    Whether it is packed is found in its first bytes, whatever its extension: gzip, Zstandard, or
    a zip archive with one file in it.
    """
    source = source_name(path)
    with contextlib.ExitStack() as stack:
        raw: Any = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
        try:
            first = raw.peek(4)[:4]
        except OSError as error:
            raise _unreadable(error, source) from error
        stream: Any = raw
        if first.startswith(_GZIP):
            stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
        elif first == _ZSTD:
            pa = pyarrow()
            stream = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(raw), "zstd"))
        elif first in _ZIP:
            if not raw.seekable():
                raise InputError("a zip archive cannot be read from it; unpack it.", file=source)
            try:
                archive = stack.enter_context(zipfile.ZipFile(raw))
                stream = stack.enter_context(archive.open(_only_member(archive, source)))
            except RuntimeError as error:
                raise InputError("the archive needs a password; unpack it.", file=source) from error
            except _DAMAGED as error:
                raise _damaged(source) from error
        yield stream, raw


class Utf8Stream:
    """The text of a file as UTF-8, a few megabytes at a time.

    Parameters
    ----------
    stream : file-like
        Bytes after decompression.
    source : str
        What the file is called in errors.
    encoding : str, optional
        Of the bytes; a byte-order mark is surer.
    """

    def __init__(self, stream: Any, source: str, encoding: str | None = None) -> None:
        self.stream, self.source = stream, source
        self.decoder: Any = None
        # Lines that have been decoded, to name the one that cannot be.
        self.line = 1
        self._first: bytes | None = self._start(encoding)

    def read(self) -> bytes:
        """Return the next piece, which may end within a character; empty at the end."""
        if self._first is not None:
            chunk, self._first = self._first, None
        else:
            chunk = self._read()
        if self.decoder is None:
            return chunk
        text = self._decoded(chunk)
        # A piece can be too small for a character.
        while chunk and not text:
            chunk = self._read()
            text = self._decoded(chunk)
        return text

    def _start(self, encoding: str | None) -> bytes:
        chunk = self._read()
        # Pipes may hand out single bytes.
        while len(chunk) < 4 and (more := self._read()):
            chunk += more
        for mark, its_encoding in _MARKS.items():
            if chunk.startswith(mark):
                chunk, encoding = chunk[len(mark) :], its_encoding
                break
        if encoding is not None and codecs.lookup(encoding).name != "utf-8":
            self.encoding = encoding
            self.decoder = codecs.getincrementaldecoder(encoding)()
        elif b"\0" in chunk[:4096]:
            raise InputError(
                "it has zero bytes, which text in UTF-8 has not; it may be UTF-16 without a "
                "byte-order mark.",
                file=self.source,
                option="encoding",
                value="utf-16-be" if chunk.startswith(b"\0") else "utf-16-le",
            )
        return chunk

    def _decoded(self, chunk: bytes) -> bytes:
        try:
            text = self.decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self.line + error.object[: error.start].decode(self.encoding, "replace").count(
                "\n"
            )
            raise InputError(
                f"line {line} is not text in {self.encoding}; choose another encoding.",
                file=self.source,
                option="encoding",
            ) from error
        self.line += text.count("\n")
        return text.encode()

    def _read(self) -> bytes:
        try:
            return self.stream.read(BLOCK_BYTES)
        except _DAMAGED as error:
            raise _damaged(self.source) from error
        except OSError as error:
            # pyarrow has no error of its own for a damaged stream, and gives it no number.
            if error.errno is None:
                raise _damaged(self.source) from error
            raise _unreadable(error, self.source) from error


def not_utf8(line: int, source: str) -> InputError:
    """Make the error for a line that is not UTF-8, with what it may be instead."""
    return InputError(
        f"line {line} is not UTF-8 text; spreadsheets on Windows often write cp1252, and some "
        "programs utf-16.",
        file=source,
        option="encoding",
        value="cp1252",
    )


def size_of(path: str) -> int:
    """Size in bytes; zero means unknown, as for standard input and a named pipe."""
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _only_member(archive: zipfile.ZipFile, source: str) -> str:
    names = [
        name
        for name in archive.namelist()
        if not name.endswith("/")
        and not name.startswith("__MACOSX/")
        and not os.path.basename(name).startswith(".")
    ]
    if "[Content_Types].xml" in names:
        raise InputError(
            "this is a document of an office program; give an Excel workbook the extension .xlsx.",
            file=source,
        )
    if len(names) != 1:
        found = f"{len(names)} files: {join_names(names)}" if names else "no file"
        raise InputError(f"the archive holds {found}; it must hold one.", file=source)
    return names[0]


def _damaged(source: str) -> InputError:
    return InputError("the compressed file is damaged or incomplete; copy it again.", file=source)


def _unreadable(error: OSError, source: str) -> InputError:
    return InputError(f"it cannot be read: {error.strerror}.", file=source)
