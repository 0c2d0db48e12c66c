"""What the server does for its clients: receives files, has them inspected, has estimates made."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from poscount import registry
from poscount.errors import InputError
from poscount.files.read_options import ColumnDescription, ReadOptions
from poscount.web import schemas
from poscount.web.column_match import is_taken, match_columns, too_many_groups, why_no_group
from poscount.web.jobs import Job, JobQueue
from poscount.web.refusals import RefusedError, size
from poscount.web.sessions import Estimate, ServerDirectory, Session, Sessions
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    EXAMPLE,
    KNOWN_SUFFIXES,
    EstimateTask,
    FollowUpTask,
    InspectTask,
    LibraryTask,
    Upload,
    known_suffix,
    shown_name,
    untaken_name,
)

# It writes a warning for every form that is malformed, and anybody can send those.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

_MOST_FIELDS = 20
_FIELD_BYTES = 4096
_CHUNK = 1 << 20
_SWEEP_SECONDS = 15.0


class Service:
    """Sessions, and the queue of what is done for them."""

    def __init__(self, limits: schemas.Limits, home: ServerDirectory) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, home)
        self.jobs = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        # At once, so that the library is imported before the first file comes.
        self._library = self.jobs.submit(LibraryTask())

    async def methods(self) -> list[dict[str, Any]]:
        """Describe the methods on offer."""
        return (await _result(self._library))["methods"]

    async def add_file(self, session: Session, request: Request) -> None:
        """Store the file of a form, and have it inspected."""
        await self._make_way(session)
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
        upload = self._new_upload(session, file.filename or "", form.role, form.read_options)
        settings = form.model_dump(exclude_unset=True, exclude={"role"})
        await self._keep(session, replace(upload, settings=settings), file.file)

    def _new_upload(
        self, session: Session, name: str, role: str, read_options: ReadOptions
    ) -> Upload:
        """Give a new file its place; what the client calls it is only shown, never a path."""
        shown = shown_name(name)
        suffix = known_suffix(shown)
        if suffix is None:
            raise RefusedError(
                415,
                f"{shown}: files with this extension cannot be read here; use one of "
                f"{KNOWN_SUFFIXES} (text also as .gz, .zst or .zip).",
                role,
            )
        # Two sheets of one workbook have one name, so that commands and code can be repeated.
        taken = {
            upload.name
            for upload in session.uploads.values()
            if upload.read_options.sheet == read_options.sheet
        }
        identifier = secrets.token_hex(8)
        path = session.directory / f"{identifier}{suffix}"
        return Upload(identifier, untaken_name(shown, suffix, taken), role, str(path), read_options)

    async def _keep(self, session: Session, upload: Upload, content: IO[bytes]) -> None:
        try:
            n_bytes, sha256 = await asyncio.to_thread(_copy, content, upload.path)
            upload = replace(upload, size=n_bytes, sha256=sha256)
            upload = await self._inspected(session, upload)
        except BaseException:
            # Whatever happened, nothing of the file stays.
            Path(upload.path).unlink(missing_ok=True)
            raise
        session.keep_upload(upload)

    async def _inspected(self, session: Session, upload: Upload) -> Upload:
        """Read a file, and add what is in it to its description."""
        _check_open(session)
        job = self.jobs.submit(InspectTask(upload, self.limits))
        session.reading[upload.name] = job
        try:
            content = await _result(job)
        except RefusedError as refusal:
            refusal.field = refusal.field or upload.role
            raise
        finally:
            session.reading.pop(upload.name, None)
            _check_open(session)
        columns = tuple(described(column) for column in content["columns"])
        return replace(upload, rows=content["rows"], columns=columns, preview=content["preview"])

    async def change_settings(
        self, session: Session, upload: Upload, settings: schemas.FileSettings
    ) -> None:
        """Read a file again with other settings; it stays as it was if that fails."""
        await self._make_way(session)
        again = replace(
            upload,
            read_options=settings.read_options,
            settings=settings.model_dump(exclude_unset=True),
        )
        with session.receiving():
            again = await self._inspected(session, again)
        session.example = session.example and upload.role == "reference"
        session.uploads[upload.id] = again

    async def add_example(self, session: Session) -> None:
        """Replace all files by the embedded example."""
        await self._make_way(session)
        paths = (await _result(self._library))["example"]
        with session.receiving():
            for upload in list(session.uploads.values()):
                session.remove_upload(upload)
            for name, role in EXAMPLE.items():
                upload = self._new_upload(session, name, role, ReadOptions())
                with open(paths[name], "rb") as content:
                    await self._keep(session, upload, content)
        session.example = True

    async def remove_file(self, session: Session, upload: Upload) -> None:
        """Delete a file."""
        await self._make_way(session)
        session.remove_upload(upload)

    async def start_estimate(self, session: Session, wanted: schemas.EstimateRequest) -> Estimate:
        """Queue an estimate of the files of a session."""
        await self._make_way(session)
        if session.incoming:
            raise RefusedError(409, "A file of this session is still coming in; wait for it.")
        positives, unlabeled = session.positives, session.unlabeled
        if positives is None:
            raise RefusedError(422, "There is no file of positives yet; add one.", "positives")
        if not unlabeled:
            raise RefusedError(422, "There is no file of unlabeled rows yet; add one.", "unlabeled")
        self._check_request(positives, unlabeled, wanted)
        read_options = _common_format(unlabeled)
        try:
            positives_format = read_options = _common_format([positives, *unlabeled])
        except RefusedError:
            # For instance, they are in two sheets of one workbook.
            positives_format = positives.read_options
        directory = session.directory / secrets.token_hex(8)
        directory.mkdir(mode=0o700)
        task = EstimateTask(
            directory=str(directory),
            wanted=wanted,
            positives=positives,
            unlabeled=tuple(unlabeled),
            positives_format=positives_format,
            read_options=read_options,
            example=session.example,
            most_groups=self.limits.groups,
        )
        estimate = Estimate(secrets.token_hex(8), directory, task, self.jobs.submit(task))
        session.keep_estimate(estimate)
        return estimate

    def _check_request(
        self, positives: Upload, unlabeled: Sequence[Upload], wanted: schemas.EstimateRequest
    ) -> None:
        """Refuse methods and scorers that do not exist, and columns that cannot be used."""
        for name, value, known in (
            ("method", wanted.method, AVAILABLE_METHODS),
            ("scorer", wanted.scorer, registry.SCORERS),
        ):
            if value is not None and value not in known:
                raise RefusedError(
                    422, f"There is no {name} {value!r} here; choose from {', '.join(known)}.", name
                )
        most_groups = self.limits.groups
        columns = match_columns(positives, unlabeled, most_groups)
        matches = {column.name: column for column in columns}
        features = wanted.features
        if features is None:
            # If there is no default, the worker says which columns are doubtful.
            features = list(positives.default_features or ())
        for name in features:
            # Only columns of the positives say which part of them is missing.
            if name not in matches or matches[name].missing is None:
                raise RefusedError(422, f"{positives.name} has no column {name!r}.", "features")
            match = matches[name]
            if not match.usable:
                sentence = match.problem or f"The column {name!r} {match.why_not}."
                raise RefusedError(422, sentence, "features")
        target = wanted.target_column
        if target is not None and (target not in matches or matches[target].targets is None):
            sentence = f"The column {target!r} of {positives.name} cannot name targets."
            raise RefusedError(422, sentence, "features")
        groups = {grouping.by: grouping.groups for match in columns for grouping in match.groupings}
        n_groups = 1
        for by in wanted.by:
            if by not in groups or is_taken(by, wanted.by_file):
                sentence = why_no_group(unlabeled, by, wanted.by_file, most_groups)
                raise RefusedError(422, sentence, "by")
            n_groups *= groups[by]
        if n_groups > most_groups:
            raise RefusedError(422, too_many_groups(wanted.by, most_groups), "by")

    def start_follow_up(
        self, session: Session, estimate: Estimate, wanted: schemas.FollowUpRequest
    ) -> Job:
        """Queue further work on an estimate that is done; earlier work of its kind is stopped."""
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        if not session.uploads.keys() >= {file.id for file in estimate.task.files}:
            raise RefusedError(409, "The files of this estimate have been removed.")
        earlier = estimate.follow_ups.get(wanted.kind)
        if earlier and wanted.kind == "diagnosis" and (earlier.live or earlier.state == "done"):
            # There is nothing about it that could have been asked in another way.
            return earlier
        reference = None
        if isinstance(wanted, schemas.TrendRequest):
            self._check_trend(session, wanted.by)
        elif isinstance(wanted, schemas.ComparisonRequest):
            reference = session.reference
            if reference is None:
                raise RefusedError(422, "There is no reference yet; add a file of it.", "reference")
        if earlier:
            earlier.cancel()
        job = self.jobs.submit(FollowUpTask(estimate.task, wanted, reference))
        estimate.follow_ups[wanted.kind] = job
        return job

    def _check_trend(self, session: Session, by: str) -> None:
        unlabeled, most_groups = session.unlabeled, self.limits.groups
        columns = match_columns(session.positives, unlabeled, most_groups)
        if by not in {grouping.by for match in columns for grouping in match.groupings}:
            raise RefusedError(422, why_no_group(unlabeled, by, False, most_groups), "trend")

    async def write_report(self, estimate: Estimate, wanted: schemas.ReportRequest) -> None:
        """Write the report of an estimate again, with what somebody adds to it."""
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        from poscount.web.report import write_report  # it needs more than the server does

        answer = estimate.job.result
        await asyncio.to_thread(
            write_report, estimate.directory, answer, wanted.title, wanted.notes
        )

    async def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Cancel an estimate if it waits or runs, and delete what it wrote."""
        await self._cancel(estimate)
        session.remove_estimate(estimate)

    async def close_session(self, session: Session) -> None:
        """Delete a session and everything that belongs to it."""
        for estimate in list(session.estimates.values()):
            await self._cancel(estimate)
        await asyncio.to_thread(self.sessions.close, session)

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
        self.sessions.close_all()

    async def _cancel(self, estimate: Estimate) -> None:
        for job in (estimate.job, *estimate.follow_ups.values()):
            job.cancel()
            await _ended(job)

    async def _make_way(self, session: Session) -> None:
        """Refuse to disturb an estimate; stop what follows earlier ones, which is out of date."""
        if session.live is not None:
            raise RefusedError(409, "This session has an estimate running; cancel it or wait.")
        for estimate in list(session.estimates.values()):
            await self._cancel(estimate)


