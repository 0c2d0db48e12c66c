"""Stops commands at random moments, and looks at what they leave.

Run it with ``python -m benchmarks.robustness.interrupts`` (``--moments 200``, ``--seed``, ``--only
fit``).

Every command runs in a folder of its own, where half of the outputs exist before. It is stopped
by SIGKILL, SIGTERM, SIGINT or SIGHUP, gets SIGPIPE, loses the reader of its output, or finds the
disk full: by a limit on the size of files that is drawn at random, and on a file system of a few
kilobytes where mounts are allowed. After that:

- every output is as it was before, or complete: the bytes of an undisturbed run;
- the inputs are as they were;
- what was printed is at most one line, no traceback, and the exit status is 128 + the signal, or 2
  for a full disk, 1 without a reader (0 if the command was faster than the trouble);
- the same command once more completes the work, and then there are exactly the files of an
  undisturbed run: no temporary file, but the one of a process that was killed while it wrote,
  because nobody else knows that it is dead.

To save the time of imports, commands run in forks of one process that has imported everything, so
that the moments fall into the work itself. To add a command, add a line to `COMMANDS`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from poscount.cli import main
from poscount.example import load_example
from poscount.storage.writer import PREFIX

COMMANDS = {
    "fit": "fit p.csv -o out/m.poscount --method pat",
    "fit rcq": "fit p.csv -o out/m.poscount",
    "count": "count m.poscount u.csv -o out/a.counts",
    "merge": "merge a.counts b.counts -o out/ab.counts",
    "quantify --plot": "quantify m.poscount u.csv --by night --plot out/p.png",
    "audit": "audit m.poscount u.csv -n 40 -o out/to_label.csv",
    "rows": "rows m.poscount u.csv --top 50 -o out/likely.csv",
    "trend --plot": "trend m.poscount u.csv --by night --plot out/t.png",
    "diagnose -o": "diagnose m.poscount u.csv -o out/d.html",
}
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE")
TROUBLES = (*SIGNALS, "no reader", "small files", "full disk")


class Ended(NamedTuple):
    """How a run ended: exit status, what it said on standard error, and seconds."""

    status: int
    said: str
    seconds: float


def run(
    command: str,
    folder: Path,
    *,
    number: int | None = None,
    moment: float = 0.0,
    limit: int | None = None,
    reader: bool = True,
) -> Ended:
    """Run a command in a fork of this process, and send it a signal after some seconds."""
    # A pipe, because a file would be small, too.
    ours, theirs = os.pipe()
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        _child(command, folder, theirs, limit, reader)
    if number is not None:
        time.sleep(moment)
        os.kill(pid, number)
    _, status = os.waitpid(pid, 0)
    seconds = time.perf_counter() - started
    os.set_blocking(ours, False)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        said = (pipe.read() or b"").decode()
    return Ended(os.waitstatus_to_exitcode(status), said, seconds)


def _child(command: str, folder: Path, errors: int, limit: int | None, reader: bool) -> None:
    status = 1
    try:
        os.chdir(folder)
        ours, theirs = os.pipe()
        os.dup2(os.open(os.devnull, os.O_WRONLY) if reader else theirs, 1)
        os.dup2(errors, 2)
        os.close(ours)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv = ["poscount", *command.split()]
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
    finally:
        os._exit(status)


def prepare(folder: Path) -> None:
    """Write the inputs of all commands."""
    import pyarrow.csv

    example = load_example("pyarrow")
    pyarrow.csv.write_csv(example.positives.slice(0, 200), folder / "p.csv")
    pyarrow.csv.write_csv(example.trap.slice(0, 3000), folder / "u.csv")
    for command in (
        "fit p.csv -o m.poscount --method pat",
        "count m.poscount u.csv -o a.counts",
        "count m.poscount p.csv -o b.counts",
    ):
        ended = run(command, folder)
        assert ended.status == 0, ended


def import_what_is_used(commands: list[str], inputs: Path) -> None:
    """Import what the commands import when they run, as a fork of this process tells."""
    for command in commands:
        ours, theirs = os.pipe()
        if os.fork() == 0:
            os.close(ours)
            with tempfile.TemporaryDirectory() as temporary, contextlib.suppress(SystemExit):
                os.chdir(fresh(inputs, Path(temporary) / "work"))
                sys.argv = ["poscount", *command.split()]
                with contextlib.redirect_stdout(io.StringIO()):
                    main()
            with open(theirs, "w") as pipe:
                pipe.write("\n".join(name for name in sys.modules if name != "__main__"))
            os._exit(0)
        os.close(theirs)
        with open(ours) as pipe:
            for name in pipe.read().splitlines():
                # Some are made by others, and cannot be imported by their names.
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
        os.wait()


def content(folder: Path) -> dict[str, str]:
    """Digest of every file in and below a folder."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class Case(NamedTuple):
    """A command, its folder of inputs, and what an undisturbed run of it leaves and takes."""

    command: str
    inputs: Path
    expected: dict[str, str]
    seconds: float
    largest: int

    @classmethod
    def of(cls, command: str, inputs: Path, work: Path) -> Case:
        """Run a command undisturbed, twice, because the first run may compile something."""
        for _ in range(2):
            folder = fresh(inputs, work)
            ended = run(command, folder)
            assert ended.status == 0, ended
        sizes = [file.stat().st_size for file in (folder / "out").rglob("*") if file.is_file()]
        return cls(command, inputs, content(folder / "out"), ended.seconds, max(sizes))


