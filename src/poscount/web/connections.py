"""Connections: how many at a time, and how long they may stay without asking for anything.

uvicorn closes a connection that is idle after an answer. It does not close one that never asks, or
that sends its request a byte at a time, or that never reads the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Container
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from poscount.web.clients import client_of
from poscount.web.limits import Limits


def limited_protocol(limits: Limits, trusted: Container[str] = ()) -> type[H11Protocol]:
    """Make the protocol of a server that has these limits.

    Parameters
    ----------
    limits : Limits
    trusted : container of str
        Addresses of proxies: one of these may have all connections, because it has many clients.
    """
    n_connections: Counter[str] = Counter()

    class LimitedProtocol(H11Protocol):
        """Closes connections that are too many, too slow or not read from."""

        _counted: str | None = None
        _asking: asyncio.TimerHandle | None = None
        _stalled: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            host = self.client[0] if self.client else ""
            client = client_of(host)
            most = limits.connections if host in trusted else limits.connections_per_client
            if n_connections.total() >= limits.connections:
                self._refuse(503, "Too many people are using this server now; try again later.")
                return
            if n_connections[client] >= most:
                self._refuse(429, "There are too many connections from your address; close some.")
                return
            self._counted = client
            n_connections[client] += 1
            self._expect_request()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for timer in (self._asking, self._stalled):
                if timer is not None:
                    timer.cancel()
            if self._counted is not None:
                n_connections[self._counted] -= 1
                if not n_connections[self._counted]:
                    del n_connections[self._counted]
                self._counted = None

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            self._expect_request()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self.loop.call_later(limits.stall_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None

        def send_400_response(self, msg: str) -> None:
            self._refuse(
                400,
                "This is not an HTTP request that the server understands, or its headers are too "
                "large.",
            )

        def _answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect_request(self) -> None:
            """Start the clock unless a request is being answered."""
            if self._answering():
                if self._asking is not None:
                    self._asking.cancel()
                    self._asking = None
            elif self._asking is None:
                self._asking = self.loop.call_later(limits.header_seconds, self._give_up)

        def _give_up(self) -> None:
            self._asking = None
            if not self._answering():
                self._refuse(408, "The request did not come in time; send it again.")

        def _refuse(self, status: int, sentence: str) -> None:
            """Answer without having understood the request, and hang up."""
            if self.transport.is_closing():
                return
            body = json.dumps({"message": sentence, "field": None, "choices": []}).encode()
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
                "connection: close\r\n\r\n"
            )
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.write(head.encode() + body)
            self.transport.close()
            if self.cycle is not None:
                # Whatever works on the request learns that nobody waits for it.
                self.cycle.disconnected = True
                self.cycle.message_event.set()

    return LimitedProtocol
