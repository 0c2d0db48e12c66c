"""A `poscount serve` of its own for a measurement, and what it needs: memory, temporary files."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


class ServeProcess:
    """A server that runs, its address and token, and the directory for its temporary files."""

    def __init__(
        self, process: subprocess.Popen[str], port: int, token: str, directory: Path
    ) -> None:
        self.process, self.port, self.token, self.directory = process, port, token, directory
        self.address = f"http://127.0.0.1:{port}"

    def memory(self) -> dict[str, float]:
        """Resident megabytes of the server itself, and of all its processes together.

        Pages that processes share are divided among them (PSS), as they exist only once.
        """
        sizes = {pid: _resident(pid) for pid in _descendants(self.process.pid)}
        own = sizes.pop(self.process.pid, 0.0)
        return {"server": own, "all": own + sum(sizes.values())}

    def workers(self) -> list[int]:
        """Processes that are at work."""
        return workers_of(self.process.pid)

    def temporary_files(self) -> tuple[int, float]:
        """Number of files that it keeps, and their megabytes."""
        sizes = []
        for path in self.directory.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file() and path.name != "lock":
                    sizes.append(path.stat().st_size)
        return len(sizes), sum(sizes) / 1e6

    def n_open_files(self) -> int:
        """Number of files and connections that the server itself has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextlib.contextmanager
def serve_process(*options: str) -> Iterator[ServeProcess]:
    """Start a server on loopback at a free port, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="poscount-benchmark-") as directory:
        command = [sys.executable, "-m", "poscount", "serve", "--port", "0", *options]
        environment = {**os.environ, "TMPDIR": directory}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            link = r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)"
            found = re.search(link, process.stdout.readline())
            assert found, "the server does not start"
            try:
                yield ServeProcess(process, int(found[1]), found[2], Path(directory))
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)
        left = list(Path(directory).iterdir())
        assert not left, f"the server left {left}"


def workers_of(pid: int) -> list[int]:
    """Processes that work for a server: those that its fork server has started."""
    children = _children()
    return [worker for helper in children.get(pid, []) for worker in children.get(helper, [])]


def _children() -> dict[int, list[int]]:
    """Processes by their parents."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            status = Path(f"/proc/{int(entry)}/stat").read_text()
            parent = int(status.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry))
    return children


def _descendants(pid: int) -> list[int]:
    children = _children()
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def _resident(pid: int) -> float:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) / 1e3 if found else 0.0
    return 0.0
