"""The web application: the page, and the API that it uses."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from poscount import __version__
from poscount.web import schemas
from poscount.web.guard import MORE_BODY, Guard, Hosts, refusal_response
from poscount.web.jobs import Job
from poscount.web.refusals import RefusedError
from poscount.web.schemas import Limits
from poscount.web.service import Service
from poscount.web.sessions import Estimate, ServerDirectory, Session

_STATIC = Path(__file__).with_name("static")
_STATUSES = (400, 403, 404, 405, 409, 413, 414, 415, 422, 431, 503, 507)
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# The name of a field that nobody knows may be as long as the request.
_LONGEST_FIELD = 60
_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".poscount": "application/octet-stream",
}


def make_app(
    token: str | None = None,
    limits: Limits | None = None,
    hosts: Hosts | None = None,
    home: ServerDirectory | None = None,
) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    token : str, optional
        What requests must have to be let in; a new one by default.
    limits : Limits, optional
    hosts : Hosts, optional
        Host names that requests may use for the server; those of loopback by default.
    home : ServerDirectory, optional
        Where to keep files; a new one by default. It is deleted when the application ends.
    """
    limits = limits or Limits()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(limits, home or ServerDirectory())
        sweeper = asyncio.create_task(app.state.service.sweep())
        try:
            yield
        finally:
            sweeper.cancel()
            await asyncio.to_thread(app.state.service.close)

    app = FastAPI(
        title="poscount",
        version=__version__,
        summary="Estimate the share of positives in unlabeled data, from labelled positives alone.",
        lifespan=lifespan,
        # Those pages would load scripts from other servers; the description is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            RefusedError: _refuse,
            RequestValidationError: _refuse_invalid,
            HTTPException: _refuse_http,
            OSError: _refuse_without_space,
        },
    )
    app.add_middleware(
        Guard,
        hosts=hosts or Hosts("127.0.0.1"),
        token=token or secrets.token_urlsafe(24),
        limits=limits,
    )
    app.mount("/static", StaticFiles(directory=_STATIC))
    app.get("/", include_in_schema=False)(_page)
    app.include_router(_API)
    return app


async def _page() -> FileResponse:
    return FileResponse(_STATIC / "index.html", media_type="text/html; charset=utf-8")


def _service(request: Request) -> Service:
    return request.app.state.service


def _session(request: Request, session: str) -> Session:
    return _service(request).sessions.find(session)


AService = Annotated[Service, Depends(_service)]
ASession = Annotated[Session, Depends(_session)]


def _estimate(session: ASession, estimate: str) -> Estimate:
    return session.estimate(estimate)


AnEstimate = Annotated[Estimate, Depends(_estimate)]

_API = APIRouter(
    prefix="/api", responses={status: {"model": schemas.Refusal} for status in _STATUSES}
)
_SESSION = "/sessions/{session}"
_FILE = f"{_SESSION}/files/{{file}}"
_ESTIMATE = f"{_SESSION}/estimates/{{estimate}}"


_NO_FILES = b'{"files":[],"columns":[]}'


async def _about(session: Session, status: int = 200) -> Response:
    """Describe a session: what a job has written about its files, as it is."""
    head = schemas.SessionHead(
        session=session.id,
        example=session.example,
        estimate=session.last.id if session.last else None,
    ).model_dump_json()
    content = _NO_FILES
    session.require_open()
    if session.matches:
        # Opened now, because it is deleted when the next one is there.
        with open(session.matches, "rb") as file:
            content = await asyncio.to_thread(file.read)
    return _json(head.encode().removesuffix(b"}") + b"," + content.removeprefix(b"{"), status)


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


def _job_info(name: str, job: Job, estimate: Estimate, status: int = 200) -> Response:
    """Describe a job of an estimate: the estimate itself, or what follows it."""
    downloads: list[str] = []
    if job.state == "done":
        downloads = [file for file in schemas.Download if (estimate.directory / file).exists()]
    told = schemas.JobInfo(
        id=name,
        state=job.state,
        step=job.step,
        fraction=job.fraction,
        position=job.position,
        seconds=round(job.seconds, 2),
        error=schemas.Refusal(**job.error.to_dict()) if job.error else None,
        downloads=downloads,
        result=None,
    ).model_dump_json()
    # As the worker made it: nobody looks into it again.
    return _json(told.encode().removesuffix(b"null}") + (job.result or b"null") + b"}", status)


@_API.get("/info")
async def info(service: AService) -> schemas.Info:
    """Give the version and the limits of the server."""
    return schemas.Info(version=__version__, limits=service.limits)


@_API.post("/sessions", status_code=201, response_model=schemas.SessionInfo)
async def open_session(service: AService) -> Response:
    """Begin a session."""
    return await _about(service.sessions.open(), 201)


@_API.get(_SESSION, response_model=schemas.SessionInfo)
async def see_session(session: ASession) -> Response:
    """List the files of a session, how their columns match, and its last estimate."""
    # A page asks for it when it is opened, again or in another tab.
    session.pages += 1
    return await _about(session)


@_API.delete(_SESSION, status_code=204)
async def close_session(service: AService, session: ASession) -> None:
    """Delete a session and all its files and results."""
    await service.close_session(session)


@_API.post(f"{_SESSION}/leave", status_code=204)
async def leave_session(session: ASession) -> None:
    """Say that the page was closed or is loaded again; unused, the session is deleted soon."""
    session.leave()


@_API.post(f"{_SESSION}/example", status_code=201, response_model=schemas.SessionInfo)
async def add_example(
    service: AService, session: ASession, name: schemas.ExampleName = "insects"
) -> Response:
    """Replace all files by an example: a mosquito trap, a register with gaps, or three species."""
    await service.files.add_example(session, name)
    return await _about(session, 201)


