"""Sales through the sandbox, a real service in a process of its own, which repeats its notifications by itself."""

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
from checkout_integration.flows.database.retry import Unavailable
from tests.chaos.names import SANDBOX
from tests.chaos.stories import Served

PAUSE: Final = 1.2
CARD: Final = "4242424242424242"
AFTERWARDS: Final = ("", "", "refund", "chargeback")
"""What becomes of a payment; the order of news is the service's and the network's."""


@dataclass
class Buyers:
    """One buyer after the other: buy, pay, and perhaps have it taken back a little later."""

    service_url: str
    seed: int
    bought: list[str] = field(default_factory=list)
    turned_away: Counter[str] = field(default_factory=Counter)
    """Sales that the shop could not begin, by the error that it saw."""

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
            waiting = [each["id"] for each in orders if any(_waits(told) for told in each["notifications"])]
            if not waiting or whatever:
                return [_served(each) for each in orders]
            if time.monotonic() > deadline:
                raise TimeoutError(f"the service could not deliver the news of {len(waiting)} orders")
            time.sleep(0.5)

    def _buy_on(self, ended: threading.Event) -> None:
        chance = random.Random(self.seed)
        while not ended.wait(PAUSE):
            self._buy(chance)
        connections.close_all()

    def _buy(self, chance: random.Random) -> None:
        try:
            sale = create_checkout(
                amount=Decimal("9.99"), currency="USD", description="500 gems", project=SANDBOX
            )
        except (Error, Unavailable, CheckoutError) as error:  # the shop's database is away just now
            self.turned_away[type(error).__name__] += 1
            connections.close_all()
            return
        self.bought.append(sale.order_id)
        self._ask(f"orders/{sale.order_id}/pay", {"card": CARD})
        if afterwards := chance.choice(AFTERWARDS):
            time.sleep(chance.choice([0, 0.5]))
            self._ask(f"orders/{sale.order_id}/{afterwards}", {})

    def _ask(self, path: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if asked is None else json.dumps(asked).encode()
        headers = {"Content-Type": "application/json"}
        address = request.Request(f"{self.service_url}/_sandbox/{path}", data, headers)
        with request.urlopen(address, timeout=30) as answer:
            told = json.load(answer)
        assert isinstance(told, dict)
        return told


def _waits(told: dict[str, Any]) -> bool:
    return bool(told["state"] != "delivered")


def _served(told: dict[str, Any]) -> Served:
    messages = tuple(
        (each["notification_id"], each["event"], each["state"]) for each in told["notifications"]
    )
    return Served(order_id=told["id"], status=told["status"], notifications=messages)
