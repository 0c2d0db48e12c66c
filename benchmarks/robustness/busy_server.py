"""What a session with much in it costs whoever else uses the server.

    python -m benchmarks.robustness.busy_server match poll memory groups

``match`` sends two files whose 1,000 columns have long names of their own; ``poll`` has 38
connections ask for a session of 31 files with 1,000 columns; ``memory`` sends 98 such files of
13 kB; ``groups`` has TRCQ learn from each of 1,000 groups of 30 rows, while somebody else counts
the example. All the while somebody asks for the version of the server. It prints seconds, answers,
and megabytes of the server process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import string
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np

from benchmarks.robustness.serve_process import ServeProcess, serve_process

N_COLUMNS, N_CONNECTIONS, SECONDS = 1000, 38, 8


def client(server: ServeProcess) -> httpx.Client:
    """A program that has the token."""
    headers = {"authorization": f"Bearer {server.token}"}
    return httpx.Client(base_url=server.address, headers=headers, timeout=600)


def table(length: int, chance: random.Random) -> bytes:
    """A row of numbers in columns whose names have a length."""
    names = ["".join(chance.choices(string.ascii_lowercase, k=length)) for _ in range(N_COLUMNS)]
    return ",".join(names).encode() + b"\n" + b",".join([b"1"] * N_COLUMNS) + b"\n"


@contextmanager
def somebody_else(server: ServeProcess) -> Iterator[None]:
    """Ask for something small all the time, and print how long that took."""
    took: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        with client(server) as http:
            while not stop.wait(0.02):
                start = time.perf_counter()
                http.get("/api/info")
                took.append(time.perf_counter() - start)

    thread = threading.Thread(target=ask)
    thread.start()
    yield
    stop.set()
    thread.join()
    print(f"  others waited {statistics.median(took):.3f} s, at most {max(took):.3f} s")


def send(http: httpx.Client, session: str, role: str, content: bytes) -> None:
    told = http.post(
        f"{session}/files", files={"file": (f"{role}.csv", content)}, data={"role": role}
    )
    told.raise_for_status()


def match(server: ServeProcess, http: httpx.Client, session: str, chance: random.Random) -> None:
    start = time.perf_counter()
    with somebody_else(server):
        for role in ("positives", "unlabeled"):
            send(http, session, role, table(160, chance))
    print(f"match: {time.perf_counter() - start:.1f} s")


def poll(server: ServeProcess, http: httpx.Client, session: str, chance: random.Random) -> None:
    content = table(10, chance)
    for i in range(31):
        send(http, session, "unlabeled" if i else "positives", content)
    answers, end = [0], time.perf_counter() + SECONDS

    def ask() -> None:
        with client(server) as mine:
            while time.perf_counter() < end:
                answers[0] += mine.get(session).is_success

    threads = [threading.Thread(target=ask) for _ in range(N_CONNECTIONS)]
    with somebody_else(server):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"poll: {answers[0]} answers in {SECONDS} s, {server.memory()['server']:.0f} MB")


def memory(server: ServeProcess, http: httpx.Client, session: str, chance: random.Random) -> None:
    before = server.memory()["server"]
    sessions = [session, _new(http)]
    for each in sessions:
        for _ in range(49):
            send(http, each, "unlabeled", table(9, chance))
    print(f"memory: {before:.0f} -> {server.memory()['server']:.0f} MB")


def groups(server: ServeProcess, http: httpx.Client, session: str, chance: random.Random) -> None:
    numbers = np.random.default_rng(0)
    known = "".join(f"{a:.5f},{b:.5f},{c:.5f}\n" for a, b, c in numbers.normal(size=(300, 3)))
    rows = numbers.normal(size=(30_000, 3)) + 2 * (numbers.random((30_000, 1)) < 0.6)
    unknown = "".join(
        f"{a:.5f},{b:.5f},{c:.5f},g{i % 1000}\n" for i, (a, b, c) in enumerate(rows.tolist())
    )
    send(http, session, "positives", b"a,b,c\n" + known.encode())
    send(http, session, "unlabeled", b"a,b,c,g\n" + unknown.encode())
    start = time.perf_counter()
    with somebody_else(server):
        job = _estimate(http, session, method="trcq", by=["g"])
        with client(server) as mine:
            other = _new(mine)
            mine.post(f"{other}/example").raise_for_status()
            began = time.perf_counter()
            _done(mine, _estimate(mine, other))
            print(f"groups: somebody else's estimate {time.perf_counter() - began:.1f} s")
        _done(http, job)
    print(f"groups: {time.perf_counter() - start:.1f} s")


def _estimate(http: httpx.Client, session: str, **wanted: object) -> str:
    begun = http.post(f"{session}/estimates", json=wanted)
    begun.raise_for_status()
    return f"{session}/estimates/{begun.json()['id']}"


def _done(http: httpx.Client, job: str) -> None:
    while (told := http.get(job).json())["state"] not in ("done", "failed", "cancelled"):
        time.sleep(0.2)
    assert told["state"] == "done", told


def _new(http: httpx.Client) -> str:
    return f"/api/sessions/{http.post('/api/sessions').json()['session']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    measures = {each.__name__: each for each in (match, poll, memory, groups)}
    parser.add_argument("what", nargs="+", choices=list(measures))
    for what in parser.parse_args().what:
        with serve_process() as server, client(server) as http:
            measures[what](server, http, _new(http), random.Random(0))


if __name__ == "__main__":
    main()
