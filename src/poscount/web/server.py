"""The server process: listens, prints its address, and serves until it is stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import webbrowser
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI

from poscount.errors import InputError
from poscount.web.app import make_app
from poscount.web.connections import limited_protocol
from poscount.web.guard import LOOPBACK, Hosts
from poscount.web.limits import Limits
from poscount.web.server_directory import ServerDirectory


def serve(
    host: str,
    port: int,
    *,
    limits: Limits,
    open_browser: bool,
    allow_hosts: Sequence[str] = (),
    trusted_proxies: Sequence[str] = (),
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
    trusted_proxies : sequence of str
        Addresses of proxies; they say in X-Forwarded-For who their client is.
    """
    for address in trusted_proxies:
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            sentence = f"{address!r} is not the address of a proxy, such as 10.0.0.2."
            raise InputError(sentence, option="trust_proxy") from error
    with _listen(host, port) as listener:
        home = ServerDirectory()
        # Whatever workers leave behind when they are stopped goes with it, too.
        home.keep_temporary_files()
        app = make_app(limits, Hosts(host, allow_hosts), home)
        config = configure(app, limits, trusted_proxies)
        _Server(config, host, open_browser).run(sockets=[listener])


def configure(app: FastAPI, limits: Limits, trusted_proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Set up uvicorn for the application.

    Parameters
    ----------
    app : FastAPI
    limits : Limits
    trusted_proxies : sequence of str
        As for `serve`.
    """
    return uvicorn.Config(
        app,
        http=limited_protocol(limits, trusted_proxies),
        ws="none",
        # Anybody can send bad requests, and would fill the log with them.
        log_level="error",
        # The name of a session is its only key, so it must not be logged.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=limits.header_bytes + limits.url_bytes,
        # By default uvicorn would believe what any client on this machine says about its address.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
    )


class _Server(uvicorn.Server):
    """Prints its address as soon as it can be reached."""

    def __init__(self, config: uvicorn.Config, host: str, open_browser: bool) -> None:
        super().__init__(config)
        self.host, self.open_browser = host, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._heed_closed_terminal()
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

    def _heed_closed_terminal(self) -> None:
        """Stop in good order for SIGHUP, too, which uvicorn does not know; not under nohup."""
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(hangup, self.handle_exit, hangup, None)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # First, because requests that wait for work would otherwise be cancelled, and log that.
        await asyncio.to_thread(self.config.app.state.service.stop_work)  # type: ignore[union-attr]
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
