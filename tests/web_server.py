"""A server in a thread of this process, and a client that knows the API."""

import contextlib
import multiprocessing
import socket
import threading
import time

import httpx
import uvicorn

from poscount.web.app import make_app
from poscount.web.limits import Limits
from poscount.web.server import configure


class Web:
    """A server, seen by a program."""

    def __init__(self, address, app):
        self.address, self.app = address, app
        self.clients = contextlib.ExitStack()
        self.http = self.client("127.0.0.1")

    @property
    def service(self):
        return self.app.state.service

    def files(self):
        """All files and folders that the server keeps."""
        return sorted(path for path in self.service.sessions.root.rglob("*") if path.is_file())

    def workers(self):
        """Processes at work for it; joblib may have left some of other tests here."""
        children = multiprocessing.active_children()
        return [child for child in children if not type(child).__name__.startswith("Loky")]

    def client(self, here):
        """Somebody at an address of this machine."""
        transport = httpx.HTTPTransport(local_address=here)
        client = httpx.Client(
            base_url=self.address, timeout=300, trust_env=False, transport=transport
        )
        return self.clients.enter_context(client)

    def visit(self, here=None):
        http = self.client(here) if here else self.http
        return Visit(http, http.post("/api/sessions").json()["session"])

    def is_up(self):
        return self.http.get("/").status_code == 200


class Visit:
    """One session."""

    def __init__(self, http, session):
        self.http, self.session = http, session
        self.base = f"/api/sessions/{session}"

    def see(self):
        return self.http.get(self.base)

    def example(self):
        answer = self.http.post(f"{self.base}/example")
        assert answer.status_code == 201, answer.text
        return answer.json()

    def send(self, role, name, content, **fields):
        return self.http.post(
            f"{self.base}/files", data={"role": role, **fields}, files={"file": (name, content)}
        )

    def refused(self, role, name, content, **fields):
        """Send a file that must be refused, and give back the refusal."""
        answer = self.send(role, name, content, **fields)
        assert 400 <= answer.status_code < 500, answer.text
        refusal = answer.json()
        # One sentence, that ends like one and shows nothing of the inside.
        assert refusal["message"].endswith((".", "?"))
        assert "Traceback" not in refusal["message"]
        assert "poscount-" not in refusal["message"]
        assert self.see().json()["files"] == []
        return refusal

    def start(self, **wanted):
        answer = self.http.post(f"{self.base}/estimates", json=wanted)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]

    def wait(self, estimate, *, until=("done", "failed", "cancelled")):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            told = self.http.get(f"{self.base}/estimates/{estimate}").json()
            if told["state"] in until:
                return told
            time.sleep(0.05)
        raise AssertionError(told)

    def answer(self, **wanted):
        told = self.wait(self.start(**wanted))
        assert told["state"] == "done", told
        return told["answer"]

    def download(self, estimate, name):
        answer = self.http.get(f"{self.base}/estimates/{estimate}/{name}")
        assert answer.status_code == 200, answer.text
        return answer.content


@contextlib.contextmanager
def served(trusted_proxies=(), **changed):
    """Serve on loopback, at a free port."""
    # All tests come from one address.
    limits = Limits(**{"workers": 2, "sessions_per_client": 200, **changed})
    app = make_app(limits)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = uvicorn.Server(configure(app, limits, trusted_proxies))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    web = Web(f"http://127.0.0.1:{listener.getsockname()[1]}", app)
    try:
        yield web
    finally:
        web.clients.close()
        server.should_exit = True
        thread.join()
        listener.close()
        assert not web.service.sessions.root.exists()
