"""What a session with many columns costs whoever else uses the server.

    python -m benchmarks.robustness.busy_server match poll memory

``match`` sends two files whose 1,000 columns have long names of their own; ``poll`` has 38
connections ask for a session of 31 files with 1,000 columns; ``memory`` sends 98 such files of
13 kB. All the while somebody else asks for the version of the server. It prints seconds, answers,
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


def _new(http: httpx.Client) -> str:
    return f"/api/sessions/{http.post('/api/sessions').json()['session']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", choices=["match", "poll", "memory"])
    for what in parser.parse_args().what:
        with serve_process() as server, client(server) as http:
            measured = {"match": match, "poll": poll, "memory": memory}[what]
            measured(server, http, _new(http), random.Random(0))


if __name__ == "__main__":
    main()
