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

from poscount.errors import InputError
from poscount.files.read_options import ColumnDescription, ReadOptions
from poscount.web import schemas
from poscount.web.column_match import is_taken, too_many_groups, why_no_group
from poscount.web.jobs import Job, JobQueue
from poscount.web.refusals import RefusedError, size
from poscount.web.sessions import Estimate, ServerDirectory, Session, Sessions
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    EXAMPLES,
    KNOWN_SUFFIXES,
    EstimateTask,
    FollowUpTask,
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
_SWEEP_SECONDS = 15.0
# Settings of which each file may have some, and those that a file need not show.
_ADD_UP = ("units", "na", "rename")
_OF_CELLS = ("decimal", "thousands", "day_first", "encoding")


class Service:
    """Sessions, and the queue of what is done for them."""

    def __init__(self, limits: schemas.Limits, home: ServerDirectory) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, home)
        self.jobs = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        # At once, so that the library is imported before the first file comes.
        self._library = self.jobs.submit(LibraryTask())

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
        upload = self._new_upload(session, file.filename or "", form)
        await self._keep(session, upload, file.file)

    def _new_upload(self, session: Session, name: str, form: schemas.FileForm) -> Upload:
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
            for upload in session.uploads.values()
            if upload.settings.get("sheet", "") == form.sheet
        }
        identifier = secrets.token_hex(8)
        path = session.directory / f"{identifier}{suffix}"
        settings = form.model_dump(exclude_defaults=True, exclude={"role"})
        name = untaken_name(shown, suffix, taken)
        return Upload(identifier, name, form.role, str(path), _options(form), settings)

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
        await self._match(session)

    async def _inspected(self, session: Session, upload: Upload) -> Upload:
        """Read a file, and add what is in it to its description."""
        _check_open(session)
        others = tuple(each for each in session.uploads.values() if each.id != upload.id)
        said = tuple(schemas.FileSettings.model_validate(upload.settings).said)
        job = self.jobs.submit(InspectTask(upload, said, others, self.limits))
        session.reading[upload.name] = job
        try:
            content = await _result(job)
        except RefusedError as refusal:
            refusal.field = refusal.field or upload.role
            raise
        finally:
            session.reading.pop(upload.name, None)
            _check_open(session)
        content["columns"] = tuple(described(column) for column in content["columns"])
        options = content.pop("read_options")
        for name in ("units", "rename"):
            options[name] = tuple(map(tuple, options[name]))
        options["na"] = tuple(options["na"])
        return replace(upload, **content, read_options=ReadOptions(**options))

    async def change_settings(
        self, session: Session, upload: Upload, settings: schemas.FileSettings
    ) -> None:
        """Read a file again with other settings; it stays as it was if that fails."""
        await self._make_way(session)
        again = replace(
            upload,
            role=settings.role or upload.role,
            read_options=_options(settings),
            settings=settings.model_dump(exclude_defaults=True, exclude={"role"}),
        )
        with session.receiving():
            again = await self._inspected(session, again)
            session.keep_upload(again)
            await self._match(session)

    async def swap(self, session: Session) -> None:
        """Exchange the file of positives and the file to be counted."""
        positives, unlabeled = session.positives, session.unlabeled
        if positives is None or len(unlabeled) != 1 or session.tables:
            raise RefusedError(
                409, "Only one file of positives and one file to be counted can be exchanged."
            )
        await self._make_way(session)
        with session.receiving():
            changed = [(positives, "unlabeled"), (unlabeled[0], "positives")]
            read = [
                await self._inspected(session, replace(upload, role=role))
                for upload, role in changed
            ]
            for upload in read:
                session.uploads[upload.id] = upload
            session.changes += 1
            session.example = False
            await self._match(session)

    async def _match(self, session: Session) -> None:
        """Find out how the columns match, once for each change of the files."""
        while True:
            change = session.changes
            task = MatchTask(session.positives, tuple(session.unlabeled), self.limits.groups)
            found = await _result(self.jobs.submit(task))
            if session.changes == change:
                session.columns = [schemas.ColumnMatch.model_validate(each) for each in found]
                return

    async def add_example(self, session: Session, example: schemas.ExampleName) -> None:
        """Replace all files by those of an example."""
        await self._make_way(session)
        paths = (await _result(self._library))["example"]
        with session.receiving():
            for upload in list(session.uploads.values()):
                session.remove_upload(upload)
            for name, role in EXAMPLES[example].items():
                form = schemas.FileForm.model_validate({"role": role})
                upload = self._new_upload(session, name, form)
                with open(paths.get(name, _EXAMPLES / name), "rb") as content:
                    await self._keep(session, upload, content)
        session.example = True

    async def remove_file(self, session: Session, upload: Upload) -> None:
        """Delete a file."""
        await self._make_way(session)
        session.remove_upload(upload)
        await self._match(session)

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
        _check_label(session, wanted)
        self._check_request(session, positives, unlabeled, wanted)
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
            negatives=tuple(session.negatives),
        )
        estimate = Estimate(secrets.token_hex(8), directory, task, self.jobs.submit(task))
        session.keep_estimate(estimate)
        return estimate

    def _check_request(
        self,
        session: Session,
        positives: Upload,
        unlabeled: Sequence[Upload],
        wanted: schemas.EstimateRequest,
    ) -> None:
        """Refuse methods and scorers that do not exist, and columns that cannot be used."""
        if wanted.method is not None and wanted.method not in AVAILABLE_METHODS:
            known = ", ".join(AVAILABLE_METHODS)
            raise RefusedError(
                422, f"There is no method {wanted.method!r} here; choose from {known}.", "method"
            )
        most_groups, columns = self.limits.groups, session.columns
        matches = {column.name: column for column in columns}
        features = wanted.features
        if features is None:
            # If there is no default, the worker says which columns are doubtful.
            features = [name for name in positives.default_features or () if name != wanted.label]
        for name in features:
            # Only columns of the positives say which part of them is missing.
            if name not in matches or matches[name].missing is None or name == wanted.label:
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
        if isinstance(wanted, schemas.ComparisonRequest):
            reference = session.reference
            if reference is None:
                raise RefusedError(422, "There is no reference yet; add a file of it.", "reference")
        if earlier:
            earlier.cancel()
        job = self.jobs.submit(FollowUpTask(estimate.task, wanted, reference))
        estimate.follow_ups[wanted.kind] = job
        return job

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
    if wanted.label not in {column.name for column in session.columns}:
        raise RefusedError(422, f"There is no column {wanted.label!r} here.", "label")
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
