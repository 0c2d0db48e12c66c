"""The assumption report of `poscount serve`: after the answer, and what the library says."""

import pytest

import poscount
from poscount import RCQ
from poscount.example import load_example

pytest.importorskip("fastapi")

ASKED = {"kind": "diagnosis"}


@pytest.fixture
def answered(visit):
    """A visit with an answer, that knows the place of what follows."""
    visit.example()
    visit.estimate = visit.start()
    assert visit.wait(visit.estimate)["state"] == "done"
    visit.follow_ups = f"{visit.base}/estimates/{visit.estimate}/follow-ups"
    return visit


def test_the_report_is_what_the_library_says(web, answered):
    assert answered.http.get(f"{answered.follow_ups}/diagnosis").status_code == 404
    told = answered.follow(answered.estimate, "diagnosis")
    assert told["state"] == "done", told
    data = load_example("pyarrow")
    model = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap)
    expected = poscount.diagnose(model, data.trap, positives=data.positives).to_dict()
    assert told["result"]["findings"] == expected["warnings"]
    assert told["result"]["rows"] == "Rows checked: all 8,070 rows to be counted, together."
    # Asked again, it is not made again.
    again = answered.http.post(answered.follow_ups, json=ASKED).json()
    assert (again["state"], again["seconds"]) == ("done", told["seconds"])
    # It is nobody else's.
    other = web.visit()
    path = answered.follow_ups.replace(answered.session, other.session)
    assert other.http.post(path, json=ASKED).status_code == 404
    assert other.http.get(f"{path}/diagnosis").status_code == 404


@pytest.mark.parametrize("method", ["pat", "dedpul"])
def test_other_methods_have_a_report_too(visit, method):
    visit.example()
    estimate = visit.start(method=method)
    visit.wait(estimate)
    told = visit.follow(estimate, "diagnosis")
    assert told["state"] == "done", told


def test_a_change_of_the_session_overtakes_the_report(web, answered):
    answered.http.post(answered.follow_ups, json=ASKED)
    other = answered.start(by=["night"])
    told = answered.http.get(f"{answered.follow_ups}/diagnosis").json()
    assert told["state"] in ("cancelled", "done")
    assert answered.wait(other)["state"] == "done"
    # The files are still there, so that it can be asked for again.
    assert answered.http.post(answered.follow_ups, json=ASKED).status_code == 202
    (file, *_) = answered.see().json()["files"]
    answered.http.delete(f"{answered.base}/files/{file['id']}")
    refused = answered.http.post(answered.follow_ups, json=ASKED)
    assert (refused.status_code, web.is_up()) == (409, True)
    assert "have been removed" in refused.json()["message"]


def test_there_is_no_report_before_the_answer(visit):
    visit.example()
    estimate = visit.start(method="extice", bootstrap=1000, by=["night"])
    path = f"{visit.base}/estimates/{estimate}"
    assert visit.http.post(f"{path}/follow-ups", json=ASKED).status_code == 409
    visit.http.delete(path)


def test_closing_the_session_ends_the_report(web, answered):
    directory = web.service.sessions.find(answered.session).directory
    answered.http.post(answered.follow_ups, json=ASKED)
    assert answered.http.delete(answered.base).status_code == 204
    assert not directory.exists()
