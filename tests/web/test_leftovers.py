"""What a server leaves behind when it is killed, and who removes it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from benchmarks.robustness.serve_process import workers_of
from poscount.web.sessions import PREFIX, ServerDirectory
from web_server import client


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A directory for temporary files in which nobody else has any."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def started(directory, confine=None):
    """A server with this directory for temporary files; killed at the end if it still runs."""
    command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(directory)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=confine
    ) as process:
        try:
            link = re.search(r"(http://[\d.:]+)/\?token=(\S+)", process.stdout.readline())
            with client(*link.groups()) as http:
                yield process, http
            process.wait(timeout=120)
        finally:
            process.kill()


def gone(path, seconds=60):
    deadline = time.monotonic() + seconds
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not path.exists()


@pytest.fixture
def short_path():
    """Paths of sockets cannot be long."""
    with tempfile.TemporaryDirectory(prefix="p") as path:
        yield Path(path)


def test_a_killed_server_leaves_its_files_only_until_the_next_start(short_path):
    with started(short_path) as (killed, http):
        session = http.post("/api/sessions").json()["session"]
        http.post(f"/api/sessions/{session}/example")
        wanted = {"method": "extice", "bootstrap": 1000, "by": ["night"]}
        told = http.post(f"/api/sessions/{session}/estimates", json=wanted).json()
        path = f"/api/sessions/{session}/estimates/{told['id']}"
        while not (workers := workers_of(killed.pid)):
            assert http.get(path).json()["state"] in ("waiting", "running")
            time.sleep(0.05)
        killed.kill()
    # Its workers notice, although nobody can tell them.
    assert all(gone(Path(f"/proc/{pid}")) for pid in workers)
    (left,) = short_path.iterdir()
    assert [path for path in left.rglob("*.csv*") if path.is_file()]
    with started(short_path) as (running, http):
        (mine,) = short_path.iterdir()
        assert mine != left
        # A third one leaves alone what belongs to the second.
        with started(short_path) as (other, _):
            assert mine.exists()
            assert len(list(short_path.iterdir())) == 2
            other.send_signal(signal.SIGTERM)
        assert http.post("/api/sessions").status_code == 201
        running.send_signal(signal.SIGTERM)
    assert list(short_path.iterdir()) == []


def test_ctrl_c_while_the_library_is_still_imported_prints_nothing(short_path):
    command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(short_path)},
        start_new_session=True,
    ) as process:
        assert "poscount is at" in process.stdout.readline()
        # As a terminal does: to the server and to all of its processes.
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=120)[1] == ""
    assert list(short_path.iterdir()) == []


def test_only_what_is_abandoned_is_removed(temporary):
    running, abandoned = ServerDirectory(), ServerDirectory()
    os.close(abandoned._lock)  # as the system does when a process ends
    (abandoned.path / "u.csv").write_text("a\n1\n")
    outside = temporary / "outside"
    outside.mkdir()
    (temporary / f"{PREFIX}link").symlink_to(outside)
    (temporary / f"{PREFIX}file").touch()
    kept = {running.path, outside, temporary / f"{PREFIX}link", temporary / f"{PREFIX}file"}
    new = ServerDirectory()
    assert set(temporary.iterdir()) == kept | {new.path}
    new.remove()
    running.remove()
    assert not running.path.exists()


def test_a_directory_of_somebody_else_is_not_touched(temporary, monkeypatch):
    other = ServerDirectory()
    os.close(other._lock)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    ServerDirectory().remove()
    assert other.path.exists()


def test_a_full_disk_is_said_in_a_sentence(short_path, capfd):
    resource = pytest.importorskip("resource")

    def confine():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with started(short_path, confine) as (process, http):
        session = http.post("/api/sessions").json()["session"]
        refused = http.post(
            f"/api/sessions/{session}/files",
            data={"role": "unlabeled"},
            files={"file": ("u.csv", b"a\n" + b"1\n" * 20_000)},
        )
        assert refused.status_code == 507
        assert "disk of the server is full" in refused.json()["message"]
        # What was stored of it is gone, and the server goes on.
        assert http.get(f"/api/sessions/{session}").json()["files"] == []
        process.send_signal(signal.SIGINT)
    assert list(short_path.iterdir()) == []
    assert capfd.readouterr().err == ""
