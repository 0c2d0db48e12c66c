"""What clients are told about sessions, jobs and refusals."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from poscount.web import schemas
from poscount.web.column_match import match_columns
from poscount.web.jobs import Job
from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError
from poscount.web.sessions import Estimate, Session


def session_info(session: Session, limits: Limits) -> schemas.SessionInfo:
    """Describe a session."""
    return schemas.SessionInfo(
        session=session.id,
        example=session.example,
        files=[
            schemas.FileInfo(
                id=upload.id,
                name=upload.name,
                role=upload.role,  # type: ignore[arg-type]
                size=upload.size,
                settings=upload.settings,
                rows=upload.rows,
                columns=[column.name for column in upload.columns],
                preview=upload.preview,
            )
            for upload in session.uploads.values()
        ],
        columns=match_columns(session.positives, session.unlabeled, limits.groups),
        estimate=session.last.id if session.last else None,
    )


def job_info(name: str, job: Job, estimate: Estimate) -> schemas.JobInfo:
    """Describe a job of an estimate: the estimate itself, or what follows it.

    The result was checked when it was made, and is passed on as it is.
    """
    downloads: list[str] = []
    if job.state == "done":
        downloads = [file for file in schemas.Download if (estimate.directory / file).exists()]
    return schemas.JobInfo(
        id=name,
        state=job.state,
        step=job.step,
        fraction=job.fraction,
        position=job.position,
        seconds=round(job.seconds, 2),
        error=schemas.Refusal(**job.error.to_dict()) if job.error else None,
        downloads=downloads,
        result=job.result,
    )


def refusal_response(refusal: RefusedError) -> Response:
    """Describe a refusal."""
    headers = {"retry-after": "60"} if refusal.status == 503 else {}
    if refusal.status == 413:
        # The server does not wait for the rest of the request.
        headers["connection"] = "close"
    return JSONResponse(refusal.to_dict(), refusal.status, headers=headers)
