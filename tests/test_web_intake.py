"""Requests that are too large, too slow or too many: refused before anything is parsed."""

import contextlib
import json
import socket
import time

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from poscount.web.limits import Limits  # noqa: E402 (they need what may be missing)
from test_web_safety import FILE, ROLE, raw, request  # noqa: E402
from web_server import served  # noqa: E402

HEAD = b"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"


def connect(web, address="127.0.0.1"):
    port = int(web.address.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), 30, source_address=(address, 0))


def status_and_message(said):
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)["message"]


def read(connection):
    with contextlib.suppress(ConnectionError):
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


@pytest.fixture(scope="module")
def hasty():
    """A server without patience."""
    times = {
        "header_seconds": 0.5,
        "json_seconds": 0.5,
        "upload_grace_seconds": 0.5,
        "stall_seconds": 0.5,
    }
    with served(**times, connections_per_client=5, connections=12) as web:
        yield web


def test_a_large_json_body_is_refused_by_its_length(web):
    began = time.monotonic()
    said = raw(web, HEAD + b"Content-Length: 500000000\r\n\r\n[[[")
    assert status_and_message(said) == (413, "A request without a file can have at most 1 MB.")
    assert time.monotonic() - began < 5


def test_a_large_json_body_without_a_length_is_refused_at_the_limit(web):
    with connect(web) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        n = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                connection.sendall(b"f4240\r\n" + b"[" * 1_000_000 + b"\r\n")
                n += 1
        said = read(connection)
    # What is on its way when the server hangs up was never read by it.
    assert n < 20
    assert said == b"" or said.startswith(b"HTTP/1.1 413 ")
    assert web.is_up()


@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/info", "/api/sessions/x/files/y"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PATCH"])
def test_no_path_takes_a_large_body(web, method, path):
    try:
        answer = web.http.request(method, path, content=b" " * 1_000_001)
    except httpx.TransportError:
        # The server hung up before the client had sent everything.
        assert web.is_up()
    else:
        assert answer.status_code == 413


def test_a_body_at_the_limit_is_read(web):
    visit = web.visit()
    wanted = json.dumps({"method": "x"}).encode()
    content = wanted + b" " * (1_000_000 - len(wanted))
    headers = {"content-type": "application/json"}
    answer = visit.http.post(f"{visit.base}/estimates", content=content, headers=headers)
    assert answer.status_code == 422
    assert "no file of positives" in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 900_000, "pars|JSON"),
        (b'{"a":' * 150_000, "pars|JSON"),
        (b'{"random_state": ' + b"1" * 10_000 + b"}", "pars|JSON|random_state"),
        (b'{"%s": 1}' % (b"x" * 900_000), "extra inputs"),
    ],
)
def test_json_that_is_deep_or_long_is_refused_in_a_short_sentence(web, body, words):
    visit = web.visit()
    headers = {"content-type": "application/json"}
    answer = visit.http.post(f"{visit.base}/estimates", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    message = answer.json()["message"]
    assert len(message) < 300
    assert any(word in message for word in words.split("|"))


def test_addresses_and_headers_have_a_length(web):
    assert web.http.get("/api/info?" + "a" * 3_900).status_code == 200
    answer = web.http.get("/api/info?" + "a" * 5_000)
    assert (answer.status_code, answer.json()["message"]) == (
        414,
        "The address is longer than 4 kB.",
    )
    answer = web.http.get("/api/info", headers={"x": "a" * 17_000})
    assert (answer.status_code, answer.json()["message"]) == (
        431,
        "The headers are larger than 16 kB.",
    )
    said = raw(web, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"a" * 15_000, b"a" * 50_000)
    assert said == b"" or said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))


# Connections


