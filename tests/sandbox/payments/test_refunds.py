"""Refunds in parts: the order has the sum; at deployed services each part is an item of the list."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import requests

from tests.support.sandbox.service import PROJECT, Service, running


def items(service: Service) -> list[dict[str, Any]]:
    """Return the transactions list; numbers exact."""
    found: list[dict[str, Any]] = json.loads(service.listed().content, parse_float=Decimal)["items"]
    return found


def refunded_in_parts(service: Service, *parts: str, **parameters: Any) -> str:
    """Sell something and refund it in these parts, a minute apart; "" is all that is left."""
    order_id = service.paid(**parameters)
    for part in parts:
        service.advance(60)
        body = {"amount": part} if part else {}
        assert service.act(order_id, "refund", reason=f"Part {part}", **body).status_code == 200
    return order_id


@pytest.mark.spec("ORD-04", "ORD-10", "ORD-11")
@pytest.mark.spec("RFD-01", "RFD-03", "EVT-05")
def test_the_order_tells_the_sum(service: Service) -> None:
    """Each part sends payment.refund with the sum of all refunds so far."""
    refunded_in_parts(service, "4", "2.50", "")
    assert service.receiver.events == ["payment.success"] + ["payment.refund"] * 3
    refunds = [each.document["object"]["refund"] for each in service.receiver.received[1:]]
    assert [str(refund["amount"]) for refund in refunds] == ["4", "6.5", "9.99"]
    assert [refund["reason"] for refund in refunds] == ["Part 4", "Part 2.50", "Part "]


@pytest.mark.spec("STA-06", "STA-10")
def test_the_first_part_ends_the_order(service: Service) -> None:
    """The specification has one status for it: refunded, with the time of the newest part."""
    order_id = refunded_in_parts(service, "4", "2.50")
    (order,) = (item for item in items(service) if item["id"] == order_id)
    assert (order["status"], order["refunded"]) == ("refunded", True)
    assert order["refunded_at"] == "2026-03-04T12:02:00Z"
    assert (order["amount"], order["charge_amount"]) == (Decimal("9.99"), Decimal("9.99"))


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-06", "ORD-15", "ORD-16", "ORD-32", "ORD-33")
@pytest.mark.spec("RFD-01", "RFD-06", "ORD-31", "ORD-11")
def test_each_part_is_an_item_of_its_own(field: Service) -> None:
    """Own id, amounts and receipt; the same transaction and metadata."""
    order_id = refunded_in_parts(field, "4", "", metadata={"reference": "r-1"})
    original, *parts = items(field)
    assert len({order_id, *(part["id"] for part in parts)}) == 3
    assert [part["refund"]["amount"] for part in parts] == [4, Decimal("5.99")]
    assert [part["original_amount"] for part in parts] == [4, Decimal("5.99")]
    assert {part["transaction"] for part in parts} == {original["transaction"]}
    assert {part["metadata"]["reference"] for part in parts} == {"r-1"}
    assert len({item["receipt_id"] for item in (original, *parts)}) == 3
    assert len({item["receipt_url"] for item in (original, *parts)}) == 3
    assert [part["created_at"] for part in parts] == ["2026-03-04T12:01:00Z", "2026-03-04T12:02:00Z"]


@pytest.mark.spec("ORD-26", "ORD-22", "ORD-33")
def test_a_part_has_its_part_of_the_tax(field: Service) -> None:
    """Half of 11.90 is half of the price and half of the tax."""
    field.sandbox.projects.update(PROJECT, vat_payer="buyer")
    order_id = field.order_id(amount=10)
    field.act(order_id, "pay", billing_country="DE")
    field.act(order_id, "refund", amount="5.95")
    part = items(field)[1]
    assert (part["amount"], part["original_amount"], part["tax"]["amount"]) == (
        Decimal("5.95"),
        5,
        Decimal("0.95"),
    )


@pytest.mark.spec("RFD-01", "ORD-31", "STA-06")
def test_the_specification_lists_the_order_alone(spec: Service) -> None:
    """It has no second item: the one row has the sum."""
    refunded_in_parts(spec, "4", "")
    (order,) = items(spec)
    assert order["refund"]["amount"] == Decimal("9.99")


@pytest.mark.spec("RFD-03", "RFD-04")
def test_each_reason_has_a_code(spec: Service) -> None:
    """The same for the same reason, another for another one, however alike they are."""
    codes: dict[str, set[str]] = {}
    for reason in ("Wrong hat", "Wrong cat", "Wrong hat", "", "Requested"):
        spec.act(spec.paid(), "refund", reason=reason)
        refund = spec.receiver.received[-1].document["object"]["refund"]
        assert refund["reason"] == (reason or "Requested")
        codes.setdefault(refund["reason"], set()).add(refund["code"])
    assert [len(each) for each in codes.values()] == [1, 1, 1]
    assert len(set[str]().union(*codes.values())) == 3


@pytest.mark.spec("RFD-01", "STA-06", "HTT-11")
def test_nothing_is_refunded_twice(service: Service) -> None:
    """More than is left is refused, and so is anything once all went back."""
    order_id = refunded_in_parts(service, "4")
    assert service.act(order_id, "refund", amount="6").status_code == 400
    assert service.act(order_id, "refund", amount="5.99").status_code == 200
    assert service.act(order_id, "refund").status_code == 409
    assert service.act(order_id, "refund", amount="1").status_code == 409


@pytest.mark.spec("RFD-06")
def test_a_part_has_a_receipt(field: Service) -> None:
    """The address in the refund object shows the refunded amount; it is not that of the payment."""
    refunded_in_parts(field, "4")
    payment, part = items(field)
    url = part["refund"]["receipt_url"]
    assert url == payment["refund"]["receipt_url"] != payment["receipt_url"]
    assert "$4.00 USD" in requests.get(url, timeout=10).text


@pytest.mark.spec("ORD-14")
@pytest.mark.spec("RFD-05", "RFD-06")
def test_the_receipt_of_a_refund_shows_its_number(spec: Service) -> None:
    """One refund object has one receipt: its address stays, and shows its own number and the sum."""
    refunded_in_parts(spec, "4", "2.50")
    first, second = (each.document["object"]["refund"] for each in spec.receiver.received[1:])
    assert first["receipt_url"] == second["receipt_url"]
    (order,) = items(spec)
    shown, other = (
        requests.get(document["receipt_url"], timeout=10).text for document in (order["refund"], order)
    )
    assert order["refund"]["receipt_number"] in shown and "$6.50 USD" in shown
    assert order["receipt_number"] not in shown
    assert order["receipt_number"] in other and order["refund"]["receipt_number"] not in other


@pytest.mark.spec(
    "ORD-10", "ORD-11", "ORD-31", "STA-06", "EVT-05", "RFD-01", "RFD-02", "RFD-03", "RFD-04", "RFD-05"
)
@pytest.mark.spec("RFD-06")
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_a_refund_is_its_own(profile: str) -> None:
    """Two refunds of two orders, an hour apart, in the currency of the card: time, money, reason, code and receipt."""
    with running(profile=profile, charge_currency="EUR", charge_rate=2) as service:
        found = []
        for reason, part in (("Asked for", None), ("Too late", "1.50")):
            order_id = service.paid()
            service.advance(3600)
            service.act(order_id, "refund", reason=reason, **({"amount": part} if part else {}))
            notified = service.receiver.received[-1].document["object"]
            (listed,) = service.listed(("id", order_id)).json(parse_float=Decimal)["items"]
            assert notified["refund"] == listed["refund"]
            found.append((order_id, notified, listed))
        codes = set()
        for (order_id, *both), (reason, amount, hour) in zip(
            found, [("Asked for", Decimal("19.98"), 13), ("Too late", Decimal("1.5"), 14)], strict=True
        ):
            for order in both:
                assert (order["id"], order["status"], order["refunded"]) == (order_id, "refunded", True)
                assert order["refunded_at"] == f"2026-03-04T{hour}:00:00Z"
                refund = order["refund"]
                assert (refund["amount"], refund["currency"], refund["reason"]) == (amount, "EUR", reason)
                assert bool(refund["code"]) is bool(refund["receipt_number"]) is (profile == "spec")
                assert profile == "field" or refund["receipt_number"] != order["receipt_number"] != ""
                assert refund["receipt_url"] != order["receipt_url"]
                assert requests.get(refund["receipt_url"], timeout=10).status_code == 200
            codes.add(refund["code"])
        assert len(codes) == (2 if profile == "spec" else 1)
