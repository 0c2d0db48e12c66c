"""What requests are given: the service, and the session that their address names."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from poscount.web.service import Service
from poscount.web.sessions import Session


def _service(request: Request) -> Service:
    return request.app.state.service


def _session(request: Request, session: str) -> Session:
    return _service(request).sessions.find(session)


AService = Annotated[Service, Depends(_service)]
ASession = Annotated[Session, Depends(_session)]
