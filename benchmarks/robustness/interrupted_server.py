"""Stops `poscount serve` at random moments, and looks at what it leaves.

Run it with ``python -m benchmarks.robustness.interrupted_server`` (``--moments 40``, ``--seed``).

A server starts, somebody sends files and asks for an estimate, and at a moment that is drawn at
random over start, sending and estimating the server gets SIGKILL, SIGTERM, SIGINT, SIGHUP or
SIGPIPE, loses the reader of its output, or finds its disk full: by a limit on the size of files,
and on a file system that is too small where mounts are allowed. After that:

- a server that was told to stop has stopped, with no more than one line on standard error;
- one that was not goes on: whoever asked got an answer or a sentence, no internal error;
- its workers are gone when it is;
- the next start removes what was left, gives the answer of an undisturbed server, and leaves
  nothing when it stops.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.robustness.interrupts import SIGNALS, TROUBLES, mounts_are_allowed
from benchmarks.robustness.serve_process import workers_of
from poscount.example import example_path

POSITIVES = example_path("positives.csv").read_bytes()
SAMPLE = gzip.decompress(example_path("trap.csv.gz").read_bytes())
STOPPING = ("SIGTERM", "SIGINT", "SIGHUP")


class Server:
    """A server in a process of its own, and somebody who asks it something."""

    def __init__(self, directory: Path, limit: int | None = None, reader: bool = True) -> None:
        def confine() -> None:
            # nohup and shells in the background have them ignored, and so would the server.
            for name in STOPPING:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with this object)
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={"TMPDIR": str(directory), "PATH": "/usr/bin:/bin"},
            preexec_fn=confine,
        )
        self.reader = reader
        self.workers: list[int] = []
        self.answer: Any = None
        self.complaints: list[str] = []

    def link(self) -> re.Match[str] | None:
        """Its address and token, once it says so; `None` if it ended before."""
        assert self.process.stdout is not None
        link = r"(http://[\d.:]+/)\?token=(\S+)"
        found = re.search(link, self.process.stdout.readline())
        if not self.reader:
            self.process.stdout.close()
        return found

    def visit(self) -> None:
        """Send files, and ask for an estimate with replicates; note what is no proper answer."""
        link = self.link()
        if link is None:
            return
        headers = {"Authorization": f"Bearer {link[2]}"}
        # The server may be gone at any moment: that is what is tried.
        with (
            contextlib.suppress(httpx.TransportError),
            httpx.Client(timeout=120, headers=headers) as http,
        ):
            api = f"{link[1]}api/sessions"
            told = self._said(http.post(api))
            if told is None:
                return
            path = f"{api}/{told['session']}"
            for role, content in (("positives", POSITIVES), ("unlabeled", SAMPLE)):
                answer = http.post(
                    f"{path}/files",
                    data={"role": role},
                    files={"file": (f"{role}.csv", content)},
                )
                if self._said(answer) is None:
                    return
            told = self._said(
                http.post(f"{path}/estimates", json={"method": "dedpul", "bootstrap": 20})
            )
            while told is not None and told["state"] in ("waiting", "running"):
                self.workers += workers_of(self.process.pid)
                time.sleep(0.05)
                told = self._said(http.get(f"{path}/estimates/{told['id']}"))
            if told is not None and told["state"] == "done":
                self.answer = told["result"]["results"][0]["prevalence"]

    def _said(self, answer: httpx.Response) -> Any:
        """The content of a good answer; `None` for a refusal, which must be a sentence."""
        if answer.status_code < 400:
            return answer.json()
        if answer.status_code == 500 or "Traceback" in answer.text or not answer.text.strip():
            self.complaints.append(f"status {answer.status_code}: {answer.text[:200]}")
        return None

    def end(self) -> tuple[int, str]:
        """Wait for its end: the exit status, and what it said on standard error."""
        try:
            status = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.complaints.append("it does not stop")
            status = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        return status, said


@contextlib.contextmanager
def temporary_directory(trouble: str, chance: random.Random) -> Iterator[Path]:
    """A directory for the server's files, on a small file system if the disk is to be full."""
    with tempfile.TemporaryDirectory(prefix="i") as path:
        if trouble != "full disk":
            yield Path(path)
            return
        size = f"size={4 * chance.randrange(4, 400)}k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", path], check=True)
        try:
            yield Path(path)
        finally:
            subprocess.run(["umount", "--lazy", path], check=True)


