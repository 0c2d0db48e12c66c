"""A few hostile requests of each kind; benchmarks/hostile_requests.py sends thousands."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from benchmarks.robustness.hostile_requests import Attacker, judge, table
from web_server import TOKEN


# Starlette leaves the spooled file of an interrupted upload to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_hostile_request_is_answered_with_a_sentence(web):
    attacker = Attacker(int(web.address.rpartition(":")[2]), TOKEN, seed=2)
    endings = attacker.run(120)
    assert [ending for ending in endings if ending.wrong] == []
    # They are not all refused at the door: some of each kind get through.
    through = {ending.kind for ending in endings if 200 <= ending.status < 400}
    assert through >= {"JSON body", "settings of a file", "address", "order of requests"}
    assert table(endings).count("\n") == 2 + len(attacker.kinds)
    assert web.is_up()


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b'HTTP/1.1 404 Not Found\r\n\r\n{"message": "There is none."}', ""),
        (b'HTTP/1.1 503 Full\r\n\r\n{"message": "Try again later."}', ""),
        (b"HTTP/1.1 500 Internal Server Error\r\n\r\n", "status 500"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\nno", "no sentence"),
        (b'HTTP/1.1 400 Bad Request\r\n\r\n{"message": "Traceback."}', "odd sentence"),
        (b"", "hung up"),
    ],
)
def test_what_counts_as_wrong(answer, wrong):
    told = judge(answer, True)[1]
    assert told.startswith(wrong)
    assert bool(told) == bool(wrong)
