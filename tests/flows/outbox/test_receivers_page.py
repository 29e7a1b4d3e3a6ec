"""The pairs of docs/receivers.md: grants and their reversals, with and without failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order, ReceiverRun
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.documents import block
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db


class Shop:
    """The modules that the page imports from a shop; each call is remembered, and those in ``broken`` fail."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.broken: set[str] = set()

    def module(self, *names: str) -> SimpleNamespace:
        """A module with functions of these names."""
        return SimpleNamespace(**{name: lambda *arguments, name=name: self._do(name) for name in names})

    def _do(self, name: str) -> None:
        self.done.append(name)
        if name in self.broken:
            raise ConnectionError


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Connect the page's receivers for the length of a test."""
    made, package, page = Shop(), ModuleType("shop"), ModuleType("shop.receivers")
    package.keys, package.wallets = made.module("send", "block"), made.module("add", "remove")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", package)
    exec(block("docs/receivers.md", "# shop/receivers.py"), vars(page))
    yield made
    for name in ("grant_gems", "send_key"):
        assert checkout_paid.disconnect(getattr(page, name))
    for name in ("revoke_gems", "block_key"):
        assert checkout_reversed.disconnect(getattr(page, name))


def sell_and_refund(deliver: Deliver) -> None:
    """A payment with its receivers' runs, and its refund."""
    checkout: Checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    flows.run_due()
    document: Any = order_document_for(checkout, status="refunded")
    assert deliver(notification("payment.refund", document)).status_code == 200
    flows.run_due()


@pytest.mark.parametrize(
    ("broken", "done"),
    [
        (set(), ["add", "block", "remove", "send"]),
        ({"add"}, ["add", "block", "send"]),
        ({"send"}, ["add", "block", "remove", "send"]),
    ],
)
def test_each_pair_undoes_what_it_has_done(
    shop: Shop, checkout_deliver: Deliver, broken: set[str], done: list[str]
) -> None:
    """Nothing is removed where nothing was added; a key that may have been sent is blocked all the same."""
    shop.broken = broken
    sell_and_refund(checkout_deliver)
    assert sorted(shop.done) == done


def test_a_call_to_another_system_has_the_same_key_at_each_attempt(
    monkeypatch: pytest.MonkeyPatch, checkout_deliver: Deliver
) -> None:
    """The other system refuses the second call by it, if the first one arrived."""
    calls: list[str] = []

    def unlock(grant: str, *, request_id: str, timeout: float) -> None:
        calls.append(request_id)
        if len(calls) == 1:
            raise TimeoutError

    package, page = ModuleType("shop"), ModuleType("shop.levels")
    package.game = SimpleNamespace(unlock=unlock)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", package)
    exec(block("docs/receivers.md", "# shop/levels.py"), vars(page))
    try:
        checkout_deliver(order=order_document_for(CheckoutFactory.create()))
        ReceiverRun.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=5))
        flows.run_due()
    finally:
        checkout_paid.disconnect(page.unlock_level)
    assert len(calls) == 2
    assert len(set(calls)) == 1
    assert calls[0].startswith("unlock_level:")


