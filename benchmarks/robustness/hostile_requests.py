"""Requests that nobody sends by accident: whatever comes, the server answers with a sentence.

``python -m benchmarks.robustness.hostile_requests --requests 5000 --seed 0`` starts a server of its
own on loopback and sends it requests of six kinds, each made from a valid one by a few random
changes: JSON bodies, forms with files, settings, addresses, bytes that are not quite HTTP, and
orders that make no sense (estimates of sessions that are being deleted, and so on). The table says
how they ended. A request fails if the answer is 500 or more (503 and 507, which say that the server
is full, aside), if a refusal is not one sentence or shows something of the server's inside, or if
there is no answer within 30 s.

The tests do the same with a few requests: tests/test_web_hostile.py.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import re
import socket
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from poscount.example import example_path

SECONDS = 30.0
# What uvicorn itself says to bytes that are no request.
NOT_HTTP = b"Invalid HTTP request received."
POSITIVES = example_path("positives.csv").read_bytes()
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
SETTINGS = ("delimiter", "decimal", "header", "encoding", "thousands", "day_first", "na", "units")
ODD_TEXT = (
    *("", " ", "\x00", "\u202e", "é" * 300, "../../etc/passwd", "[/a]", "=cmd()", "%s%n", "night"),
    *("utf-7", "idna", "zlib", "undefined", "punycode", "a=b=c", "=", "\n" * 50, "😀", "-1", "nan"),
    *("x" * 999, "x" * 1001, "true", "null", ";", ",", "\t", "\\", '"', "peak_mv", "month(night)"),
)
ODD_JSON: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 1000, 1001, 2**32, 2**63, 10**30, 0.0, -0.0, 0.5, 1e308),
    *(float("nan"), float("inf"), [], {}, [[]], [None], [1], {"a": 1}, ["night"] * 4),
    *ODD_TEXT,
)
ODD_RAW = (
    *(
        b"nan",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"1" * 5000,
        b'"\xff"',
        b'"\\ud800"',
        b"\xef\xbb\xbf{}",
    ),
    *(b"{", b"", b'{"by": [], "by": 3}', b"\x00" * 100, b'{"random_state": 1e400}', b"{}{}"),
)


class Ending(NamedTuple):
    """How a request ended: its kind, status (0 if the server hung up), seconds, what was wrong."""

    kind: str
    status: int
    seconds: float
    wrong: str


class Attacker:
    """Sends hostile requests to one server, always the same for the same seed."""

    def __init__(self, port: int, token: str, seed: int) -> None:
        self.port, self.token, self.random = port, token, random.Random(seed)
        self.session = self.estimate = "none"
        self.n_sessions = 0
        self.kinds: dict[str, Callable[[], tuple[bytes, bool]]] = {
            "JSON body": self.json_body,
            "form with a file": self.form,
            "settings of a file": self.settings,
            "address": self.address,
            "not quite HTTP": self.not_http,
            "order of requests": self.order,
        }

    def run(self, n: int) -> list[Ending]:
        """Send `n` requests, of all kinds in turn."""
        endings = []
        for i in range(n):
            if i % 40 == 0 or self.session == "none":
                self.begin_session()
            kind = list(self.kinds)[i % len(self.kinds)]
            payload, complete = self.kinds[kind]()
            began = time.monotonic()
            answer, hung = self.exchange(payload, complete)
            status, wrong = judge(answer, complete)
            seconds = time.monotonic() - began
            endings.append(Ending(kind, status, seconds, "no answer" if hung else wrong))
            self.note(answer)
            if status == 409:
                # Its estimate runs, and every request would be refused for that.
                base = f"/api/sessions/{self.session}"
                self.note(self.exchange(request("GET", base), True)[0])
                self.exchange(request("DELETE", f"{base}/estimates/{self.estimate}"), True)
            if payload.startswith(f"DELETE /api/sessions/{self.session} ".encode()):
                self.session = "none"
        return endings

    # Talking to the server

    def exchange(self, payload: bytes, complete: bool) -> tuple[bytes, bool]:
        """Send bytes, and read until the server has closed the connection."""
        answer = b""
        # Without the token, every request would end at the door.
        token = f"Authorization: Bearer {self.token}\r\nConnection: close\r\n".encode()
        payload = payload.replace(b"Connection: close\r\n", token, 1)
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
                connection.sendall(payload)
                if not complete:
                    connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answer += piece
        except TimeoutError:
            return answer, True
        except OSError:
            pass  # it hung up, which it may
        return answer, False

    def begin_session(self) -> None:
        """Delete the session, and begin another with the example in it and an estimate."""
        if self.n_sessions:
            self.exchange(request("DELETE", f"/api/sessions/{self.session}"), True)
        self.n_sessions += 1
        self.note(self.exchange(request("POST", "/api/sessions"), True)[0])
        base = f"/api/sessions/{self.session}"
        self.exchange(request("POST", f"{base}/example"), True)
        started = request("POST", f"{base}/estimates", b"{}", "application/json")
        self.note(self.exchange(started, True)[0])
        path = f"{base}/estimates/{self.estimate}"
        while re.search(
            rb'"state":"(waiting|running)"', self.exchange(request("GET", path), True)[0]
        ):
            time.sleep(0.05)

    def note(self, answer: bytes) -> None:
        """Remember the names of sessions and estimates, or every request would end at the door."""
        content = answer.partition(b"\r\n\r\n")[2]
        if session := re.search(rb'"session":"([\w-]+)"', content):
            self.session = session[1].decode()
        if estimate := re.search(rb'^{"id":"(\w+)","state"|"estimate":"(\w+)"', content):
            self.estimate = (estimate[1] or estimate[2]).decode()

    # Kinds of requests

    def json_body(self) -> tuple[bytes, bool]:
        """What to estimate."""
        wanted: dict[str, Any] = {"method": "pat", "by": ["night"], "random_state": 0}
        fields = ("method", "features", "by", "by_file", "scorer", "confidence", "bootstrap")
        for _ in range(self.random.randint(0, 2)):
            field = self.random.choice((*fields, "random_state", *ODD_TEXT))
            wanted[field] = self.random.choice(ODD_JSON)
        if wanted.get("bootstrap") in (1000, 2):
            wanted["bootstrap"] = 3
        body = json.dumps(wanted).encode()
        if self.random.random() < 0.3:
            body = self.random.choice((*ODD_RAW, self.damaged(body)))
        kind = self.random.choice(("application/json",) * 8 + ("text/plain", "", "application/xml"))
        return request("POST", f"/api/sessions/{self.session}/estimates", body, kind), True

    def form(self) -> tuple[bytes, bool]:
        """A file that is sent."""
        name, content = self.file()
        fields = {"role": self.random.choice(("positives", "unlabeled", "unlabeled", "king"))}
        if self.random.random() < 0.5:
            fields[self.random.choice((*SETTINGS, "sheet", "x"))] = self.random.choice(ODD_TEXT)
        parts = [
            b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
            % (field.encode(), value.encode())
            for field, value in fields.items()
        ]
        parts.append(
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
            % (name.encode(), content)
        )
        self.random.shuffle(parts)
        body = b"".join(parts) + b"--x--\r\n"
        if self.random.random() < 0.2:
            body = self.damaged(body)
        kind = "multipart/form-data; boundary=" + self.random.choice(
            ("x",) * 9 + ("y", "", "x" * 80)
        )
        return request("POST", f"/api/sessions/{self.session}/files", body, kind), True

    def file(self) -> tuple[str, bytes]:
        """A small file of some kind, damaged or with a name that does not fit."""
        lines = POSITIVES.splitlines(keepends=True)
        rows = b"".join(lines[: self.random.choice((0, 1, 2, 20, 200))])
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(self.random.choice(("a.csv", "../a.csv", "a", "b/a.jsonl")), rows)
        name, content = self.random.choice(
            (
                ("a.csv", rows),
                ("a.csv.gz", gzip.compress(rows)),
                ("a.csv.zip", packed.getvalue()),
                ("a.xlsx", packed.getvalue()),
                ("a.jsonl", b'{"a": 1, "b": "x"}\n{"a": 2}\n{"a": [1]}\n'),
                ("a.parquet", b"PAR1" + rows + b"PAR1"),
                ("a.csv", b"a,b\n" + bytes(self.random.choices(range(256), k=300))),
            )
        )
        if self.random.random() < 0.3:
            content = self.damaged(content)
        if self.random.random() < 0.2:
            name = self.random.choice(("a.txt", "a.xls", "a", *ODD_TEXT)).replace('"', "")
            name = name.replace("\n", "").replace("\x00", "")
        return name, content

    def settings(self) -> tuple[bytes, bool]:
        """Another way to read a file."""
        wanted: Any = {
            self.random.choice((*SETTINGS, "sheet", "role", "x")): self.random.choice(
                ODD_JSON if self.random.random() < 0.2 else ODD_TEXT
            )
        }
        content = self.exchange(request("GET", f"/api/sessions/{self.session}"), True)[0]
        ids = [name.decode() for name in re.findall(rb'"id":"(\w+)","name"', content)] or ["none"]
        path = f"/api/sessions/{self.session}/files/{self.random.choice(ids)}"
        return request("PATCH", path, json.dumps(wanted).encode(), "application/json"), True

    def address(self) -> tuple[bytes, bool]:
        """Methods and paths."""
        base = f"/api/sessions/{self.session}"
        path = self.random.choice(
            (
                *("/", "/api/info", "/openapi.json", "/static/app.js", base),
                *(f"{base}/files", f"{base}/estimates/{self.estimate}", f"{base}/example"),
                *(f"{base}/estimates/{self.estimate}/{name}" for name in ("result.csv", "x", "..")),
            )
        )
        for _ in range(self.random.randint(0, 2)):
            at = self.random.randint(0, len(path))
            odd = ("%00", "%2e%2e/", "//", "..", "%ff", "?a=b", "%", ";", "#", "%0d%0a", "a" * 5000)
            path = path[:at] + self.random.choice(odd) + path[at:]
        method = self.random.choice(METHODS)
        if method == "DELETE" and path == base:
            method = "GET"  # the session is still needed
        return request(method, path), True

    def not_http(self) -> tuple[bytes, bool]:
        """Bytes that break a rule of HTTP."""
        whole = request(
            "POST", f"/api/sessions/{self.session}/estimates", b"{}", "application/json"
        )
        head, _, body = whole.partition(b"\r\n\r\n")
        odd = (
            (whole[: self.random.randint(1, len(whole))], False),
            (self.damaged(whole), False),
            (head.replace(b"Content-Length: 2", b"Content-Length: -2") + b"\r\n\r\n{}", False),
            (head.replace(b"Content-Length: 2", b"Content-Length: 9" * 40) + b"\r\n\r\n{}", False),
            (head + b"\r\nContent-Length: 3\r\n\r\n{} ", False),
            (head + b"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", False),
            (chunked(head, b"zz\r\n{}\r\n0\r\n\r\n"), False),
            (chunked(head, b"2;x=" + b"y" * 20_000 + b"\r\n{}\r\n0\r\n\r\n"), False),
            (chunked(head, b"ffffffffffffffff\r\n{}"), False),
            (chunked(head, b"100000\r\n" + b"[" * 0x100000 + b"\r\n0\r\n\r\n"), False),
            (
                head
                + b"\r\nX: "
                + b"y" * self.random.choice((5_000, 15_000, 300_000))
                + b"\r\n\r\n{}",
                False,
            ),
            (head + b"\r\nX: y" * self.random.choice((90, 3000)) + b"\r\n\r\n" + body, False),
            (head + b"\r\nExpect: 100-continue\r\n\r\n" + body, True),
            (head + b"\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n" + body, False),
            (head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n\r\n" + body, True),
            (head.replace(b"HTTP/1.1", b"HTTP/9.9") + b"\r\n\r\n" + body, False),
            (head.replace(b"Host: 127.0.0.1\r\n", b"") + b"\r\n\r\n" + body, False),
            (head.replace(b"Host: 127", b"Host: a\r\nHost: 127") + b"\r\n\r\n" + body, False),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", False),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), False),
            (whole.replace(b"Connection: close\r\n", b"") * 5, False),
            (bytes(self.random.choices(range(256), k=1000)), False),
        )
        return self.random.choice(odd)

    def order(self) -> tuple[bytes, bool]:
        """Requests that are fine in themselves."""
        base = f"/api/sessions/{self.session}"
        estimate = f"{base}/estimates/{self.estimate}"
        check = b'{"kind": "diagnosis"}'
        return self.random.choice(
            (
                (request("POST", f"{base}/estimates", b"{}", "application/json"), True),
                (request("DELETE", estimate), True),
                (request("GET", estimate), True),
                (request("POST", f"{estimate}/follow-ups", check, "application/json"), True),
                (request("GET", f"{estimate}/follow-ups/diagnosis"), True),
                (request("GET", f"{estimate}/model.poscount"), True),
                (request("POST", f"{base}/example"), True),
                (request("POST", f"{base}/leave"), True),
                (request("POST", f"{base}/example")[:-2], False),
                (request("DELETE", base), True),
            )
        )

    def damaged(self, content: bytes) -> bytes:
        """Cut, repeat or change a few bytes."""
        changed = bytearray(content)
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randint(0, len(changed))
            length = self.random.choice((1, 2, 10, 100))
            piece = bytes(self.random.choices(range(256), k=length))
            changed[at : at + self.random.choice((0, length))] = self.random.choice(
                (b"", piece, changed[:length], b"\r\n", b"\x00" * length)
            )
        return bytes(changed)


def request(method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
    """Write a request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    head += f"Content-Type: {kind}\r\n" if kind else ""
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(head: bytes, body: bytes) -> bytes:
    """Turn the head of a request into one whose body comes in pieces."""
    return head.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked") + b"\r\n\r\n" + body