def _copy(content: IO[bytes], path: str) -> tuple[int, str]:
    """Copy a file: its size and its SHA-256."""
    digest = hashlib.sha256()
    n_bytes = 0
    with open(path, "xb") as file:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            n_bytes += file.write(chunk)
    return n_bytes, digest.hexdigest()


def described(column: dict[str, Any]) -> ColumnDescription:
    """Give the description of a column back what JSON has not: its errors."""
    wrong = {name: column[name] for name in ("problem", "no_periods") if column[name] is not None}
    return ColumnDescription(
        **{**column, **{name: InputError(**error) for name, error in wrong.items()}}
    )


def _common_format(uploads: Sequence[Upload]) -> ReadOptions:
    """Give the settings by which all of these files are read, or refuse files that differ.

    A setting that means nothing for a file, such as the delimiter of a workbook, may differ.
    """
    settings: dict[str, Any] = {}
    for name in ReadOptions._fields:
        values = {getattr(upload.read_options, name) for upload in uploads if upload.heeds(name)}
        if len(values) > 1:
            raise RefusedError(
                422,
                "The files of unlabeled rows were sent with different settings; send them with the "
                "same ones.",
                "unlabeled" if name == "sheet" else name,
            )
        if values:
            settings[name] = values.pop()
    return ReadOptions(**settings)


def _check_open(session: Session) -> None:
    if session.closed:
        raise RefusedError(404, "The session was closed while a file was coming in.")


async def _ended(job: Job) -> None:
    """Wait for a job. If the request that waits is cancelled, the job's own future is not."""
    await asyncio.shield(asyncio.wrap_future(job.future))


async def _result(job: Job) -> Any:
    await _ended(job)
    if job.error is not None:
        raise RefusedError(job.error.status, **job.error.to_dict())
    if job.state == "cancelled":
        raise RefusedError(503, "The server is shutting down.")
    return job.result
