"""What the hosts sell, whom they approve, and what their receivers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.core.signals import request_finished, request_started
from django.db.backends.signals import connection_created

from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.user import User
from checkout_integration.signals import checkout_paid, payment_success

KNOWN = "known-player"
GOODS = "goods of "
statements: list[str] = []
"""All that was sent to a database by this process."""
under_way: list[str] = []
"""A mark for each request that was begun and not closed; receivers run before it is."""


class HostHooks(Hooks):
    """Approves one customer."""

    def validate_user(self, user: User) -> bool | Refusal:
        """Known or not."""
        return user.external_id == KNOWN


def connect() -> None:
    """Connects the receivers, and listens to what goes to databases."""
    payment_success.connect(hold, dispatch_uid="host.hold")
    checkout_paid.connect(grant, dispatch_uid="host.grant")
    connection_created.connect(_listen)
    request_started.connect(_begin)
    request_finished.connect(_end)


def hold(order: Order, **arguments: Any) -> None:
    """Work until the file named by the order's metadata exists; fail when it never does."""
    gate = (order.snapshot.metadata or {}).get("gate")
    ends_at = time.monotonic() + 15
    while gate and not Path(str(gate)).exists():
        if time.monotonic() > ends_at:
            raise TimeoutError("the gate stays shut")
        time.sleep(0.01)


def grant(checkout: Checkout | None, **arguments: Any) -> None:
    """Grant the goods: a row in the same database."""
    assert checkout is not None
    Group.objects.create(name=f"{GOODS}{checkout.order_id}")


def _begin(**kwargs: object) -> None:
    under_way.append("request")


def _end(**kwargs: object) -> None:
    under_way.pop()


def _listen(*, connection: Any, **kwargs: object) -> None:
    statements.append("CONNECT")
    if _remember not in connection.execute_wrappers:  # the same object connects again and again
        connection.execute_wrappers.append(_remember)


def _remember(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
    statements.append(sql)
    return execute(sql, *rest)
