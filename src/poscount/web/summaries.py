"""What clients are told: about their sessions, and about the work done for them."""

from __future__ import annotations

import json
from typing import Any

from poscount.web import schemas
from poscount.web.jobs import Job, JobQueue
from poscount.web.limits import Limits
from poscount.web.service import Service
from poscount.web.sessions import Estimate, Session, Upload


def session_info(session: Session, limits: Limits) -> schemas.SessionInfo:
    """Describe a session."""
    positives, unlabeled = session.of_role("positives"), session.of_role("unlabeled")
    columns = [
        _column_match(column, unlabeled)
        for upload in positives
        for column in upload.content.columns
    ]
    known = {column.name for column in columns}
    every = dict.fromkeys(name for upload in unlabeled for name in upload.content.names)
    return schemas.SessionInfo(
        session=session.id,
        expires_after_seconds=limits.idle_seconds,
        example=session.example,
        files=[_file_info(upload) for upload in session.uploads.values()],
        columns=columns,
        left_alone=[name for name in every if positives and name not in known],
        groupings=[name for name in session.shared_columns() if session.n_groups(name) is not None],
    )


def _column_match(column: schemas.ColumnInfo, unlabeled: list[Upload]) -> schemas.ColumnMatch:
    missing = [upload.name for upload in unlabeled if column.name not in upload.content.names]
    why_not = f"is missing in {', '.join(missing)}" if missing else column.why_not_feature
    return schemas.ColumnMatch(
        name=column.name,
        usable=column.numeric and not missing,
        use=why_not is None,
        why_not=why_not,
    )


def _file_info(upload: Upload) -> schemas.FileInfo:
    about = {"id": upload.id, "name": upload.name, "role": upload.role, "size": upload.size}
    return schemas.FileInfo.model_validate(about | upload.content.model_dump())


def estimate_info(service: Service, estimate: Estimate) -> schemas.EstimateInfo:
    """Describe an estimate."""
    answer = None
    if estimate.job.state == "done":
        answer = json.loads((estimate.directory / schemas.Download.json).read_text("utf-8"))
    job = _job_info(service, estimate, service.estimates, estimate.job)
    return schemas.EstimateInfo.model_validate({"id": estimate.id, "answer": answer, **job})


def diagnosis_info(service: Service, estimate: Estimate, job: Job) -> schemas.DiagnosisInfo:
    """Describe the check of an estimate's assumptions."""
    diagnosis = job.future.result() if job.state == "done" else None
    told = _job_info(service, estimate, service.diagnoses, job)
    return schemas.DiagnosisInfo.model_validate({"diagnosis": diagnosis, **told})


def _job_info(service: Service, estimate: Estimate, queue: JobQueue, job: Job) -> dict[str, Any]:
    downloads = []
    if job.state == "done":
        service.sessions.update_disk_usage(estimate)
        downloads = [name for name in schemas.Download if (estimate.directory / name).exists()]
    error = job.error
    return {
        "state": job.state,
        "step": job.step,
        "fraction": job.fraction,
        "position": queue.position(job),
        "seconds": round(job.seconds, 2),
        "error": {"message": error.message, "field": error.field} if error else None,
        "downloads": downloads,
    }
