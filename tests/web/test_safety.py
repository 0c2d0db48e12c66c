"""`poscount serve` among bad files, bad clients and bad luck: a sentence, and it stays up."""

import contextlib
import errno
import gzip
import itertools
import json
import os
import re
import signal
import socket
import struct
import time
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from starlette.datastructures import UploadFile  # noqa: E402 (it needs what may be missing)

from bad_files import BAD_FILES, NOISE, POSITIVES, parquet, zipped  # noqa: E402
from poscount.web.guard import Hosts  # noqa: E402
from web_server import TOKEN, served  # noqa: E402 (it needs what may be missing)


@pytest.fixture(scope="module")
def small():
    """A server that takes little."""
    limits = {"upload_bytes": 3_000_000, "unpacked_bytes": 20_000_000}
    with served(**limits, rows=50_000, files=3, sessions=3) as web:
        yield web


@pytest.fixture
def small_visit(small):
    visit = small.visit()
    yield visit
    visit.http.delete(visit.base)


ROLES = itertools.cycle(["positives", "unlabeled"])


@pytest.mark.parametrize(("role", "name"), list(zip(ROLES, BAD_FILES, strict=False)))
def test_a_bad_file_is_refused_with_a_sentence_that_names_it(web, visit, role, name):
    content, words = BAD_FILES[name]
    kept = web.files()
    refusal = visit.refused(role, name, content)
    assert refusal["message"].startswith(f"{name}: ")
    assert re.search(words, refusal["message"])
    assert refusal["field"] in (role, "header", "delimiter", "encoding")
    assert web.files() == kept
    assert web.is_up()


def lying_zip(content):
    """An archive that says of its file that it is small."""
    archive, size = zipped(**{"a.csv": content}), struct.pack("<I", len(content))
    assert archive.count(size) == 2
    return archive.replace(size, struct.pack("<I", 1000))


BOMBS = {
    "bomb.csv.gz": gzip.compress,
    "bomb.csv.zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    "bomb.csv.zip": lambda content: zipped(**{"a.csv": content}),
    "bomb.xlsx": lambda content: zipped(**{"xl/worksheets/sheet1.xml": content}),
}


def test_an_archive_that_lies_about_its_size_is_read_no_further(small, small_visit):
    bomb = lying_zip(b"a\n" + b"1\n" * 15_000_000)
    refusal = small_visit.refused("unlabeled", "bomb.csv.zip", bomb)
    assert re.search("after decompression|damaged or incomplete", refusal["message"])


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(small, small_visit, name):
    bomb = BOMBS[name](b"a\n" + b"1\n" * 15_000_000)
    assert len(bomb) < 200_000
    refusal = small_visit.refused("unlabeled", name, bomb)
    assert "more than 20 MB after decompression" in refusal["message"]
    assert small.files() == []


def test_parquet_that_unpacks_to_too_much_is_refused_by_its_footer(small, small_visit):
    block = "x" * 1000
    table = pa.table({"a": [f"{block}{i}" for i in range(40_000)]})
    many = parquet(table, use_dictionary=False, compression="zstd")
    assert len(many) < 500_000
    refusal = small_visit.refused("unlabeled", "big.parquet", many)
    assert "more than 20 MB after decompression" in refusal["message"]


def test_too_many_rows_files_and_sessions_are_refused(small, small_visit):
    rows = b"a\n" + b"1\n" * 50_001
    assert "more than 50,000 rows" in small_visit.refused("unlabeled", "rows.csv", rows)["message"]
    for _ in range(3):
        assert small_visit.send("unlabeled", "rows.csv", b"a\n1\n").status_code == 201
    assert "3 files" in small_visit.send("unlabeled", "rows.csv", b"a\n1\n").json()["message"]
    others = [small.visit() for _ in range(2)]
    refused = small.http.post("/api/sessions")
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    for other in others:
        other.http.delete(other.base)


def raw(web, *parts):
    """Send bytes as they are, and read until the server has said all."""
    host, port = web.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(65536), b""))


AUTH = f"Authorization: Bearer {TOKEN}\r\n"


