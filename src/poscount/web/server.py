"""The server process: listens, prints its address, and serves until it is stopped."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Sequence

import uvicorn

from poscount.errors import InputError
from poscount.web.app import make_app
from poscount.web.guard import LOOPBACK, Hosts
from poscount.web.limits import Limits


def serve(
    host: str, port: int, *, limits: Limits, open_browser: bool, allow_hosts: Sequence[str] = ()
) -> None:
    """Serve the page until a signal stops it.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any free port.
    limits : Limits
    open_browser : bool
        Whether to open the page in the user's browser.
    allow_hosts : sequence of str
        More host names that requests may use.
    """
    app = make_app(limits, Hosts(host, allow_hosts))
    config = uvicorn.Config(
        app,
        log_level="warning",
        # The name of a session is its only key, so it must not be logged.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    with _listen(host, port) as listener:
        _Server(config, host, open_browser).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Prints its address as soon as it can be reached."""

    def __init__(self, config: uvicorn.Config, host: str, open_browser: bool) -> None:
        super().__init__(config)
        self.host, self.open_browser = host, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.should_exit or not sockets:
            return
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        shown = f"[{name}]" if ":" in name else name
        address = f"http://{shown}:{sockets[0].getsockname()[1]}/"
        print(f"poscount is at {address} (Ctrl-C stops it and deletes what was uploaded).")
        if self.host not in LOOPBACK:
            print("Anyone who can reach this machine can use it: there is no password.")
        print(end="", flush=True)
        if self.open_browser:
            webbrowser.open(address)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise InputError(
            f"The server cannot listen at {host}, port {port}: {error.strerror}.", option="port"
        ) from error
