"""What the server does for its clients: keeps sessions, and has estimates made of their files."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from poscount.files.read_options import ReadOptions
from poscount.web import schemas
from poscount.web.jobs import Job, JobQueue
from poscount.web.refusals import RefusedError
from poscount.web.session_files import SessionFiles
from poscount.web.sessions import (
    Estimate,
    ServerDirectory,
    Session,
    Sessions,
    of_role,
    positives_and_unlabeled,
)
from poscount.web.tasks import AVAILABLE_METHODS, CheckTask, EstimateTask, FollowUpTask, Upload

_SWEEP_SECONDS = 15.0
# Settings of which each file may have some, and those that a file need not show.
_ADD_UP = ("units", "na", "rename")
_OF_CELLS = ("decimal", "thousands", "day_first", "encoding")


class Service:
    """Sessions, and the queues of what is done for them."""

    def __init__(self, limits: schemas.Limits, home: ServerDirectory) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, home)
        self.jobs = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        # What a request waits for: files and columns, which no long estimate may hold up.
        self.looks = JobQueue(limits.workers, limits.seconds, limits.memory_bytes)
        self.files = SessionFiles(limits, self.looks)

    async def start_estimate(self, session: Session, wanted: schemas.EstimateRequest) -> Estimate:
        """Queue an estimate of the files of a session."""
        if session.incoming:
            raise RefusedError(409, "A file of this session is still coming in; wait for it.")
        async with session.changing():
            task = self._estimate_task(session, wanted)
            await session.result_of(self.looks, CheckTask(task, session.matches))
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
        """Queue further work on an estimate that is done; earlier work of its kind is stopped.

        If a newer estimate runs, which stops what follows older ones, it is cancelled at once.
        """
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        async with session.lock:
            session.require_open()
            session.estimate(estimate.id)
            if not session.uploads.keys() >= {file.id for file in estimate.task.files}:
                raise RefusedError(409, "The files of this estimate have been removed.")
            earlier = estimate.follow_ups.get(wanted.kind)
            if earlier and wanted.kind == "diagnosis" and (earlier.live or earlier.state == "done"):
                # There is nothing about it that could have been asked in another way.
                return earlier
            reference = session.reference if wanted.kind == "comparison" else None
            if wanted.kind == "comparison" and reference is None:
                sentence = "There is no reference yet; add a file of it."
                raise RefusedError(422, sentence, "reference")
            if earlier:
                earlier.cancel()
            task = FollowUpTask(estimate.task, wanted, reference)
            if session.live is not None:
                job = Job(task, self.jobs)
                job.end("cancelled")
            else:
                job = self.jobs.submit(task)
            estimate.follow_ups[wanted.kind] = job
            return job

    async def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Cancel an estimate if it waits or runs, and delete what it wrote."""
        async with session.lock:
            await estimate.cancel()
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
                await estimate.cancel()
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
        if len(values) > 1 and name != "footer":
            raise RefusedError(
                422,
                "The files of unlabeled rows are written in different ways; write them alike, or "
                "read them with the same settings.",
                "unlabeled" if name == "sheet" else name,
            )
        if len(values) == 1:
            settings[name] = values.pop()
    ends = {file.path: file.read_options.footer for file in uploads}
    if len(set(ends.values())) > 1:
        settings["footers"] = tuple(ends.items())
    return ReadOptions(**settings)
