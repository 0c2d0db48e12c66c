"""Many people at once and one hostile client: how long the others wait, and what the server needs.

``python -m benchmarks.robustness.load`` starts a server of its own on loopback, and lets 50 people
with 10 MB each come at the same moment, twice: alone, and beside a client that opens as many
sessions as it can with 1,000 replicates in each, sends large JSON bodies and large files, holds
connections half open, trickles uploads, and asks without a pause. It begins first, and people come
when it has got all the sessions it can get: the last column says how many. Everybody has an address
of their own. The hostile client runs at a low priority, because otherwise it would take the
processor from the server as no client on another machine can.

``--soak MINUTES`` lets a few people come again and again beside the hostile client, and prints what
the server has in memory and on disk over the time. ``--costs`` measures the methods, for
`poscount.web.cost`.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.robustness.serve_process import ServeProcess, serve_process
from poscount import registry
from poscount.example import example_path

POSITIVES = example_path("positives.csv").read_bytes()
LONG = {"method": "extice", "bootstrap": 1000, "by": ["night"]}
HOSTILE = "127.0.3.1"
FORM = "multipart/form-data; boundary=x"


def rows(megabytes: float) -> bytes:
    """Unlabeled rows, some like the positives and some not, of about this size."""
    header, *lines = POSITIVES.decode().splitlines()
    columns = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    rng = np.random.default_rng(0)
    drawn = columns[rng.integers(len(columns), size=len(columns))]
    drawn[::2] *= rng.uniform(1.5, 2.5, size=(len(drawn[::2]), 1))
    text = "\n".join(",".join(f"{cell:.6g}" for cell in row) for row in drawn) + "\n"
    return f"{header}\n".encode() + text.encode() * int(megabytes * 1e6 / len(text))


def form(role: str, content: bytes) -> bytes:
    """A form with a file."""
    start = (
        f'--x\r\nContent-Disposition: form-data; name="role"\r\n\r\n{role}\r\n--x\r\n'
        f'Content-Disposition: form-data; name="file"; filename="{role}.csv"\r\n\r\n'
    )
    return start.encode() + content + b"\r\n--x--\r\n"


class Client:
    """Somebody at an address of their own."""

    def __init__(self, port: int, address: str) -> None:
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=600, source_address=(address, 0)
        )

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
        """Send a request, and give the answer; an `AssertionError` if it was refused."""
        headers = {"Content-Type": kind} if kind else {}
        self.connection.request(method, f"/api/{path}", body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status < 400, content.decode()
        return json.loads(content) if content else None

    def estimate(self, session: str, **wanted: Any) -> str:
        """Begin an estimate, and give its path."""
        base = f"sessions/{session}/estimates"
        told = self.ask("POST", base, json.dumps(wanted).encode(), "application/json")
        return f"{base}/{told['id']}"

    def visit(self, sample: bytes) -> float:
        """Do what people do: send files, estimate, wait, download; give the estimate."""
        session = self.ask("POST", "sessions")["session"]
        for role, content in (("positives", POSITIVES), ("unlabeled", sample)):
            self.ask("POST", f"sessions/{session}/files", form(role, content), FORM)
        path = self.estimate(session)
        while (told := self.ask("GET", path))["state"] in ("waiting", "running"):
            time.sleep(0.3)
        assert told["state"] == "done", told
        self.ask("GET", f"{path}/result.json")
        self.ask("DELETE", f"sessions/{session}")
        return float(told["answer"]["results"][0]["prevalence"])


# The hostile client


def attack(port: int, stop: Any, reached: Any) -> None:
    """Do everything that one client can do to keep a server from others, until told to stop."""
    os.nice(10)
    filling = threading.Thread(target=_fill_with_estimates, args=(port, stop, reached), daemon=True)
    filling.start()
    # What follows takes connections, and the client would stand in its own way.
    while filling.is_alive() and not reached.value:
        time.sleep(0.1)
    ways = [_send_large_json, _send_large_files, _trickle, _ask_on_and_on]
    threads = [
        threading.Thread(target=_again, args=(way, port, stop), daemon=True)
        for way in [*ways, _send_large_json, _send_large_files, *[_ask_on_and_on] * 3]
    ]
    threads += [threading.Thread(target=_half_open, args=(port, stop), daemon=True)]
    for thread in threads:
        thread.start()
    stop.wait()


def _again(way: Callable[[int, Any], None], port: int, stop: Any) -> None:
    while not stop.is_set():
        # The server refuses or hangs up, as it should.
        with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
            way(port, stop)
        time.sleep(0.1)


def _fill_with_estimates(port: int, stop: Any, reached: Any) -> None:
    client, sessions = Client(port, HOSTILE), []
    with contextlib.suppress(AssertionError):
        while True:
            sessions.append(client.ask("POST", "sessions")["session"])
            client.ask("POST", f"sessions/{sessions[-1]}/example")
            client.estimate(sessions[-1], **LONG)
    reached.value = len(sessions)
    while not stop.is_set():
        for session in sessions:
            with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
                client.estimate(session, **LONG)
        time.sleep(1)


def _send_large_json(port: int, stop: Any) -> None:
    def pieces() -> Any:
        for _ in range(500):
            yield b"[" * 1_000_000

    client = Client(port, HOSTILE).connection
    length = random.choice(({"Content-Length": "500000000"}, {"Transfer-Encoding": "chunked"}))
    client.request("POST", "/api/sessions", pieces(), length, encode_chunked="h" in length)
    client.getresponse().read()


def _send_large_files(port: int, stop: Any) -> None:
    client = Client(port, HOSTILE)
    session = client.ask("POST", "sessions")["session"]
    client.ask("POST", f"sessions/{session}/files", form("unlabeled", rows(100)), FORM)
    client.ask("DELETE", f"sessions/{session}")


def _trickle(port: int, stop: Any) -> None:
    client = Client(port, HOSTILE)
    session = client.ask("POST", "sessions")["session"]
    head = (
        f"POST /api/sessions/{session}/files HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: {FORM}\r\nContent-Length: 100000000\r\n\r\n"
    )
    _drip(port, stop, head.encode() + form("unlabeled", b"a,b\n"), 5)


def _half_open(port: int, stop: Any) -> None:
    while not stop.is_set():
        _drip(port, stop, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", 15)


def _drip(port: int, stop: Any, start: bytes, n: int) -> None:
    """Hold connections open with a byte now and then."""
    connections = []
    for _ in range(n):
        with contextlib.suppress(OSError):
            connections.append(
                socket.create_connection(("127.0.0.1", port), 5, source_address=(HOSTILE, 0))
            )
            connections[-1].sendall(start)
    for _ in range(20):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"1")
        stop.wait(1)
    for connection in connections:
        connection.close()


def _ask_on_and_on(port: int, stop: Any) -> None:
    client = Client(port, HOSTILE)
    while not stop.is_set():
        client.ask("GET", "info")


@contextlib.contextmanager
def attacked(port: int, hostile: bool) -> Any:
    """Have the hostile client at work, or nobody; give the number of sessions that it holds."""
    context = multiprocessing.get_context("spawn")
    stop, reached = context.Event(), context.Value("i", 0)
    process = context.Process(target=attack, args=(port, stop, reached), daemon=True)
    if hostile:
        process.start()
        while not reached.value:
            assert process.is_alive(), "the hostile client gave up"
            time.sleep(0.1)
        time.sleep(10)
    try:
        yield reached.value
    finally:
        stop.set()
        if hostile:
            process.join(5)
            process.kill()


# What is measured


class Sampler(threading.Thread):
    """Notes the memory of a server from time to time."""

    def __init__(self, server: ServeProcess) -> None:
        super().__init__(daemon=True)
        self.server, self.done = server, threading.Event()
        self.most = {"server": 0.0, "all": 0.0}
        self.start()

    def run(self) -> None:
        """Look every half second."""
        while not self.done.wait(0.5):
            for name, megabytes in self.server.memory().items():
                self.most[name] = max(self.most[name], megabytes)


def crowd(people: int, sample: bytes, hostile: bool) -> tuple[list[float], dict[str, float]]:
    """Let people come at once: the seconds that each needed, and the most of everything else."""
    seconds: list[float] = []
    answers: list[float] = []
    failures: list[BaseException] = []

    def come(port: int, i: int) -> None:
        began = time.monotonic()
        try:
            answers.append(Client(port, f"127.0.2.{1 + i}").visit(sample))
            seconds.append(time.monotonic() - began)
        except BaseException as error:
            failures.append(error)

    with serve_process() as server:
        Client(server.port, "127.0.0.1").visit(rows(0.1))  # everything is imported
        sampler = Sampler(server)
        with attacked(server.port, hostile) as n_sessions:
            threads = [threading.Thread(target=come, args=(server.port, i)) for i in range(people)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        sampler.done.set()
    assert not failures, failures
    assert len(set(answers)) == 1, "the same files gave different answers"
    return seconds, {**sampler.most, "sessions": n_sessions}


def compare(people: int, megabytes: float) -> None:
    """Print how long people wait alone and beside the hostile client."""
    sample = rows(megabytes)
    print(
        "| | median | 90 % | longest | memory of the server | with all its processes "
        "| sessions of the hostile client |"
    )
    print("|---|---|---|---|---|---|---|")
    medians = []
    for name, hostile in (("alone", False), ("beside a hostile client", True)):
        seconds, most = crowd(people, sample, hostile)
        medians.append(statistics.median(seconds))
        print(
            f"| {name} | {medians[-1]:.1f} s | {np.quantile(seconds, 0.9):.1f} s "
            f"| {max(seconds):.1f} s | {most['server']:.0f} MB | {most['all']:.0f} MB "
            f"| {most['sessions']:.0f} |",
            flush=True,
        )
    ratio = medians[1] / medians[0]
    print(f"{people} people with {megabytes:g} MB each: the median is {ratio:.2f} times as long.")
    sys.exit(ratio > 2)


def soak(minutes: float, people: int, megabytes: float) -> None:
    """Print what a server needs over a long time, and whether that grows."""
    sample, end = rows(megabytes), time.monotonic() + 60 * minutes
    visits = [0] * people

    def come_again(port: int, i: int) -> None:
        client = Client(port, f"127.0.2.{1 + i}")
        while time.monotonic() < end:
            client.visit(sample)
            visits[i] += 1

    print("| minute | visits | memory of the server | with all its processes | files | open |")
    print("|---|---|---|---|---|---|")
    own = []
    with serve_process() as server, attacked(server.port, True):
        threads = [
            threading.Thread(target=come_again, args=(server.port, i), daemon=True)
            for i in range(people)
        ]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        for _ in range(20):
            time.sleep(3 * minutes)
            memory, (n_files, size) = server.memory(), server.temporary_files()
            own.append(memory["server"])
            print(
                f"| {(time.monotonic() - began) / 60:.1f} | {sum(visits):,} "
                f"| {own[-1]:.0f} MB | {memory['all']:.0f} MB | {n_files}, {size:.0f} MB "
                f"| {server.n_open_files()} |",
                flush=True,
            )
        for thread in threads:
            thread.join()
    # The first quarter is for warming up.
    first, last = np.mean(own[5:10]), np.mean(own[15:])
    print(f"Memory of the server: {first:.0f} MB in the second quarter, {last:.0f} in the last.")
    sys.exit(bool(last > 1.1 * first + 5))


def costs() -> None:
    """Print the seconds of each method of the page, by the number of cells."""
    from poscount.web.tasks import AVAILABLE_METHODS

    rng = np.random.default_rng(0)
    sizes = ((5_000, 8), (100_000, 8), (20_000, 64))
    print("| method |", " | ".join(f"{n:,} rows of {d}" for n, d in sizes), "|")
    print("|---|" + "---|" * len(sizes))
    for name in AVAILABLE_METHODS:
        seconds = []
        for n, d in sizes:
            positives, sample = rng.normal(size=(400, d)), rng.normal(size=(n, d))
            sample[n // 3 :] += 2
            registry.method(name)(random_state=0).fit(positives).quantify(sample[:1000])
            began = time.perf_counter()
            registry.method(name)(random_state=0).fit(positives).quantify(sample)
            seconds.append(time.perf_counter() - began)
        print(f"| {name} |", " | ".join(f"{s:.2f} s" for s in seconds), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, help="50, or 4 with --soak")
    parser.add_argument("--megabytes", type=float, help="of each person; 10, or 1 with --soak")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--costs", action="store_true")
    arguments = parser.parse_args()
    if arguments.costs:
        costs()
    elif arguments.soak:
        soak(arguments.soak, arguments.people or 4, arguments.megabytes or 1)
    else:
        compare(arguments.people or 50, arguments.megabytes or 10)


if __name__ == "__main__":
    main()
