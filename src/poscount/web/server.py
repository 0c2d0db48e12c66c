"""The server process: listens, prints its link, and serves until it is stopped."""

from __future__ import annotations

import asyncio
import re
import secrets
import signal
import socket
import webbrowser
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI

from poscount.errors import InputError
from poscount.web.app import make_app
from poscount.web.guard import LOOPBACK, Hosts
from poscount.web.schemas import Limits
from poscount.web.sessions import ServerDirectory

_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


def serve(
    host: str,
    port: int,
    *,
    limits: Limits,
    open_browser: bool,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
) -> None:
    """Serve the page until a signal stops it.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any free port.
    limits : Limits
    open_browser : bool
        Whether to open the page in the user's browser.
    token : str, optional
        What requests must have to be let in: at least 16 letters, digits, ``-`` or ``_``. A new one
        by default, if only this machine can reach the server.
    allow_hosts : sequence of str
        More host names that requests may use.
    """
    if token is None:
        if host not in LOOPBACK:
            raise InputError(
                f"At {host} other machines can reach the page, which has no login: leave it at "
                "127.0.0.1 behind a server with a login, whose name --allow-host takes, or give "
                "it a token of your own.",
                option="token",
            )
        token = secrets.token_urlsafe(24)
    elif not _TOKEN.fullmatch(token):
        raise InputError("A token has 16 to 200 letters, digits, - or _.", option="token")
    with _listen(host, port) as listener:
        home = ServerDirectory()
        # Whatever workers leave behind when they are stopped goes with it, too.
        home.keep_temporary_files()
        app = make_app(token, limits, Hosts(host, allow_hosts), home)
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        shown = f"[{name}]" if ":" in name else name
        link = f"http://{shown}:{listener.getsockname()[1]}/?token={token}"
        _Server(configure(app), link, open_browser).run(sockets=[listener])


def configure(app: FastAPI) -> uvicorn.Config:
    """Set up uvicorn for the application."""
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        # Anybody can send bad requests, and would fill the log with them.
        log_level="error",
        # The token and the names of sessions must not be logged.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=3,
    )


class _Server(uvicorn.Server):
    """Prints its link as soon as it can be reached."""

    def __init__(self, config: uvicorn.Config, link: str, open_browser: bool) -> None:
        super().__init__(config)
        self.link, self.open_browser = link, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._heed_closed_terminal()
        await super().startup(sockets)
        if self.should_exit:
            return
        print(f"poscount is at {self.link} (Ctrl-C stops it and deletes what was uploaded).")
        print(end="", flush=True)
        if self.open_browser:
            webbrowser.open(self.link)

    def _heed_closed_terminal(self) -> None:
        """Stop in good order for SIGHUP, too, which uvicorn does not know; not under nohup."""
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(hangup, self.handle_exit, hangup, None)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # First, because requests that wait for work would otherwise be cancelled, and log that.
        await asyncio.to_thread(self.config.app.state.service.jobs.close)  # type: ignore[union-attr]
        await super().shutdown(sockets)
        # uvicorn sends itself the signal again, which has to end the process now.
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise InputError(
            f"The server cannot listen at {host}, port {port}: {error.strerror}.", option="port"
        ) from error
