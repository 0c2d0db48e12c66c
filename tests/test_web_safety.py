"""`poscount serve` among bad files, bad clients and bad luck: a sentence, and it stays up."""

import gzip
import io
import itertools
import os
import re
import signal
import socket
import struct
import time
import zipfile
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from poscount.datasets import example_path  # noqa: E402
from poscount.web.fair_queue import Owner  # noqa: E402
from poscount.web.guard import Hosts  # noqa: E402
from web_server import served  # noqa: E402 (it needs what may be missing)
from workbooks import xlsx  # noqa: E402

POSITIVES = example_path("positives.csv").read_bytes()
HERE = "127.0.0.1"
NOISE = np.random.default_rng(0).bytes(200_000)


@pytest.fixture(scope="module")
def small():
    """A server that takes little."""
    limits = {"upload_bytes": 3_000_000, "unpacked_bytes": 20_000_000, "disk_bytes": 8_000_000}
    with served(**limits, rows=50_000, files=3, sessions=3) as web:
        yield web


@pytest.fixture
def visit(web):
    visit = web.visit()
    yield visit
    # The server has room for so many sessions only.
    visit.http.delete(visit.base)


@pytest.fixture
def small_visit(small):
    visit = small.visit()
    yield visit
    visit.http.delete(visit.base)


def parquet(table, **options):
    buffer = io.BytesIO()
    pa.parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def varint(n):
    """A number as the footer of a Parquet file writes it."""
    n, out = 2 * n, b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def claims_a_billion_rows():
    real = 77_777
    content = parquet(pa.table({"a": pa.nulls(real, pa.float64())}))
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - length : -8]
    assert varint(real) in footer
    footer = footer.replace(varint(real), varint(10**9))
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


WIDE = {f"c{i}": [1.0, 2.0] for i in range(10_000)}
WIDE_CSV = (",".join(WIDE) + "\n" + ",".join(["1"] * len(WIDE)) + "\n").encode()

BAD_FILES = {
    "noise.csv": (NOISE, "UTF-8|not CSV"),
    "noise.csv.gz": (NOISE, "UTF-8"),
    "noise.parquet": (NOISE, "not Parquet"),
    "broken.csv.gz": (gzip.compress(POSITIVES)[:-2000], "damaged or incomplete"),
    "broken.parquet": (parquet(pa.table({"a": [1.0]}))[:-20], "not Parquet"),
    "billion.parquet": (claims_a_billion_rows(), "more than 5,000,000 rows.*command line"),
    "wide.csv": (WIDE_CSV, "more than 1,000 columns.*command line"),
    "wide.parquet": (parquet(pa.table(WIDE)), "more than 1,000 columns"),
    "empty.csv": (b"", "empty"),
    "header.csv": (b"a,b\n", "no rows"),
    "ragged.csv": (b"a,b\n1,2\n1\n", "line 3 has 1 cell"),
    "quote.csv": (b'a,b\n1,"2\n', "never closed"),
    "latin.csv": ("größe\n1\n".encode("latin-1"), "not UTF-8"),
    "twice.csv": (b"a,a\n1,2\n", "2 columns of this name"),
    "numbers.csv": (b"1,2\n3,4\n", "the setting First line"),
    "mixed.csv": (b"a,b;c\n1,2;3\n", "the setting Delimiter"),
    "noise.xlsx": (NOISE, "not a workbook"),
    "noise.zip": (NOISE, "damaged or incomplete"),
    "pair.csv.zip": (zipped(a=b"x\n1\n", b=b"x\n1\n"), "2 files: a, b"),
    "table.zip": (zipped(**{"a.pdf": b"x"}), "extension of 'a.pdf'"),
    "list.jsonl": (b"[1, 2]\n", "line 1 is not a JSON object"),
    "nested.jsonl": (b'{"a": {"b": 1}}\n', "nested object"),
    "wide.xlsx": (xlsx({"s": [list(WIDE), [1] * len(WIDE)]}), "more than 1,000 columns"),
    "model.pkl": (b"\x80\x04.", "extension"),
    "no-extension": (POSITIVES, "extension"),
}


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


