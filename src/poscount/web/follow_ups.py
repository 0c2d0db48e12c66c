"""Further work on an estimate that is done: the part of the API that begins and follows it.

Any change of the session stops it.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from poscount.web import schemas
from poscount.web.dependencies import AService, ASession
from poscount.web.described import diagnosis_info, follow_up_info
from poscount.web.jobs import Job
from poscount.web.refusals import RefusedError
from poscount.web.sessions import Estimate
from poscount.web.tasks import AuditTask, SettleTask

_ESTIMATE = "/api/sessions/{session}/estimates/{estimate}"


def add_follow_ups(app: FastAPI, api: dict[str, Any]) -> None:
    """Add the requests to an application; `api` has what all of its requests share."""

    @app.post(f"{_ESTIMATE}/diagnosis", status_code=202, **api)
    async def start_diagnosis(
        service: AService, session: ASession, estimate: str
    ) -> schemas.DiagnosisInfo:
        """Queue a check of an estimate's assumptions."""
        found = session.estimate(estimate)
        return diagnosis_info(service, session, found, service.start_diagnosis(session, found))

    @app.get(f"{_ESTIMATE}/diagnosis", **api)
    async def see_diagnosis(
        service: AService, session: ASession, estimate: str
    ) -> schemas.DiagnosisInfo:
        """Get the state of the check and, when it is done, the findings."""
        found = session.estimate(estimate)
        return diagnosis_info(service, session, found, _requested(found, "diagnosis"))

    @app.post(f"{_ESTIMATE}/trend", status_code=202, **api)
    async def start_trend(
        service: AService, session: ASession, estimate: str, wanted: schemas.TrendRequest
    ) -> schemas.FollowUpInfo:
        """Queue a look for changes between groups that follow each other in time."""
        found = session.estimate(estimate)
        job = service.start_trend(session, found, wanted)
        return follow_up_info(service, session, found, job)

    @app.post(f"{_ESTIMATE}/comparison", status_code=202, **api)
    async def start_comparison(
        service: AService, session: ASession, estimate: str
    ) -> schemas.FollowUpInfo:
        """Queue a comparison with the file whose role is reference."""
        found = session.estimate(estimate)
        job = service.start_comparison(session, found)
        return follow_up_info(service, session, found, job)

    @app.post(f"{_ESTIMATE}/audit", status_code=202, **api)
    async def start_audit(
        service: AService, session: ASession, estimate: str, wanted: schemas.AuditRequest
    ) -> schemas.FollowUpInfo:
        """Queue a choice of rows to be labelled by hand."""
        found = session.estimate(estimate)
        task = AuditTask(found.task, wanted.n)
        job = service.start_follow_up(session, found, "audit", task)
        return follow_up_info(service, session, found, job)

    @app.post(f"{_ESTIMATE}/settlement", status_code=202, **api)
    async def start_settlement(
        service: AService, session: ASession, estimate: str, wanted: schemas.SettlementRequest
    ) -> schemas.FollowUpInfo:
        """Queue what the labels of such rows say."""
        found = session.estimate(estimate)
        task = SettleTask(found.task, wanted.n, wanted.labels)
        job = service.start_follow_up(session, found, "settlement", task)
        return follow_up_info(service, session, found, job)

    @app.get(f"{_ESTIMATE}/follow-ups/{{kind}}", **api)
    async def see_follow_up(
        service: AService, session: ASession, estimate: str, kind: schemas.FollowUpKind
    ) -> schemas.FollowUpInfo:
        """Get the state of such work and, when it is done, its result."""
        found = session.estimate(estimate)
        return follow_up_info(service, session, found, _requested(found, kind.value))


def _requested(estimate: Estimate, kind: str) -> Job:
    if kind not in estimate.follow_ups:
        raise RefusedError(404, "This has not been requested yet.")
    return estimate.follow_ups[kind]
