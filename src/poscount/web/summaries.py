"""What clients are told of their sessions and of the work that is done for them."""

from __future__ import annotations

import json
from typing import Any

from poscount.web import matching, schemas
from poscount.web.limits import Limits
from poscount.web.runner import Job, Runner
from poscount.web.service import Service
from poscount.web.sessions import Estimate, Session, Upload


def session_info(session: Session, limits: Limits) -> schemas.SessionInfo:
    """Describe a session."""
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


def estimate_info(service: Service, estimate: Estimate) -> schemas.EstimateInfo:
    """Describe an estimate."""
    answer = None
    if estimate.job.state == "done":
        answer = json.loads((estimate.directory / schemas.Download.json).read_text("utf-8"))
    return schemas.EstimateInfo.model_validate(
        {
            "id": estimate.id,
            "answer": answer,
            **_job_info(service, estimate, service.estimates, estimate.job),
        }
    )


def diagnosis_info(service: Service, estimate: Estimate, job: Job) -> schemas.DiagnosisInfo:
    """Describe the check of an estimate's assumptions."""
    diagnosis = job.future.result() if job.state == "done" else None
    return schemas.DiagnosisInfo.model_validate(
        {"diagnosis": diagnosis, **_job_info(service, estimate, service.diagnoses, job)}
    )


def _job_info(service: Service, estimate: Estimate, runner: Runner, job: Job) -> dict[str, Any]:
    downloads = []
    if job.state == "done":
        service.sessions.weigh(estimate)
        downloads = [name for name in schemas.Download if (estimate.directory / name).exists()]
    error = job.error
    return {
        "state": job.state,
        "step": job.step,
        "fraction": job.fraction,
        "position": runner.position(job),
        "seconds": round(job.seconds, 2),
        "error": {"message": error.message, "field": error.field} if error else None,
        "downloads": downloads,
    }
