"""What the server does for its clients: receives files, has them inspected, has estimates made."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from poscount.files.read_options import ReadOptions
from poscount.web import schemas
from poscount.web.jobs import Job, JobQueue
from poscount.web.refusals import RefusedError, size
from poscount.web.sessions import (
    Estimate,
    ServerDirectory,
    Session,
    Sessions,
    counted,
    of_role,
    positives_and_unlabeled,
)
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    EXAMPLES,
    KNOWN_SUFFIXES,
    CheckTask,
    EstimateTask,
    FollowUpTask,
    InspectTask,
    LibraryTask,
    MatchTask,
    Task,
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
_SWEEP_SECONDS = 15.0
# A session has one file of each of these.
_ONE_FILE = ("positives", "reference")
# Settings of which each file may have some, and those that a file need not show.
_ADD_UP = ("units", "na", "rename")
_OF_CELLS = ("decimal", "thousands", "day_first", "encoding")


class Service:
    """Sessions, and the queue of what is done for them."""

    def __init__(self, limits: schemas.Limits, home: ServerDirectory) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, home)
        self.jobs = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        # What a request waits for: files and columns, which no long estimate may hold up.
        self.looks = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        # At once, so that the library is imported before the first file comes.
        self._library = self.looks.submit(LibraryTask())

    @contextlib.asynccontextmanager
    async def _changing(self, session: Session) -> AsyncIterator[None]:
        """Be the only one who changes a session, and leave no file behind that belongs to nothing.

        No estimate is disturbed; what follows earlier ones, which is out of date, is stopped.
        """
        _check_open(session)
        self._refuse_while_estimating(session)
        async with session.lock:
            _check_open(session)
            self._refuse_while_estimating(session)
            for estimate in list(session.estimates.values()):
                await self._cancel(estimate)
            try:
                yield
            finally:
                if not session.closed:
                    session.tidy()

    async def add_file(self, session: Session, request: Request) -> None:
        """Store the file of a form, and have it inspected."""
        self._refuse_while_estimating(session)
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
        async with self._changing(session):
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
            content = await self._result(
                session, InspectTask(upload, said, beside, self.limits), upload.name
            )
        except RefusedError as refusal:
            refusal.field = refusal.field or upload.role
            raise
        options = content.pop("read_options")
        for name in ("units", "rename"):
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
            await self._result(session, task)
        if example is None:
            example = session.example and counted(uploads) == counted(session.uploads)
        session.uploads, session.matches, session.example = uploads, path, example

    async def change_settings(
        self, session: Session, file: str, settings: schemas.FileSettings
    ) -> None:
        """Read a file again with other settings; it stays as it was if that fails."""
        with session.receiving():
            async with self._changing(session):
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
            async with self._changing(session):
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
        await ended(self._library)
        paths = result_of(self._library)["example"]
        with session.receiving():
            async with self._changing(session):
                uploads: dict[str, Upload] = {}
                for name, role in EXAMPLES[example].items():
                    form = schemas.FileForm.model_validate({"role": role})
                    upload = self._new_upload(session, uploads, name, form)
                    with open(paths.get(name, _EXAMPLES / name), "rb") as content:
                        uploads[upload.id] = await self._read(session, upload, content, uploads)
                await self._use(session, uploads, example=True)

    async def remove_file(self, session: Session, file: str) -> None:
        """Delete a file."""
        async with self._changing(session):
            session.upload(file)
            kept = {name: upload for name, upload in session.uploads.items() if name != file}
            await self._use(session, kept)

    async def start_estimate(self, session: Session, wanted: schemas.EstimateRequest) -> Estimate:
        """Queue an estimate of the files of a session."""
        self._refuse_while_estimating(session)
        if session.incoming:
            raise RefusedError(409, "A file of this session is still coming in; wait for it.")
        async with self._changing(session):
            task = self._estimate_task(session, wanted)
            await self._result(session, CheckTask(task, session.matches))
            Path(task.directory).mkdir(mode=0o700)
            job = self.jobs.submit(task)
            estimate = Estimate(secrets.token_hex(8), Path(task.directory), task, job)
            session.keep_estimate(estimate)
            return estimate

    def _estimate_task(self, session: Session, wanted: schemas.EstimateRequest) -> EstimateTask:
        """Put together what an estimate needs, or refuse it."""
        positives, unlabeled = positives_and_unlabeled(session.uploads)
        if positives is None:
            raise RefusedError(422, "There is no file of positives yet; add one.", "positives")
        if not unlabeled:
            raise RefusedError(422, "There is no file of unlabeled rows yet; add one.", "unlabeled")
        _check_label(session, wanted)
        if wanted.method is not None and wanted.method not in AVAILABLE_METHODS:
            known = ", ".join(AVAILABLE_METHODS)
            raise RefusedError(
                422, f"There is no method {wanted.method!r} here; choose from {known}.", "method"
            )
        read_options = _common_format(unlabeled)
        try:
            positives_format = read_options = _common_format([positives, *unlabeled])
        except RefusedError:
            # For instance, they are in two sheets of one workbook.
            positives_format = positives.read_options
        return EstimateTask(
            directory=str(session.directory / secrets.token_hex(8)),
            wanted=wanted,
            positives=positives,
            unlabeled=tuple(unlabeled),
            positives_format=positives_format,
            read_options=read_options,
            example=session.example,
            most_groups=self.limits.groups,
            negatives=tuple(of_role(session.uploads, "negatives")),
        )

    async def start_follow_up(
        self, session: Session, estimate: Estimate, wanted: schemas.FollowUpRequest
    ) -> Job:
        """Queue further work on an estimate that is done; earlier work of its kind is stopped."""
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        async with session.lock:
            _check_open(session)
            if not session.uploads.keys() >= {file.id for file in estimate.task.files}:
                raise RefusedError(409, "The files of this estimate have been removed.")
            earlier = estimate.follow_ups.get(wanted.kind)
            if earlier and wanted.kind == "diagnosis" and (earlier.live or earlier.state == "done"):
                # There is nothing about it that could have been asked in another way.
                return earlier
            reference = None
            if isinstance(wanted, schemas.ComparisonRequest):
                reference = session.reference
                if reference is None:
                    raise RefusedError(
                        422, "There is no reference yet; add a file of it.", "reference"
                    )
            if earlier:
                earlier.cancel()
            job = self.jobs.submit(FollowUpTask(estimate.task, wanted, reference))
            estimate.follow_ups[wanted.kind] = job
            return job

    async def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Cancel an estimate if it waits or runs, and delete what it wrote."""
        await self._cancel(estimate)
        async with session.lock:
            session.estimates.pop(estimate.id, None)
            if not session.closed:
                session.tidy()

    async def close_session(self, session: Session) -> None:
        """Delete a session and everything that belongs to it, whatever is being done for it."""
        if not self.sessions.forget(session):
            return
        for job in session.jobs:
            job.cancel()
        async with session.lock:
            for estimate in list(session.estimates.values()):
                await self._cancel(estimate)
            await asyncio.to_thread(shutil.rmtree, session.directory, ignore_errors=True)

    async def sweep(self) -> None:
        """Delete sessions as they expire, until this is cancelled."""
        shortest = min(self.limits.idle_seconds, self.limits.leave_seconds)
        while True:
            await asyncio.sleep(min(_SWEEP_SECONDS, shortest / 2))
            for session in self.sessions.expired():
                await self.close_session(session)

    def close(self) -> None:
        """Stop all work and delete everything."""
        self.jobs.close()
        self.looks.close()
        self.sessions.close_all()

    async def _cancel(self, estimate: Estimate) -> None:
        for job in (estimate.job, *estimate.follow_ups.values()):
            job.cancel()
            await ended(job)

    def _refuse_while_estimating(self, session: Session) -> None:
        if session.live is not None:
            raise RefusedError(409, "This session has an estimate running; cancel it or wait.")

    async def _result(self, session: Session, task: Task, name: str = "") -> Any:
        """Have something done for a session that is being changed, and wait for the result."""
        _check_open(session)
        job = self.looks.submit(task)
        session.jobs[job] = name
        try:
            await ended(job)
        finally:
            del session.jobs[job]
        _check_open(session)
        return result_of(job)


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


