"""How much the server accepts, keeps and computes."""

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
    json_bytes : int
        Size of the body of a request without a file.
    files, rows, columns : int
        Files in a session; rows and columns in a file.
    groups : int
        Groups in a result.
    seconds, memory_bytes : int
        Time and memory of a job.
    workers : int
        Jobs that run at the same time.
    sessions : int
        Sessions at the same time.
    idle_seconds, leave_seconds : float
        A session that nobody uses for this long is deleted with all its files; the second holds
        once its page was closed.
    """

    upload_bytes: int = 200 * MEGABYTE
    unpacked_bytes: int = 2_000 * MEGABYTE
    json_bytes: int = MEGABYTE
    files: int = 50
    rows: int = 5_000_000
    columns: int = 1_000
    groups: int = 1_000
    seconds: int = 300
    memory_bytes: int = 2_000 * MEGABYTE
    workers: int = max(2, os.cpu_count() or 2)
    sessions: int = 50
    idle_seconds: float = 3600.0
    leave_seconds: float = 60.0
