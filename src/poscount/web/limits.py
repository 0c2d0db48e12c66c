"""Limits of the server as a whole, of each client and of each session.

A client is an address (`poscount.web.clients`), so that nobody takes more of the server by opening
more sessions.
"""

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
    workers : int
        Quick estimates that run at the same time; half as many long ones run beside them.
    sessions, sessions_per_client : int
        Sessions at the same time. A session has one estimate at a time, so as many estimates can
        wait.
    idle_seconds, leave_seconds : float
        A session that nobody uses for this long is deleted with all its files; the second holds
        once its page was closed.
    json_bytes, header_bytes, url_bytes : int
        Size of a request without a file, of all its headers, and of its address.
    header_seconds, json_seconds : float
        Time in which the headers of a request, and the rest of one without a file, must come in.
    upload_grace_seconds, upload_bytes_per_second : float
        An upload may take this long, and longer only while it is this fast on average.
    stall_seconds : float
        A connection whose client does not read what it asked for is closed after this time.
    connections, connections_per_client : int
        Connections at the same time.
    uploads_per_client : int
        Files that the server reads from one client at the same time; more wait.
    requests_per_second : int
        Requests of one client; more wait. Twice as many may come at once.
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
    sessions: int = 200
    sessions_per_client: int = 40
    idle_seconds: float = 3600.0
    leave_seconds: float = 60.0
    json_bytes: int = MEGABYTE
    header_bytes: int = 16_000
    url_bytes: int = 4_000
    header_seconds: float = 15.0
    json_seconds: float = 30.0
    upload_grace_seconds: float = 60.0
    upload_bytes_per_second: float = 10_000.0
    stall_seconds: float = 60.0
    connections: int = 500
    connections_per_client: int = 40
    uploads_per_client: int = 4
    requests_per_second: int = 100

    @property
    def disk_bytes_per_client(self) -> int:
        """Size of everything that the server keeps for one client: half of all, or one file."""
        return max(self.disk_bytes // 2, self.upload_bytes)
