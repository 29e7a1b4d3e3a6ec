"""What the hosts sell, whom they approve, and what their receivers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db.backends.signals import connection_created

from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.user import User
from checkout_integration.signals import checkout_paid, payment_success

KNOWN = "known-player"
GOODS = "goods of "
statements: list[str] = []
"""All that was sent to a database by this process."""


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


def hold(order: Order, **arguments: Any) -> None:
    """Works until the file exists that the order's metadata names."""
    gate = (order.snapshot.metadata or {}).get("gate")
    ends_at = time.monotonic() + 20
    while gate and not Path(str(gate)).exists() and time.monotonic() < ends_at:
        time.sleep(0.01)


def grant(checkout: Checkout, **arguments: Any) -> None:
    """Grants what was sold: a row in the same database."""
    Group.objects.create(name=f"{GOODS}{checkout.order_id}")


def _listen(*, connection: Any, **kwargs: object) -> None:
    statements.append("CONNECT")
    connection.execute_wrappers.append(_remember)


def _remember(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
    statements.append(sql)
    return execute(sql, *rest)