def judge(answer: bytes, complete: bool) -> tuple[int, str]:
    """Give the status of an answer, and what is wrong with it."""
    if not answer:
        return 0, "hung up without a word" if complete else ""
    head, _, body = answer.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    if not found:
        return 0, f"no HTTP: {head[:40]!r}"
    status = int(found[1])
    if status == 100:
        return judge(body, complete)
    if length := re.search(rb"\r\ncontent-length: (\d+)", head):
        body = body[: int(length[1])]  # another answer may follow
    if status >= 500 and status not in (503, 507):
        return status, f"status {status}"
    if status >= 400 and body and NOT_HTTP not in body:
        try:
            message = json.loads(body)["message"]
        except (ValueError, KeyError, TypeError):
            return status, f"no sentence: {body[:60]!r}"
        if not message.endswith((".", "?")) or re.search(
            "Traceback|poscount-serve|not your fault|/site-packages/", message
        ):
            return status, f"odd sentence: {message[:200]}"
    return status, ""


def table(endings: list[Ending]) -> str:
    """Write how the requests of each kind ended."""
    lines = [
        "| kind of request | sent | answered | refused | hung up | failed | slowest |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in [*dict.fromkeys(ending.kind for ending in endings), "all"]:
        mine = [ending for ending in endings if kind in (ending.kind, "all")]
        numbers = Counter(
            "failed"
            if ending.wrong
            else "hung up"
            if not ending.status
            else "answered"
            if ending.status < 400
            else "refused"
            for ending in mine
        )
        ends = " | ".join(
            f"{numbers[end]:,}" for end in ("answered", "refused", "hung up", "failed")
        )
        slowest = max(ending.seconds for ending in mine)
        lines.append(f"| {kind} | {len(mine):,} | {ends} | {slowest:.1f} s |")
    return "\n".join(lines)


def main() -> None:
    from benchmarks.robustness.serve_process import serve_process

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with serve_process() as server:
        before = server.memory()["server"]
        began = time.monotonic()
        endings = Attacker(server.port, server.token, arguments.seed).run(arguments.requests)
        after = server.memory()["server"]
    print(table(endings))
    print(f"{time.monotonic() - began:.0f} s; memory of the server {before:.0f} to {after:.0f} MB.")
    failures = [ending for ending in endings if ending.wrong]
    for ending in failures[:20]:
        print(ending, file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
