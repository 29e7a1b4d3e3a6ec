"""Checkouts through the sandbox, a real service in a process of its own, which repeats its notifications by itself."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from urllib import request

from django.db import Error, connections

from checkout_integration.client.errors import CheckoutError
from checkout_integration.flows import create_checkout
from checkout_integration.flows.database.transactions import Unavailable
from tests.stress.chaos.names import ABANDONED_SECONDS, SANDBOX
from tests.stress.chaos.stories import Served

PAUSE: Final = 1.2
CARD: Final = "4242424242424242"
LEAVING: Final = 0.3
"""Part of the customers who leave, and of those who come back at each of their chances."""
AFTERWARDS: Final = ("", "", "refund", "chargeback")
"""Ends of a payment; the service and the network decide on the order of notifications."""


@dataclass
class Buyers:
    """Customers in turn: each buys, pays, and perhaps has the payment reversed a little later.

    Some leave, and half of those come back and pay at about the time at which the shop reminds them.
    """

    service_url: str
    seed: int
    bought: list[str] = field(default_factory=list)
    left: dict[str, float] = field(default_factory=dict)
    """Orders of those who have not paid yet, and when they left."""
    turned_away: Counter[str] = field(default_factory=Counter)
    """Checkouts that the shop could not begin, by the error that it saw."""

    @contextmanager
    def buying(self) -> Iterator[None]:
        """Buy meanwhile."""
        ended = threading.Event()
        thread = threading.Thread(target=self._buy_on, args=(ended,), name="buyers", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def served(self, within: float, *, whatever: bool = False) -> list[Served]:
        """Return the service's ledger once it has delivered everything. Raises TimeoutError, unless `whatever` will do."""
        deadline = time.monotonic() + within
        while True:
            orders = [self._ask(f"orders/{order_id}") for order_id in self.bought]
            waiting = [
                each["id"] for each in orders if any(_waits(message) for message in each["notifications"])
            ]
            if not waiting or whatever:
                return [_served(each) for each in orders]
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"the service could not deliver the notifications of {len(waiting)} orders"
                )
            time.sleep(0.5)

    def _buy_on(self, ended: threading.Event) -> None:
        chance = random.Random(self.seed)
        while not ended.wait(PAUSE):
            self._buy(chance)
        connections.close_all()

    def _buy(self, chance: random.Random) -> None:
        try:
            checkout = create_checkout(
                amount=Decimal("9.99"), currency="USD", description="500 gems", project=SANDBOX
            )
        except (Error, Unavailable, CheckoutError) as error:  # the shop's database is away just now
            self.turned_away[type(error).__name__] += 1
            connections.close_all()
            return
        self.bought.append(checkout.order_id)
        if chance.random() < LEAVING:
            self.left[checkout.order_id] = time.monotonic()
        else:
            self._pay(checkout.order_id, chance)
        for order_id, left_at in list(self.left.items()):
            if 0 < time.monotonic() - left_at - ABANDONED_SECONDS < 2 * PAUSE and chance.random() < LEAVING:
                del self.left[order_id]
                self._pay(order_id, chance)

    def _pay(self, order_id: str, chance: random.Random) -> None:
        self._ask(f"orders/{order_id}/pay", {"card": CARD})
        if afterwards := chance.choice(AFTERWARDS):
            time.sleep(chance.choice([0, 0.5]))
            self._ask(f"orders/{order_id}/{afterwards}", {})

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        address = request.Request(f"{self.service_url}/_sandbox/{path}", data, headers)
        with request.urlopen(address, timeout=30) as answer:
            document = json.load(answer)
        assert isinstance(document, dict)
        return document


def _waits(message: dict[str, Any]) -> bool:
    return bool(message["state"] != "delivered")


def _served(order: dict[str, Any]) -> Served:
    messages = tuple(
        (each["notification_id"], each["event"], each["state"]) for each in order["notifications"]
    )
    return Served(order_id=order["id"], status=order["status"], notifications=messages)
