"""A day whose notifications are lost: after two cycles of the sync the shop is the same as one that lost none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, Refund
from checkout_integration.sandbox.payments.payments import Payments
from checkout_integration.signals import SIGNALS
from checkout_integration.testing.service import CheckoutSandbox, running_sandbox
from tests.support.flows.shop import Listening, fault
from tests.support.flows.simulated_time import simulated_time
from tests.support.scale import times

pytestmark = pytest.mark.django_db(transaction=True)
ORDERS = times(60, 10_000)
AT_ONCE: Final = 50
HEARD: Final = [name for name in SIGNALS if name.startswith("payment_") and name != "payment_review"] + [
    "checkout_paid",
    "checkout_reversed",
]
Act = Callable[[Payments, str], object]


def refund_in_two_parts(payments: Payments, order_id: str) -> None:
    """Refund a part, and then the rest."""
    for part in ("4.00", "5.99"):
        payments.refund(order_id, amount=Decimal(part))


def charge_the_renewal_back(payments: Payments, order_id: str) -> None:
    """Of an agreement that was renewed in the morning."""
    (renewal,) = Order.objects.filter(checkout__order_id=order_id).exclude(order_id=order_id)
    payments.chargeback(renewal.order_id)


REVERSALS: Final[tuple[Act | None, ...]] = (
    None,
    Payments.refund,
    Payments.chargeback,
    lambda payments, order_id: payments.refund(order_id, amount=Decimal("4.00")),
    refund_in_two_parts,
    Payments.renew,
    charge_the_renewal_back,
)
"""What happens to an order after its payment, by turns."""
RENEWED, OPEN = 6, 0


class Day:
    """A day at the sandbox, of which a share of the notifications is lost, and what the shop has at its end."""

    def __init__(self, settings: Any, shop: str, listen: Listening, lost: float) -> None:
        self.heard: Counter[tuple[str, int]] = Counter()
        self._numbers: dict[str, int] = {}
        with running_sandbox(settings, shop) as sandbox:
            if lost:
                fault(sandbox, "notification", "drop", probability=lost)
            heard = {name: listen(SIGNALS[name]) for name in HEARD}
            self._pass_by(sandbox)
            listen.end()
        for name, calls in heard.items():
            self.heard.update((name, self._number(call["order"])) for call in calls)
        self.state = self._state()

    def _pass_by(self, sandbox: CheckoutSandbox) -> None:
        """Pay in the morning, reverse half of it at noon and the other half in the evening; read the list twice."""
        with simulated_time(sandbox) as time:
            orders = [self._sell(sandbox, number) for number in range(ORDERS)]
            self._settle(sandbox)
            time.advance(timedelta(hours=4))
            self._settle(sandbox)
            halves = random.Random(ORDERS).sample(range(ORDERS), ORDERS)
            for half, hours in ((halves[::2], 8), (halves[1::2], 24)):
                for number in half:
                    if act := REVERSALS[number % len(REVERSALS)]:
                        act(sandbox.payments, orders[number])
                    if number % AT_ONCE == 0:
                        self._settle(sandbox)
                self._settle(sandbox)
                time.advance(timedelta(hours=hours))
                self._settle(sandbox)

    def _sell(self, sandbox: CheckoutSandbox, number: int) -> str:
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        self._numbers[checkout.reference] = number
        kind = number % len(REVERSALS)
        if kind != OPEN or number % 2:
            sandbox.payments.pay(
                checkout.order_id, recurring=REVERSALS[kind] is Payments.renew or kind == RENEWED
            )
        if number % AT_ONCE == 0 or kind == RENEWED:
            self._settle(sandbox)
        if kind == RENEWED:
            sandbox.payments.renew(checkout.order_id)
        return checkout.order_id

    @staticmethod
    def _settle(sandbox: CheckoutSandbox) -> None:
        assert sandbox.wait_idle(60)
        while flows.run_due().did_anything:
            pass

    def _number(self, order: Order) -> int:
        assert order.checkout is not None
        return self._numbers[order.checkout.reference]

    def _state(self) -> list[list[tuple[object, ...]]]:
        """Return all that counts, with numbers in the place of identifiers."""
        orders = Order.objects.select_related("checkout")
        return [
            sorted((self._numbers[each.reference], each.status) for each in Checkout.objects.all()),
            sorted(
                (self._number(each), each.status, each.verdict, str(each.refund_amount)) for each in orders
            ),
            sorted(
                (self._number(each.order), str(each.amount)) for each in Refund.objects.all() if each.order
            ),
        ]


def forget() -> None:
    """Empty the tables of the app."""
    with transaction.atomic(), connection.constraint_checks_disabled():
        for model in apps.get_app_config("checkout_integration").get_models():
            model._default_manager.all()._raw_delete(connection.alias)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [1.0, 0.3], ids=["all", "a third"])
def test_a_day_without_notifications_ends_alike(
    settings: Any, live_server: Any, listen: Listening, lost: float
) -> None:
    """Orders, checkouts and refunds are equal, and every receiver has run once for each event."""
    complete = Day(settings, live_server.url, listen, lost=0)
    forget()
    incomplete = Day(settings, live_server.url, listen, lost=lost)
    for here, expected in zip(incomplete.state, complete.state, strict=True):
        assert Counter(here) - Counter(expected) == Counter(expected) - Counter(here) == Counter()
    assert incomplete.heard == complete.heard
