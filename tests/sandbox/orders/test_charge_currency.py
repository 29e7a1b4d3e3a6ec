"""Charges in the currency of the customer's card, which may be another than the order's."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.support.sandbox.service import PROJECT, Service, running


@pytest.fixture(params=["field", pytest.param("spec", marks=pytest.mark.slow)])
def abroad(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A sandbox with charges in yen, at 150 for a dollar."""
    with running(profile=request.param, charge_currency="JPY", charge_rate=Decimal(150)) as service:
        yield service


def money(order: dict[str, Any]) -> list[str]:
    """Return the amount of an order, and its charge."""
    return [str(order[name]) for name in ("amount", "currency", "charge_amount", "charge_currency")]


@pytest.mark.spec("ORD-39", "ORD-40")
def test_the_card_is_charged_in_its_own_currency(abroad: Service) -> None:
    """Amount and currency of the order stay; the charge is rounded to its currency. The form shows both."""
    order_id = abroad.order_id(amount=9.99)
    assert "¥1,498 JPY" in abroad.form(order_id).text
    abroad.act(order_id, "pay")
    (notification,) = abroad.receiver.received
    assert money(notification.document["object"]) == ["9.99", "USD", "1498", "JPY"]
    assert money(abroad.listed().json()["items"][0]) == ["9.99", "USD", "1498", "JPY"]


@pytest.mark.spec("RFD-01", "RFD-02")
def test_a_refund_is_in_the_currency_of_the_charge(abroad: Service) -> None:
    """As it was charged; a part is measured by the charge, and has no parts of a yen."""
    order_id = abroad.paid(amount=9.99)
    assert abroad.act(order_id, "refund", amount="1.50").status_code == 400
    assert abroad.act(order_id, "refund", amount=1499).status_code == 400
    abroad.act(order_id, "refund")
    refund = abroad.receiver.received[-1].document["object"]["refund"]
    assert (str(refund["amount"]), refund["currency"]) == ("1498", "JPY")


@pytest.mark.spec("ORD-39")
def test_the_tax_is_charged_too(abroad: Service) -> None:
    """Tax that is added for the form's country is a part of the charge."""
    abroad.sandbox.projects.update(PROJECT, vat_payer="buyer")
    order_id = abroad.order_id(amount=10)
    abroad.act(order_id, "pay", billing_country="DE")
    assert money(abroad.receiver.received[-1].document["object"]) == ["11.9", "USD", "1785", "JPY"]


@pytest.mark.spec("ORD-39", "ORD-40")
def test_an_order_in_the_currency_of_the_card_is_charged_as_it_is(abroad: Service) -> None:
    """No rate is applied, and the form shows one amount."""
    order_id = abroad.order_id(amount=500, currency="JPY")
    assert "Charged to you" not in abroad.form(order_id).text
    abroad.act(order_id, "pay")
    assert money(abroad.receiver.received[-1].document["object"]) == ["500", "JPY", "500", "JPY"]


@pytest.mark.spec("ORD-39", "ORD-40")
def test_trying_again_is_charged_alike(abroad: Service) -> None:
    """The new order has the currency of the card as well."""
    order_id = abroad.order_id(amount=9.99)
    abroad.act(order_id, "decline")
    abroad.post("/form/again", None, data={"order_id": order_id})
    newest = abroad.sandbox.ledger.newest(1)[1][0]
    assert newest.id != order_id
    assert (newest.charge_amount, newest.charge_currency) == (Decimal(1498), "JPY")