@pytest.mark.parametrize("start", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_connection_that_asks_for_nothing_is_closed(hasty, start):
    with connect(hasty) as connection:
        connection.sendall(start)
        began = time.monotonic()
        assert status_and_message(read(connection))[0] == 408
        assert 0.3 < time.monotonic() - began < 10


def test_a_request_that_comes_a_byte_at_a_time_is_closed(hasty):
    whole = b"GET /api/info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(hasty) as connection, contextlib.suppress(ConnectionError):
        for byte in whole:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
        assert status_and_message(read(connection))[0] == 408


def test_a_second_request_must_come_in_time_too(hasty):
    request = b"GET /api/info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(hasty) as connection:
        connection.sendall(request)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(request[:20])
        assert status_and_message(read(connection))[0] == 408


def test_a_body_that_does_not_come_is_not_waited_for(hasty):
    with connect(hasty) as connection:
        connection.sendall(HEAD + b"Content-Length: 10\r\n\r\n{")
        assert status_and_message(read(connection)) == (
            408,
            "The request did not come in completely in time; send it again.",
        )


def test_an_upload_that_trickles_is_stopped(hasty):
    visit = hasty.visit()
    with connect(hasty) as connection:
        head = request(visit, ROLE + FILE[:-2] % (b"u.csv", b"a,b\n"), length=100_000_000)
        connection.sendall(head)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 10:
                connection.sendall(b"1,2\n")
                time.sleep(0.05)
        assert time.monotonic() - began < 8
    assert visit.see().json()["files"] == []
    assert hasty.service.sessions.used == 0


def test_an_upload_that_is_slow_but_steady_is_received(monkeypatch):
    with served(upload_grace_seconds=0.5, upload_bytes_per_second=20_000) as web:
        visit = web.visit()
        body = ROLE + FILE % (b"u.csv", b"a,b\n" + b"1,2\n" * 30_000) + b"--x--\r\n"
        with connect(web) as connection:
            head, _, body = request(visit, body).partition(b"\r\n\r\n")
            connection.sendall(head + b"\r\n\r\n")
            for start in range(0, len(body), 8_000):
                connection.sendall(body[start : start + 8_000])
                time.sleep(0.1)
            assert read(connection).startswith(b"HTTP/1.1 201 ")


def test_an_answer_that_nobody_reads_is_given_up(hasty):
    asked = b"GET /static/style.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.socket() as connection:
        # Little is on its way before the server notices.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", int(hasty.address.rpartition(":")[2])))
        closed = False
        for _ in range(300):
            try:
                connection.sendall(asked * 5)
            except ConnectionError:
                closed = True
                break
            time.sleep(0.05)
        assert closed


def test_connections_of_one_client_and_of_all_have_an_end(hasty):
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(hasty, "127.0.0.9"))
        refused = stack.enter_context(connect(hasty, "127.0.0.9"))
        assert status_and_message(read(refused))[0] == 429
        # Others are not affected.
        transport = httpx.HTTPTransport(local_address="127.0.0.8")
        with httpx.Client(transport=transport, trust_env=False) as other:
            assert other.get(hasty.address).status_code == 200
        for i in range(8):
            last = stack.enter_context(connect(hasty, f"127.0.0.{20 + i}"))
        assert status_and_message(read(last))[0] in (503, 408)
    # When they are gone, there is room again.
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with connect(hasty, "127.0.0.9") as connection:
            connection.sendall(b"GET /api/info HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            if read(connection).startswith(b"HTTP/1.1 200 "):
                return
        time.sleep(0.1)
    raise AssertionError("the connections were never given back")


# Who the client is


@pytest.mark.parametrize(
    ("trusted", "told", "client"),
    [
        ((), "10.0.0.7", "127.0.0.1"),
        (("10.0.0.2",), "10.0.0.7", "127.0.0.1"),
        (("127.0.0.1",), "10.0.0.7", "10.0.0.7"),
        # A client can write what it likes before what the proxy adds.
        (("127.0.0.1",), "192.168.0.1, 10.0.0.7", "10.0.0.7"),
        (("127.0.0.1",), "nonsense", "unknown"),
    ],
)
def test_only_a_trusted_proxy_says_who_its_client_is(trusted, told, client):
    with served(trusted) as web:
        web.http.post("/api/sessions", headers={"x-forwarded-for": told})
        (session,) = web.service.sessions._sessions.values()
        assert session.owner.client == client


def test_a_trusted_proxy_may_have_all_connections():
    with served(("127.0.0.1",), connections_per_client=2) as web, contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(connect(web))
        assert web.is_up()


def test_the_limits_agree():
    limits = Limits()
    assert limits.sessions_per_client < limits.sessions
    assert limits.connections_per_client < limits.connections
    assert limits.disk_bytes_per_client < limits.disk_bytes
    # A page asks about three times in a second, and its session has one estimate and one check.
    assert limits.requests_per_second > 2 * 3
