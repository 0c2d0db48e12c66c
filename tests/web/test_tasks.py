"""Tasks of the page's workers, and their failures: data, said in the words of the page."""

import ast
import pickle
import re
from collections import Counter
from pathlib import Path

import pytest

import poscount
from poscount.checks import MODEL_CHECKS, OVERLAP, ROW_CHECKS, SAMPLE_CHECKS
from poscount.errors import InputError
from poscount.example import example_path
from poscount.files import reading
from poscount.files.read_options import ReadOptions

pytest.importorskip("pydantic")

from poscount.web.refusals import SETTINGS, refusal_of
from poscount.web.schemas import DiagnosisRequest, EstimateRequest, Limits
from poscount.web.tasks import EstimateTask, FollowUpTask, InspectTask, Upload

SOURCE = Path(poscount.__file__).parent
POSITIVES = Upload("1", "p.csv", "positives", "/tmp/poscount-x/1.csv", ReadOptions())
TRAP = Upload("2", "my trap.csv", "unlabeled", "/tmp/poscount-x/2.csv", ReadOptions(";"))


def said(**failure):
    refusal = refusal_of(InputError(**failure), [POSITIVES, TRAP])
    return refusal.message, refusal.field


def estimate_of(positives, trap, directory, **wanted):
    return EstimateTask(
        directory=str(directory),
        wanted=EstimateRequest(**wanted),
        positives=positives,
        unlabeled=(trap,),
        positives_format=positives.read_options,
        read_options=trap.read_options,
        example=False,
        most_groups=10,
    )


def test_a_file_is_called_what_the_client_calls_it():
    message, field = said(message="'x' is not a number.", file=TRAP.path, column="b", row=12)
    assert message == "my trap.csv: column 'b', row 13: 'x' is not a number."
    assert field == "unlabeled"
    assert said(message="it is empty.", file=POSITIVES.path) == ("p.csv: it is empty.", "positives")


def test_no_path_of_the_server_is_shown():
    message, field = said(message="it is damaged.", file="/tmp/poscount-x/3/model.poscount")
    assert (message, field) == ("it is damaged.", None)


def test_an_error_without_more_is_its_sentence():
    assert said(message="There are no rows.") == ("There are no rows.", None)


@pytest.mark.parametrize(
    ("failure", "remedy", "field"),
    [
        ({"option": "delimiter"}, "Use the setting Delimiter.", "delimiter"),
        (
            {"option": "decimal", "value": ","},
            "Change the setting Decimal mark to “comma: 0,5”.",
            "decimal",
        ),
        (
            {"option": "decimal", "leave_out": True},
            "Change the setting Decimal mark to “guessed”.",
            "decimal",
        ),
        (
            {"option": "header", "value": False},
            "Change the setting First line to “data”.",
            "header",
        ),
        (
            {"option": "n_resamples", "leave_out": True},
            "Leave the setting Replicates empty.",
            "bootstrap",
        ),
        ({"option": "limits"}, "The command line has no such limit.", "unlabeled"),
        ({"option": "engine", "leave_out": True}, "", "unlabeled"),
    ],
)
def test_an_option_is_said_in_the_words_of_the_page(failure, remedy, field):
    message, where = said(message="It is wrong.", file=TRAP.path, **failure)
    assert message == f"my trap.csv: It is wrong. {remedy}".rstrip()
    assert where == (field or failure["option"])


def test_the_words_are_those_that_the_page_shows():
    folder = SOURCE / "web" / "static"
    shown = "".join((folder / name).read_text("utf-8") for name in ("index.html", "data.js"))
    for option, (field, label, menu, _) in SETTINGS.items():
        if field in ("features", "by", "label", "recognisable") or field is None:
            continue  # what the page asks in its own words
        assert f'id="{field}"' in shown or f'["{field}", ' in shown, option
        assert label in shown, option
        for text in menu.values():
            assert f'"{text}"' in shown, option


# These belong to the command line or to Python, and the page never sets them.
ELSEWHERE = {
    *("engine", "n_jobs", "trusted", "port", "drop", "time", "subclasses", "weights"),
    "token",
    *("encoding", "thousands", "units", "na", "sheet", "day_first"),
    *("targets", "target_column", "negatives", "baseline", "n", "rows", "top", "width"),
    *("on_alarm", "run_length", "limit", "unlabeled", "y", "prevalence"),
    *("rater_errors", "scorer", "tolerance", "cluster", "recall"),
}


def options_of_errors():
    """Options that errors of the library name."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error"):
                for keyword in node.keywords:
                    if keyword.arg == "option" and isinstance(keyword.value, ast.Constant):
                        yield keyword.value.value


def test_every_option_that_an_error_names_has_words_on_the_page():
    named = set(options_of_errors()) - {None}
    assert {"delimiter", "decimal", "header", "features", "by", "limits"} <= named
    assert named <= {*SETTINGS, *ELSEWHERE}


def test_tasks_go_to_a_worker_unchanged():
    estimate = estimate_of(POSITIVES, TRAP, "/tmp/poscount-x/3", by=["night"])
    follow_up = FollowUpTask(estimate, DiagnosisRequest(kind="diagnosis"))
    tasks = [InspectTask(TRAP, (), (POSITIVES,), Limits()), estimate, follow_up]
    assert pickle.loads(pickle.dumps(tasks)) == tasks


@pytest.fixture
def reads(monkeypatch):
    """How often each file has been read."""
    reads = Counter()
    csv_parts = reading.csv_parts

    def counted(path, *arguments):
        reads[path] += 1
        return csv_parts(path, *arguments)

    monkeypatch.setattr(reading, "csv_parts", counted)
    return reads


@pytest.mark.usefixtures("plain_pictures")
@pytest.mark.parametrize("features", [None, ["peak_mv", "wingbeat_hz"]])
def test_a_task_reads_no_file_more_often_than_it_must(reads, tmp_path, features):
    from poscount.web.worker import run

    def done(task):
        reads.clear()
        outcome = run(task, lambda step, fraction: None)
        # RCQ first learns from the rows that it counts. The check counts them, too, and both it and
        # the picture of the scores need rows.
        times = {
            EstimateTask: {"positives": 1, "unlabeled": 2},
            FollowUpTask: {"positives": 2, "unlabeled": 3},
        }.get(type(task), {})
        assert dict(reads) == {file.path: times.get(file.role, 1) for file in task.files}
        return outcome["done"]

    files = []
    for name, role in (("positives.csv", "positives"), ("trap.csv.gz", "unlabeled")):
        about = str(tmp_path / f"{name}.json")
        path = str(example_path(name))
        files.append(Upload(name, name, role, path, ReadOptions(), description=about))
        done(InspectTask(files[-1], (), (), Limits()))
    estimate = estimate_of(*files, tmp_path, features=features)
    # What the inspection chose need not be named.
    named = "features=" in done(estimate)["python"]
    assert named == (features is not None)
    done(FollowUpTask(estimate, DiagnosisRequest(kind="diagnosis")))


def test_warnings_that_the_page_has_an_action_for_exist():
    script = (SOURCE / "web" / "static" / "check.js").read_text()
    named = re.findall(r'"([a-z-]+)"', "".join(re.findall(r"new Set\(\[(.*?)\]\)", script, re.S)))
    checks = (*MODEL_CHECKS, *SAMPLE_CHECKS, *ROW_CHECKS, OVERLAP)
    assert len(named) > 10
    assert set(named) <= {check.code for check in checks}
