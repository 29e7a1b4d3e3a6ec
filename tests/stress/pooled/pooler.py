"""A PgBouncer in transaction mode, before the PostgreSQL of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.support.services import POSTGRES, free_port

READY_WITHIN = 10.0
CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} {password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 70
server_idle_timeout = 2
"""
"""A pool is larger than the number of transactions that one test opens at once: they wait for each other's locks."""


class PoolerMissing(Exception):
    """What the pooler needs is not on this machine; the text says what."""


@contextmanager
def pooler(postgres: str | None) -> Iterator[str]:
    """Give the address of a pooler before this PostgreSQL, for `CHECKOUT_TEST_POSTGRES`."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    parts = urlsplit(postgres or "")
    if program is None:
        raise PoolerMissing("There is no pgbouncer: apt-get install pgbouncer")
    if not parts.hostname:
        raise PoolerMissing(f"Set {POSTGRES} to a PostgreSQL that listens on a port.")
    port = free_port()
    text = CONFIGURATION.format(
        host=parts.hostname,
        port=parts.port or 5432,
        user=parts.username or "postgres",
        password=f"password={parts.password}" if parts.password else "",
        own_port=port,
    )
    with tempfile.TemporaryDirectory(prefix="checkout-pooler-") as folder:
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(text)
        as_nobody = ["-u", "nobody"] if os.geteuid() == 0 else []
        # It refuses to run as root, and reads its file before it becomes somebody else.
        with subprocess.Popen(
            [program, "--quiet", *as_nobody, str(file)], stderr=subprocess.DEVNULL
        ) as process:
            try:
                url = f"postgresql://postgres@127.0.0.1:{port}/{parts.path.lstrip('/') or 'postgres'}"
                _await_answer(url)
                # Django's own setting for poolers: a cursor of the server ends with its transaction.
                yield f"{url}?disable_server_side_cursors=1"
            finally:
                process.terminate()


def _await_answer(url: str) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