def request(visit, body, *, length=None, kind="multipart/form-data; boundary=x", more=""):
    length = len(body) if length is None else length
    head = (
        f"POST {visit.base}/files HTTP/1.1\r\nHost: 127.0.0.1\r\n{AUTH}Content-Type: {kind}\r\n"
        f"Content-Length: {length}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body


PART = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
ROLE = PART % (b"role", b"positives")
GOOD = FILE % (b"p.csv", POSITIVES)

FORMS = {
    "well-formed": (ROLE + GOOD + b"--x--\r\n", 201),
    "nothing": (b"", 400),
    "noise": (NOISE[:2000], 400),
    "no end": (ROLE + GOOD, 400),
    "cut in the file": ((ROLE + GOOD)[:-500], 400),
    "no role": (GOOD + b"--x--\r\n", 422),
    "a wrong role": (PART % (b"role", b"king") + GOOD + b"--x--\r\n", 422),
    "an unknown field": (ROLE + PART % (b"path", b"/etc") + GOOD + b"--x--\r\n", 422),
    "no file": (ROLE + b"--x--\r\n", 400),
    "two files": (ROLE + GOOD + GOOD + b"--x--\r\n", 400),
    "a file in a field": (ROLE + GOOD.replace(b'"file"', b'"role"', 1) + b"--x--\r\n", 400),
    "a long field": (PART % (b"role", b"p" * 5000) + GOOD + b"--x--\r\n", 400),
    "many fields": (ROLE * 50 + GOOD + b"--x--\r\n", 400),
    "a long header": (b"--x\r\nContent-Disposition: " + b"f" * 100_000 + GOOD + b"--x--\r\n", 400),
    "no disposition": (b"--x\r\n\r\nabc\r\n--x--\r\n", 400),
    "a delimiter of two": (ROLE + PART % (b"delimiter", b";;") + GOOD + b"--x--\r\n", 422),
}


# Starlette leaves a file without an end to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("form", FORMS)
def test_forms(web, visit, form):
    body, status = FORMS[form]
    said = raw(web, request(visit, body))
    assert said.startswith(f"HTTP/1.1 {status} ".encode()), said[:300]
    assert b'"message":"' in said or status == 201
    assert web.is_up()


@pytest.mark.parametrize(
    "kind",
    ["application/json", "multipart/form-data", "multipart/form-data; boundary=" + "b" * 5000, ""],
)
def test_a_body_that_is_no_form_is_refused(web, visit, kind):
    said = raw(web, request(visit, ROLE + GOOD + b"--x--\r\n", kind=kind))
    assert said.split(b" ")[1] in (b"415", b"400")
    assert web.is_up()


@pytest.mark.parametrize("name", ["../../../../tmp/x.csv", "/etc/passwd.csv", "C:\\windows\\x.csv"])
def test_a_name_like_a_path_is_only_a_name(web, visit, name):
    told = visit.send("positives", name, POSITIVES).json()
    assert told["files"][0]["name"] in ("x.csv", "passwd.csv")
    root = web.service.sessions.root
    kept = web.service.sessions.find(visit.session).directory
    assert len(list(kept.glob("*.csv"))) == 1
    assert all(re.fullmatch(r"[0-9a-f]{16}\.(csv|json)", file.name) for file in kept.iterdir())
    assert kept.parent == root
    assert kept.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>.csv", "a\u202eb.csv", "n" * 400 + ".csv"]
)
def test_a_name_is_shown_as_text(visit, name):
    told = visit.send("unlabeled", name, POSITIVES).json()
    shown = told["files"][0]["name"]
    assert len(shown) <= 150
    assert shown.isprintable()
    visit.send("positives", "p.csv", POSITIVES)
    estimate = visit.start(by_file=True)
    assert visit.wait(estimate)["result"]["results"][0]["label"] == shown


# A file that is too large


def test_two_gigabytes_are_refused_at_the_door(web, visit):
    kept = web.files()
    head = ROLE + FILE[:-2] % (b"u.csv", b"a,b\n")
    began = time.monotonic()
    said = raw(web, request(visit, head, length=2_000_000_000))
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b"larger than the 200 MB" in said
    assert time.monotonic() - began < 10
    assert web.files() == kept


def two_gigabytes(sent):
    """A form that goes on and on; `sent` gets the size of each piece that was asked for."""
    yield ROLE + FILE[:-2] % (b"u.csv", b"a,b\n")
    while sum(sent) < 2_000_000_000:
        yield b"1.5,2.5\n" * 8192
        sent.append(65536)


def test_a_client_that_goes_on_sending_two_gigabytes_is_stopped(web, visit):
    sent = []
    headers = {"content-type": "multipart/form-data; boundary=x", "content-length": "2000000000"}
    try:
        answer = visit.http.post(
            f"{visit.base}/files", content=two_gigabytes(sent), headers=headers
        )
        assert answer.status_code == 413
    except httpx.TransportError:
        pass  # the server hung up, which is what it may do with such a client
    assert sum(sent) < 50_000_000
    assert visit.see().json()["files"] == []
    assert web.is_up()