def undisturbed() -> tuple[float, Any]:
    """Seconds and answer of a server that nothing happens to."""
    with tempfile.TemporaryDirectory(prefix="i") as directory:
        began = time.perf_counter()
        server = Server(Path(directory))
        server.visit()
        seconds = time.perf_counter() - began
        server.process.send_signal(signal.SIGTERM)
        server.end()
        assert server.answer is not None, server.complaints
        return seconds, server.answer


def problems(trouble: str, seconds: float, expected: Any, chance: random.Random) -> list[str]:
    """Stop a server once, and say what is wrong with how it ends and with what it leaves."""
    with temporary_directory(trouble, chance) as directory:
        limit = chance.randrange(len(SAMPLE)) if trouble == "small files" else None
        server = Server(directory, limit, reader=trouble != "no reader")
        visitor = threading.Thread(target=server.visit)
        visitor.start()
        if trouble in SIGNALS:
            time.sleep(chance.uniform(0, 1.05 * seconds))
            server.process.send_signal(getattr(signal, trouble))
        if trouble not in ("SIGKILL", *STOPPING):
            visitor.join()
            server.process.send_signal(signal.SIGTERM)
        visitor.join()
        status, said = server.end()
        found = [*server.complaints, *_wrong_end(trouble, status, said)]
        if (
            trouble in ("SIGPIPE", "no reader")
            and status != -signal.SIGPIPE
            and server.answer != expected
        ):
            found.append(f"another answer: {server.answer}")
        if not _gone(set(server.workers)):
            found.append("workers go on after the server")
        if trouble == "full disk":
            if list(directory.iterdir()):
                found.append("files are left after the end")
            return found
        again = Server(directory)
        again.visit()
        if again.answer != expected:
            found.append(f"the next start answers {again.answer}, not {expected}")
        if (n_left := len(list(directory.iterdir()))) != 1:
            found.append(f"{n_left} directories after the next start, not 1")
        again.process.send_signal(signal.SIGTERM)
        _, said = again.end()
        if said:
            found.append(f"the next start says {said[-300:]}")
        if left := list(directory.iterdir()):
            found.append(f"left behind: {left}")
    return found


def _wrong_end(trouble: str, status: int, said: str) -> list[str]:
    found = []
    if "Traceback" in said:
        found.append(f"a traceback: {said[-600:]}")
    elif len(said.splitlines()) > 1:
        found.append(f"more than one line: {said[:600]}")
    if trouble == "SIGKILL":
        allowed = {-signal.SIGKILL}
    else:
        # Before the command has begun, the signal does what it does to any program.
        number = getattr(signal, trouble if trouble in STOPPING else "SIGTERM")
        allowed = {0, 128 + number, -number}
        if trouble == "SIGPIPE":
            allowed.add(-signal.SIGPIPE)
        if trouble in ("small files", "full disk"):
            allowed.add(2)
    if status not in allowed:
        found.append(f"exit status {status}: {said[:300]}")
    return found


def _gone(pids: set[int], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moments", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    troubles = [t for t in TROUBLES if t != "full disk" or mounts_are_allowed()]
    seconds, expected = undisturbed()
    tries: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    every = []
    for i in range(arguments.moments):
        trouble = troubles[i % len(troubles)]
        found = problems(trouble, seconds, expected, chance)
        tries[trouble] += 1
        bad[trouble] += bool(found)
        every += [f"{trouble}, moment {i}: {each}" for each in found]
    print("| | " + " | ".join(troubles) + " |")
    print("|---" + "|---:" * len(troubles) + "|")
    print("| serve | " + " | ".join(f"{tries[t] - bad[t]} of {tries[t]}" for t in troubles) + " |")
    print(f"{arguments.moments} moments, {sum(bad.values())} with problems")
    print("\n".join(every))
    sys.exit(bool(every))


if __name__ == "__main__":
    main()
