"""What the server does for its clients: receives files, has them inspected, has estimates made."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import Any

from starlette.requests import Request

from poscount import registry
from poscount.files.read_options import ReadOptions
from poscount.web import schemas
from poscount.web.clients import Clients
from poscount.web.cost import is_long
from poscount.web.fair_queue import Owner
from poscount.web.file_settings import common_settings, read_fields, without_role
from poscount.web.jobs import Job, JobQueue
from poscount.web.limits import Limits
from poscount.web.matching import is_taken, match_columns, too_many_groups, why_no_group
from poscount.web.multipart import receive
from poscount.web.refusals import RefusedError, refusal_of, size
from poscount.web.server_directory import ServerDirectory
from poscount.web.sessions import Estimate, Session, Sessions, Upload
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    CompareTask,
    DiagnoseTask,
    EstimateTask,
    FollowUp,
    InspectTask,
    MethodsTask,
    TrendTask,
)

_EXAMPLE = (("positives.csv", "positives"), ("trap.csv.gz", "unlabeled"))
_SWEEP_SECONDS = 15.0
_THE_SERVER = Owner("", "")


class Service:
    """Sessions and the processes that work for them.

    Each kind of work has processes of its own, so that reading a file waits for no estimate, a
    quick estimate for no long one, and no estimate for somebody else's report. What takes long
    stands back when there is not enough processor time for all.
    """

    def __init__(self, limits: Limits, clients: Clients, home: ServerDirectory) -> None:
        self.limits, self.clients = limits, clients
        self.sessions = Sessions(limits, home)
        few = max(1, limits.workers // 2)
        self.inspections = self._queue(limits.workers, max(1, limits.seconds // 5), 0)
        self.estimates = self._queue(limits.workers, limits.seconds, 0)
        self.long_estimates = self._queue(few, limits.seconds, 15)
        self.diagnoses = self._queue(few, limits.seconds, 10)
        # At once, so that the library is imported before the first file comes.
        self._methods = self.inspections.submit(MethodsTask(), _THE_SERVER)

    async def methods(self) -> list[dict[str, Any]]:
        """Describe the methods on offer."""
        return await _outcome(self._methods)

    async def add_file(self, session: Session, request: Request) -> None:
        """Store a file while it comes in, and have it inspected."""
        await self._make_way(session)
        if len(session.uploads) + session.incoming >= self.limits.files:
            raise RefusedError(
                409, f"A session can have {self.limits.files} files; remove one first."
            )
        with session.receiving():
            async with self.clients.uploading(session.owner.client):
                await self._receive(session, request)

    async def _receive(self, session: Session, request: Request) -> None:
        incoming = session.directory / secrets.token_hex(8)
        upload: Upload | None = None
        n_bytes = 0
        try:
            with open(incoming, "xb") as file:

                def write(data: bytes) -> None:
                    nonlocal n_bytes
                    if n_bytes + len(data) > self.limits.upload_bytes:
                        raise self._too_large()
                    self.sessions.take(session, len(data))
                    n_bytes += len(data)
                    file.write(data)

                form = await receive(request, write, self.limits, self._too_large())
            role, read_options = read_fields(form.fields)
            upload = self.sessions.new_upload(session, form.file_name or "", role, read_options)
            upload.settings = without_role(form.fields)
            _check_open(session)
            incoming.rename(upload.path)
            await self._inspect(session, upload)
        except BaseException:
            # Whatever happened, nothing of the file stays.
            for path in (incoming, upload.path if upload else incoming):
                path.unlink(missing_ok=True)
            self.sessions.give_back(session, n_bytes)
            raise
        upload.size = n_bytes
        self._keep(session, upload)

    async def change_settings(
        self, session: Session, upload: Upload, fields: dict[str, str]
    ) -> None:
        """Read a file again with other settings; it stays as it was if that fails."""
        await self._make_way(session)
        _, read_options = read_fields({**fields, "role": upload.role})
        again = replace(upload, read_options=read_options, settings=without_role(fields))
        with session.receiving():
            await self._inspect(session, again)
        session.example = session.example and upload.role == "reference"
        session.uploads[upload.id] = again

    async def add_example(self, session: Session) -> None:
        """Replace all files by the embedded example."""
        await self._make_way(session)
        with session.receiving():
            for upload in list(session.uploads.values()):
                self.sessions.remove_upload(session, upload)
            for name, role in _EXAMPLE:
                await self._copy_example(session, name, role)
        session.example = True

    async def _copy_example(self, session: Session, name: str, role: str) -> None:
        upload = self.sessions.new_upload(session, name, role, ReadOptions())
        await self._inspect(session, upload, example=name)
        upload.size = upload.path.stat().st_size
        self.sessions.take(session, upload.size)
        self._keep(session, upload)

    async def remove_file(self, session: Session, upload: Upload) -> None:
        """Delete a file."""
        await self._make_way(session)
        session.example = session.example and upload.role == "reference"
        self.sessions.remove_upload(session, upload)

    async def start_estimate(self, session: Session, wanted: schemas.EstimateRequest) -> Estimate:
        """Queue an estimate of the files of a session."""
        await self._make_way(session)
        if session.incoming:
            raise RefusedError(409, "A file of this session is still coming in; wait for it.")
        positives, unlabeled = session.of_role("positives"), session.of_role("unlabeled")
        if not positives:
            raise RefusedError(422, "There is no file of positives yet; add one.", "positives")
        if not unlabeled:
            raise RefusedError(422, "There is no file of unlabeled rows yet; add one.", "unlabeled")
        self._check_request(session, wanted)
        positives_format, read_options = _formats(positives[0], unlabeled)
        directory = session.directory / secrets.token_hex(8)
        task = EstimateTask(
            directory=str(directory),
            positives=positives[0].sent,
            unlabeled=tuple(upload.sent for upload in unlabeled),
            positives_format=positives_format,
            read_options=read_options,
            method=wanted.method or registry.DEFAULT_METHOD,
            options={
                "scorer": wanted.scorer,
                "confidence": wanted.confidence,
                "bootstrap": wanted.bootstrap,
                "random_state": wanted.random_state,
            },
            features=None if wanted.features is None else tuple(wanted.features),
            default_features=positives[0].content.default_features,
            by=tuple(dict.fromkeys(wanted.by)),
            by_file=wanted.by_file,
            target_column=wanted.target_column,
            example=session.example,
            most_groups=self.limits.groups,
            seconds=self.limits.seconds,
        )
        cells = sum(upload.content.rows * len(upload.content.columns) for upload in unlabeled)
        queue = self.long_estimates if is_long(task, cells) else self.estimates
        job = queue.submit(task, session.owner)
        files = session.estimated
        directory.mkdir(mode=0o700)
        estimate = Estimate(secrets.token_hex(8), directory, task, wanted, files, job)
        self.sessions.keep_estimate(session, estimate)
        return estimate

    def _check_request(self, session: Session, wanted: schemas.EstimateRequest) -> None:
        """Refuse methods and scorers that do not exist, and columns that cannot be used."""
        for name, value, known in (
            ("method", wanted.method, AVAILABLE_METHODS),
            ("scorer", wanted.scorer, registry.SCORERS),
        ):
            if value is not None and value not in known:
                raise RefusedError(
                    422, f"There is no {name} {value!r} here; choose from {', '.join(known)}.", name
                )
        (positives,) = session.of_role("positives")
        columns = match_columns(session, self.limits.groups)
        matches = {column.name: column for column in columns}
        features = wanted.features
        if features is None:
            # If there is no default, the worker says which columns are doubtful.
            features = list(positives.content.default_features or ())
        for name in features:
            if name not in positives.content.names:
                raise RefusedError(422, f"{positives.name} has no column {name!r}.", "features")
            match = matches[name]
            if not match.usable:
                sentence = match.problem or f"The column {name!r} {match.why_not}."
                raise RefusedError(422, sentence, "features")
        target = wanted.target_column
        if target is not None and (target not in matches or matches[target].targets is None):
            sentence = f"The column {target!r} of {positives.name} cannot name targets."
            raise RefusedError(422, sentence, "features")
        groupings = {grouping.by: grouping for match in columns for grouping in match.groupings}
        n_groups = 1
        for by in wanted.by:
            if by not in groupings or is_taken(by, wanted.by_file):
                sentence = why_no_group(session, by, wanted.by_file, self.limits.groups)
                raise RefusedError(422, sentence, "by")
            n_groups *= groupings[by].groups
        if n_groups > self.limits.groups:
            raise RefusedError(422, too_many_groups(wanted.by, self.limits.groups), "by")

    def start_diagnosis(self, session: Session, estimate: Estimate) -> Job:
        """Queue the check of an estimate's assumptions, unless it is queued, running or done."""
        job = estimate.follow_ups.get("diagnosis")
        if job is None or job.state in ("failed", "cancelled"):
            return self.start_follow_up(session, estimate, "diagnosis", DiagnoseTask(estimate.task))
        return job

    def start_trend(
        self, session: Session, estimate: Estimate, wanted: schemas.TrendRequest
    ) -> Job:
        """Queue a look for changes between groups."""
        columns = match_columns(session, self.limits.groups)
        groupings = {grouping.by for match in columns for grouping in match.groupings}
        if wanted.by not in groupings:
            sentence = why_no_group(session, wanted.by, False, self.limits.groups)
            raise RefusedError(422, sentence, "trend")
        task = TrendTask(estimate.task, wanted.by, wanted.baseline, wanted.smooth)
        return self.start_follow_up(session, estimate, "trend", task)

    def start_comparison(self, session: Session, estimate: Estimate) -> Job:
        """Queue a comparison of an estimate's files with the reference."""
        reference = next(iter(session.of_role("reference")), None)
        if reference is None:
            raise RefusedError(422, "There is no reference yet; add a file of it.", "reference")
        task = CompareTask(estimate.task, reference.sent, reference.read_options)
        return self.start_follow_up(session, estimate, "comparison", task)

    def start_follow_up(
        self, session: Session, estimate: Estimate, kind: str, task: FollowUp
    ) -> Job:
        """Queue further work on an estimate that is done; earlier work of its kind is stopped."""
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        kept = {upload.sent for upload in session.uploads.values()}
        if not kept.issuperset(estimate.task.files):
            raise RefusedError(409, "The files of this estimate have been removed.")
        if kind in estimate.follow_ups:
            estimate.follow_ups[kind].cancel()
        job = self.diagnoses.submit(task, session.owner)
        estimate.follow_ups[kind] = job
        return job

    async def write_report(self, estimate: Estimate, wanted: schemas.ReportRequest) -> None:
        """Write the report of an estimate again, with what somebody adds to it."""
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        from poscount.web.report import write_report  # it needs more than the server does

        await asyncio.to_thread(
            write_report, estimate.directory, title=wanted.title, notes=wanted.notes
        )

    async def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Cancel an estimate if it waits or runs, and delete what it wrote."""
        await self._cancel(estimate)
        self.sessions.remove_estimate(session, estimate)

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
            await asyncio.to_thread(self.sessions.home.remove_abandoned)

    def stop_work(self) -> None:
        """Stop all work; requests that wait for it are answered."""
        for queue in (self.inspections, self.estimates, self.long_estimates, self.diagnoses):
            queue.close()

    def close(self) -> None:
        """Stop all work and delete everything."""
        self.stop_work()
        self.sessions.close_all()

    def _queue(self, slots: int, seconds: int, niceness: int) -> JobQueue:
        return JobQueue(
            slots=slots,
            # A session has one estimate at a time.
            waiting=self.limits.sessions,
            waiting_per_client=self.limits.sessions_per_client,
            seconds=seconds,
            memory_bytes=self.limits.memory_bytes,
            niceness=niceness,
        )

    async def _inspect(
        self, session: Session, upload: Upload, *, example: str | None = None
    ) -> None:
        task = InspectTask(upload.sent, upload.read_options, self.limits, example)
        job = session.reading[upload.name] = self.inspections.submit(task, session.owner)
        try:
            content = await _outcome(job)
        except RefusedError as problem:
            _check_open(session)
            problem.field = problem.field or upload.role
            raise
        finally:
            session.reading.pop(upload.name, None)
        _check_open(session)
        for column in content["columns"]:
            for name in ("problem", "no_periods"):
                if column[name] is not None:
                    refusal = refusal_of(column[name], task)
                    column[name] = refusal.message
                    own = [{**mend, "role": upload.role} for mend in refusal.mends]
                    column["mends"] = [*column.get("mends", []), *own]
        upload.content = schemas.FileContent.model_validate(content)

    def _keep(self, session: Session, upload: Upload) -> None:
        session.example = session.example and upload.role == "reference"
        if upload.role != "unlabeled":
            # There is one file of positives, and one reference: a new one replaces the old.
            for old in session.of_role(upload.role):
                self.sessions.remove_upload(session, old)
        session.uploads[upload.id] = upload

    async def _cancel(self, estimate: Estimate) -> None:
        for job in (estimate.job, *estimate.follow_ups.values()):
            job.cancel()
            await _ended(job)

    async def _make_way(self, session: Session) -> None:
        """Refuse to disturb an estimate; stop a check of assumptions, which is now out of date."""
        for estimate in list(session.estimates.values()):
            if not estimate.job.live:
                await self._cancel(estimate)
        if session.live is not None:
            raise RefusedError(409, "This session has an estimate running; cancel it or wait.")

    def _too_large(self) -> RefusedError:
        return RefusedError(
            413,
            f"The file is larger than the {size(self.limits.upload_bytes)} that this server "
            "accepts; use the command line, which has no such limit.",
            "file",
        )


def _check_open(session: Session) -> None:
    if session.closed:
        raise RefusedError(404, "The session was closed while a file was coming in.")


def _formats(positives: Upload, unlabeled: list[Upload]) -> tuple[ReadOptions, ReadOptions]:
    """How the positives are read, and the other files: in the same way if that is possible."""
    read_options = common_settings(unlabeled)
    try:
        read_options = common_settings([positives, *unlabeled])
    except RefusedError:
        # For instance, they are in two sheets of one workbook.
        return positives.read_options, read_options
    return read_options, read_options


async def _ended(job: Job) -> Any:
    """Wait for a job. If the request that waits is cancelled, the job's own future is not."""
    return await asyncio.shield(asyncio.wrap_future(job.future))


async def _outcome(job: Job) -> Any:
    outcome = await _ended(job)
    if job.error is not None:
        error = job.error
        raise RefusedError(error.status, error.message, error.field, error.choices, error.mends)
    if job.state == "cancelled":
        raise RefusedError(503, "The server is shutting down.")
    return outcome