def test_a_file_whose_size_nobody_said_is_stopped_at_the_limit(small, small_visit):
    sent = []
    headers = {"content-type": "multipart/form-data; boundary=x"}
    try:
        answer = small_visit.http.post(
            f"{small_visit.base}/files", content=two_gigabytes(sent), headers=headers
        )
        assert answer.status_code == 413
    except httpx.TransportError:
        pass
    assert sum(sent) < 50_000_000
    assert small.files() == []


def test_a_client_that_leaves_halfway_leaves_nothing(small, small_visit):
    host, port = small.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(request(small_visit, ROLE + GOOD[:5000], length=1_000_000))
        while not small.service.sessions.find(small_visit.session).incoming:
            time.sleep(0.01)
    deadline = time.monotonic() + 20
    while small.service.sessions.find(small_visit.session).incoming:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert small.files() == []


# Requests that are too large, refused before anything is parsed


def head_of(path):
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{AUTH}Connection: close\r\n".encode()


def test_a_large_json_body_is_refused_by_its_length(web):
    began = time.monotonic()
    said = raw(web, head_of("/api/sessions") + b"Content-Length: 500000000\r\n\r\n[[[")
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b"larger than the 1 MB" in said
    assert time.monotonic() - began < 5


def test_a_large_json_body_without_a_length_is_refused_at_the_limit(web, visit):
    host, port = web.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = head_of(f"{visit.base}/estimates")
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        n, said = 0, b""
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                connection.sendall(b"f4240\r\n" + b"[" * 1_000_000 + b"\r\n")
                n += 1
            said = connection.recv(65536)
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


def test_a_body_at_the_limit_is_read(visit):
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
def test_json_that_is_deep_or_long_is_refused_in_a_short_sentence(visit, body, words):
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
    said = raw(web, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"a" * 15_000, b"a" * 80_000)
    assert said == b"" or said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))


# Time, memory, sessions


def test_work_that_takes_too_long_is_stopped(web, visit, monkeypatch):
    visit.example()
    monkeypatch.setattr(web.service.jobs, "seconds", 2)
    told = visit.wait(visit.start(method="extice", bootstrap=1000, by=["night"]))
    assert told["state"] == "failed"
    assert "longer than 2 s" in told["error"]["message"]
    assert web.is_up()


def test_work_that_takes_too_much_memory_is_stopped():
    with served(memory_bytes=40_000_000, workers=1) as web:
        visit = web.visit()
        rows = b"a,b\n" + b"1.123456789,2.123456789\n" * 1_000_000
        refusal = visit.refused("positives", "p.csv", rows)
        assert "memory" in refusal["message"]
        assert visit.example()["files"]
        assert web.is_up()


def test_jobs_wait_in_turn():
    with served(workers=1) as web:
        visits = [web.visit() for _ in range(3)]
        for visit in visits:
            visit.example()
        long = {"method": "extice", "bootstrap": 1000, "by": ["night"]}
        first = visits[0].start(**long)
        visits[0].wait(first, until=("running",))
        second, third = (visit.start(**long) for visit in visits[1:])

        def told(visit, estimate):
            told = visit.http.get(f"{visit.base}/estimates/{estimate}").json()
            return told["state"], told["position"]

        assert told(visits[1], second) == ("waiting", 0)
        assert told(visits[2], third) == ("waiting", 1)
        # One that waits is cancelled at once, and the next takes its place.
        assert visits[1].http.delete(f"{visits[1].base}/estimates/{second}").status_code == 204
        assert told(visits[2], third) == ("waiting", 0)
        assert visits[0].http.delete(visits[0].base).status_code == 204
        visits[2].wait(third, until=("running",))


def test_a_session_that_nobody_uses_goes_with_its_files():
    with served(idle_seconds=0.6) as web:
        visit = web.visit()
        visit.example()
        directory = web.service.sessions.find(visit.session).directory
        assert len(list(directory.glob("*.csv*"))) == 2
        deadline = time.monotonic() + 20
        while directory.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not directory.exists()
        assert visit.see().status_code == 404
        assert "expired" in visit.see().json()["message"]


def test_a_deleted_session_is_gone(web, visit):
    visit.example()
    directory = web.service.sessions.find(visit.session).directory
    assert visit.http.delete(visit.base).status_code == 204
    assert not directory.exists()
    assert visit.see().status_code == 404


# Who may ask


