"""A server in a thread of this process, and a client that knows the API."""

import contextlib
import multiprocessing
import os
import socket
import threading
import time
from pathlib import Path

import httpx
import uvicorn

from poscount.web.app import make_app
from poscount.web.schemas import Limits
from poscount.web.server import configure

TOKEN = "a-token-that-nobody-can-guess"


class Web:
    """A server, seen by a program."""

    def __init__(self, address, app):
        self.address, self.app = address, app
        self.link = f"{address}/?token={TOKEN}"
        self.http = client(address)

    @property
    def service(self):
        return self.app.state.service

    def files(self):
        """All files and folders that the server keeps."""
        # Unlike rglob, it does not mind folders that are deleted meanwhile.
        walked = os.walk(self.service.sessions.root)
        return sorted(Path(folder) / name for folder, _, names in walked for name in names)

    def workers(self):
        """Processes at work for it; joblib may have left some of other tests here."""
        children = multiprocessing.active_children()
        return [child for child in children if not type(child).__name__.startswith("Loky")]

    def visit(self):
        return Visit(self.http, self.http.post("/api/sessions").json()["session"])

    def is_up(self):
        return self.http.get("/").status_code == 200


def client(address, token=TOKEN):
    """A program that has the token."""
    headers = {"authorization": f"Bearer {token}"}
    return httpx.Client(base_url=address, headers=headers, timeout=300, trust_env=False)


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

    def wait(self, job, *, until=("done", "failed", "cancelled")):
        """Wait for an estimate, or for what follows one: the path of its job."""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            told = self.http.get(f"{self.base}/estimates/{job}").json()
            if told["state"] in until:
                return told
            time.sleep(0.05)
        raise AssertionError(told)

    def answer(self, **wanted):
        told = self.wait(self.start(**wanted))
        assert told["state"] == "done", told
        return told["result"]

    def follow(self, estimate, kind, **wanted):
        """Begin further work on an estimate, and wait for it."""
        path = f"{self.base}/estimates/{estimate}/follow-ups"
        begun = self.http.post(path, json={"kind": kind, **wanted})
        assert begun.status_code == 202, begun.text
        return self.wait(f"{estimate}/follow-ups/{kind}")

    def download(self, estimate, name):
        answer = self.http.get(f"{self.base}/estimates/{estimate}/{name}")
        assert answer.status_code == 200, answer.text
        return answer.content


@contextlib.contextmanager
def served(**limits):
    """Serve on loopback, at a free port."""
    app = make_app(TOKEN, Limits(**{"workers": 2, "sessions": 200, **limits}))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = uvicorn.Server(configure(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    web = Web(f"http://127.0.0.1:{listener.getsockname()[1]}", app)
    try:
        yield web
    finally:
        web.http.close()
        server.should_exit = True
        thread.join()
        listener.close()
        assert not web.service.sessions.root.exists()
