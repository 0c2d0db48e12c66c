"""The assumption report of `poscount serve`: after the answer, and what the library says."""

import contextlib
import json
import re
import shlex
import shutil
import sys

import pytest

import poscount
from poscount import RCQ
from poscount.cli import main
from poscount.example import example_path, load_example

pytest.importorskip("fastapi")


@pytest.fixture
def example(web):
    visit = web.visit()
    visit.example()
    return visit


def with_answer(visit):
    """Let a visit have an answer, and know the place of its report."""
    visit.estimate = visit.start()
    assert visit.wait(visit.estimate)["state"] == "done"
    visit.diagnosis = f"{visit.base}/estimates/{visit.estimate}/diagnosis"
    return visit


@pytest.fixture
def answered(example):
    return with_answer(example)


@pytest.fixture(scope="module")
def reported(web):
    """A visit with a report, which is not to be changed, and what was told of it."""
    visit = web.visit()
    visit.example()
    with_answer(visit)
    assert visit.http.get(visit.diagnosis).status_code == 404
    assert visit.http.post(visit.diagnosis).status_code == 202
    told = visit.wait(f"{visit.estimate}/diagnosis")
    assert told["state"] == "done", told
    return visit, told


def test_the_report_is_what_the_library_says(reported):
    visit, told = reported
    data = load_example("pyarrow")
    model = RCQ(random_state=0).fit(data.positives)
    expected = poscount.diagnose(model, data.trap, positives=data.positives).to_dict()
    found = told["diagnosis"]["findings"]
    assert [{k: v for k, v in f.items() if k != "figures"} for f in found] == expected["findings"]
    assert all(finding["cannot_detect"] in finding["figures"] for finding in found)
    codes = [missing["code"] for missing in expected["unchecked"]]
    assert [missing["code"] for missing in told["diagnosis"]["unchecked"]] == codes
    assert "=" not in told["diagnosis"]["unchecked"][0]["reason"]
    assert told["diagnosis"]["rows"] == "Rows checked: all 8,070 unlabeled rows together."
    # Asked again, it is not made again.
    again = visit.http.post(visit.diagnosis).json()
    assert (again["state"], again["seconds"]) == ("done", told["seconds"])


def test_the_report_can_be_kept(reported):
    visit, told = reported
    assert "diagnosis.html" in told["downloads"]
    page = visit.download(visit.estimate, "diagnosis.html").decode()
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "<script" not in page
    for finding in told["diagnosis"]["findings"]:
        assert finding["code"] in page


def test_the_command_finds_the_same(reported, tmp_path, monkeypatch, capsys):
    visit, told = reported
    model = visit.download(visit.estimate, "model.poscount")
    (tmp_path / "model.poscount").write_bytes(model)
    for name in ("positives.csv", "trap.csv.gz"):
        shutil.copy(example_path(name), tmp_path)
    monkeypatch.chdir(tmp_path)
    command = shlex.split(told["diagnosis"]["command"])
    monkeypatch.setattr(sys, "argv", [*command, "--format", "json"])
    with contextlib.suppress(SystemExit):
        main()
    printed = json.loads(capsys.readouterr().out)
    numbers = {finding["code"]: finding["number"] for finding in told["diagnosis"]["findings"]}
    assert {finding["code"]: finding["number"] for finding in printed["findings"]} == numbers


@pytest.mark.parametrize("method", ["pat", "dedpul"])
def test_other_methods_have_a_report_too(example, method):
    estimate = example.start(method=method)
    example.wait(estimate)
    example.http.post(f"{example.base}/estimates/{estimate}/diagnosis")
    told = example.wait(f"{estimate}/diagnosis")
    assert told["state"] == "done", told
    assert told["diagnosis"]["findings"]


def test_a_change_of_the_session_overtakes_the_report(web, answered):
    answered.http.post(answered.diagnosis)
    other = answered.start(by=["night"])
    told = answered.http.get(answered.diagnosis).json()
    assert told["state"] in ("cancelled", "done")
    assert answered.wait(other)["state"] == "done"
    # The files are still there, so that it can be asked for again.
    assert answered.http.post(answered.diagnosis).status_code == 202
    (file, *_) = answered.see().json()["files"]
    answered.http.delete(f"{answered.base}/files/{file['id']}")
    refused = answered.http.post(answered.diagnosis)
    assert (refused.status_code, web.is_up()) == (409, True)
    assert "have been removed" in refused.json()["message"]


def test_there_is_no_report_before_the_answer(example):
    estimate = example.start(method="extice", bootstrap=1000, by=["night"])
    refused = example.http.post(f"{example.base}/estimates/{estimate}/diagnosis")
    assert refused.status_code == 409
    example.http.delete(f"{example.base}/estimates/{estimate}")


def test_the_report_is_nobody_elses(web, reported):
    other = web.visit()
    path = reported[0].diagnosis.replace(reported[0].session, other.session)
    assert other.http.post(path).status_code == 404
    assert other.http.get(path).status_code == 404


def test_closing_the_session_ends_the_report(web, answered):
    directory = web.service.sessions.find(answered.session).directory
    answered.http.post(answered.diagnosis)
    assert answered.http.delete(answered.base).status_code == 204
    assert not directory.exists()
