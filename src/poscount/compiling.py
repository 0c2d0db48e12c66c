"""Loops compiled by numba, where it is installed and where it is worth its import."""

from __future__ import annotations

import functools
import importlib.util
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

# Numbers that numpy handles in about the time that numba's import and first call take, a second.
WORTH = 2 * 10**8

_lock = threading.Lock()
_handled = 0
_compiled: dict[Callable[..., Any], Callable[..., Any]] = {}


@functools.cache
def can_compile() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


def worth_compiling(n_numbers: int) -> bool:
    """Whether to use compiled loops for so many numbers, which have equals in numpy.

    They are if numba is there already, or if these numbers and those that this process has handled
    without it would have paid for its import. So a small job never waits for it, and a large one,
    even if it comes in small batches, waits at most about twice as long as it had to.
    """
    global _handled
    if not can_compile():
        return False
    if "numba" in sys.modules:
        return True
    with _lock:
        _handled += n_numbers
        return _handled >= WORTH


def compiled(
    function: Callable[..., Any], signature: str, integers: str = ""
) -> Callable[..., Any]:
    """A function as machine code that holds no lock, kept on disk where that is possible.

    Parameters
    ----------
    function : callable
        A function at the top of its module, written plainly: no inner functions, all memory from
        the caller, and slices only where a loop along one of them is to be vectorised. Numba then
        compiles it in half the time.
    signature : str
        Types of the result and of the arguments, in numba's words.
    integers : str
        Names of local variables that are integers. With them declared, numba needs only half of its
        rounds of type inference.
    """
    with _lock:
        if function not in _compiled:
            _compiled[function] = _compile(function, signature, integers)
        return _compiled[function]


def _compile(function: Callable[..., Any], signature: str, integers: str) -> Callable[..., Any]:
    import numba

    of_locals = dict.fromkeys(integers.split(), numba.int64)

    def compile_(cache: bool) -> Callable[..., Any]:
        decorate = numba.njit(
            signature, locals=of_locals, cache=cache, nogil=True, error_model="numpy"
        )
        return cast(Callable[..., Any], decorate(function))

    try:
        return compile_(cache=True)
    except (RuntimeError, OSError):
        # Neither the package's folder nor the home is writable: compile in each process.
        return compile_(cache=False)
