"""What the server does for its clients: takes files in, has them read, has estimates made."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import asdict
from typing import Any

from starlette.requests import Request

from poscount import registry
from poscount.web import matching, schemas
from poscount.web.limits import Limits
from poscount.web.multipart import receive
from poscount.web.offer import METHODS
from poscount.web.refusals import RefusedError, size
from poscount.web.runner import Job, Runner
from poscount.web.sessions import Estimate, Session, Sessions, Upload

ROLES = ("positives", "unlabeled")
_LAYOUT = {"delimiter": None, "decimal": ".", "header": True}
_EXAMPLE = (("positives.csv", "positives"), ("trap.csv.gz", "unlabeled"))
_SWEEP_SECONDS = 15.0


class Service:
    """Sessions and the processes that work for them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.sessions = Sessions(limits)
        self.checks = self._runner(limits.workers, limits.sessions, max(1, limits.seconds // 5))
        self.estimates = self._runner(limits.workers, limits.waiting, limits.seconds)
        # In a queue of their own, so that nobody's answer waits for somebody else's report.
        self.diagnoses = self._runner(max(1, limits.workers // 2), limits.waiting, limits.seconds)
        # Asked for at once, so that the library is imported before the first file comes.
        self._methods = self.checks.submit(self._task("methods"))

    async def methods(self) -> list[dict[str, Any]]:
        """Describe the methods on offer."""
        return await _outcome(self._methods)

    async def add_file(self, session: Session, request: Request) -> None:
        """Take a file in while it comes, and have it read through."""
        await self._make_way(session)
        if len(session.uploads) + session.incoming >= self.limits.files:
            raise RefusedError(409, f"A session takes {self.limits.files} files; remove one first.")
        with session.receiving():
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
                    self.sessions.take(len(data))
                    n_bytes += len(data)
                    file.write(data)

                most = self.limits.upload_bytes
                form = await receive(request, write, most=most, too_large=self._too_large())
            role, layout = _fields(form.fields)
            upload = self.sessions.new_upload(session, form.file_name or "", role, layout)
            _check_open(session)
            incoming.rename(upload.path)
            await self._check(session, upload)
        except BaseException:
            # Whatever happened, what has come of the file goes.
            for path in (incoming, upload.path if upload else incoming):
                path.unlink(missing_ok=True)
            self.sessions.used -= n_bytes
            raise
        upload.size = n_bytes
        self._keep(session, upload)

    async def add_example(self, session: Session) -> None:
        """Put the embedded example in the place of all files."""
        await self._make_way(session)
        with session.receiving():
            for upload in list(session.uploads.values()):
                self.sessions.remove_upload(session, upload)
            for name, role in _EXAMPLE:
                await self._copy_example(session, name, role)
        session.example = True

    async def _copy_example(self, session: Session, name: str, role: str) -> None:
        upload = self.sessions.new_upload(session, name, role, dict(_LAYOUT))
        await self._check(session, upload, example=name)
        upload.size = upload.path.stat().st_size
        self.sessions.take(upload.size)
        self._keep(session, upload)

    async def remove_file(self, session: Session, upload: Upload) -> None:
        """Delete a file."""
        await self._make_way(session)
        session.example = False
        self.sessions.remove_upload(session, upload)

    async def start_estimate(self, session: Session, wanted: schemas.EstimateRequest) -> Estimate:
        """Queue an estimate of the files of a session."""
        await self._make_way(session)
        if session.incoming:
            raise RefusedError(409, "A file of this session is still on its way; wait for it.")
        positives, data = session.of_role("positives"), session.of_role("unlabeled")
        for role, uploads in zip(ROLES, (positives, data), strict=True):
            if not uploads:
                raise RefusedError(422, f"There is no file of {_NOUNS[role]} yet; add one.", role)
        method = wanted.method or registry.DEFAULT_METHOD
        if method not in METHODS:
            known = ", ".join(METHODS)
            raise RefusedError(
                422, f"There is no method {method!r} here; choose from {known}.", "method"
            )
        if wanted.scorer is not None and wanted.scorer not in registry.SCORERS:
            known = ", ".join(registry.SCORERS)
            raise RefusedError(
                422, f"There is no scorer {wanted.scorer!r}; choose from {known}.", "scorer"
            )
        matching.check_features(session, wanted.features)
        matching.check_grouping(session, wanted.by, self.limits)
        directory = session.directory / secrets.token_hex(8)
        task = self._task(
            "estimate",
            directory=str(directory),
            positives=str(positives[0].path),
            data=[str(upload.path) for upload in data],
            names={str(upload.path): upload.name for upload in [*positives, *data]},
            layout=_one_layout([*positives, *data]),
            method=method,
            features=wanted.features,
            by=list(dict.fromkeys(wanted.by)),
            by_file=wanted.by_file,
            example=session.example,
            options={
                "scorer": wanted.scorer,
                "confidence": wanted.confidence,
                "bootstrap": wanted.bootstrap,
                "random_state": wanted.random_state,
            },
        )
        directory.mkdir(mode=0o700)
        estimate = Estimate(secrets.token_hex(8), directory, self.estimates.submit(task))
        self.sessions.keep_estimate(session, estimate)
        return estimate

    def start_diagnosis(self, session: Session, estimate: Estimate) -> Job:
        """Queue the check of an estimate's assumptions, unless it is on its way or done."""
        task = estimate.job.task
        if estimate.job.state != "done":
            raise RefusedError(409, "The estimate is not done; wait for it.")
        kept = {str(upload.path) for upload in session.uploads.values()}
        if not {task["positives"], *task["data"]} <= kept:
            raise RefusedError(409, "The files of this estimate are not here any more.")
        if estimate.diagnosis is None or estimate.diagnosis.state in ("failed", "cancelled"):
            estimate.diagnosis = self.diagnoses.submit({**task, "kind": "diagnose"})
        return estimate.diagnosis

    async def remove_estimate(self, session: Session, estimate: Estimate) -> None:
        """Cancel an estimate if it is on its way, and delete what it wrote."""
        await self._cancel(estimate)
        self.sessions.remove_estimate(session, estimate)

    async def close_session(self, session: Session) -> None:
        """Delete a session and all that belongs to it."""
        for estimate in list(session.estimates.values()):
            await self._cancel(estimate)
        await asyncio.to_thread(self.sessions.close, session)

    async def sweep(self) -> None:
        """Delete sessions that have expired, for ever."""
        while True:
            await asyncio.sleep(min(_SWEEP_SECONDS, self.limits.idle_seconds / 2))
            for session in self.sessions.expired():
                await self.close_session(session)

    def close(self) -> None:
        """Stop all work and delete everything."""
        self.checks.close()
        self.estimates.close()
        self.diagnoses.close()
        self.sessions.close_all()

    def _runner(self, slots: int, waiting: int, seconds: int) -> Runner:
        memory = self.limits.memory_bytes
        return Runner(slots=slots, waiting=waiting, seconds=seconds, memory_bytes=memory)

    def _task(self, kind: str, **more: Any) -> dict[str, Any]:
        return {"kind": kind, "limits": asdict(self.limits), "names": {}, **more}

    async def _check(self, session: Session, upload: Upload, *, example: str | None = None) -> None:
        path = str(upload.path)
        task = self._task(
            "inspect",
            path=path,
            role=upload.role,
            layout=upload.layout,
            names={path: upload.name},
            example=example,
        )
        try:
            upload.content = await _outcome(self.checks.submit(task))
        except RefusedError as problem:
            _check_open(session)
            problem.field = problem.field or upload.role
            raise
        _check_open(session)

    def _keep(self, session: Session, upload: Upload) -> None:
        session.example = False
        if upload.role == "positives":
            # There is one file of positives: a new one takes the place of the old.
            for old in session.of_role("positives"):
                self.sessions.remove_upload(session, old)
        session.uploads[upload.id] = upload

    async def _cancel(self, estimate: Estimate) -> None:
        for runner, job in ((self.estimates, estimate.job), (self.diagnoses, estimate.diagnosis)):
            if job is not None:
                runner.cancel(job)
                await asyncio.wrap_future(job.future)

    async def _make_way(self, session: Session) -> None:
        """Refuse to disturb an estimate; a check of the assumptions has been overtaken."""
        for estimate in list(session.estimates.values()):
            if not estimate.job.live:
                await self._cancel(estimate)
        if session.live is not None:
            raise RefusedError(409, "An estimate of this session is on its way; cancel it or wait.")

    def _too_large(self) -> RefusedError:
        return RefusedError(
            413,
            f"The file is larger than {size(self.limits.upload_bytes)}, more than this server "
            "takes; use the command line for it, which has no such limit.",
            "file",
        )


_NOUNS = {"positives": "positives", "unlabeled": "unlabeled rows"}


def _check_open(session: Session) -> None:
    if session.closed:
        raise RefusedError(404, "The session was closed while a file came in.")


async def _outcome(job: Job) -> Any:
    outcome = await asyncio.wrap_future(job.future)
    if job.error is not None:
        raise RefusedError(job.error.status, job.error.message, job.error.field)
    if job.state == "cancelled":
        raise RefusedError(503, "The server is shutting down.")
    return outcome


def _fields(fields: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Read the fields that come with a file."""
    allowed: dict[str, tuple[str, ...]] = {
        "role": ROLES,
        "decimal": (".", ","),
        "header": ("true", "false"),
    }
    for name, value in fields.items():
        if name != "delimiter" and name not in allowed:
            raise RefusedError(422, f"The form has a field {name!r}, which is not known.")
        if name in allowed and value not in allowed[name]:
            raise RefusedError(422, f"{name} must be one of {' '.join(allowed[name])}.", name)
    if "role" not in fields:
        raise RefusedError(422, "The form needs a field role: positives or unlabeled.", "role")
    return fields["role"], {
        "delimiter": fields.get("delimiter") or None,
        "decimal": fields.get("decimal", "."),
        "header": fields.get("header", "true") == "true",
    }


def _one_layout(uploads: list[Upload]) -> dict[str, Any]:
    layouts = {
        json.dumps(upload.layout): upload.layout
        for upload in uploads
        if upload.path.suffix != ".parquet"
    }
    if len(layouts) > 1:
        raise RefusedError(
            422, "The CSV files came with different settings; send them with the same.", "delimiter"
        )
    return next(iter(layouts.values()), dict(_LAYOUT))