def fresh(inputs: Path, work: Path) -> Path:
    """A folder with the inputs and an empty folder for outputs."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(inputs, work)
    (work / "out").mkdir()
    return work


def problems(case: Case, trouble: str, work: Path, chance: random.Random) -> list[str]:
    """Stop a command once, and say what is wrong with what it leaves."""
    folder = fresh(case.inputs, work)
    out = folder / "out"
    if chance.random() < 0.5:
        for name in case.expected:
            (out / name).write_bytes(b"old\n")
    old, inputs = content(out), content(case.inputs)
    moment = chance.uniform(0, 1.05 * case.seconds)
    with (
        small_disk(out, case.largest, chance)
        if trouble == "full disk"
        else contextlib.nullcontext()
    ):
        if trouble in SIGNALS:
            ended = run(case.command, folder, number=getattr(signal, trouble), moment=moment)
        elif trouble == "small files":
            ended = run(case.command, folder, limit=chance.randrange(case.largest))
        else:
            ended = run(case.command, folder, reader=trouble != "no reader")
        found = [*_wrong_end(trouble, ended), *_half_written(out, old, case)]
    if {name: digest for name, digest in content(folder).items() if name in inputs} != inputs:
        found.append("an input was changed")
    again = run(case.command, folder)
    if again.status != 0:
        found.append(f"the next start fails: {again.said}")
    left = content(out)
    if ended.status == -signal.SIGKILL:
        left = {name: digest for name, digest in left.items() if not name.startswith(PREFIX)}
    if set(left) != set(case.expected):
        found.append(f"left behind or missing: {sorted(set(left) ^ set(case.expected))}")
    elif left != case.expected:
        found.append("the next start gives something else")
    return found


def _wrong_end(trouble: str, ended: Ended) -> list[str]:
    found = []
    if "Traceback" in ended.said:
        found.append(f"a traceback: {ended.said[-300:]}")
    elif len(ended.said.splitlines()) > 1:
        found.append(f"more than one line: {ended.said}")
    allowed = {0}
    if trouble == "no reader":
        allowed.add(1)
    elif trouble == "SIGKILL":
        allowed.add(-signal.SIGKILL)
    elif trouble in ("small files", "full disk"):
        allowed.add(2)
    elif trouble in ("SIGTERM", "SIGINT", "SIGHUP"):
        # Before the command has begun, the signal does what it does to any program.
        number = getattr(signal, trouble)
        allowed |= {128 + number, -number}
    if ended.status not in allowed:
        found.append(f"exit status {ended.status}: {ended.said}")
    if PREFIX in ended.said:
        found.append(f"names the temporary file: {ended.said}")
    return found


def _half_written(out: Path, old: dict[str, str], case: Case) -> list[str]:
    return [
        f"{name} is half-written"
        for name, digest in content(out).items()
        if not name.startswith(PREFIX) and digest not in (old.get(name), case.expected.get(name))
    ]


@contextlib.contextmanager
def small_disk(folder: Path, largest: int, chance: random.Random):
    """Mount a file system that is too small on a folder that keeps what it had."""
    kilobytes = 4 * (1 + chance.randrange(max(1, largest // 4096 + 2)))
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    size = f"size={kilobytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True)
    try:
        yield
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    shutil.rmtree(folder)
    kept.rename(folder)


def mounts_are_allowed() -> bool:
    """Whether this process may mount a file system."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", folder]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
    return True


def interrupt(names: list[str], troubles: list[str], moments: int, seed: int) -> list[str]:
    """Stop commands at random moments, print a table, and return all problems."""
    chance = random.Random(seed)
    table: Counter[tuple[str, str]] = Counter()
    bad: Counter[tuple[str, str]] = Counter()
    every = []
    with tempfile.TemporaryDirectory(prefix="interrupts-") as temporary:
        inputs, work = Path(temporary, "inputs"), Path(temporary, "work")
        inputs.mkdir()
        prepare(inputs)
        import_what_is_used([COMMANDS[name] for name in names], inputs)
        cases = {name: Case.of(COMMANDS[name], inputs, work) for name in names}
        pairs = [(name, trouble) for trouble in troubles for name in names]
        for i in range(moments):
            name, trouble = pairs[i % len(pairs)]
            found = problems(cases[name], trouble, work, chance)
            table[name, trouble] += 1
            bad[name, trouble] += bool(found)
            every += [f"{name}, {trouble}, moment {i}: {each}" for each in found]
    print("| | " + " | ".join(troubles) + " |")
    print("|---" + "|---:" * len(troubles) + "|")
    for name in names:
        cells = (f"{table[name, t] - bad[name, t]} of {table[name, t]}" for t in troubles)
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"{moments} moments, {sum(bad.values())} with problems (cells: in order, of tries)")
    return every


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    arguments = parser.parse_args()
    possible = [t for t in TROUBLES if t != "full disk" or mounts_are_allowed()]
    if "full disk" not in possible:
        print("Mounts are not allowed here: no file system is full, only files are small.")
    wrong = interrupt(arguments.only, possible, arguments.moments, arguments.seed)
    print("\n".join(wrong))
    sys.exit(bool(wrong))
