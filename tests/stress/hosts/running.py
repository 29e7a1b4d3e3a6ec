"""Hosts as processes of a real server, spoken to over sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.stress.hosts.table import HOSTS, SERVERS, Host
from tests.support import wire

KIND = os.environ.get("CHECKOUT_TEST_DATABASE", "sqlite")
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, kw_only=True)
class Running:
    """A host that serves."""

    name: str
    server: str
    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def host(self) -> Host:
        """Its row of the table."""
        return HOSTS[self.name]

    def post(
        self, body: bytes, signature: str | None = None, *, path: str = "webhook/", **more: Any
    ) -> wire.Answer:
        """Send a request to the webhook; the connection stays open until the response."""
        headers = {**self.host.headers, **more.pop("headers", {})}
        return wire.post(
            self.url,
            body,
            authorization=signature,
            path=f"{self.host.prefix}/checkout/{path}",
            headers=headers,
            half_close=False,
            **more,
        )

    def deliver(self, document: Mapping[str, Any]) -> wire.Answer:
        """Sends a notification as the service does."""
        body = wire.body_of(document)
        return self.post(body, wire.signature(body))

    def desk(self, errand: str = "", method: str = "POST") -> Any:
        """Acts or looks in the host's own process."""
        answer = requests.request(method, f"{self.url}/desk/{errand}", headers=self.headers, timeout=60)
        assert answer.status_code == 200, answer.text[:2000]
        return answer.json()

    @property
    def headers(self) -> dict[str, str]:
        """What the proxy in front of it adds."""
        return dict(self.host.headers)

    def stored(self) -> Any:
        """What the host knows."""
        return self.desk(method="GET")

    def statements(self) -> int:
        """How many statements it sent, as soon as it rests."""
        counted = self._await("count/", lambda counted: counted["under_way"] == 0)
        sent: int = counted["statements"]
        return sent

    def await_stored(self, holds: Callable[[Any], bool]) -> Any:
        """Return the host's stored rows as soon as this is true of them: receivers run after the response."""
        return self._await("", holds)

    def _await(self, errand: str, holds: Callable[[Any], bool]) -> Any:
        ends_at = time.monotonic() + 30
        while not holds(state := self.desk(errand, method="GET")):
            assert time.monotonic() < ends_at, state
            time.sleep(0.05)
        return state

    def log(self) -> str:
        """What it printed."""
        return (self.folder / "server.log").read_text()


@contextmanager
def running(name: str, server: str, folder: Path, database: str, service: str) -> Iterator[Running]:
    """Serves a host until the block ends. The socket is bound here, so a request waits until the server is up."""
    environment = environment_of(name, folder, database, service)
    application = f"tests.stress.hosts.serving:{'asgi' if server == 'asgi' else 'wsgi'}"
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        number = str(listener.fileno())
        bound = ["--fd", number] if server == "asgi" else ["--bind", f"fd://{number}"]
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *SERVERS[server], *bound, application],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=log,
                pass_fds=[listener.fileno()],
            )
    try:
        yield Running(name=name, server=server, url=url, folder=folder, process=process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def migrate(name: str, folder: Path, database: str) -> None:
    """Makes the tables that the host's settings ask for."""
    command = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
    subprocess.run(command, check=True, cwd=ROOT, env=environment_of(name, folder, database, ""))


def environment_of(name: str, folder: Path, database: str, service: str) -> dict[str, str]:
    """Variables that `tests.stress.hosts.settings` reads."""
    kind = KIND if HOSTS[name].every_database else "sqlite"
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.stress.hosts.settings",
        "CHECKOUT_TEST_DATABASE": kind,
        "CHECKOUT_HOST": name,
        "CHECKOUT_HOST_FOLDER": str(folder),
        "CHECKOUT_HOST_DATABASE": database,
        "CHECKOUT_HOST_SERVICE": service or "https://service.invalid",
    }
