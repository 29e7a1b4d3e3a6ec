"""A fuse that ends a connection on the server at one point: a statement, the code of a receiver, or the end of a transaction.

Points are numbered in the order in which they are passed, so a trial can try them all, whatever the product does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

PATIENCE: Final = 10.0
TABLE: Final = re.compile(
    r"(?:FROM|INTO|UPDATE|JOIN)\s+[`\"]?(?:checkout_integration_|auth_)?(\w+)", re.IGNORECASE
)


class Fuse:
    """Counts points; at number ``burns_at`` the connection is ended on the server.

    With a ``file``, the number is read from it when the file appears, and the file is removed when the fuse has burnt. If it
    is removed before, the fuse is not armed any more.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.points: list[str] = []
        self.burns_at: int | None = None
        self._killing = False

    @property
    def burnt(self) -> str:
        """The point at which it burnt; "" if it has not."""
        passed = self.burns_at is not None and len(self.points) > self.burns_at
        return self.points[self.burns_at or 0] if passed else ""

    def arm(self, number: int | None) -> None:
        """Forget the points so far, and burn at this number from now on."""
        self.points, self.burns_at = [], number

    def pass_by(self, point: str, connection: BaseDatabaseWrapper) -> None:
        """Pass a point, perhaps with a bang."""
        if self._killing:
            return
        if self.file is not None:
            try:
                number = int(self.file.read_text())
            except FileNotFoundError:  # not armed, or no longer
                self.burns_at = None
            else:
                if self.burns_at is None:
                    self.arm(number)
        self.points.append(point)
        if self.burns_at == len(self.points) - 1:
            self._killing = True
            try:
                kill(connection)
            finally:
                self._killing = False
            if self.file is not None:
                self.file.unlink(missing_ok=True)
                self.burns_at = None

    def pass_statement(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """Pass the point before a statement: a wrapper of Django's connections."""
        found = TABLE.search(sql)
        self.pass_by(
            f"before {sql.split(maxsplit=1)[0]} {found.group(1) if found else ''}".strip(),
            context["connection"],
        )
        return execute(sql, params, many, context)


def kill(connection: BaseDatabaseWrapper) -> None:
    """End the connection on the server, and return when it is gone."""
    if connection.connection is None:
        return
    if connection.vendor == "postgresql":
        key, end = connection.connection.info.backend_pid, "SELECT pg_terminate_backend({})"
        left = "SELECT 1 FROM pg_stat_activity WHERE pid = {}"
    else:
        key, end = connection.connection.thread_id(), "KILL {}"
        left = "SELECT 1 FROM information_schema.processlist WHERE id = {}"
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(end.format(key))
            ends_at = time.monotonic() + PATIENCE
            cursor.execute(left.format(key))
            while cursor.fetchone():
                assert time.monotonic() < ends_at
                time.sleep(0.002)
                cursor.execute(left.format(key))
    finally:
        other.close()


def install(fuse: Fuse, set_attribute: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let all connections of this process pass the fuse's points."""

    def around(
        name: str, end: Callable[[BaseDatabaseWrapper], None]
    ) -> Callable[[BaseDatabaseWrapper], None]:
        def ended(connection: BaseDatabaseWrapper) -> None:
            fuse.pass_by(f"before {name}", connection)
            end(connection)
            fuse.pass_by(f"after {name}", connection)

        return ended

    set_attribute(BaseDatabaseWrapper, "commit", around("COMMIT", BaseDatabaseWrapper.commit))
    set_attribute(BaseDatabaseWrapper, "rollback", around("ROLLBACK", BaseDatabaseWrapper.rollback))
    for each in connections.all(initialized_only=True):
        each.execute_wrappers.append(fuse.pass_statement)

    def follow(*, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
        if fuse.pass_statement not in connection.execute_wrappers:
            connection.execute_wrappers.append(fuse.pass_statement)

    connection_created.connect(follow, weak=False, dispatch_uid="connections.killing")


@contextmanager
def installed(fuse: Fuse) -> Iterator[Fuse]:
    """Let all connections pass the fuse's points during the block."""
    with pytest.MonkeyPatch.context() as patch:
        install(fuse, patch.setattr)
        try:
            yield fuse
        finally:
            connection_created.disconnect(dispatch_uid="connections.killing")
            for each in connections.all(initialized_only=True):
                if fuse.pass_statement in each.execute_wrappers:
                    each.execute_wrappers.remove(fuse.pass_statement)
