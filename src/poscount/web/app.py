"""The web application: the page, and the API that it uses."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from poscount import __version__, registry
from poscount.web import schemas
from poscount.web.clients import Clients, client_of_request
from poscount.web.dependencies import AService, ASession
from poscount.web.described import estimate_info, problem_told, session_info
from poscount.web.file_settings import CHOICES, TEXTS
from poscount.web.follow_ups import add_follow_ups
from poscount.web.guard import Guard, Hosts
from poscount.web.intake import Intake
from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError
from poscount.web.server_directory import ServerDirectory
from poscount.web.service import Service

_STATIC = Path(__file__).with_name("static")
_STATUSES = (400, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 503, 507)
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Refusal} for status in _STATUSES
}
_UPLOAD_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["role", "file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "CSV, JSON lines, Excel or Parquet, by its name.",
                        },
                        **{
                            name: {"type": "string", "enum": list(values)}
                            for name, values in CHOICES.items()
                        },
                        **{
                            name: {"type": "string", "description": text}
                            for name, text in TEXTS.items()
                        },
                    },
                }
            }
        },
    }
}
# The name of a field that nobody knows may be as long as the request.
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_LONGEST_FIELD = 60
_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".html": "text/html; charset=utf-8",
    ".poscount": "application/octet-stream",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def make_app(
    limits: Limits | None = None, hosts: Hosts | None = None, home: ServerDirectory | None = None
) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    limits : Limits, optional
    hosts : Hosts, optional
        Host names that requests may use for the server; those of loopback by default.
    home : ServerDirectory, optional
        Where to keep files; a new one by default. It is deleted when the application ends.
    """
    limits = limits or Limits()
    clients = Clients(limits)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(limits, clients, home or ServerDirectory())
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
    )
    app.add_middleware(Intake, limits=limits, clients=clients)
    app.add_middleware(Guard, hosts=hosts or Hosts("127.0.0.1"))
    app.add_exception_handler(RefusedError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_invalid)
    app.add_exception_handler(HTTPException, _refuse_http)
    app.add_exception_handler(OSError, _refuse_without_space)
    app.mount("/static", StaticFiles(directory=_STATIC))
    app.get("/", include_in_schema=False)(_page)
    _add_api(app, limits)
    return app


async def _page() -> FileResponse:
    return FileResponse(_STATIC / "index.html", media_type="text/html; charset=utf-8")


