"""Work in processes of its own, a few at a time: it can be watched, stopped and limited."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Literal

from poscount.web.refusals import RefusedError, size
from poscount.web.schemas import as_json
from poscount.web.tasks import Task

_POLL_SECONDS = 0.1
_LONGEST_MESSAGE = 50_000_000

# What a result begins with; other messages are JSON objects.
_DONE = b"done "

State = Literal["waiting", "running", "done", "failed", "cancelled"]
# Its state, its result, its error.
_Ending = tuple[State, bytes | None, RefusedError | None]


class Job:
    """A task in a queue or beyond it: waiting, running, done, failed or cancelled."""

    def __init__(self, task: Task, queue: JobQueue) -> None:
        self.task, self._queue = task, queue
        self.state: State = "waiting"
        self.step = "waiting for its turn"
        self.fraction: float | None = None
        # JSON, which the server only passes on: its size grows with that of the answer.
        self.result: bytes | None = None
        self.error: RefusedError | None = None
        self.stop = threading.Event()
        # Done when the job has ended, however that was.
        self.future: Future[None] = Future()
        self._started: float | None = None
        self._ended: float | None = None

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")

    @property
    def seconds(self) -> float:
        """Time it has run."""
        if self._started is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._started

    @property
    def position(self) -> int | None:
        """Number of jobs whose turn is before this one's; None when it does not wait."""
        return self._queue.position(self)

    def cancel(self) -> None:
        """Stop it, whether it waits or runs."""
        self._queue.cancel(self)

    def start(self) -> None:
        """Note that it runs now."""
        self.state, self.step, self._started = "running", "starting", time.monotonic()

    def end(
        self, state: State, result: bytes | None = None, error: RefusedError | None = None
    ) -> None:
        """Set the final state."""
        self.result, self.error, self._ended = result, error, time.monotonic()
        self.state = state
        self.future.set_result(None)

    async def ended(self) -> None:
        """Wait for its end. If the request that waits is cancelled, the job's own future is not."""
        await asyncio.shield(asyncio.wrap_future(self.future))

    def answer(self) -> Any:
        """What it has found when it has ended; raises its refusal."""
        if self.error is not None:
            raise RefusedError(self.error.status, **self.error.to_dict())
        if self.result is None:
            raise RefusedError(503, "The server is shutting down.")
        return json.loads(self.result)


class JobQueue:
    """Runs jobs in their order, each in a process of its own that is killed when it has to be.

    Parameters
    ----------
    slots : int
        Processes at a time.
    seconds, memory_bytes : int
        Limits of each process.
    """

    def __init__(self, slots: int, seconds: int, memory_bytes: int) -> None:
        self.seconds, self.memory_bytes = seconds, memory_bytes
        self._context: Any = _context()
        self._waiting: list[Job] = []
        self._lock = threading.Lock()
        self._closed = False
        self._threads = ThreadPoolExecutor(slots)

    def submit(self, task: Task) -> Job:
        """Queue a task."""
        job = Job(task, self)
        with self._lock:
            if self._closed:
                raise RefusedError(503, "The server is shutting down.")
            self._waiting.append(job)
            self._threads.submit(self._run_next)
        return job

    def position(self, job: Job) -> int | None:
        """Count the jobs whose turn is before this one's; None when it does not wait."""
        with self._lock:
            return self._waiting.index(job) if job in self._waiting else None

    def cancel(self, job: Job) -> None:
        """Stop a job, whether it waits or runs."""
        job.stop.set()
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                job.end("cancelled")

    def close(self) -> None:
        """Stop everything, and wait until it has stopped."""
        with self._lock:
            self._closed = True
            while self._waiting:
                self._waiting.pop().end("cancelled")
        self._threads.shutdown()

    def _run_next(self) -> None:
        with self._lock:
            if not self._waiting:
                return  # it was cancelled
            job = self._waiting.pop(0)
            job.start()
        try:
            self._run(job)
        except Exception as error:
            refusal = RefusedError(503, f"The server cannot start the work: {error!r}.")
            job.end("failed", error=refusal)

    def _run(self, job: Job) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (theirs, job.task, self.seconds, self.memory_bytes)
        process = self._context.Process(target=_work, args=arguments, daemon=True)
        try:
            process.start()
            theirs.close()
            ending = self._watch(job, ours)
        finally:
            ours.close()
            if process.pid is not None:
                process.kill()
                process.join()
                process.close()
        # Only now does nothing write into its folder any more.
        job.end(*ending)

    def _watch(self, job: Job, messages: Connection) -> _Ending:
        """Wait for the end of a job: its state, its result, its error."""
        deadline = time.monotonic() + self.seconds
        while not (job.stop.is_set() or self._closed):
            if time.monotonic() > deadline:
                return _failed(
                    f"The work took longer than {self.seconds} s and was stopped; use fewer rows, "
                    "a faster method or the command line."
                )
            if not messages.poll(_POLL_SECONDS):
                continue
            try:
                content = messages.recv_bytes(_LONGEST_MESSAGE)
            except EOFError:
                return _failed(
                    "The work stopped without an answer, probably because it needed too much "
                    "memory; use fewer rows or columns, or the command line."
                )
            if content.startswith(_DONE):
                return "done", content.removeprefix(_DONE), None
            match message := json.loads(content):
                case {"out_of_memory": True}:
                    return _failed(
                        f"This needs more memory than the {size(self.memory_bytes)} that the "
                        "server allows; use fewer rows or columns, or the command line."
                    )
                case {"refused": refusal}:
                    return "failed", None, RefusedError(422, **refusal)
            job.step, job.fraction = message["step"], message["fraction"]
        return "cancelled", None, None


def _failed(sentence: str) -> _Ending:
    return "failed", None, RefusedError(422, sentence)


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # The library is imported once, in the process that all workers are forked from.
    context.set_forkserver_preload(["poscount.web.worker"])
    # Ctrl-C reaches all processes of a terminal. The server ends its workers by itself; interrupted
    # by the signal as well, they would print where they were. The tracker comes first, because its
    # start would let the signal through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


# In the process of a job


def _work(messages: Connection, task: Task, seconds: int, memory_bytes: int) -> None:
    """Do a task in this process. Messages are JSON: the server unpickles nothing from a worker."""
    from poscount.web import worker

    def send(message: dict[str, Any]) -> None:
        done = "done" in message
        messages.send_bytes(_DONE + as_json(message["done"]) if done else as_json(message))

    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit(seconds, memory_bytes)
    send(worker.run(task, lambda step, fraction: send({"step": step, "fraction": fraction})))


def _end_with_server() -> None:
    """End this process when the server ends, even if it is killed and can stop nobody."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)


def _limit(seconds: int, memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:
        return  # on Windows the server's own clock is the only limit

    def set_limit(kind: int, value: int) -> None:
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))

    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_CPU, seconds + 5)
    if sys.platform == "linux":
        # On top of what the libraries have taken already.
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        set_limit(resource.RLIMIT_AS, taken + memory_bytes)
