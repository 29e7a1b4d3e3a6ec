"""Three kinds of goods, each with a receiver that grants and one that revokes: none is idempotent by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Group

from checkout_integration.models import Checkout
from checkout_integration.signals import checkout_paid, checkout_reversed

COIN, KEY = "coin", "key"


class OutOfOrder(AssertionError):
    """A receiver was run twice, or not in its turn."""


class Goods:
    """A naive wallet, keys that can be handed out once each, and an effect outside the database.

    ``fails`` is called before each receiver: True makes it raise after it has written.
    """

    def __init__(self, fails: Callable[[str], bool] = lambda name: False) -> None:
        self.outside: list[str] = []
        self._fails = fails

    def connect(self) -> None:
        """Connect all six receivers, each pair by name."""
        for name in ("pay_in", "hand_out", "send"):
            checkout_paid.connect(getattr(self, name), weak=False, dispatch_uid=name)
        for name, undone, when in (
            ("pay_out", "pay_in", "completed"),
            ("take_in", "hand_out", "completed"),
            ("call_back", "send", "attempted"),
        ):
            checkout_reversed.connect(
                getattr(self, name),
                weak=False,
                dispatch_uid=name,
                undoes=undone,
                when=when,  # type: ignore[arg-type]  # one of the two words
            )

    def disconnect(self) -> None:
        """Disconnect them."""
        for name in ("pay_in", "hand_out", "send"):
            checkout_paid.disconnect(dispatch_uid=name)
        for name in ("pay_out", "take_in", "call_back"):
            checkout_reversed.disconnect(dispatch_uid=name)

    def pay_in(self, idempotency_key: str, **arguments: Any) -> None:
        """Add a coin, without looking whether it was added before."""
        Group.objects.create(name=f"{COIN} {Group.objects.count()} {idempotency_key[:16]}")
        self._finish("pay_in")

    def pay_out(self, **arguments: Any) -> None:
        """Take a coin away; there has to be one."""
        coin = Group.objects.filter(name__startswith=COIN).order_by("pk").last()
        if coin is None:
            raise OutOfOrder("a coin was taken that was never given")
        coin.delete()
        self._finish("pay_out")

    def hand_out(self, checkout: Checkout, idempotency_key: str, **arguments: Any) -> None:
        """Hand out a key, which must not have been handed out for this grant before."""
        name = f"{KEY} {idempotency_key}"
        if Group.objects.filter(name=name).exists():
            raise OutOfOrder("a key was handed out twice")
        Group.objects.create(name=name)
        self._finish("hand_out")

    def take_in(self, **arguments: Any) -> None:
        """Take back one key."""
        key = Group.objects.filter(name__startswith=KEY).order_by("pk").last()
        if key is None:
            raise OutOfOrder("a key was taken back that was never handed out")
        key.delete()
        self._finish("take_in")

    def send(self, order: Any, **arguments: Any) -> None:
        """Send to a game server: the effect stays if this receiver fails later, but the server knows the order."""
        if order.order_id not in self.outside:
            self.outside.append(order.order_id)
        self._finish("send")

    def call_back(self, order: Any, **arguments: Any) -> None:
        """Send the reversal of the order."""
        if order.order_id in self.outside:
            self.outside.remove(order.order_id)
        self._finish("call_back")

    def balances(self) -> tuple[int, int, int]:
        """Coins, keys, and orders that the game server knows."""
        names = Group.objects.values_list("name", flat=True)
        coins, keys = (sum(name.startswith(kind) for name in names) for kind in (COIN, KEY))
        return coins, keys, len(self.outside)

    def _finish(self, name: str) -> None:
        if self._fails(name):
            raise ValueError("the game server is away")
