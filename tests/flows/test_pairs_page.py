"""The pairs of docs/receivers.md: what each undoes, where all goes well and where a receiver fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Checkout
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.documents import block
from tests.flows.shop import notification

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
    """A payment whose receivers run once, and its refund."""
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
