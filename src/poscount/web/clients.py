"""Who a client is, and how much of the server each has at the moment."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from poscount.web.limits import Limits

# Clients whose last requests are remembered; the oldest are forgotten first.
_MOST_REMEMBERED = 10_000


def client_of(host: str) -> str:
    """Give the client to whom an address belongs.

    Whoever has one IPv6 address usually has a whole /64 network, so that counts as one.

    Examples
    --------
    >>> client_of("192.168.0.7"), client_of("2001:db8::1:2:3"), client_of("")
    ('192.168.0.7', '2001:db8::/64', 'unknown')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def client_of_request(scope: Any) -> str:
    """Give the client of an ASGI request."""
    return client_of((scope.get("client") or ("",))[0])


class Clients:
    """Requests and uploads of each client: those beyond a limit wait, they are not refused."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # When the next request of a client would be due if they came evenly.
        self._due: dict[str, float] = {}
        self._uploads: Counter[str] = Counter()
        self._fewer_uploads = asyncio.Condition()

    async def wait_for_turn(self, client: str) -> None:
        """Wait while a client sends requests faster than it may."""
        limits, now = self.limits, time.monotonic()
        # Twice the requests of a second may come at once: they have been "saved up".
        due = max(self._due.pop(client, 0.0), now - 2) + 1 / limits.requests_per_second
        self._due[client] = due
        if len(self._due) > _MOST_REMEMBERED:
            del self._due[next(iter(self._due))]
        if due > now:
            await asyncio.sleep(due - now)

    @contextlib.asynccontextmanager
    async def uploading(self, client: str) -> AsyncIterator[None]:
        """Wait until a client sends few enough files, and count one more."""
        async with self._fewer_uploads:
            await self._fewer_uploads.wait_for(
                lambda: self._uploads[client] < self.limits.uploads_per_client
            )
            self._uploads[client] += 1
        try:
            yield
        finally:
            self._uploads[client] -= 1
            if not self._uploads[client]:
                del self._uploads[client]
            async with self._fewer_uploads:
                self._fewer_uploads.notify_all()
