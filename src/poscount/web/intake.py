"""What a request may weigh, and how fast requests may come; checked before anything is parsed."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from poscount.web.clients import Clients, client_of_request
from poscount.web.guard import send_refusal
from poscount.web.limits import Limits
from poscount.web.refusals import size

# Files are not held in memory; `poscount.web.multipart` has limits of its own for them.
_UPLOAD = re.compile(r"/api/sessions/[^/]+/files")


class Intake:
    """ASGI middleware: small addresses, headers and bodies, and not too many requests at once.

    The body of every request without a file is read here, up to its limit, so that whatever parses
    it later gets no more than that.
    """

    def __init__(self, app: Any, limits: Limits, clients: Clients) -> None:
        self.app, self.limits, self.clients = app, limits, clients

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await self.clients.wait_for_turn(client_of_request(scope))
        refusal = self._too_long(scope)
        if refusal is None and not (scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"])):
            try:
                async with asyncio.timeout(self.limits.json_seconds):
                    body = await self._body(scope, receive)
                receive = _Replay(body, receive)
            except TimeoutError:
                refusal = 408, "The request did not come in completely in time; send it again."
            except _TooLargeError:
                most = size(self.limits.json_bytes)
                refusal = 413, f"A request without a file can have at most {most}."
        if refusal is not None:
            # The server does not wait for the rest of the request.
            await send_refusal(send, *refusal, [(b"connection", b"close")])
            return
        await self.app(scope, receive, send)

    def _too_long(self, scope: Any) -> tuple[int, str] | None:
        limits = self.limits
        if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
            return 414, f"The address is longer than {size(limits.url_bytes)}."
        if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.header_bytes:
            return 431, f"The headers are larger than {size(limits.header_bytes)}."
        return None

    async def _body(self, scope: Any, receive: Any) -> bytes:
        """Read the body of a request, but no more of it than the limit."""
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self.limits.json_bytes:
            raise _TooLargeError
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self.limits.json_bytes:
                raise _TooLargeError
            if not message.get("more_body", False):
                return bytes(body)


class _TooLargeError(Exception):
    """The body of a request is too large, or says that it is."""


class _Replay:
    """Gives a body that was read already, and then whatever else comes."""

    def __init__(self, body: bytes, receive: Any) -> None:
        self.message: Any = {"type": "http.request", "body": body, "more_body": False}
        self.receive = receive

    async def __call__(self) -> Any:
        message, self.message = self.message, None
        return message or await self.receive()
