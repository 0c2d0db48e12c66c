"""The web application: the page, and the API that it uses."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from poscount import __version__, registry
from poscount.web import matching, schemas
from poscount.web.guard import Guard, Hosts
from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError
from poscount.web.service import ROLES, Service
from poscount.web.sessions import Estimate, Session, Upload

_STATIC = Path(__file__).with_name("static")
_STATUSES = (400, 403, 404, 405, 408, 409, 413, 415, 422, 503, 507)
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
                        "role": {"type": "string", "enum": list(ROLES)},
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "CSV (also gzipped) or Parquet; its name says which.",
                        },
                        "delimiter": {
                            "type": "string",
                            "maxLength": 1,
                            "description": "Of CSV; found in the first line when empty.",
                        },
                        "decimal": {"type": "string", "enum": [".", ","], "default": "."},
                        "header": {"type": "string", "enum": ["true", "false"], "default": "true"},
                    },
                }
            }
        },
    }
}
_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".html": "text/html; charset=utf-8",
    ".poscount": "application/octet-stream",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def make_app(limits: Limits | None = None, hosts: Hosts | None = None) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    limits : Limits, optional
    hosts : Hosts, optional
        Names under which the server may be addressed; those of loopback by default.
    """
    limits = limits or Limits()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(limits)
        sweeper = asyncio.create_task(app.state.service.sweep())
        try:
            yield
        finally:
            sweeper.cancel()
            await asyncio.to_thread(app.state.service.close)

    app = FastAPI(
        title="poscount",
        version=__version__,
        summary="Count the positives in unlabeled data when positives are all that is labelled.",
        lifespan=lifespan,
        # Those pages load scripts from elsewhere; the description itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard, hosts=hosts or Hosts("127.0.0.1"))
    app.add_exception_handler(RefusedError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_invalid)
    app.add_exception_handler(HTTPException, _refuse_http)
    app.mount("/static", StaticFiles(directory=_STATIC))
    app.get("/", include_in_schema=False)(_page)
    _add_api(app, limits)
    return app


async def _page() -> FileResponse:
    return FileResponse(_STATIC / "index.html", media_type="text/html; charset=utf-8")


def _service(request: Request) -> Service:
    return request.app.state.service


def _session(request: Request, session: str) -> Session:
    return _service(request).sessions.find(session)


AService = Annotated[Service, Depends(_service)]
ASession = Annotated[Session, Depends(_session)]


def _add_api(app: FastAPI, limits: Limits) -> None:
    api: dict[str, Any] = {"responses": _REFUSALS}

    @app.get("/api/info", **api)
    async def info() -> schemas.Info:
        """Say how much the server takes."""
        return schemas.Info.model_validate({"version": __version__, "limits": asdict(limits)})

    @app.get("/api/methods", **api)
    async def list_methods(service: AService) -> schemas.Methods:
        """List the methods on offer, the default first, and the scorers that some of them take."""
        methods = {"methods": await service.methods(), "scorers": list(registry.SCORERS)}
        return schemas.Methods.model_validate(methods)

    @app.post("/api/sessions", status_code=201, **api)
    async def open_session(service: AService) -> schemas.SessionInfo:
        """Begin a session. Its name is its only key: whoever knows it can see what is in it."""
        return _session_info(service.sessions.open(), limits)

    @app.get("/api/sessions/{session}", **api)
    async def see_session(session: ASession) -> schemas.SessionInfo:
        """List the files of a session, and say which of their columns match."""
        return _session_info(session, limits)

    @app.delete("/api/sessions/{session}", status_code=204, **api)
    async def close_session(service: AService, session: ASession) -> Response:
        """Delete a session with all its files and results."""
        await service.close_session(session)
        return Response(status_code=204)

    @app.post("/api/sessions/{session}/example", status_code=201, **api)
    async def add_example(service: AService, session: ASession) -> schemas.SessionInfo:
        """Put the embedded example, nine nights of a mosquito trap, in the place of all files."""
        await service.add_example(session)
        return _session_info(session, limits)

    @app.post("/api/sessions/{session}/files", status_code=201, openapi_extra=_UPLOAD_FORM, **api)
    async def add_file(
        service: AService, session: ASession, request: Request
    ) -> schemas.SessionInfo:
        """Send a file; it is read through, and what is wrong with it is said at once."""
        await service.add_file(session, request)
        return _session_info(session, limits)

    @app.delete("/api/sessions/{session}/files/{file}", **api)
    async def remove_file(service: AService, session: ASession, file: str) -> schemas.SessionInfo:
        """Delete a file."""
        service.remove_file(session, session.upload(file))
        return _session_info(session, limits)

    @app.post("/api/sessions/{session}/estimates", status_code=202, **api)
    async def start_estimate(
        service: AService, session: ASession, wanted: schemas.EstimateRequest
    ) -> schemas.EstimateInfo:
        """Queue an estimate of all unlabeled files of the session; ask for it until it is done."""
        return _estimate_info(service, service.start_estimate(session, wanted))

    @app.get("/api/sessions/{session}/estimates/{estimate}", **api)
    async def see_estimate(
        service: AService, session: ASession, estimate: str
    ) -> schemas.EstimateInfo:
        """See how far an estimate is and, at its end, the answer."""
        return _estimate_info(service, session.estimate(estimate))

    @app.delete("/api/sessions/{session}/estimates/{estimate}", status_code=204, **api)
    async def remove_estimate(service: AService, session: ASession, estimate: str) -> Response:
        """Cancel an estimate, or delete its results."""
        await service.remove_estimate(session, session.estimate(estimate))
        return Response(status_code=204)

    @app.get(
        "/api/sessions/{session}/estimates/{estimate}/{download}",
        response_class=FileResponse,
        **api,
    )
    async def get_download(
        session: ASession, estimate: str, download: schemas.Download
    ) -> FileResponse:
        """Get a file that an estimate left: its result, report, pictures or model."""
        path = session.estimate(estimate).directory / download.value
        if not path.is_file():
            raise RefusedError(404, "This estimate has no such file, or is not done yet.")
        kind = _MEDIA_TYPES[path.suffix]
        return FileResponse(path, media_type=kind, filename=f"poscount-{download.value}")


def _session_info(session: Session, limits: Limits) -> schemas.SessionInfo:
    return schemas.SessionInfo.model_validate(
        {
            "session": session.id,
            "expires_after_seconds": limits.idle_seconds,
            "example": session.example,
            "files": [_file_info(upload) for upload in session.uploads.values()],
            **matching.matched(session),
        }
    )


def _file_info(upload: Upload) -> dict[str, Any]:
    about = {"id": upload.id, "name": upload.name, "role": upload.role, "size": upload.size}
    return {**about, **upload.content}


def _estimate_info(service: Service, estimate: Estimate) -> schemas.EstimateInfo:
    job = estimate.job
    answer, downloads = None, []
    if job.state == "done":
        service.sessions.weigh(estimate)
        answer = json.loads((estimate.directory / schemas.Download.json).read_text("utf-8"))
        downloads = [name for name in schemas.Download if (estimate.directory / name).exists()]
    error = job.error
    return schemas.EstimateInfo.model_validate(
        {
            "id": estimate.id,
            "state": job.state,
            "step": job.step,
            "fraction": job.fraction,
            "position": service.estimates.position(job),
            "seconds": round(job.seconds, 2),
            "error": {"message": error.message, "field": error.field} if error else None,
            "answer": answer,
            "downloads": downloads,
        }
    )


async def _refuse(request: Request, problem: Any) -> JSONResponse:
    content = {"message": problem.message, "field": problem.field}
    headers = {"retry-after": "60"} if problem.status == 503 else {}
    if problem.status in (408, 413, 507):
        # What is still on its way is not waited for.
        headers["connection"] = "close"
    return JSONResponse(content, problem.status, headers=headers)


async def _refuse_invalid(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    places = [str(part) for part in first["loc"] if part != "body"]
    field = places[0] if places else None
    said = first["msg"][:1].lower() + first["msg"][1:]
    return await _refuse(request, RefusedError(422, f"{field or 'The request'}: {said}.", field))


async def _refuse_http(request: Request, error: Any) -> JSONResponse:
    return await _refuse(request, RefusedError(error.status_code, f"{error.detail}."))
