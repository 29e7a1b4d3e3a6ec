"""Documents beside the usual sale: the object of a testing case, the list's item of a refund, and a user.validate.

Each field by itself, against values written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.support.sandbox.service import SECRET, running

NOON = "2026-03-04T12:00:00Z"
EPOCH = "1970-01-01T00:00:00Z"
ADDRESS = {"country": "GB", "city": "London", "postal_code": "N1 9GU", "state": "GB-LND"}
SAME, OTHER = "as the order has it", "not as the order has it"


def reach(document: Any, path: str) -> Any:
    """Return a member of a document, None where there is no such part."""
    for step in path.split("."):
        parts = dict(enumerate(document)) if isinstance(document, list) else document or {}
        document = parts.get(int(step) if step.isdigit() else step)
    return document


@pytest.fixture(scope="module")
def tested() -> dict[str, dict[str, Any]]:
    """The notification of a testing case in each profile, for a live project."""
    found = {}
    for profile in ("spec", "field"):
        merchant: dict[str, Any] = {
            "title": "Owl Games",
            "agreement_number": "OG-2",
            "vat_payer": "seller",
            "currency": "EUR",
        }
        with running(profile=profile, live=True, **merchant) as service:
            service.post("/_sandbox/testing/correct_payment", {"external_id": "ada"})
            found[profile] = service.receiver.received[0].document
    return found


TESTED = [
    # path, and its value in the profiles spec and field
    pytest.param("transaction", "", "", marks=pytest.mark.spec("ORD-02")),
    pytest.param("object", "order", "", marks=pytest.mark.spec("ORD-03")),
    pytest.param("status", "processed", "", marks=pytest.mark.spec("ORD-04")),
    pytest.param("description", "Testing case", "Testing case", marks=pytest.mark.spec("ORD-05")),
    pytest.param("created_at", NOON, EPOCH, marks=pytest.mark.spec("ORD-06")),
    pytest.param("canceled", False, False, marks=pytest.mark.spec("ORD-07")),
    pytest.param("canceled_at", "", EPOCH, marks=pytest.mark.spec("ORD-08")),
    pytest.param("cancellation", None, None, marks=pytest.mark.spec("ORD-09")),
    pytest.param("refunded", False, False, marks=pytest.mark.spec("ORD-10")),
    pytest.param("refunded_at", "", EPOCH, marks=pytest.mark.spec("ORD-11")),
    pytest.param("receipt_email", "", "", marks=pytest.mark.spec("ORD-12")),
    pytest.param("receipt_phone", "", "", marks=pytest.mark.spec("ORD-13")),
    pytest.param("receipt_number", "", "", marks=pytest.mark.spec("ORD-14")),
    pytest.param("receipt_url", "", "", marks=pytest.mark.spec("ORD-15")),
    pytest.param("receipt_id", "", "", marks=pytest.mark.spec("ORD-16")),
    pytest.param("agreement_version", "", "", marks=pytest.mark.spec("ORD-17")),
    pytest.param("agreement_accepted", False, False, marks=pytest.mark.spec("ORD-18")),
    pytest.param("notify_sale", False, False, marks=pytest.mark.spec("ORD-19")),
    pytest.param("notify_sale_email", "", "", marks=pytest.mark.spec("ORD-20")),
    pytest.param("issuer.embedded", False, None, marks=pytest.mark.spec("ORD-21")),
    pytest.param("amount", 10, 10, marks=pytest.mark.spec("ORD-22")),
    pytest.param("currency", "EUR", "EUR", marks=pytest.mark.spec("ORD-23")),
    pytest.param("billing_address", {}, None, marks=pytest.mark.spec("ORD-25")),
    pytest.param("tax.amount", 0, 0, marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.currency", "EUR", "EUR", marks=pytest.mark.spec("ORD-26")),
    pytest.param("net_revenue.amount", 0, None, marks=pytest.mark.spec("ORD-27")),
    pytest.param("fee.amount", 0, None, marks=pytest.mark.spec("ORD-28")),
    pytest.param("method.title", "", None, marks=pytest.mark.spec("ORD-29", "MTH-01")),
    pytest.param("method.card", None, None, marks=pytest.mark.spec("MTH-07")),
    pytest.param("items", None, None, marks=pytest.mark.spec("ORD-30")),
    pytest.param("refund", None, None, marks=pytest.mark.spec("ORD-31")),
    pytest.param("metadata", {}, None, marks=pytest.mark.spec("ORD-32")),
    pytest.param("original_amount", 10, 10, marks=pytest.mark.spec("ORD-33")),
    pytest.param("country", "", "", marks=pytest.mark.spec("ORD-34")),
    pytest.param("type", "simple", "simple", marks=pytest.mark.spec("ORD-35")),
    pytest.param("platform_id", "", "", marks=pytest.mark.spec("ORD-36")),
    pytest.param("virtual_currency_amount", 0, 0, marks=pytest.mark.spec("ORD-37")),
    pytest.param("is_buy_for_virtual_currency", False, False, marks=pytest.mark.spec("ORD-38")),
    pytest.param("charge_currency", "EUR", "EUR", marks=pytest.mark.spec("ORD-39")),
    pytest.param("charge_amount", 10, 10, marks=pytest.mark.spec("ORD-40")),
    pytest.param("vat_payer", "seller", "seller", marks=pytest.mark.spec("ORD-41")),
    pytest.param("is_production", True, True, marks=pytest.mark.spec("ORD-42")),
    pytest.param("testing_case", "correct_payment", "correct_payment", marks=pytest.mark.spec("ORD-43")),
    pytest.param("form_mode", "embed", "embed", marks=pytest.mark.spec("ORD-44")),
    pytest.param("merchant_info.company_name", "Owl Games", "Owl Games", marks=pytest.mark.spec("ORD-45")),
    pytest.param("merchant_info.agreement_number", "OG-2", "OG-2", marks=pytest.mark.spec("ORD-45")),
    pytest.param("recurring", False, False, marks=pytest.mark.spec("ORD-46")),
    pytest.param("recurring_id", "", "", marks=pytest.mark.spec("ORD-47")),
    pytest.param("user.object", "user", None, marks=pytest.mark.spec("USR-02")),
    pytest.param("user.external_id", "ada", "ada", marks=pytest.mark.spec("ORD-24", "USR-03")),
    pytest.param("user.name", "", "", marks=pytest.mark.spec("USR-04")),
    pytest.param("user.email", "", "", marks=pytest.mark.spec("USR-05")),
    pytest.param("user.email_verified", False, False, marks=pytest.mark.spec("USR-06")),
    pytest.param("user.phone", "", "", marks=pytest.mark.spec("USR-07")),
    pytest.param("user.phone_verified", False, False, marks=pytest.mark.spec("USR-08")),
    pytest.param("user.ip", "", "", marks=pytest.mark.spec("USR-09")),
    pytest.param("user.locale", "", "", marks=pytest.mark.spec("USR-10")),
    pytest.param("user.address.city", "", None, marks=pytest.mark.spec("USR-11")),
]


@pytest.mark.parametrize(("path", "spec", "field"), TESTED)
def test_the_object_of_a_testing_case(
    tested: dict[str, dict[str, Any]], path: str, spec: object, field: object
) -> None:
    """An order by the letter, or bare as deployed services send it."""
    assert [reach(tested[name]["object"], path) for name in ("spec", "field")] == [spec, field]


@pytest.mark.spec("WHK-01", "WHK-02", "WHK-03", "WHK-04", "WHK-05", "WHK-06", "WHK-07")
def test_the_envelope_of_a_testing_case(tested: dict[str, dict[str, Any]]) -> None:
    """That of any payment of a live project; attempts count from 1, or from 0 as deployed services do."""
    for profile, first in (("spec", 1), ("field", 0)):
        envelope = {name: value for name, value in tested[profile].items() if name not in ("id", "object")}
        assert envelope == {
            "type": "notification",
            "event": "payment.success",
            "live": True,
            "created_at": NOON,
            "expires_at": "",
            "delivery_try": first,
        }
    assert len({tested[profile]["id"] for profile in tested} - {""}) == 2


@pytest.fixture(scope="module")
def listed() -> list[dict[str, Any]]:
    """The list's items of an order and of the refund of a part of it an hour later, as deployed services have them."""
    with running(
        profile="field", vat_payer="buyer", charge_currency="CHF", charge_rate=Decimal("0.9")
    ) as service:
        sold = service.post(
            "/api/v1/order",
            {
                "project": "project-1",
                "type": "key",
                "products": ["quest"],
                "platform_id": "gog",
                "description": "A quest",
                "metadata": {"basket": "7"},
                "user": {
                    "external_id": "ada",
                    "name": "Ada",
                    "email": "ada@x.example",
                    "address": {"country": "DE"},
                },
            },
            headers={"X-API-SIGNATURE": SECRET},
        )
        order_id = sold.json()["id"]
        typed = {"receipt_email": "bills@x.example", "receipt_phone": "+441234567", "billing_country": "DE"}
        service.act(order_id, "pay", **typed, notify_sale=True, saved=True, recurring=True)
        service.advance(3600)
        service.act(order_id, "refund", amount=5, reason="Wrong")
        found: list[dict[str, Any]] = json.loads(service.listed().content, parse_float=Decimal)["items"]
    return found


