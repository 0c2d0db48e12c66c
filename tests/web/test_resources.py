"""What 250 mixed requests, kills and cancels leave behind in a server: nothing."""

import contextlib
import os
import random
import signal
import time

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from benchmarks.robustness.serve_process import serve_process  # noqa: E402 (its place is known only now)
from web_server import Visit, client  # noqa: E402

REQUESTS = 250
LONG = {"method": "extice", "bootstrap": 1000, "by": ["night"]}


def act(visit, server, chance):
    """Send a request that somebody may send, or do something that may happen."""
    what = chance.random()
    base = visit.base
    if what < 0.3:
        visit.see()
    elif what < 0.4:
        visit.send("positives", "p.csv", b"a,b\n" + b"1,2\n" * chance.randint(0, 2000))
    elif what < 0.5:
        visit.send("unlabeled", "u.csv.gz", chance.randbytes(chance.randint(0, 100_000)))
    elif what < 0.6:
        visit.http.post(f"{base}/estimates", content=chance.randbytes(50_000))
    elif what < 0.65:
        # It may hang up before it has read everything.
        with contextlib.suppress(httpx.TransportError):
            visit.http.post(f"{base}/estimates", content=b" " * 2_000_000)
    elif what < 0.7:
        visit.http.post(f"{base}/estimates", json=LONG)
    elif what < 0.75:
        for worker in server.workers()[:1]:
            os.kill(worker, signal.SIGKILL)
    elif what < 0.9:
        visit.http.get(f"/static/{'app.js' if what < 0.8 else 'nothing'}")
    else:
        visit.http.patch(f"{base}/files/x", json={"na": "-"})


def rounds(server, chance, n):
    with client(server.address, server.token) as http:
        for _ in range(n // 30):
            visit = Visit(http, http.post("/api/sessions").json()["session"])
            visit.example()
            for _ in range(27):
                act(visit, server, chance)
            http.delete(visit.base)


def test_requests_kills_and_cancels_leave_nothing():
    with serve_process() as server:
        chance = random.Random(0)
        rounds(server, chance, 90)  # until everything is imported and every buffer has its size
        before = server.memory()["server"], server.n_open_files()
        rounds(server, chance, REQUESTS)
        deadline = time.monotonic() + 10
        while server.workers() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.workers() == []
        assert server.temporary_files()[0] <= 1  # the socket of the fork server is none
        assert server.n_open_files() <= before[1] + 5
        # Less than the largest body that it reads into memory.
        assert server.memory()["server"] < before[0] + 5
