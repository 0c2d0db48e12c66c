"""What every request passes before anything is parsed: host, token, origin, size.

And what every response gets: the security headers.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from poscount.web.refusals import RefusedError, size
from poscount.web.schemas import Limits

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_URL_BYTES = 4_000
_HEADER_BYTES = 16_000
# Bytes of everything in a form except the file.
_FORM_BYTES = 64_000
_UPLOAD = re.compile(r"/api/sessions/[^/]+/files")
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
            parts = urlsplit(f"//{header}")
            name = parts.hostname or ""
        except ValueError:
            return False
        if parts.netloc != header or "@" in header:
            return False
        return name in self.names or (self.everywhere and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that lets in requests with the token, and only small ones.

    The link that the server prints has the token in it. The response to it sets a cookie, which
    the page's own requests then carry; programs send ``Authorization: Bearer TOKEN`` instead.
    """

    def __init__(self, app: Any, hosts: Hosts, token: str, limits: Limits) -> None:
        self.app, self.hosts, self.token, self.limits = app, hosts, token, limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        # Cookies are shared by all ports of a host, and another server may run at another port.
        cookie = f"poscount-{(scope.get('server') or ('', ''))[1]}"
        # Only the page gets the cookie.
        from_link = scope["path"] == "/" and self._is_token(request.query_params.get("token", ""))

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if from_link:
                    value = f"{cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                    headers.append("set-cookie", value)
            await send(message)

        try:
            self._check_host(request)
            if not from_link:
                self._check_token(request, cookie)
            _check_origin(request)
            most = self._check_size(request)
        except RefusedError as refusal:
            from_link = False
            response = refusal_response(refusal)
            if "text/html" in request.headers.get("accept", ""):
                response = PlainTextResponse(refusal.message, refusal.status)
            await response(scope, receive, send_guarded)
            return
        await self.app(scope, _limited(scope, receive, most), send_guarded)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.token.encode())

    def _check_host(self, request: Request) -> None:
        if not self.hosts.allow(request.headers.get("host", "")):
            raise RefusedError(
                403,
                "This server does not accept that host name; use the link that it printed when it "
                "started, or start it with --allow-host.",
            )

    def _check_token(self, request: Request, cookie: str) -> None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = bearer if scheme.lower() == "bearer" else request.cookies.get(cookie, "")
        if not self._is_token(given):
            raise RefusedError(
                403, "Open the link that poscount serve printed when it started: it has a token."
            )

    def _check_size(self, request: Request) -> int:
        """Give the size that the body may have, after a look at the size that it says it has."""
        scope = request.scope
        if len(scope["raw_path"]) + len(scope["query_string"]) > _URL_BYTES:
            raise RefusedError(414, f"The address is longer than {size(_URL_BYTES)}.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _HEADER_BYTES:
            raise RefusedError(431, f"The headers are larger than {size(_HEADER_BYTES)}.")
        most = self.limits.json_bytes
        if request.method == "POST" and _UPLOAD.fullmatch(scope["path"]):
            most = self.limits.upload_bytes + _FORM_BYTES
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            raise RefusedError(413, _too_large(most))
        return most


def refusal_response(refusal: RefusedError) -> Response:
    """Describe a refusal."""
    headers = {"retry-after": "60"} if refusal.status == 503 else {}
    if refusal.status == 413:
        # The server does not wait for the rest of the request.
        headers["connection"] = "close"
    return JSONResponse(refusal.to_dict(), refusal.status, headers=headers)


def _check_origin(request: Request) -> None:
    if request.method in ("GET", "HEAD"):
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    foreign = origin is not None and origin.partition("://")[2].lower() != host
    if foreign or site not in (None, "same-origin", "none"):
        raise RefusedError(403, "Another web site may not use this server.")


# In the scope of a request: whether more of its body is to be received.
MORE_BODY = "poscount.more_body"


def _limited(scope: Any, receive: Any, most: int) -> Any:
    """Receive no more than this of a body, whatever its headers said; note whether more comes."""
    n_bytes = 0

    async def receive_limited() -> Any:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        scope[MORE_BODY] = message.get("more_body", False)
        if n_bytes > most:
            # Starlette and FastAPI pass on this error, and no other.
            raise HTTPException(413, _too_large(most))
        return message

    return receive_limited


def _too_large(most: int) -> str:
    return (
        f"This is larger than the {size(most)} that the server accepts here; the command line has "
        "no such limit."
    )
