"""A shop, its customers and the service, dealing with each other in any order: a state machine for Hypothesis.

The service is the sandbox: its ledger is the truth. What it sends is really sent, to a post office that hands it on
late, twice, in another order or never.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import Group
from django.test import Client, TestCase
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from checkout_integration import flows
from checkout_integration.flows import installation
from checkout_integration.models import Checkout, Delivery, Incident, Order
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX, OrderStatus
from checkout_integration.sandbox import VirtualClock
from checkout_integration.sandbox.order import Order as TrueOrder
from checkout_integration.testing.service import running_sandbox
from tests.sandbox.receiver import Received, Receiver

BEGIN: Final = datetime.now(UTC) - timedelta(days=60)  # more than 25 steps of waiting
PRICE: Final = Decimal("9.99")
TAKEN_BACK: Final = {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK}
NAME: Final = "goods of "


def grant(order: Order, checkout: Checkout | None, **arguments: Any) -> None:
    """Goods for a sale; for a second grant of one sale there is no room."""
    assert checkout is not None
    Group.objects.create(name=f"{NAME}{checkout.reference}")


def take_back(order: Order, checkout: Checkout, **arguments: Any) -> None:
    """Take the goods of a sale back."""
    Group.objects.filter(name=f"{NAME}{checkout.reference}").delete()


class Dealings(RuleBasedStateMachine):
    """One run: a service of its own, whose clock stands in the past, and tables that are empty again afterwards.

    `settings` are pytest-django's.
    """

    orders = Bundle("orders")
    letters = Bundle("letters")

    def __init__(self, profile: str, post_office: Receiver, settings: Any) -> None:
        super().__init__()
        self._open = ExitStack()
        clock = VirtualClock(BEGIN, running=False)
        self.sandbox = self._open.enter_context(running_sandbox(settings, profile=profile, clock=clock))
        # As a TestCase begins and ends: what was stored is forgotten, and sales may commit inside.
        begun = TestCase._enter_atomics()  # type: ignore[attr-defined]  # the stubs lack both
        self._open.callback(TestCase._rollback_atomics, begun)  # type: ignore[attr-defined]
        installation._known.clear()
        self.post_office, self.settings = post_office, settings
        self.secrets = [f"{SANDBOX_SECRET_PREFIX}number_0"]
        self.project_id = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]["PROJECT_ID"]
        self._tell(webhook_url=post_office.url)
        self.sales: list[Checkout] = []
        self.truth: dict[str, str] = {}
        self.late_cancels: set[str] = set()
        self.was_reversed: set[str] = set()

    # What customers and staff do at the service.

    @initialize(target=orders)
    def open_the_shop(self) -> str:
        """Nothing happens without a first sale."""
        return self._sold()

    @rule(target=orders)
    def sell(self) -> str:
        """The shop sells something: an order at the service."""
        return self._sold()

    @rule(target=orders)
    def be_a_stranger(self) -> str:
        """Somebody makes an order with the public project id: signed notifications will follow, goods must not."""
        order = {"project": self.project_id, "type": "simple", "amount": PRICE, "currency": "USD"}
        made = self.sandbox.creation.create_order({**order, "description": "?"}, None)
        self.truth[made.id] = ""
        return made.id

    @rule(target=orders, order=orders)
    def try_again(self, order: str) -> str:
        """A new order with a new id and the same metadata."""
        again = self.sandbox.creation.order_again(self._true(order))
        self.truth[again.id] = self.truth[order]
        return again.id

    @rule(
        target=letters,
        order=orders,
        payment=st.sampled_from(["pay", "pay", "pay", "decline", "cancel"]),
        undoing=st.sampled_from(["refund", "refund", "chargeback", "cancel"]),
    )
    def go_on(self, order: str, payment: str, undoing: str) -> Any:
        """The customer pays, is declined or gives up; a payment is taken back.

        To cancel one that is paid is what the specification does not know, and the field does.
        """
        # Of what is ordered, paid and refunded within a minute the list alone does not tell order and refund apart.
        self.sandbox.clock.advance(61)
        payments, true = self.sandbox.payments, self._true(order)
        if true.status == OrderStatus.CREATED and not payments.is_expired(true):
            getattr(payments, payment)(order)
        elif true.status == OrderStatus.PROCESSED and undoing == "cancel":
            self.late_cancels.add(order)
            payments.cancel(order, after_payment=True)
        elif true.status == OrderStatus.PROCESSED:
            getattr(payments, undoing)(order)
        return self._sent()

    @rule(target=letters, order=orders)
    def send_again(self, order: str) -> Any:
        """Staff at the service press "send again"."""
        if self._true(order).status == OrderStatus.CREATED:
            return multiple()
        self.sandbox.payments.resend(order)
        return self._sent()

    @rule(minutes=st.sampled_from([1, 20, 600, 3000]))
    def wait(self, minutes: int) -> None:
        """Time passes at the service."""
        self.sandbox.clock.advance(minutes * 60)

    @precondition(lambda self: len(self.secrets) < 3)
    @rule()
    def rotate(self) -> None:
        """A new secret: orders keep the one of their creation, and the shop keeps the older ones."""
        self.secrets.insert(0, f"{SANDBOX_SECRET_PREFIX}number_{len(self.secrets)}")
        self._tell()

    # What the shop learns of it.

    @rule(target=letters, letter=consumes(letters), keep=st.booleans())
    def deliver(self, letter: Received, keep: bool) -> Any:
        """A letter arrives; it may arrive once more, later."""
        signed = {"Authorization": letter.headers["Authorization"]}
        answer = Client().post(
            "/checkout/webhook/", letter.body, content_type="application/json", headers=signed
        )
        assert (answer.status_code, answer.content) == (200, b"")
        return letter if keep else multiple()

    @rule(letter=consumes(letters))
    def lose(self, letter: Received) -> None:
        """A letter never arrives."""

    @rule(lane=st.sampled_from(["recent", "reversals", "all"]))
    def sync(self, lane: str) -> None:
        """The shop reads the list."""
        assert flows.sync_transactions(lane=lane).state == "complete"

    @rule()
    def run_receivers(self) -> None:
        """The shop grants and takes back."""
        flows.run_deliveries()

    # What must hold, always and in the end.

    @invariant()
    def nothing_is_paid_again(self) -> None:
        """Once a reversal is known, an order never shows paid again (G7)."""
        known = dict(Order.objects.values_list("order_id", "status"))
        assert all(known[order] in TAKEN_BACK for order in self.was_reversed)
        self.was_reversed |= {order for order, status in known.items() if status in TAKEN_BACK}

    def teardown(self) -> None:
        """Whatever was lost, two passes of the sync bring the truth; goods are owned where a payment stands."""
        try:
            self.sandbox.clock.advance(3600)
            for _ in range(2):
                self.sync("all")
            flows.run_deliveries()
            self._compare()
        finally:
            self._open.close()

    def _compare(self) -> None:
        known = dict(Order.objects.values_list("order_id", "status"))
        incidents = set(Incident.objects.values_list("order__order_id", flat=True))
        assert set(known) == set(self.truth)
        for order, status in known.items():
            excused = order in self.late_cancels and order in incidents
            assert excused or status == self._true(order).status, (status, self._true(order).status)
        for sale in self.sales:
            self._compare_goods(sale)
        owned = Group.objects.filter(name__startswith=NAME).values_list("name", flat=True)
        assert {name.removeprefix(NAME) for name in owned} <= {sale.reference for sale in self.sales}
        assert not Delivery.objects.exclude(state__in=["done", "superseded"]).exists()

    def _compare_goods(self, sale: Checkout) -> None:
        """One payment: its goods are owned while it stands. Several, or one canceled later: a person decides."""
        payments = [self._true(order) for order, of in self.truth.items() if of == sale.reference]
        paid = [each for each in payments if each.paid]
        owned = Group.objects.filter(name=f"{NAME}{sale.reference}").exists()
        if not any(each.status == OrderStatus.PROCESSED or each.id in self.late_cancels for each in paid):
            assert not owned
        elif len(paid) == 1 and paid[0].id not in self.late_cancels:
            assert owned

    def _sold(self) -> str:
        sale = flows.create_checkout(amount=PRICE, currency="USD")
        self.sales.append(sale)
        self.truth[sale.order_id] = sale.reference
        return sale.order_id

    def _true(self, order: str) -> TrueOrder:
        found = self.sandbox.ledger.find(order)
        assert found is not None
        return found

    def _sent(self) -> Any:
        """What the service has just sent; nothing is lost on the way to the post office."""
        assert self.sandbox.wait_idle()
        letters = list(self.post_office.received)
        self.post_office.received.clear()
        return multiple(*letters)

    def _tell(self, **settings: str) -> None:
        """Tell both sides the project's secret, and the service its other settings."""
        current, *previous = self.secrets
        self.sandbox.projects.update(self.project_id, secret_key=current, **settings)
        known = {"PROJECT_ID": self.project_id, "SECRET_KEY": current, "PREVIOUS_SECRET_KEYS": previous}
        written = self.settings.CHECKOUT_INTEGRATION
        self.settings.CHECKOUT_INTEGRATION = {**written, "PROJECTS": {"default": known}}
