"""Receivers of a shop whose exceptions have texts that nobody may read."""

from __future__ import annotations

import os
from typing import Any, Final

from django.contrib.auth.models import Group
from django.db import connection

from checkout_integration.models import Order
from checkout_integration.signals import checkout_paid, payment_success
from tests.stress.connections.killing import Fuse

CANARY: Final = "canary-of-a-receiver@example.com"


def connect(fuse: Fuse) -> None:
    """Connect three receivers: one grants, one raises at first, and one breaks a constraint at first."""

    def grant(order: Order, **arguments: Any) -> None:
        fuse.pass_by("before the receiver's code", connection)
        Group.objects.create(name=f"goods of {order.order_id} {os.getpid()}")
        fuse.pass_by("after the receiver's code", connection)

    def raise_first(order: Order, attempt: int, **arguments: Any) -> None:
        if attempt == 1:
            Group.objects.create(name=f"rolled back {order.order_id}")
            raise RuntimeError(CANARY)

    def break_first(order: Order, attempt: int, **arguments: Any) -> None:
        if attempt == 1:
            Group.objects.create(name=f"{CANARY} {order.order_id}")
            Group.objects.create(name=f"{CANARY} {order.order_id}")

    checkout_paid.connect(grant, weak=False, dispatch_uid="grant")
    checkout_paid.connect(raise_first, weak=False, dispatch_uid="raise_first")
    payment_success.connect(break_first, weak=False, dispatch_uid="break_first")


def disconnect() -> None:
    """Disconnect them."""
    for signal, name in (
        (checkout_paid, "grant"),
        (checkout_paid, "raise_first"),
        (payment_success, "break_first"),
    ):
        signal.disconnect(dispatch_uid=name)