def test_all_files_together_fit_on_the_disk(small, small_visit):
    line = b"1.5,2.5\n"
    megabytes = b"a,b\n" + line * 350_000
    texts = [b"text," * 500_000 for _ in range(2)]
    assert len(megabytes) > 2_700_000
    free = small.service.limits.disk_bytes - small.service.sessions.used
    assert free == 8_000_000
    # Two of three fit while a check fails them anyway; what failed is given back.
    for text in texts:
        small_visit.refused("unlabeled", "t.csv", text)
    assert small.service.sessions.used == 0
    for client, words in (("somebody else", "disk space for files is full"), (HERE, "one address")):
        taken = 7_000_000 if client != HERE else 2_000_000
        small.service.sessions.disk[client] += taken
        try:
            answer = small_visit.send("unlabeled", "u.csv", megabytes)
        finally:
            small.service.sessions.disk[client] -= taken
        assert answer.status_code == 507
        assert words in answer.json()["message"]
    assert small.service.sessions.used == 0


def raw(web, *parts):
    """Send bytes as they are, and read until the server has said all."""
    host, port = web.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def request(visit, body, *, length=None, kind="multipart/form-data; boundary=x", more=""):
    length = len(body) if length is None else length
    head = (
        f"POST {visit.base}/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
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
    "noise": (NOISE, 400),
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
    (file,) = kept.iterdir()
    assert re.fullmatch(r"[0-9a-f]{16}\.csv", file.name)
    assert kept.parent == root
    assert kept.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>.csv", "a\u202eb.csv", "n" * 400 + ".csv"]
)
def test_a_name_is_shown_as_text_and_escaped_in_the_report(visit, name):
    told = visit.send("unlabeled", name, POSITIVES).json()
    shown = told["files"][0]["name"]
    assert len(shown) <= 150
    assert shown.isprintable()
    visit.send("positives", "p.csv", POSITIVES)
    estimate = visit.start(by_file=True)
    assert visit.wait(estimate)["result"]["results"][0]["label"] == shown
    assert b"<img src=x" not in visit.download(estimate, "report.html")


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
    assert small.service.sessions.used == 0


def test_a_client_that_leaves_halfway_leaves_nothing(small, small_visit):
    host, port = small.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(request(small_visit, ROLE + GOOD[:5000], length=1_000_000))
        while not small.files():
            time.sleep(0.01)
    # The file goes first, and then the bytes that it used.
    deadline = time.monotonic() + 20
    while (small.files() or small.service.sessions.used) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert small.files() == []
    assert small.service.sessions.used == 0


# Time, memory, sessions


def test_work_that_takes_too_long_is_stopped(web, visit, monkeypatch):
    visit.example()
    monkeypatch.setattr(web.service.long_estimates, "seconds", 2)
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


def test_the_queue_has_an_end_and_positions():
    with served(workers=1) as web:
        web.service.long_estimates.waiting = 1
        visits = [web.visit() for _ in range(3)]
        for visit in visits:
            visit.example()
        long = {"method": "extice", "bootstrap": 1000, "by": ["night"]}
        first = visits[0].start(**long)
        visits[0].wait(first, until=("running",))
        second = visits[1].start(**long)
        told = visits[1].http.get(f"{visits[1].base}/estimates/{second}").json()
        assert (told["state"], told["position"]) == ("waiting", 0)
        refused = visits[2].http.post(f"{visits[2].base}/estimates", json=long)
        assert refused.status_code == 503
        assert "waiting" in refused.json()["message"]
        # One that waits is cancelled at once, and its place is free.
        assert visits[1].http.delete(f"{visits[1].base}/estimates/{second}").status_code == 204
        third = visits[2].start(**long)
        assert visits[0].http.delete(visits[0].base).status_code == 204
        visits[2].wait(third, until=("running",))


def test_a_session_that_nobody_uses_goes_with_its_files():
    with served(idle_seconds=0.6) as web:
        visit = web.visit()
        visit.example()
        directory = web.service.sessions.find(visit.session).directory
        assert len(list(directory.iterdir())) == 2
        deadline = time.monotonic() + 20
        while directory.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not directory.exists()
        assert visit.see().status_code == 404
        assert "expired" in visit.see().json()["message"]
        assert web.service.sessions.used == 0


def test_a_deleted_session_is_gone(web, visit):
    visit.example()
    directory = web.service.sessions.find(visit.session).directory
    assert visit.http.delete(visit.base).status_code == 204
    assert not directory.exists()
    assert visit.see().status_code == 404


# Who may ask


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8000", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 400),
        ("evil.example:8000", 400),
        ("127.0.0.1.evil.example", 400),
        ("192.168.0.7", 400),
        ("[::1", 400),
        ("", 400),
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
    job = web.service.inspections.submit(SimpleNamespace(files=()), Owner("", ""))
    job.future.result(timeout=60)
    assert "not your fault" in job.error.message
    assert web.is_up()