def test_a_receiver_waits_for_stock(checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called again after the hour that it asked for, and every half minute after a failure."""
    stock: list[object] = []
    package, page = ModuleType("shop"), ModuleType("shop.stock")
    package.keys = SimpleNamespace(reserve=lambda checkout: stock.pop())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", package)
    exec(block("docs/receivers.md", "# shop/stock.py"), vars(page))
    try:
        stock += ["a key", None]
        checkout_deliver(order=order_document_for(CheckoutFactory.create()))
        run = ReceiverRun.objects.get()
        assert (run.postponed_for, run.attempts) == ("no key of this edition is left", 0)
        assert timedelta(minutes=59) < run.due_at - datetime.now(UTC) <= timedelta(hours=1)
        assert checkout_paid.plan(run.receiver).waits == [timedelta(seconds=30)] * 20
        ReceiverRun.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=5))
        flows.run_due()
        assert (ReceiverRun.objects.get().state, stock) == ("done", [])
    finally:
        checkout_paid.disconnect(page.send_key)


def test_goods_of_a_guest_wait_for_the_claim(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch, django_user_model: Any
) -> None:
    """docs/fulfilment.md: nothing is delivered before it; then it is due at once, and delivered to the account."""
    added: dict[str, Any] = {}
    package, page = ModuleType("shop"), ModuleType("shop.unclaimed")
    package.inbox = SimpleNamespace(  # type: ignore[attr-defined]
        add=lambda account, products, key: added.update({key: account}), remove=added.pop
    )
    monkeypatch.setitem(sys.modules, "shop", package)
    exec(block("docs/fulfilment.md", "# shop/unclaimed.py"), vars(page))
    try:
        checkout = CheckoutFactory.create(user=None)
        checkout_deliver(order=order_document_for(checkout))
        run = ReceiverRun.objects.get()
        assert (run.postponed_for, run.attempts, added) == ("not claimed yet", 0, {})
        checkout.refresh_from_db()
        ada = django_user_model.objects.create_user("ada")
        flows.run_due()
        assert not added
        assert flows.claim(checkout, ada)
        flows.run_due()
        assert (ReceiverRun.objects.get().state, added) == ("done", {Grant.objects.get().key: ada})
        assert flows.operations.undo_claim(checkout, staff=None, reason="another person")
        order = checkout.orders.get()
        checkout_deliver(
            order=order_document_for(checkout, id=order.order_id, status="refunded"), event="payment.refund"
        )
        assert not added, "taken from whoever got it"
    finally:
        checkout_paid.disconnect(page.give_or_wait)
        checkout_reversed.disconnect(page.take_back)


def test_a_wallet_that_was_spent_before_the_refund(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The balance is never negative, what is missing is remembered, and the next purchase fills it first."""
    wallet = SimpleNamespace(gems=0, missing=0, save=lambda: None)
    package, wallets, page = ModuleType("shop"), ModuleType("shop.wallets"), ModuleType("shop.gems")
    wallets.wallet_of = lambda account: wallet  # type: ignore[attr-defined]
    for name, module in (("shop", package), ("shop.wallets", wallets)):
        monkeypatch.setitem(sys.modules, name, module)
    exec(block("docs/fulfilment.md", "# shop/gems.py"), vars(page))

    def buy() -> Checkout:
        checkout: Checkout = CheckoutFactory.create()
        checkout_deliver(order=order_document_for(checkout))
        return checkout

    try:
        first = buy()
        wallet.gems -= 300
        refund = order_document_for(first, status="refunded")
        checkout_deliver(notification("payment.refund", refund))
        assert (wallet.gems, wallet.missing) == (0, 300)
        buy()
        assert (wallet.gems, wallet.missing) == (200, 0)
    finally:
        checkout_paid.disconnect(page.add_gems)
        checkout_reversed.disconnect(page.take_gems)


def test_a_receiver_that_raises_without_a_checkout_finds_it_once_the_order_is_bound(
    checkout_deliver: Deliver, settings: Any
) -> None:
    """The argument stays None; the grant has the checkout."""
    seen: list[tuple[object, object]] = []

    def grant(checkout: Checkout | None, grant: Grant, **kwargs: Any) -> None:
        seen.append((checkout, grant.checkout))
        if grant.checkout is None:
            raise LookupError

    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "accept"}
    checkout_paid.connect(grant, dispatch_uid="shop.grant")
    try:
        checkout_deliver(notification("payment.success", OrderDocumentFactory()))
        flows.run_due()
        checkout = CheckoutFactory()
        flows.operations.bind_order(Order.objects.get(), to=checkout, staff=None, reason="found")
        ReceiverRun.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=5))
        flows.run_due()
    finally:
        checkout_paid.disconnect(dispatch_uid="shop.grant")
    assert seen == [(None, None), (None, checkout)]


def test_a_renamed_receiver_is_the_same_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ran under the old name does not run again under the new one."""
    made, package = Shop(), ModuleType("shop")
    package.wallets = made.module("add")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", package)
    old, page = ModuleType("shop.receivers"), ModuleType("shop.deliveries")
    exec("def deliver(**kwargs): pass", vars(old))
    checkout_paid.connect(old.deliver)
    order = OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert checkout_paid.disconnect(old.deliver)
    exec(block("docs/receivers.md", "# shop/deliveries.py, renamed from shop.receivers.deliver"), vars(page))
    try:
        OrderFactory(checkout=order.checkout, id=order.order_id)
        flows.run_due()
        assert made.done == []
        OrderFactory(checkout=CheckoutFactory())
        flows.run_due()
        assert made.done == ["add"]
    finally:
        assert checkout_paid.disconnect(page.deliver_items)
