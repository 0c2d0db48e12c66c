"""What every request and response passes: which hosts and sites are allowed, security headers."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")

# The page needs its own files only: nothing inline, nothing from other servers.
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Hosts:
    """Host names that requests may use for the server.

    Another web site can point a name of its own at this machine, and its pages would then have the
    same origin as the server. Unknown names are therefore refused. An IP address cannot be abused
    like this, so a server bound to every interface accepts any.

    Examples
    --------
    >>> hosts = Hosts("127.0.0.1")
    >>> hosts.allow("localhost:8000"), hosts.allow("[::1]:8000"), hosts.allow("evil.example")
    (True, True, False)
    """

    def __init__(self, bound_to: str, more: Iterable[str] = ()) -> None:
        self.names = {*LOOPBACK, bound_to.lower(), *(name.lower() for name in more)}
        self.everywhere = bound_to in ("0.0.0.0", "::", "")
        if self.everywhere:
            self.names |= {socket.gethostname().lower()}

    def allow(self, header: str) -> bool:
        """Tell whether a Host header names this server."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        return name in self.names or (self.everywhere and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def send_refusal(
    send: Any, status: int, sentence: str, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Refuse a request before the application has seen it."""
    body = json.dumps({"message": sentence, "field": None, "choices": []}).encode()
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", b"application/json"), length, *headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Guard:
    """ASGI middleware: refuses unknown hosts and other sites, and sets the security headers."""

    def __init__(self, app: Any, hosts: Hosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in _HEADERS.items()
                        if name.encode() not in present
                    ),
                ]
            await send(message)

        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope["method"], headers)
        if refusal is None:
            await self.app(scope, receive, send_guarded)
            return
        await send_refusal(send_guarded, *refusal)

    def _refusal(self, method: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        host = headers.get(b"host", "")
        if not self.hosts.allow(host):
            return 400, (
                "This server does not accept that host name; use the address that it printed when "
                "it started, or start it with --allow-host."
            )
        if method in ("GET", "HEAD"):
            return None
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
        foreign = site not in (None, "same-origin", "none") or (
            origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        )
        return (403, "Another web site may not use this server.") if foreign else None
