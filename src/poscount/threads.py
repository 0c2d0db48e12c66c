"""Work in Python threads, with BLAS limited to one thread each."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import threadpoolctl

from poscount.errors import InputError

T = TypeVar("T")

_lock = threading.Lock()
_inside = 0
_limit: threadpoolctl.threadpool_limits | None = None


@functools.cache
def _controller() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, until the last user in any thread has left.

    Small products are slower with two BLAS threads than with one. The limit is global, so it is
    lifted only when no nested or concurrent user is left.
    """
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _let_any_thread_lift_it()
                _limit.__exit__(None, None, None)
                _let_any_thread_lift_it()
                _limit = None


def _let_any_thread_lift_it() -> None:
    # Since threadpoolctl 3.8 a limit can be changed only by the thread that has set it, and that
    # one may have left before the last.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def run_in_threads(task: Callable[[int], T], n_workers: int) -> list[T]:
    """Call `task` with 0 .. n_workers - 1 at the same time; return the results in order."""
    with one_blas_thread():
        if n_workers == 1:
            return [task(0)]
        # The first one runs in this thread, so that Ctrl-C stops a task and not only the waiting.
        with ThreadPoolExecutor(n_workers - 1) as pool:
            others = pool.map(task, range(1, n_workers))
            return [task(0), *others]


def sum_over_blocks(
    tally: Callable[[int, int, np.ndarray], None],
    shape: tuple[int, ...],
    n_rows: int,
    block_rows: int,
    n_workers: int,
) -> np.ndarray:
    """Add up int64 counts over blocks of rows, several blocks at a time.

    ``tally(start, stop, counted)`` adds the rows from `start` to `stop` to `counted`.
    """
    starts = range(0, n_rows, block_rows)
    n_workers = max(min(n_workers, len(starts)), 1)
    errors: list[InputError] = []
    # Whoever is done takes the next block, because other processes may slow a thread down.
    left = iter(starts)

    def work(_: int) -> np.ndarray:
        counted = np.zeros(shape, np.int64)
        try:
            for start in left:
                tally(start, min(start + block_rows, n_rows), counted)
        except InputError as error:
            errors.append(error)
        finally:
            # After Ctrl-C nothing is left for the others, and after an error nothing that matters.
            for _ in left:
                pass
        return counted

    total, *others = run_in_threads(work, n_workers)
    if errors:
        # Which worker failed first is random; which bad row comes first is not.
        raise min(errors, key=lambda error: -1 if error.row is None else error.row)
    for counted in others:
        total += counted
    return total
