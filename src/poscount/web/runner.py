"""Work in processes of its own, a few at a time: it can be watched, stopped and limited."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections import deque
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

from poscount.web.process import enter
from poscount.web.refusals import RefusedError

_POLL_SECONDS = 0.1
_LONGEST_MESSAGE = 10_000_000


class Job:
    """A task on its way: waiting, running, done, failed or cancelled."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.state = "waiting"
        self.step = "waiting for its turn"
        self.fraction: float | None = None
        self.error: RefusedError | None = None
        self.started: float | None = None
        self.ended: float | None = None
        self.future: Future[Any] = Future()
        self.stop = threading.Event()

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return not self.future.done()

    @property
    def seconds(self) -> float:
        """Time it has run."""
        if self.started is None:
            return 0.0
        return (self.ended or time.monotonic()) - self.started

    def finish(self, state: str, outcome: Any = None, error: RefusedError | None = None) -> None:
        """Set the final state."""
        self.state, self.error, self.ended = state, error, time.monotonic()
        self.future.set_result(outcome)


class Runner:
    """Runs jobs, each in a process of its own, and kills those that are cancelled or too slow.

    Parameters
    ----------
    slots : int
        Processes at a time.
    waiting : int
        Jobs that may wait.
    seconds, memory_bytes : int
        Limits of each process.
    """

    def __init__(self, *, slots: int, waiting: int, seconds: int, memory_bytes: int) -> None:
        self.waiting, self.seconds, self.memory_bytes = waiting, seconds, memory_bytes
        self._context: Any = _context()
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(slots)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: dict[str, Any]) -> Job:
        """Queue a task, or refuse it when too many wait."""
        job = Job(task)
        with self._changed:
            if self._closed:
                raise RefusedError(503, "The server is shutting down.")
            if len(self._queue) >= self.waiting:
                raise RefusedError(503, "Too many others are waiting; try again in a minute.")
            self._queue.append(job)
            self._changed.notify()
        return job

    def position(self, job: Job) -> int | None:
        """How many wait before this one; None when it does not wait."""
        with self._changed:
            return self._queue.index(job) if job in self._queue else None

    def cancel(self, job: Job) -> None:
        """Stop a job wherever it is."""
        job.stop.set()
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)
                job.finish("cancelled")

    def close(self) -> None:
        """Stop everything, and wait until it has stopped."""
        with self._changed:
            self._closed = True
            for job in self._queue:
                job.finish("cancelled")
            self._queue.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._queue.popleft()
            try:
                self._run(job)
            except Exception as error:  # this thread must live on for the others
                refusal = RefusedError(503, f"The server cannot start the work: {error!r}.")
                job.finish("failed", error=refusal)

    def _run(self, job: Job) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        limits = {"seconds": self.seconds, "memory_bytes": self.memory_bytes}
        process = self._context.Process(target=enter, args=(theirs, job.task, limits), daemon=True)
        job.state, job.step, job.started = "running", "starting", time.monotonic()
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
        # Only now nothing writes into its folder any more.
        job.finish(*ending)

    def _watch(self, job: Job, messages: Connection) -> tuple[str, Any, RefusedError | None]:
        """Wait for the end of a job: its state, its outcome, its error."""
        deadline = time.monotonic() + self.seconds
        while not (job.stop.is_set() or self._closed):
            if time.monotonic() > deadline:
                return _failed(
                    f"The work took longer than {self.seconds} s and was stopped; use fewer rows "
                    "or a quicker method, or the command line."
                )
            if not messages.poll(_POLL_SECONDS):
                continue
            try:
                message = json.loads(messages.recv_bytes(_LONGEST_MESSAGE))
            except EOFError:
                return _failed(
                    "The work stopped without an answer, probably because it needed too much "
                    "memory; use fewer rows or columns, or the command line."
                )
            if "done" in message:
                return "done", message["done"], None
            if "failed" in message:
                return _failed(message["failed"], message["field"])
            job.step, job.fraction = message["step"], message["fraction"]
        return "cancelled", None, None


def _failed(sentence: str, field: str | None = None) -> tuple[str, Any, RefusedError]:
    return "failed", None, RefusedError(422, sentence, field)


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # The library is imported once, in the process that all workers are forked from.
    context.set_forkserver_preload(["poscount.web.worker"])
    return context