REVERSED = [
    # path, and its value; or whether it is that of the order
    pytest.param("transaction", SAME, marks=pytest.mark.spec("ORD-02")),
    pytest.param("object", "order", marks=pytest.mark.spec("ORD-03")),
    pytest.param("status", "refunded", marks=pytest.mark.spec("ORD-04")),
    pytest.param("description", "A quest", marks=pytest.mark.spec("ORD-05")),
    pytest.param("created_at", "2026-03-04T13:00:00Z", marks=pytest.mark.spec("ORD-06")),
    pytest.param("canceled", False, marks=pytest.mark.spec("ORD-07")),
    pytest.param("cancellation", None, marks=pytest.mark.spec("ORD-09")),
    pytest.param("refunded", True, marks=pytest.mark.spec("ORD-10")),
    pytest.param("refunded_at", "2026-03-04T13:00:00Z", marks=pytest.mark.spec("ORD-11")),
    pytest.param("receipt_email", "bills@x.example", marks=pytest.mark.spec("ORD-12")),
    pytest.param("receipt_phone", "+441234567", marks=pytest.mark.spec("ORD-13")),
    pytest.param("receipt_id", OTHER, marks=pytest.mark.spec("ORD-16")),
    pytest.param("receipt_url", OTHER, marks=pytest.mark.spec("ORD-15")),
    pytest.param("agreement_version", "1.0", marks=pytest.mark.spec("ORD-17")),
    pytest.param("agreement_accepted", True, marks=pytest.mark.spec("ORD-18")),
    pytest.param("notify_sale", True, marks=pytest.mark.spec("ORD-19")),
    pytest.param("notify_sale_email", "bills@x.example", marks=pytest.mark.spec("ORD-20")),
    pytest.param("amount", Decimal("5.56"), marks=pytest.mark.spec("ORD-22")),
    pytest.param("currency", "USD", marks=pytest.mark.spec("ORD-23")),
    pytest.param("billing_address.country", "DE", marks=pytest.mark.spec("ORD-25")),
    pytest.param("tax.amount", Decimal("0.89"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.rate", Decimal("0.19"), marks=pytest.mark.spec("ORD-26")),
    pytest.param("metadata.basket", "7", marks=pytest.mark.spec("ORD-32")),
    pytest.param("original_amount", Decimal("4.67"), marks=pytest.mark.spec("ORD-33")),
    pytest.param("country", "DE", marks=pytest.mark.spec("ORD-34")),
    pytest.param("type", "key", marks=pytest.mark.spec("ORD-35")),
    pytest.param("platform_id", "gog", marks=pytest.mark.spec("ORD-36")),
    pytest.param("charge_currency", "CHF", marks=pytest.mark.spec("ORD-39")),
    pytest.param("charge_amount", 5, marks=pytest.mark.spec("ORD-40")),
    pytest.param("vat_payer", "buyer", marks=pytest.mark.spec("ORD-41")),
    pytest.param("is_production", False, marks=pytest.mark.spec("ORD-42")),
    pytest.param("form_mode", "embed", marks=pytest.mark.spec("ORD-44")),
    pytest.param("merchant_info.company_name", "Sandbox Games", marks=pytest.mark.spec("ORD-45")),
    pytest.param("recurring", True, marks=pytest.mark.spec("ORD-46")),
    pytest.param("recurring_id", SAME, marks=pytest.mark.spec("ORD-47")),
    pytest.param("user.external_id", "ada", marks=pytest.mark.spec("ORD-24", "USR-03")),
    pytest.param("user.name", "Ada", marks=pytest.mark.spec("USR-04")),
    pytest.param("user.email", "ada@x.example", marks=pytest.mark.spec("USR-05")),
    pytest.param("user.address.country", "DE", marks=pytest.mark.spec("USR-11")),
    pytest.param("method.title", "Bank card", marks=pytest.mark.spec("ORD-29", "MTH-01")),
    pytest.param("method.handler", "sandbox_bankcard", marks=pytest.mark.spec("MTH-05")),
    pytest.param("method.saved", True, marks=pytest.mark.spec("MTH-06")),
    pytest.param("method.card.last4", "4242", marks=pytest.mark.spec("MTH-07")),
    pytest.param("items.0.id", "quest", marks=pytest.mark.spec("ORD-30", "ITM-01")),
    pytest.param("items.0.sku", "quest", marks=pytest.mark.spec("ITM-02")),
    pytest.param("items.0.name", "Quest", marks=pytest.mark.spec("ITM-03")),
    pytest.param("items.0.code", SAME, marks=pytest.mark.spec("ITM-07")),
    pytest.param("items.0.platform_id", "gog", marks=pytest.mark.spec("ITM-08")),
    pytest.param("refund.amount", 5, marks=pytest.mark.spec("ORD-31", "RFD-01")),
    pytest.param("refund.currency", "CHF", marks=pytest.mark.spec("RFD-02")),
    pytest.param("refund.reason", "Wrong", marks=pytest.mark.spec("RFD-03")),
    pytest.param("refund.code", "", marks=pytest.mark.spec("RFD-04")),
    pytest.param("refund.receipt_number", "", marks=pytest.mark.spec("RFD-05")),
]


@pytest.mark.parametrize(("path", "value"), REVERSED)
def test_the_item_of_a_refund(listed: list[dict[str, Any]], path: str, value: object) -> None:
    """A document of its own, with the refunded share of each amount."""
    order, refund = listed
    assert order["id"] != refund["id"]
    found, whole = reach(refund, path), reach(order, path)
    if value in (SAME, OTHER):
        assert found and (found == whole) is (value == SAME)
    else:
        assert found == value


@pytest.fixture(scope="module", params=["field", "spec"])
def validation(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """A user.validate about a customer with everything, of a live project."""
    user = {
        "id": "ada",
        "name": {"value": "Ada Lovelace"},
        "email": {"value": "ada@x.example", "verified": True},
        "phone": {"value": "+441234567", "verified": True},
        "ip": {"value": "192.0.2.7"},
        "locale": {"value": "en-GB"},
        "metadata": {"level": "7"},
        "address": ADDRESS,
    }
    with running(profile=request.param, mode="pre_approval", live=True) as service:
        token = service.token({"type": "simple", "amount": 5, "currency": "USD"}, user).json()["token"]
        order_id = service.post("/api/v1/order", {"token": token}).json()["id"]
        service.act(order_id, "pay", notify_new_region=True, notify_new_region_email="news@x.example")
        yield service.receiver.received[0].document


USERS = [
    pytest.param("object", "user", marks=pytest.mark.spec("USR-02")),
    pytest.param("external_id", "ada", marks=pytest.mark.spec("USR-03")),
    pytest.param("name", "Ada Lovelace", marks=pytest.mark.spec("USR-04")),
    pytest.param("email", "ada@x.example", marks=pytest.mark.spec("USR-05")),
    pytest.param("email_verified", True, marks=pytest.mark.spec("USR-06")),
    pytest.param("phone", "+441234567", marks=pytest.mark.spec("USR-07")),
    pytest.param("phone_verified", True, marks=pytest.mark.spec("USR-08")),
    pytest.param("ip", "192.0.2.7", marks=pytest.mark.spec("USR-09")),
    pytest.param("locale", "en-GB", marks=pytest.mark.spec("USR-10")),
    pytest.param(
        "address",
        ADDRESS,
        marks=pytest.mark.spec("USR-11"),
    ),
    pytest.param("metadata", {"level": "7"}, marks=pytest.mark.spec("USR-12")),
    pytest.param("notify_new_region", True, marks=pytest.mark.spec("USR-13")),
    pytest.param("notify_new_region_email", "news@x.example", marks=pytest.mark.spec("USR-14")),
]


@pytest.mark.parametrize(("name", "value"), USERS)
def test_the_user_of_a_validation(validation: dict[str, Any], name: str, value: object) -> None:
    """Whole in both profiles, as the token has it, with the consent that the form asks for."""
    assert validation["object"][name] == value


@pytest.mark.spec("WHK-02", "WHK-03", "WHK-04", "WHK-05", "WHK-06", "WHK-07", "WHK-08", "EVT-07", "EVT-08")
def test_the_envelope_of_a_validation(validation: dict[str, Any]) -> None:
    """Its object is the user and nothing of the order."""
    envelope = {name: value for name, value in validation.items() if name not in ("id", "object")}
    assert envelope == {
        "type": "notification",
        "event": "user.validate",
        "live": True,
        "created_at": NOON,
        "expires_at": "",
        "delivery_try": 1,
    }
    assert set(validation["object"]) == {"id", *(str(case.values[0]) for case in USERS)}
