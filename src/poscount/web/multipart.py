"""Forms with one file, parsed as they come in: no file is held in memory, nothing is trusted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError

# It writes a warning for every form that is malformed, and anybody can send those.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
# Bytes of everything in a form except the file.
_OVERHEAD = 64_000
_LONGEST_FIELD = 1_000
_MOST_PARTS = 20
_DISCARD_BYTES = 4_000_000
_DISCARD_SECONDS = 3


class Form:
    """What has come in so far: fields, and the name of the file; its content goes to `write`."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.fields: dict[str, str] = {}
        self.file_name: str | None = None
        self.complete = False
        self._write = write
        self._n_parts = 0
        self._header, self._value = b"", b""
        self._disposition: str = ""
        self._name = ""
        self._text: bytearray | None = None

    def callbacks(self) -> Any:
        """Give the parser's callbacks."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._n_parts += 1
        if self._n_parts > _MOST_PARTS:
            raise RefusedError(400, f"The form has more than {_MOST_PARTS} parts.")
        self._header, self._value, self._disposition = b"", b"", ""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value.decode("utf-8", "replace")
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        # The parser's own function accepts Latin-1 only; every browser sends names as UTF-8.
        as_latin = self._disposition.encode().decode("latin-1")
        _, options = parse_options_header(as_latin)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        file_name = options.get(b"filename")
        if (self._name == "file") != (file_name is not None):
            raise RefusedError(400, "The file must be in the part of the form named file.", "file")
        if file_name is None:
            self._text = bytearray()
            return
        if self.file_name is not None:
            raise RefusedError(400, "Send one file at a time.", "file")
        self._text = None
        self.file_name = file_name.decode("utf-8", "replace")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._text is None:
            self._write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > _LONGEST_FIELD:
            raise RefusedError(400, "A field of the form is too long.", self._name or None)

    def _end(self) -> None:
        if self._text is not None:
            self.fields[self._name] = self._text.decode("utf-8", "replace")

    def _finish(self) -> None:
        self.complete = True


async def receive(
    request: Request, write: Callable[[bytes], None], limits: Limits, too_large: RefusedError
) -> Form:
    """Receive a form; the bytes of its file go to `write` as they come in.

    Parameters
    ----------
    request : Request
    write : callable
        Gets the content of the file; it may raise `RefusedError`.
    limits : Limits
        The file may be this large, and as slow as this.
    too_large : RefusedError
        Raised when the form is larger: at once if it says so itself.
    """
    kind, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise RefusedError(
            415, "Send the file as multipart/form-data, in a part named file.", "file"
        )
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limits.upload_bytes + _OVERHEAD:
        raise too_large
    form = Form(write)
    stream = request.stream()
    try:
        await _parse(stream, boundary, form, limits, too_large)
    except RefusedError:
        # A client that has nearly finished may do so, and then reads the answer.
        await _discard(stream)
        raise
    except TimeoutError as error:
        raise RefusedError(
            408, "The upload stopped halfway or is too slow; send it again.", "file"
        ) from error
    except ClientDisconnect as error:
        raise RefusedError(400, "The upload was interrupted.", "file") from error
    if not form.complete:
        raise RefusedError(400, "The form is incomplete; send it again.", "file")
    if form.file_name is None:
        raise RefusedError(400, "The form has no file; add a part named file.", "file")
    return form


async def _parse(
    stream: AsyncGenerator[bytes],
    boundary: bytes,
    form: Form,
    limits: Limits,
    too_large: RefusedError,
) -> None:
    n_bytes = 0
    began = asyncio.get_running_loop().time()
    try:
        parser = MultipartParser(boundary, form.callbacks())
        while True:
            # What keeps up the speed may take as long as it needs; a trickle may not.
            seconds = limits.upload_grace_seconds + n_bytes / limits.upload_bytes_per_second
            async with asyncio.timeout_at(began + seconds):
                chunk = await anext(stream, None)
            if chunk is None:
                return
            n_bytes += len(chunk)
            if n_bytes > limits.upload_bytes + _OVERHEAD:
                raise too_large
            parser.write(chunk)
    except FormParserError as error:
        sentence = "The form is malformed: its parts do not match its boundary."
        raise RefusedError(400, sentence, "file") from error


async def _discard(stream: AsyncGenerator[bytes]) -> None:
    n_bytes = 0
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while n_bytes < _DISCARD_BYTES and (chunk := await anext(stream, None)) is not None:
                n_bytes += len(chunk)
