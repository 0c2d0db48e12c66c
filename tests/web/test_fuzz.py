"""Requests made up from the OpenAPI description: whatever comes, the server does not break."""

import pytest

schemathesis = pytest.importorskip("schemathesis")
pytest.importorskip("fastapi")

from hypothesis import HealthCheck, settings  # noqa: E402 (they need what may be missing)
from schemathesis.checks import not_a_server_error  # noqa: E402

from poscount.web.app import make_app  # noqa: E402
from web_server import TOKEN, served  # noqa: E402

schema = schemathesis.openapi.from_dict(make_app().openapi())


@pytest.fixture(scope="module")
def spacious():
    """A server that no number of sessions fills."""
    with served(sessions=1_000_000) as web:
        yield web
        assert web.is_up()


@pytest.fixture(scope="module")
def with_files(spacious):
    visit = spacious.visit()
    visit.example()
    return visit


few = settings(
    max_examples=5, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)


@schema.parametrize()
@few
def test_no_request_breaks_the_server(spacious, with_files, case):
    try_out(spacious, with_files, case)


@pytest.mark.slow
@schema.parametrize()
@settings(few, max_examples=300)
def test_no_request_of_many_breaks_the_server(spacious, with_files, case):
    try_out(spacious, with_files, case)


def try_out(spacious, with_files, case):
    if "session" in (case.path_parameters or {}):
        # A session that exists, or every request would end at the same door.
        visit = with_files if "estimates" in case.path else spacious.visit()
        case.path_parameters["session"] = visit.session
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = case.call(base_url=spacious.address, headers=headers)
    case.validate_response(answer, checks=[not_a_server_error])
