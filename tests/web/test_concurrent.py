"""Concurrent requests against a model of what a session should hold."""

import asyncio
import concurrent.futures
import random
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi")

from poscount.web.refusals import RefusedError
from poscount.web.schemas import DiagnosisRequest
from poscount.web.sessions import Estimate, Session
from web_server import Visit, client, served

SEQUENCES, STEPS, SHARED = 50, 8, 6
GOOD, BAD = b"a,b\n1,2\n3,4\n", b"a,a\n1,2\n"
OWNER = {"positives": "p.csv", "unlabeled": "u.csv"}


class Expected:
    """What a session holds if every request that succeeded was done, one after the other."""

    def __init__(self):
        self.files = {}

    def sent(self, role, told):
        (new,) = (file["id"] for file in told["files"] if file["id"] not in self.files)
        if role == "positives":
            self.files = {name: each for name, each in self.files.items() if each != role}
        self.files[new] = role

    def check(self, told):
        assert {file["id"]: file["role"] for file in told["files"]} == self.files
        assert {column["name"] for column in told["columns"]} == (
            {"a", "b"} if self.files else set()
        )


def act(visit, expected, chance):
    """Send one request, and note what it should have changed."""
    what, files = chance.random(), f"{visit.base}/files"
    if what < 0.4:
        role = chance.choice(list(OWNER))
        told = visit.send(role, OWNER[role], GOOD)
        assert told.status_code == 201
        expected.sent(role, told.json())
    elif what < 0.5:
        assert visit.send("unlabeled", "u.csv", BAD).status_code == 422
    elif what < 0.8 and expected.files:
        chosen = chance.choice(list(expected.files))
        if what < 0.65:
            assert visit.http.delete(f"{files}/{chosen}").status_code == 200
            del expected.files[chosen]
        else:
            told = visit.http.patch(f"{files}/{chosen}", json={"na": "-" * chance.randint(1, 3)})
            assert told.status_code == 200
    elif what < 0.9:
        assert visit.http.patch(f"{files}/none", json={}).status_code == 404
    else:
        expected.check(visit.see().json())


def alone(web, seed):
    """A sequence of requests of a page that has its session to itself."""
    chance, expected = random.Random(seed), Expected()
    with client(web.address) as http:
        visit = Visit(http, http.post("/api/sessions").json()["session"])
        for _ in range(STEPS):
            act(visit, expected, chance)
        expected.check(visit.see().json())
        kept = web.service.sessions.find(visit.session).directory
        assert len(list(kept.iterdir())) == 2 * len(expected.files) + bool(expected.files)
        assert http.delete(visit.base).status_code == 204
        assert not kept.exists()


@pytest.fixture(scope="module")
def web():
    with served(sessions=SEQUENCES + 5) as web:
        yield web


def all_at_once(jobs):
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
        return [each.result() for each in [threads.submit(job) for job in jobs]]


def test_sequences_that_run_at_once_do_what_they_would_do_alone(web):
    all_at_once([lambda seed=seed: alone(web, seed) for seed in range(SEQUENCES)])
    assert web.files() == []
    assert web.service.sessions._sessions == {}


@pytest.mark.parametrize("seed", range(SHARED))
def test_one_session_is_changed_by_one_request_at_a_time(web, seed):
    """Whatever the order, the session holds what its answers say, and nothing else is on disk."""
    chance, visit = random.Random(seed), web.visit()
    visit.example()
    files = [file["id"] for file in visit.see().json()["files"]]

    def send(what):
        with client(web.address) as http:
            base = visit.base
            match what:
                case "example":
                    return http.post(f"{base}/example")
                case "remove":
                    return http.delete(f"{base}/files/{chance.choice(files)}")
                case "change":
                    return http.patch(f"{base}/files/{chance.choice(files)}", json={"na": "-"})
                case "swap":
                    return http.post(f"{base}/swap")
                case "estimate":
                    return http.post(f"{base}/estimates", json={"method": "pat"})

    kinds = ["example", "remove", "change", "swap", "estimate"]
    chosen = chance.choices(kinds, k=5) + ["example"] * 2
    answers = all_at_once([lambda what=what: send(what) for what in chosen])
    assert {answer.status_code for answer in answers} <= {200, 201, 202, 404, 409, 422}
    told = visit.see().json()
    roles = [file["role"] for file in told["files"]]
    assert roles.count("positives") <= 1
    assert len(roles) <= 2
    session = web.service.sessions.find(visit.session)
    if session.live is not None:
        visit.wait(session.live.id)
    known = {path for file in session.uploads.values() for path in (file.path, file.description)}
    known |= {session.matches, *(str(each.directory) for each in session.estimates.values())} - {""}
    assert {str(path) for path in session.directory.iterdir()} == known
    visit.http.delete(visit.base)
    assert web.files() == []


def test_a_session_closed_by_many_is_closed_once(web):
    before = len(web.service.sessions._sessions)
    visit = web.visit()

    def change():
        with client(web.address) as http:
            return Visit(http, visit.session).send("positives", "p.csv", GOOD)

    def close():
        with client(web.address) as http:
            return http.delete(visit.base)

    answers = all_at_once([change, *[close] * 6, change])
    assert {answer.status_code for answer in answers} <= {201, 204, 404}
    assert len(web.service.sessions._sessions) == before
    assert web.files() == []


def test_a_session_that_two_tabs_show_outlives_one_of_them():
    with served(leave_seconds=0.2, idle_seconds=60) as web:
        visit = web.visit()
        visit.send("positives", "p.csv", GOOD)
        visit.see()  # a second tab opens it
        assert visit.http.post(f"{visit.base}/leave").status_code == 204
        session = web.service.sessions.find(visit.session)
        assert session.left is None
        visit.http.post(f"{visit.base}/leave")
        assert session.left is not None


DONE, RUNNING = SimpleNamespace(state="done", live=False), SimpleNamespace(live=True)


def late_follow_up(web, folder, change):
    """Ask what follows an estimate while its session is being changed: the job of it."""

    async def ask():
        task = SimpleNamespace(files=())
        estimate = Estimate("e", folder, task, DONE)
        session = Session("s", folder, 0.0, estimates={"e": estimate})
        wanted = DiagnosisRequest(kind="diagnosis")
        async with session.lock:
            asked = asyncio.create_task(web.service.start_follow_up(session, estimate, wanted))
            await asyncio.sleep(0)
            change(session)
        return await asked

    return asyncio.run(ask())


def test_what_follows_an_estimate_that_is_deleted_meanwhile_is_refused(web, tmp_path):
    with pytest.raises(RefusedError, match="no such estimate in this session") as caught:
        late_follow_up(web, tmp_path, lambda session: session.estimates.clear())
    assert caught.value.status == 404


def test_what_follows_an_estimate_ends_when_a_newer_one_runs(web, tmp_path):
    def begin(session):
        session.estimates["f"] = Estimate("f", tmp_path, None, RUNNING)

    job = late_follow_up(web, tmp_path, begin)
    assert job.state == "cancelled"
    assert job.future.done()
    assert web.workers() == []


def test_whatever_waits_for_a_session_is_told_that_it_is_closed(web, tmp_path):
    with pytest.raises(RefusedError) as caught:
        late_follow_up(web, tmp_path, lambda session: setattr(session, "closed", True))
    assert caught.value.message == "This session was closed meanwhile."