def test_whoever_has_the_link_is_let_in_and_then_has_a_cookie(web):
    with httpx.Client(base_url=web.address, trust_env=False) as http:
        assert http.get("/").status_code == 403
        first = http.get("/", params={"token": TOKEN})
        assert first.status_code == 200
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        for path in ("/", "/static/app.js", "/api/info", "/openapi.json"):
            assert http.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/info", "/openapi.json", "/nowhere"])
@pytest.mark.parametrize("token", ["a", TOKEN[:-1], TOKEN + "a", "é" * 20])
def test_nobody_else_is_let_in(web, path, token):
    port = web.address.rpartition(":")[2]
    ways = [
        {},
        {"params": {"token": ""}},
        {"params": {"token": token}},
        {"headers": {"authorization": f"Bearer {token}".encode()}},
        {"headers": {"authorization": f"Basic {TOKEN}"}},
        {"headers": {"cookie": f"poscount-{port}={token}".encode()}},
        {"headers": {"cookie": f"poscount-1={TOKEN}"}},
    ]
    with httpx.Client(base_url=web.address, trust_env=False) as http:
        for way in ways:
            refused = http.get(path, **way)
            assert refused.status_code == 403
            assert "the link that poscount serve printed" in refused.json()["message"]
            assert "set-cookie" not in refused.headers
        # People see a sentence and no JSON.
        assert http.get(path, headers={"accept": "text/html"}).text.startswith("Open the link")


def test_a_host_or_a_site_that_is_not_allowed_gets_no_cookie(web):
    with httpx.Client(base_url=web.address, trust_env=False) as http:
        for status, method, headers in (
            (403, "GET", {"host": "evil.example"}),
            (403, "POST", {"origin": "https://evil.example"}),
        ):
            refused = http.request(method, "/", params={"token": TOKEN}, headers=headers)
            assert refused.status_code == status
            assert "set-cookie" not in refused.headers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "server with a login"),
        (("--host", "0.0.0.0", "--token", "short"), "16 to 200 letters"),
        (("--token", "sixteen; letters; and more"), "16 to 200 letters"),
    ],
)
def test_the_command_does_not_start_without_a_good_token(refused, options, words):
    sentence = refused("serve", "--port", "0", *options)
    assert words in sentence
    assert "--token" in sentence


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8000", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 403),
        ("evil.example:8000", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil@127.0.0.1", 403),
        ("127.0.0.1/evil", 403),
        ("192.168.0.7", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_only_the_names_of_loopback_are_served(web, host, status):
    assert web.http.get("/api/info", headers={"host": host}).status_code == status


def test_a_server_for_all_interfaces_takes_addresses_and_its_own_names():
    hosts = Hosts("0.0.0.0", ["lab.example"])
    assert all(
        map(hosts.allow, ["192.168.0.7:80", "lab.example", "[fe80::1]", socket.gethostname()])
    )
    assert not hosts.allow("evil.example")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"origin": "SAME"}, 201),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "http://["}, 403),
    ],
)
def test_another_site_cannot_post(web, headers, status):
    headers = {name: web.address if value == "SAME" else value for name, value in headers.items()}
    assert web.http.post("/api/sessions", headers=headers).status_code == status


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/info", "/nowhere", "/openapi.json"])
def test_every_answer_carries_the_security_headers(web, path):
    headers = web.http.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_static_files_do_not_lead_out_of_their_folder(web):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert web.http.get(path).status_code == 404


def test_a_worker_that_dies_is_reported_and_the_next_one_works(web, visit):
    visit.example()
    estimate = visit.start(method="extice", bootstrap=1000, by=["night"])
    visit.wait(estimate, until=("running",))
    (worker,) = web.workers()
    os.kill(worker.pid, signal.SIGKILL)
    told = visit.wait(estimate)
    assert told["state"] == "failed"
    assert "stopped without an answer" in told["error"]["message"]
    assert visit.answer()["results"]


def test_a_mistake_of_ours_is_said_to_be_one(web):
    job = web.service.jobs.submit(SimpleNamespace(files=()))
    job.future.result(timeout=60)
    assert "not your fault" in job.error.message
    assert web.is_up()


def test_an_upload_to_a_full_disk_gets_a_sentence_though_more_is_coming(web, visit, monkeypatch):
    async def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(UploadFile, "write", write)
    said = raw(web, request(visit, ROLE + FILE % (b"p.csv", b"1,2\n" * 5_000_000) + b"--x--\r\n"))
    assert said.startswith(b"HTTP/1.1 507 ")
    assert b"disk of the server is full" in said
    monkeypatch.undo()
    assert visit.send("positives", "p.csv", POSITIVES).status_code == 201
