"""What clients are told about sessions, estimates, further work and refusals."""

from __future__ import annotations

import json
from typing import Any

from poscount.web import schemas
from poscount.web.jobs import Job
from poscount.web.limits import Limits
from poscount.web.matching import match_columns
from poscount.web.refusals import RefusedError
from poscount.web.service import Service
from poscount.web.sessions import Estimate, Session, Upload


def session_info(session: Session, limits: Limits) -> schemas.SessionInfo:
    """Describe a session."""
    last = session.last
    return schemas.SessionInfo(
        session=session.id,
        expires_after_seconds=limits.idle_seconds,
        example=session.example,
        files=[_file_info(upload) for upload in session.uploads.values()],
        columns=match_columns(session, limits.groups),
        estimate=schemas.LastEstimate(id=last.id, wanted=last.wanted) if last else None,
    )


def _file_info(upload: Upload) -> schemas.FileInfo:
    about = {
        "id": upload.id,
        "name": upload.name,
        "role": upload.role,
        "size": upload.size,
        "settings": upload.settings,
    }
    return schemas.FileInfo.model_validate(about | upload.content.model_dump())


def estimate_info(service: Service, session: Session, estimate: Estimate) -> schemas.EstimateInfo:
    """Describe an estimate."""
    answer = None
    if estimate.job.state == "done":
        answer = json.loads((estimate.directory / schemas.Download.json).read_text("utf-8"))
    job = _job_info(service, session, estimate, estimate.job)
    return schemas.EstimateInfo.model_validate({"id": estimate.id, "answer": answer, **job})


def diagnosis_info(
    service: Service, session: Session, estimate: Estimate, job: Job
) -> schemas.DiagnosisInfo:
    """Describe the check of an estimate's assumptions."""
    diagnosis = job.future.result() if job.state == "done" else None
    told = _job_info(service, session, estimate, job)
    return schemas.DiagnosisInfo.model_validate({"diagnosis": diagnosis, **told})


def follow_up_info(
    service: Service, session: Session, estimate: Estimate, job: Job
) -> schemas.FollowUpInfo:
    """Describe further work on an estimate."""
    result = job.future.result() if job.state == "done" else None
    told = _job_info(service, session, estimate, job)
    return schemas.FollowUpInfo.model_validate({"result": result, **told})


def _job_info(service: Service, session: Session, estimate: Estimate, job: Job) -> dict[str, Any]:
    downloads = []
    if job.state == "done":
        service.sessions.update_disk_usage(session, estimate)
        downloads = [name for name in schemas.Download if (estimate.directory / name).exists()]
    error = job.error
    return {
        "state": job.state,
        "step": job.step,
        "fraction": job.fraction,
        "position": job.position,
        "seconds": round(job.seconds, 2),
        "error": problem_told(error) if error else None,
        "downloads": downloads,
    }


def problem_told(problem: RefusedError) -> dict[str, Any]:
    """Describe a refusal."""
    return {
        "message": problem.message,
        "field": problem.field,
        "choices": list(problem.choices),
        "mends": list(problem.mends),
    }