def _add_api(app: FastAPI, limits: Limits) -> None:
    api: dict[str, Any] = {"responses": _REFUSALS}

    @app.get("/api/info", **api)
    async def info() -> schemas.Info:
        """Give the version and the limits of the server."""
        return schemas.Info.model_validate({"version": __version__, "limits": asdict(limits)})

    @app.get("/api/methods", **api)
    async def list_methods(service: AService) -> schemas.Methods:
        """List the methods, the default first, and the scorers that some of them accept."""
        methods = {"methods": await service.methods(), "scorers": list(registry.SCORERS)}
        return schemas.Methods.model_validate(methods)

    @app.post("/api/sessions", status_code=201, **api)
    async def open_session(service: AService, request: Request) -> schemas.SessionInfo:
        """Begin a session. Anyone who knows its name can use it; there is no other key."""
        return session_info(service.sessions.open(client_of_request(request.scope)), limits)

    @app.get("/api/sessions/{session}", **api)
    async def see_session(session: ASession) -> schemas.SessionInfo:
        """List the files of a session, how their columns match, and its last estimate."""
        return session_info(session, limits)

    @app.delete("/api/sessions/{session}", status_code=204, **api)
    async def close_session(service: AService, session: ASession) -> Response:
        """Delete a session and all its files and results."""
        await service.close_session(session)
        return Response(status_code=204)

    @app.post("/api/sessions/{session}/leave", status_code=204, **api)
    async def leave_session(service: AService, session: ASession) -> Response:
        """Say that the page was closed or is loaded again; unused, the session is deleted soon."""
        service.sessions.leave(session)
        return Response(status_code=204)

    @app.post("/api/sessions/{session}/example", status_code=201, **api)
    async def add_example(service: AService, session: ASession) -> schemas.SessionInfo:
        """Replace all files by the embedded example: nine nights of a mosquito trap."""
        await service.add_example(session)
        return session_info(session, limits)

    @app.post("/api/sessions/{session}/files", status_code=201, openapi_extra=_UPLOAD_FORM, **api)
    async def add_file(
        service: AService, session: ASession, request: Request
    ) -> schemas.SessionInfo:
        """Send a file. It is read at once, and refused if it cannot be used."""
        await service.add_file(session, request)
        return session_info(session, limits)

    @app.get("/api/sessions/{session}/reading", **api)
    async def see_reading(session: ASession) -> list[schemas.FileProgress]:
        """List the files that are being read, and how far that is."""
        return [
            schemas.FileProgress(name=name, fraction=job.fraction)
            for name, job in session.reading.items()
        ]

    @app.delete("/api/sessions/{session}/files/{file}", **api)
    async def remove_file(service: AService, session: ASession, file: str) -> schemas.SessionInfo:
        """Delete a file."""
        await service.remove_file(session, session.upload(file))
        return session_info(session, limits)

    @app.get("/api/sessions/{session}/files/{file}", response_class=FileResponse, **api)
    async def get_file(session: ASession, file: str) -> FileResponse:
        """Get a file back as it was sent, to save the session."""
        upload = session.upload(file)
        return FileResponse(
            upload.path, media_type="application/octet-stream", filename=upload.name
        )

    @app.patch("/api/sessions/{session}/files/{file}", **api)
    async def change_settings(
        service: AService, session: ASession, file: str, settings: schemas.FileSettings
    ) -> schemas.SessionInfo:
        """Read a file again with other settings: the fields of the form that it came with."""
        await service.change_settings(session, session.upload(file), settings)
        return session_info(session, limits)

    @app.post("/api/sessions/{session}/estimates", status_code=202, **api)
    async def start_estimate(
        service: AService, session: ASession, wanted: schemas.EstimateRequest
    ) -> schemas.EstimateInfo:
        """Queue an estimate for all unlabeled files of the session; poll it until it is done."""
        return estimate_info(service, session, await service.start_estimate(session, wanted))

    @app.get("/api/sessions/{session}/estimates/{estimate}", **api)
    async def see_estimate(
        service: AService, session: ASession, estimate: str
    ) -> schemas.EstimateInfo:
        """Get the state of an estimate and, when it is done, the answer."""
        return estimate_info(service, session, session.estimate(estimate))

    @app.delete("/api/sessions/{session}/estimates/{estimate}", status_code=204, **api)
    async def remove_estimate(service: AService, session: ASession, estimate: str) -> Response:
        """Cancel an estimate, or delete its results."""
        await service.remove_estimate(session, session.estimate(estimate))
        return Response(status_code=204)

    @app.post("/api/sessions/{session}/estimates/{estimate}/report", status_code=204, **api)
    async def write_report(
        service: AService, session: ASession, estimate: str, wanted: schemas.ReportRequest
    ) -> Response:
        """Write the report of an estimate again, with a title and notes."""
        await service.write_report(session.estimate(estimate), wanted)
        return Response(status_code=204)

    add_follow_ups(app, api)

    @app.get(
        "/api/sessions/{session}/estimates/{estimate}/{download}",
        response_class=FileResponse,
        **api,
    )
    async def get_download(
        session: ASession, estimate: str, download: schemas.Download
    ) -> FileResponse:
        """Get a file that an estimate wrote: its result, report, picture or model."""
        path = session.estimate(estimate).directory / download.value
        if not path.is_file():
            raise RefusedError(404, "This estimate has no such file, or it is not done yet.")
        kind = _MEDIA_TYPES[path.suffix]
        return FileResponse(path, media_type=kind, filename=f"poscount-{download.value}")


async def _refuse(request: Request, problem: Any) -> JSONResponse:
    headers = {"retry-after": "60"} if problem.status in (429, 503) else {}
    if problem.status in (408, 413, 507):
        # The server does not wait for the rest of the request.
        headers["connection"] = "close"
    return JSONResponse(problem_told(problem), problem.status, headers=headers)


async def _refuse_invalid(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return await _refuse(request, RefusedError(422, "The request is not valid JSON."))
    places = [str(part) for part in first["loc"] if part != "body"]
    field = places[0][:_LONGEST_FIELD] if places else None
    reason = first["msg"][:1].lower() + first["msg"][1:]
    return await _refuse(request, RefusedError(422, f"{field or 'The request'}: {reason}.", field))


async def _refuse_http(request: Request, error: Any) -> JSONResponse:
    return await _refuse(request, RefusedError(error.status_code, f"{error.detail}."))


async def _refuse_without_space(request: Request, error: Any) -> JSONResponse:
    if error.errno not in _NO_SPACE:
        raise error
    sentence = "The disk of the server is full; ask whoever runs it, or try again later."
    return await _refuse(request, RefusedError(507, sentence))