def _check_label(session: Session, wanted: schemas.EstimateRequest) -> None:
    """Refuse a label without a table that has one, and other files beside such a table."""
    if not session.tables:
        if wanted.label is not None:
            raise RefusedError(422, "No file here is used by a column that says what is known.")
        return
    if wanted.label is None:
        sentence = "Choose the column that says what is known of each row."
        raise RefusedError(422, sentence, "label")
    others = {file.name for file in session.uploads.values() if file.role != "reference"}
    others -= {file.name for file in session.tables}
    if others:
        raise RefusedError(
            422,
            f"{session.tables[0].name} has rows of every kind already: remove {min(others)}, or "
            "use the table in another way.",
            "label",
        )


def _common_format(uploads: Sequence[Upload]) -> ReadOptions:
    """Give the settings by which all of these files are read, or refuse files that differ.

    A setting that means nothing for a file, such as the delimiter of a workbook, may differ. What
    was found in the cells of one file holds for the others, too.
    """
    usual = ReadOptions()._asdict()
    settings: dict[str, Any] = {}
    for name in ReadOptions._fields:
        of_files = [getattr(file.read_options, name) for file in uploads if file.heeds(name)]
        if name in _ADD_UP:
            settings[name] = tuple(dict.fromkeys(each for values in of_files for each in values))
            continue
        values = set(of_files)
        if name in _OF_CELLS and len(values) > 1:
            values.discard(usual[name])
        if len(values) > 1:
            raise RefusedError(
                422,
                "The files of unlabeled rows are written in different ways; write them alike, or "
                "read them with the same settings.",
                "unlabeled" if name == "sheet" else name,
            )
        if values:
            settings[name] = values.pop()
    return ReadOptions(**settings)


def _check_open(session: Session) -> None:
    if session.closed:
        raise RefusedError(404, "The session was closed while a file was coming in.")


async def ended(job: Job) -> None:
    """Wait for a job. If the request that waits is cancelled, the job's own future is not."""
    await asyncio.shield(asyncio.wrap_future(job.future))


def result_of(job: Job) -> Any:
    """Result of a job that has ended, or its refusal."""
    if job.error is not None:
        raise RefusedError(job.error.status, **job.error.to_dict())
    if job.result is None:
        raise RefusedError(503, "The server is shutting down.")
    return json.loads(job.result)
