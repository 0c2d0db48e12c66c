"""The first thing that a worker process does: limit itself. Nothing heavy is imported here."""

from __future__ import annotations

import json
import sys
from multiprocessing.connection import Connection
from typing import Any


def enter(messages: Connection, task: dict[str, Any], limits: dict[str, int]) -> None:
    """Run a task in this process; what it says goes to `messages` as JSON, never as a pickle."""
    from poscount.web import worker

    def say(message: dict[str, Any]) -> None:
        messages.send_bytes(json.dumps(message).encode())

    _limit(**limits)
    say(worker.run(task, lambda step, fraction: say({"step": step, "fraction": fraction})))


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
