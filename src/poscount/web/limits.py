"""Server-wide and per-session limits."""

from __future__ import annotations

import os
from dataclasses import dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What is beyond these limits is refused with a sentence.

    Attributes
    ----------
    upload_bytes, unpacked_bytes : int
        Size of a file as it is sent, and after decompression.
    disk_bytes : int
        Size of everything that the server keeps, for all sessions together.
    files, rows, columns : int
        Files in a session; rows and columns in a file.
    groups : int
        Groups in a result.
    seconds, memory_bytes : int
        Time and memory of an estimate. Reading a file may take the same memory and a fifth of the
        time.
    workers, waiting : int
        Estimates that run at the same time, and that may wait for their turn.
    sessions : int
        Sessions at the same time.
    idle_seconds : float
        A session that nobody uses for this long is deleted with all its files.
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
