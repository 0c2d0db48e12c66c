"""The files of a session: received, read, read again, exchanged and removed."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from poscount.files.read_options import ReadOptions
from poscount.web import schemas
from poscount.web.jobs import JobQueue
from poscount.web.refusals import RefusedError, size
from poscount.web.sessions import Session, counted, positives_and_unlabeled
from poscount.web.tasks import (
    EXAMPLES,
    KNOWN_SUFFIXES,
    InspectTask,
    LibraryTask,
    MatchTask,
    Upload,
    known_suffix,
    shown_name,
    untaken_name,
)

# It writes a warning for every form that is malformed, and anybody can send those.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

_EXAMPLES = Path(__file__).with_name("examples")
_MOST_FIELDS = 20
_FIELD_BYTES = 4096
_CHUNK = 1 << 20
# A session has one file of each of these.
_ONE_FILE = ("positives", "reference")


class SessionFiles:
    """Changes the files of sessions; `looks` is the queue in which they are read."""

    def __init__(self, limits: schemas.Limits, looks: JobQueue) -> None:
        self.limits, self.looks = limits, looks
        # At once, so that the library is imported before the first file comes.
        self._library = looks.submit(LibraryTask())

    async def add_file(self, session: Session, request: Request) -> None:
        """Store the file of a form, and have it inspected."""
        session.require_idle()
        if len(session.uploads) + session.incoming >= self.limits.files:
            raise RefusedError(
                409, f"A session can have {self.limits.files} files; remove one first."
            )
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise RefusedError(
                415, "Send the file as multipart/form-data, in a part named file.", "file"
            )
        with session.receiving():
            try:
                async with request.form(
                    max_files=1, max_fields=_MOST_FIELDS, max_part_size=_FIELD_BYTES
                ) as form:
                    fields = dict(form)
                    file = fields.pop("file", None)
                    if not isinstance(file, UploadFile):
                        raise RefusedError(400, "The form has no complete part named file.", "file")
                    await self._store(session, file, schemas.FileForm.model_validate(fields))
            except ClientDisconnect as error:
                raise RefusedError(400, "The upload was interrupted.", "file") from error
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from error

    async def _store(self, session: Session, file: UploadFile, form: schemas.FileForm) -> None:
        if (file.size or 0) > self.limits.upload_bytes:
            raise RefusedError(
                413, f"The file is larger than {size(self.limits.upload_bytes)}.", "file"
            )
        async with session.changing():
            upload = self._new_upload(session, session.uploads, file.filename or "", form)
            upload = await self._read(session, upload, file.file, session.uploads)
            await self._use(session, with_upload(session.uploads, upload))

    def _new_upload(
        self, session: Session, uploads: Mapping[str, Upload], name: str, form: schemas.FileForm
    ) -> Upload:
        """Give a new file its place; what the client calls it is only shown, never a path."""
        shown = shown_name(name)
        suffix = known_suffix(shown)
        if suffix is None:
            raise RefusedError(
                415,
                f"{shown}: files with this extension cannot be read here; use one of "
                f"{KNOWN_SUFFIXES} (text also as .gz, .zst or .zip).",
                form.role,
            )
        # Two sheets of one workbook have one name, so that commands and code can be repeated.
        taken = {
            upload.name
            for upload in uploads.values()
            if upload.settings.get("sheet", "") == form.sheet
        }
        identifier = secrets.token_hex(8)
        path = session.directory / f"{identifier}{suffix}"
        settings = form.model_dump(exclude_defaults=True, exclude={"role"})
        name = untaken_name(shown, suffix, taken)
        return Upload(identifier, name, form.role, str(path), _options(form), settings)

    async def _read(
        self,
        session: Session,
        upload: Upload,
        content: IO[bytes],
        others: Mapping[str, Upload],
    ) -> Upload:
        """Store a new file and read it."""
        n_bytes, sha256 = await asyncio.to_thread(_copy, content, upload.path)
        return await self._inspected(session, replace(upload, size=n_bytes, sha256=sha256), others)

    async def _inspected(
        self, session: Session, upload: Upload, others: Mapping[str, Upload]
    ) -> Upload:
        """Read a file, and add what is in it to its description."""
        upload = replace(upload, description=_new_path(session))
        beside = tuple(each for each in others.values() if each.id != upload.id)
        said = tuple(schemas.FileSettings.model_validate(upload.settings).said)
        try:
            task = InspectTask(upload, said, beside, self.limits)
            content = await session.result_of(self.looks, task, upload.name)
        except RefusedError as refusal:
            refusal.field = refusal.field or upload.role
            raise
        options = content.pop("read_options")
        for name in ("units", "rename", "footers"):
            options[name] = tuple(map(tuple, options[name]))
        options["na"] = tuple(options["na"])
        return replace(upload, **content, read_options=ReadOptions(**options))

    async def _use(
        self, session: Session, uploads: dict[str, Upload], *, example: bool | None = None
    ) -> None:
        """Make these the files of a session, once it is known how their columns match."""
        path = ""
        if uploads:
            path = _new_path(session)
            positives, unlabeled = positives_and_unlabeled(uploads)
            task = MatchTask(
                tuple(uploads.values()), positives, tuple(unlabeled), self.limits.groups, path
            )
            await session.result_of(self.looks, task)
        if example is None:
            example = session.example and counted(uploads) == counted(session.uploads)
        session.uploads, session.matches, session.example = uploads, path, example

    async def change_settings(
        self, session: Session, file: str, settings: schemas.FileSettings
    ) -> None:
        """Read a file again with other settings; it stays as it was if that fails."""
        with session.receiving():
            async with session.changing():
                upload = session.upload(file)
                again = replace(
                    upload,
                    role=settings.role or upload.role,
                    read_options=_options(settings),
                    settings=settings.model_dump(exclude_defaults=True, exclude={"role"}),
                )
                again = await self._inspected(session, again, session.uploads)
                await self._use(session, with_upload(session.uploads, again))

    async def swap(self, session: Session) -> None:
        """Exchange the file of positives and the file to be counted."""
        with session.receiving():
            async with session.changing():
                positives, unlabeled = positives_and_unlabeled(session.uploads)
                if positives is None or len(unlabeled) != 1 or session.tables:
                    raise RefusedError(
                        409,
                        "Only one file of positives and one file to be counted can be exchanged.",
                    )
                uploads = dict(session.uploads)
                for upload, role in ((positives, "unlabeled"), (unlabeled[0], "positives")):
                    changed = replace(upload, role=role)
                    uploads[upload.id] = await self._inspected(session, changed, uploads)
                await self._use(session, uploads)

    async def add_example(self, session: Session, example: schemas.ExampleName) -> None:
        """Replace all files by those of an example."""
        await self._library.ended()
        paths = self._library.answer()["example"]
        with session.receiving():
            async with session.changing():
                uploads: dict[str, Upload] = {}
                for name, fields in EXAMPLES[example].items():
                    form = schemas.FileForm.model_validate(fields)
                    upload = self._new_upload(session, uploads, name, form)
                    with open(paths.get(name, _EXAMPLES / name), "rb") as content:
                        uploads[upload.id] = await self._read(session, upload, content, uploads)
                await self._use(session, uploads, example=True)

    async def remove_file(self, session: Session, file: str) -> None:
        """Delete a file."""
        async with session.changing():
            session.upload(file)
            kept = {name: upload for name, upload in session.uploads.items() if name != file}
            await self._use(session, kept)


def with_upload(uploads: Mapping[str, Upload], upload: Upload) -> dict[str, Upload]:
    """Files with a new or changed one; there is one file of positives, and one reference."""
    kept = {
        name: each
        for name, each in uploads.items()
        if name == upload.id or upload.role not in _ONE_FILE or each.role != upload.role
    }
    return {**kept, upload.id: upload}


def _new_path(session: Session) -> str:
    return str(session.directory / f"{secrets.token_hex(8)}.json")


def _copy(content: IO[bytes], path: str) -> tuple[int, str]:
    """Copy a file: its size and its SHA-256."""
    digest = hashlib.sha256()
    n_bytes = 0
    with open(path, "xb") as file:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            n_bytes += file.write(chunk)
    return n_bytes, digest.hexdigest()


def _options(settings: schemas.FileSettings) -> ReadOptions:
    return ReadOptions(**settings.said)
