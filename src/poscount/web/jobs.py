"""Work in processes of its own, a few at a time: it can be watched, stopped and limited."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from poscount.web.fair_queue import FairQueue, Owner
from poscount.web.refusals import RefusedError, refusal_of, size
from poscount.web.tasks import Task

_POLL_SECONDS = 0.1
_LONGEST_MESSAGE = 10_000_000


class Job:
    """A task in a queue or beyond it: waiting, running, done, failed or cancelled."""

    def __init__(self, task: Task, owner: Owner, queue: JobQueue) -> None:
        self.task, self.owner, self._queue = task, owner, queue
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

    @property
    def position(self) -> int | None:
        """Number of jobs whose turn is before this one's; None when it does not wait."""
        return self._queue.position(self)

    def cancel(self) -> None:
        """Stop it, whether it waits or runs."""
        self._queue.cancel(self)

    def finish(self, state: str, outcome: Any = None, error: RefusedError | None = None) -> None:
        """Set the final state."""
        self.state, self.error, self.ended = state, error, time.monotonic()
        self.future.set_result(outcome)


class JobQueue:
    """Runs each job in its own process, and kills those that are cancelled or too slow.

    Parameters
    ----------
    slots : int
        Processes at a time.
    waiting, waiting_per_client : int
        Jobs that may wait, of all clients and of each.
    seconds, memory_bytes : int
        Limits of each process.
    niceness : int
        How far the processes stand back behind those of other queues: 0 is not at all, 19 most.
    """

    def __init__(
        self,
        *,
        slots: int,
        waiting: int,
        waiting_per_client: int,
        seconds: int,
        memory_bytes: int,
        niceness: int,
    ) -> None:
        self.waiting, self.waiting_per_client = waiting, waiting_per_client
        self.seconds, self.memory_bytes, self.niceness = seconds, memory_bytes, niceness
        self._context: Any = _context()
        self._queue: FairQueue[Job] = FairQueue()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(slots)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Task, owner: Owner) -> Job:
        """Queue a task, or refuse it when too many wait."""
        job = Job(task, owner, self)
        with self._changed:
            if self._closed:
                raise RefusedError(503, "The server is shutting down.")
            if len(self._queue) >= self.waiting:
                raise RefusedError(503, "Too many others are waiting; try again in a minute.")
            if self._queue.count(owner.client) >= self.waiting_per_client:
                raise RefusedError(
                    429, "Too much of your own work is waiting; cancel some, or try again later."
                )
            self._queue.add(job, owner)
            self._changed.notify()
        return job

    def position(self, job: Job) -> int | None:
        """Count the jobs whose turn is before this one's; None when it does not wait."""
        with self._changed:
            return next((i for i, other in enumerate(self._queue) if other is job), None)

    def cancel(self, job: Job) -> None:
        """Stop a job, whether it waits or runs."""
        job.stop.set()
        with self._changed:
            if self._queue.remove(job, job.owner):
                job.finish("cancelled")

    def close(self) -> None:
        """Stop everything, and wait until it has stopped."""
        with self._changed:
            self._closed = True
            while self._queue:
                self._queue.take().finish("cancelled")
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
                job = self._queue.take()
            try:
                self._run(job)
            except Exception as error:  # this thread has to go on for the other jobs
                refusal = RefusedError(503, f"The server cannot start the work: {error!r}.")
                job.finish("failed", error=refusal)

    def _run(self, job: Job) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (theirs, job.task, self.seconds, self.memory_bytes, self.niceness)
        process = self._context.Process(target=_work, args=arguments, daemon=True)
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
        # Only now does nothing write into its folder any more.
        job.finish(*ending)

    def _watch(self, job: Job, messages: Connection) -> tuple[str, Any, RefusedError | None]:
        """Wait for the end of a job: its state, its outcome, its error."""
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
                message = json.loads(messages.recv_bytes(_LONGEST_MESSAGE))
            except EOFError:
                return _failed(
                    "The work stopped without an answer, probably because it needed too much "
                    "memory; use fewer rows or columns, or the command line."
                )
            match message:
                case {"done": outcome}:
                    return "done", outcome, None
                case {"out_of_memory": True}:
                    return _failed(
                        f"This needs more memory than the {size(self.memory_bytes)} that the "
                        "server allows; use fewer rows or columns, or the command line."
                    )
                case {"failed": data}:
                    return "failed", None, refusal_of(data, job.task)
            job.step, job.fraction = message["step"], message["fraction"]
        return "cancelled", None, None


def _failed(sentence: str) -> tuple[str, Any, RefusedError]:
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


def _work(messages: Connection, task: Task, seconds: int, memory_bytes: int, niceness: int) -> None:
    """Do a task in this process. Messages are JSON: the server unpickles nothing from a worker."""
    from poscount.web import worker

    def send(message: dict[str, Any]) -> None:
        messages.send_bytes(json.dumps(message, default=str).encode())

    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit(seconds, memory_bytes)
    if hasattr(os, "nice"):
        os.nice(niceness)
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