def _upload_form() -> dict[str, Any]:
    form = schemas.FileForm.model_json_schema()
    form["properties"]["file"] = {
        "type": "string",
        "format": "binary",
        "description": "CSV, JSON lines, Excel or Parquet, by its name.",
    }
    form["required"] += ["file"]
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}}}


@_API.post(
    f"{_SESSION}/files",
    status_code=201,
    response_model=schemas.SessionInfo,
    openapi_extra=_upload_form(),
)
async def add_file(service: AService, session: ASession, request: Request) -> Response:
    """Send a file. It is read at once, and refused if it cannot be used."""
    await service.files.add_file(session, request)
    return await _about(session, 201)


@_API.get(f"{_SESSION}/reading")
async def see_reading(session: ASession) -> list[schemas.FileProgress]:
    """List the files that are being read, and how far that is."""
    return [
        schemas.FileProgress(name=name, fraction=job.fraction)
        for job, name in session.jobs.items()
        if name
    ]


@_API.delete(_FILE, response_model=schemas.SessionInfo)
async def remove_file(service: AService, session: ASession, file: str) -> Response:
    """Delete a file."""
    await service.files.remove_file(session, file)
    return await _about(session)


@_API.get(_FILE, response_class=FileResponse)
async def get_file(session: ASession, file: str) -> FileResponse:
    """Get a file back as it was sent, to save the session."""
    upload = session.upload(file)
    return FileResponse(upload.path, media_type="application/octet-stream", filename=upload.name)


@_API.patch(_FILE, response_model=schemas.SessionInfo)
async def change_settings(
    service: AService, session: ASession, file: str, settings: schemas.FileSettings
) -> Response:
    """Read a file again with other settings: the fields of the form that it came with."""
    await service.files.change_settings(session, file, settings)
    return await _about(session)


@_API.post(f"{_SESSION}/swap", response_model=schemas.SessionInfo)
async def swap(service: AService, session: ASession) -> Response:
    """Exchange the file of positives and the file to be counted."""
    await service.files.swap(session)
    return await _about(session)


@_API.post(f"{_SESSION}/estimates", status_code=202, response_model=schemas.JobInfo)
async def start_estimate(
    service: AService, session: ASession, wanted: schemas.EstimateRequest
) -> Response:
    """Queue an estimate for all unlabeled files of the session; poll it until it is done."""
    estimate = await service.start_estimate(session, wanted)
    return _job_info(estimate.id, estimate.job, estimate, 202)


@_API.get(_ESTIMATE, response_model=schemas.JobInfo)
async def see_estimate(estimate: AnEstimate) -> Response:
    """Get the state of an estimate and, when it is done, the answer."""
    return _job_info(estimate.id, estimate.job, estimate)


@_API.delete(_ESTIMATE, status_code=204)
async def remove_estimate(service: AService, session: ASession, estimate: AnEstimate) -> None:
    """Cancel an estimate, or delete its results."""
    await service.remove_estimate(session, estimate)


@_API.post(f"{_ESTIMATE}/follow-ups", status_code=202, response_model=schemas.JobInfo)
async def start_follow_up(
    service: AService, session: ASession, estimate: AnEstimate, wanted: schemas.FollowUpRequest
) -> Response:
    """Queue further work on an estimate that is done; any change of the session stops it."""
    job = await service.start_follow_up(session, estimate, wanted)
    return _job_info(wanted.kind, job, estimate, 202)


@_API.get(f"{_ESTIMATE}/follow-ups/{{kind}}", response_model=schemas.JobInfo)
async def see_follow_up(estimate: AnEstimate, kind: str) -> Response:
    """Get the state of such work and, when it is done, its result."""
    if kind not in estimate.follow_ups:
        raise RefusedError(404, "This has not been requested yet.")
    return _job_info(kind, estimate.follow_ups[kind], estimate)


@_API.get(f"{_ESTIMATE}/{{download}}", response_class=FileResponse)
async def get_download(estimate: AnEstimate, download: schemas.Download) -> FileResponse:
    """Get a file that an estimate wrote: its result or its model."""
    path = estimate.directory / download.value
    if not path.is_file():
        raise RefusedError(404, "This estimate has no such file, or it is not done yet.")
    kind = _MEDIA_TYPES[path.suffix]
    return FileResponse(path, media_type=kind, filename=f"poscount-{download.value}")


async def _refuse(request: Request, refusal: Any) -> Response:
    return refusal_response(refusal)


async def _refuse_invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refusal_response(RefusedError(422, "The request is not valid JSON."))
    places = [str(part) for part in first["loc"] if part != "body"]
    field = places[0][:_LONGEST_FIELD] if places else None
    reason = first["msg"].removeprefix("Value error, ")
    sentence = f"{field or 'The request'}: {reason[:1].lower()}{reason[1:]}."
    return refusal_response(RefusedError(422, sentence, field))


async def _refuse_http(request: Request, error: Any) -> Response:
    return refusal_response(RefusedError(error.status_code, f"{error.detail.rstrip('.')}."))


async def _refuse_without_space(request: Request, error: Any) -> Response:
    if error.errno not in _NO_SPACE:
        raise error
    # Whoever is still sending would otherwise see a broken connection instead of the sentence.
    with contextlib.suppress(RefusedError, HTTPException):
        while request.scope.get(MORE_BODY):
            await request.receive()
    sentence = "The disk of the server is full; make room on it, and try again."
    return refusal_response(RefusedError(507, sentence))
