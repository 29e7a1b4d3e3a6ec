"""A shop, its customers and the service, acting in any order: a state machine for Hypothesis.

The service is the sandbox: its ledger is the truth. Its notifications go to a post office that delivers them late, twice,
in another order or never. Erased customers must not come back, and the shop's orders must equal the service's.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import Group, User
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
from checkout_integration.flows.checkout.creating import IssuedToken
from checkout_integration.flows.database import installation
from checkout_integration.models import Checkout, Incident, Order, ReceiverRun
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX, OrderStatus
from checkout_integration.sandbox import RefusedError, VirtualClock, Wallet
from checkout_integration.sandbox.orders.order import Order as TrueOrder
from checkout_integration.testing.service import running_sandbox
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.machine_customers import Buyer
from tests.support.flows.temporary_settings import Settings
from tests.support.sandbox.receiver import Received, Receiver
from tests.support.tables import columns_with

BEGIN: Final = datetime.now(UTC) - timedelta(days=60)  # more than 25 steps of waiting
PRICE: Final = Decimal("9.99")
TAKEN_BACK: Final = {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK}
NAME: Final = "goods of "
WHOSE: Final = st.sampled_from([None, 0, 1])
"""One of the customers of the shop; nobody, or a guest."""


def grant(order: Order, checkout: Checkout | None, **arguments: Any) -> None:
    """Grant the goods of a checkout; a second grant fails."""
    assert checkout is not None
    Group.objects.create(name=f"{NAME}{checkout.reference}")


def take_back(order: Order, checkout: Checkout, **arguments: Any) -> None:
    """Revoke the goods of a checkout."""
    Group.objects.filter(name=f"{NAME}{checkout.reference}").delete()


class Dealings(RuleBasedStateMachine):
    """One run: a service of its own with a clock in the past; the tables are emptied afterwards."""

    orders = Bundle("orders")
    tokens = Bundle("tokens")
    letters = Bundle("letters")

    def __init__(self, profile: str, post_office: Receiver) -> None:
        super().__init__()
        self._open = ExitStack()
        self.post_office, self.settings = post_office, Settings(self._open)
        clock = VirtualClock(BEGIN, running=False)
        service = running_sandbox(self.settings, profile=profile, clock=clock)
        self.sandbox = self._open.enter_context(service)
        # As in a TestCase: all rows are rolled back at the end, and checkouts may commit inside.
        begun = TestCase._enter_atomics()  # type: ignore[attr-defined]  # the stubs lack both
        self._open.callback(TestCase._rollback_atomics, begun)  # type: ignore[attr-defined]
        installation.known_projects.clear()
        self.secrets = [f"{SANDBOX_SECRET_PREFIX}number_0"]
        self.project_id = self.settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]["PROJECT_ID"]
        self._tell(webhook_url=post_office.url)
        self.checkouts: list[Checkout] = []
        self.truth: dict[str, str] = {}
        self.customers = [
            Buyer(number=101, address_is_id=True),
            Buyer(number=102, account=User.objects.create_user("ben")),
        ]
        self.buyers: dict[str, Buyer] = {}
        self.claims: dict[str, Buyer] = {}
        self.late_cancels: set[str] = set()
        self.was_reversed: set[str] = set()

    # What customers and staff do at the service.

    @initialize(target=orders, whose=WHOSE)
    def open_the_shop(self, whose: int | None) -> str:
        """Begin with a checkout."""
        return self._sold(self._customer(whose))

    @rule(target=orders, whose=WHOSE)
    def sell(self, whose: int | None) -> str:
        """The shop sells something, to a customer or a guest: an order at the service."""
        return self._sold(self._customer(whose))

    @rule(target=tokens, whose=WHOSE)
    def sell_by_token(self, whose: int | None) -> tuple[IssuedToken, Buyer | None]:
        """The shop creates a token, without an order yet, for a customer or for none."""
        buyer = None if whose is None else self.customers[whose]
        terms = {} if buyer is None else buyer.as_buyer
        issued = flows.create_token(amount=PRICE, currency="USD", **terms)
        self.checkouts.append(issued.checkout)
        return issued, buyer

    @rule(target=orders, token=tokens, whose=WHOSE)
    def use_token(self, token: tuple[IssuedToken, Buyer | None], whose: int | None) -> Any:
        """A browser makes an order that the shop learns of later; a checkout without a customer may get one."""
        issued, buyer = token
        order = {"project": self.project_id, "token": issued.token}
        if buyer is None and whose is not None:
            buyer = self.claims.setdefault(issued.token, self.customers[whose])
            order["account"] = buyer.external_id
        try:
            made = self.sandbox.creation.create_order(order, None)
        except RefusedError:  # the token is too old by now
            return multiple()
        return self.known_projects(made, issued.checkout.reference, buyer)

    @rule(target=orders, whose=WHOSE)
    def be_a_stranger(self, whose: int | None) -> str:
        """A stranger makes an order with the public project id, perhaps as a customer of the shop.

        Signed notifications will follow, goods must not.
        """
        order = {"project": self.project_id, "type": "simple", "amount": PRICE, "currency": "USD"}
        buyer = None if whose is None else self.customers[whose]
        claimed = {"account": buyer.external_id} if buyer else {}
        made = self.sandbox.creation.create_order({**order, **claimed, "description": "?"}, None)
        return self.known_projects(made, "", buyer)

    @rule(target=orders, order=orders)
    def try_again(self, order: str) -> str:
        """A new order with a new id and the same metadata."""
        again = self.sandbox.creation.repeat_order(self._true(order))
        return self.known_projects(again, self.truth[order], self.buyers.get(order))

    @rule(
        target=letters,
        order=orders,
        payment=st.sampled_from(["pay", "pay", "pay", "decline", "cancel"]),
        undoing=st.sampled_from(["refund", "refund", "chargeback", "cancel"]),
    )
    def go_on(self, order: str, payment: str, undoing: str) -> Any:
        """The customer pays, is declined or gives up; a payment is reversed.

        A cancel of a paid order is not in the specification, but happens in the field.
        """
        # Within one minute, the list alone cannot distinguish an order from its refund.
        self.sandbox.clock.advance(61)
        payments, true = self.sandbox.payments, self._true(order)
        if true.status == OrderStatus.CREATED and not payments.is_expired(true):
            self._conclude(order, payment)
        elif true.status == OrderStatus.PROCESSED and undoing == "cancel":
            self.late_cancels.add(order)
            payments.cancel(order, after_payment=True)
        elif true.status == OrderStatus.PROCESSED and undoing == "refund":
            payments.refund(order, reason=f"{order in self.buyers and self.buyers[order].name} asked for it")
        elif true.status == OrderStatus.PROCESSED:
            payments.chargeback(order)
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
        """Set a new secret: orders stay signed with the one of their creation, and the shop accepts the older ones."""
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
        flows.inbox.apply_due()
        return letter if keep else multiple()

    @rule(letter=consumes(letters))
    def lose(self, letter: Received) -> None:
        """A letter never arrives."""

    @rule(lane=st.sampled_from(["recent", "reversals", "all"]))
    def sync(self, lane: str) -> None:
        """The shop reads the list."""
        assert flows.sync.sync_transactions(lane=lane).state == "complete"

    @rule(order=orders)
    def look_up(self, order: str) -> None:
        """Staff ask the service for one order."""
        known = Order.objects.filter(order_id=order).first()
        assert known is None or flows.refresh_order(known)

    @rule()
    def apply_again(self) -> None:
        """Staff apply what failed or is quarantined, and see beforehand what happens."""
        for waiting in flows.operations.waiting_notifications():
            expected = flows.operations.preview_notification(waiting)
            assert flows.operations.apply_notification(waiting) == expected

    @rule()
    def run_receivers(self) -> None:
        """The shop grants and takes back."""
        flows.run_due()

    @rule(order=orders, by=st.sampled_from(["order_id", "external_id", "user_id", "email"]))
    def erase(self, order: str, by: str) -> None:
        """Erase the customer of an order; a word that finds no customer must appear nowhere."""
        if (buyer := self.buyers.get(order)) is None:
            return
        ids = {"order_id": order, "user_id": self._true(order).user["id"]}
        word = {**ids, "external_id": buyer.external_id, "email": buyer.email}[by]
        persons = flows.privacy.find_persons(**{by: word})
        for person in persons:
            flows.privacy.erase_customer(person, PRIVACY_REQUEST)
        buyer.erased |= bool(persons)
        # The key of an account is a short number, which stands in many places.
        assert persons or len(word) < 5 or not columns_with([word])

    # Invariants, always and in the end.

    @invariant()
    def nothing_is_paid_again(self) -> None:
        """Once a reversal is known, an order never shows paid again."""
        known = dict(Order.objects.values_list("order_id", "status"))
        assert all(known[order] in TAKEN_BACK for order in self.was_reversed)
        self.was_reversed |= {order for order, status in known.items() if status in TAKEN_BACK}

    @invariant()
    def nobody_comes_back(self) -> None:
        """Once a customer is erased, nothing of theirs stands in any table."""
        gone = {buyer for buyer in self.buyers.values() if buyer.erased}
        assert not {column for buyer in gone for column in buyer.traces}

    def teardown(self) -> None:
        """Whatever was lost, two passes of the sync bring the truth; goods are owned where a payment stands."""
        try:
            self.sandbox.clock.advance(3600)
            for _ in range(2):
                self.sync("all")
            flows.run_due()
            self._compare()
            self.nobody_comes_back()
        finally:
            self._open.close()

    def _compare(self) -> None:
        known = {row.order_id: row for row in Order.objects.select_related("personal_data")}
        incidents = set(Incident.objects.values_list("order__order_id", flat=True))
        assert set(known) == set(self.truth)
        for order, row in known.items():
            true = self._true(order)
            # A list row of an order from before the installation opens no incident.
            seen = order in incidents or row.verdict == "historic"
            excused = order in self.late_cancels and seen
            assert excused or row.status == true.status, (row.status, true.status)
            given_back = true.refund["amount"] if true.refund else None
            assert (row.amount, row.currency, row.refund_amount) == (PRICE, true.currency, given_back)
            assert row.transaction == true.transaction
            if (buyer := self.buyers.get(order)) and not buyer.erased:
                user = row.snapshot.user
                assert user and (user.external_id or "") == buyer.external_id
                assert (user.name or "") == true.user["name"]
        for checkout in self.checkouts:
            self._compare_goods(checkout)
        owned = Group.objects.filter(name__startswith=NAME).values_list("name", flat=True)
        assert {name.removeprefix(NAME) for name in owned} <= {
            checkout.reference for checkout in self.checkouts
        }
        assert not ReceiverRun.objects.exclude(state__in=["done", "superseded"]).exists()

    def _compare_goods(self, checkout: Checkout) -> None:
        """One payment: its goods are owned while it stands. Several, or one canceled later: a person decides."""
        payments = [self._true(order) for order, of in self.truth.items() if of == checkout.reference]
        paid = [each for each in payments if each.paid]
        owned = Group.objects.filter(name=f"{NAME}{checkout.reference}").exists()
        if not any(each.status == OrderStatus.PROCESSED or each.id in self.late_cancels for each in paid):
            assert not owned
        elif len(paid) == 1 and paid[0].id not in self.late_cancels:
            assert owned

    def _customer(self, whose: int | None) -> Buyer:
        """One of the customers, or a guest who was never here."""
        return Buyer(number=200 + len(self.truth)) if whose is None else self.customers[whose]

    def _sold(self, buyer: Buyer) -> str:
        checkout = flows.create_checkout(amount=PRICE, currency="USD", **buyer.as_buyer)
        self.checkouts.append(checkout)
        return self.known_projects(self._true(checkout.order_id), checkout.reference, buyer)

    def known_projects(self, order: TrueOrder, reference: str, buyer: Buyer | None) -> str:
        self.truth[order.id] = reference
        if buyer is not None:
            self.buyers[order.id] = buyer
            buyer.service_ids.add(order.user["id"])
        return order.id

    def _conclude(self, order: str, payment: str) -> None:
        """The customer pays, with or without an address in the form."""
        if payment == "pay" and (buyer := self.buyers.get(order)):
            self.sandbox.payments.pay(order, Wallet(account=buyer.email), receipt_email=buyer.email)
        else:
            getattr(self.sandbox.payments, payment)(order)

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
        """Configure the project's secret on both sides, and the service's other settings."""
        current, *previous = self.secrets
        self.sandbox.projects.update(self.project_id, secret_key=current, **settings)
        known = {"PROJECT_ID": self.project_id, "SECRET_KEY": current, "PREVIOUS_SECRET_KEYS": previous}
        written = self.settings.CHECKOUT_INTEGRATION
        self.settings.CHECKOUT_INTEGRATION = {**written, "PROJECTS": {"default": known}}
