"""How much one server gives to all, and to each, of those who use it."""

from __future__ import annotations

import os
from dataclasses import dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What is refused with a sentence when it is exceeded.

    Attributes
    ----------
    upload_bytes, unpacked_bytes : int
        Size of a file as it is sent, and of what a compressed one holds.
    disk_bytes : int
        Everything that the server keeps at a time, for all sessions together.
    files, rows, columns : int
        Files in a session; rows and columns in a file.
    groups : int
        Groups in a result.
    seconds, memory_bytes : int
        Time and memory of an estimate; of the check of a file the same memory and a fifth of
        the time.
    workers, waiting : int
        Estimates that run at a time, and that may wait for their turn.
    sessions : int
        Sessions at a time.
    idle_seconds : float
        After which a session that nobody uses is deleted with all its files.
    """

    upload_bytes: int = 200 * MEGABYTE
    unpacked_bytes: int = 2_000 * MEGABYTE
    disk_bytes: int = 8_000 * MEGABYTE
    files: int = 50
    rows: int = 5_000_000
    columns: int = 1_000
    groups: int = 1_000
    seconds: int = 300
    memory_bytes: int = 2_000 * MEGABYTE
    workers: int = max(2, os.cpu_count() or 2)
    waiting: int = 50
    sessions: int = 200
    idle_seconds: float = 3600.0
