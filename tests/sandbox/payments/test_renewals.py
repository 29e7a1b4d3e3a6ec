"""Recurring agreements: a payment begins one, and each renewal is an order of its own."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import PROJECT, Service, running

METADATA = {"reference": "r-1"}
AGREEMENT = ("recurring", "recurring_id", "recurring_subscription_id", "recurring_plan_id")


def subscribed(service: Service, **parameters: Any) -> str:
    """Create an order and pay it with a recurring agreement; returns its identifier."""
    order_id = service.order_id(metadata=METADATA, **parameters)
    assert service.act(order_id, "pay", recurring=True).json()["outcome"] == "paid"
    return order_id


def renewed(service: Service, order_id: str, **body: Any) -> str:
    """Renew an order by the control API; returns the identifier of the new one."""
    return str(service.act(order_id, "renew", **body).json()["id"])


def documents(service: Service) -> list[dict[str, Any]]:
    """Return the orders of the notifications that the merchant received."""
    return [each.document["object"] for each in service.receiver.received]


@pytest.mark.spec("ORD-46", "ORD-47")
def test_a_payment_without_consent_begins_no_agreement(service: Service) -> None:
    """`recurring` is false and its identity is empty."""
    service.paid()
    (order,) = documents(service)
    assert (order["recurring"], order["recurring_id"]) == (False, "")


@pytest.mark.spec("ORD-46", "ORD-47")
def test_a_renewal_is_a_new_order_of_the_same_agreement(service: Service) -> None:
    """Same recurring identity, metadata, price and customer; its own id and transaction."""
    first = subscribed(service, account="player-1")
    service.advance(30 * 86400)
    second = renewed(service, first)
    before, after = documents(service)
    assert (before["id"], after["id"]) == (first, second)
    assert after["recurring"] is True and after["recurring_id"] == before["recurring_id"] != ""
    for name in ("metadata", "amount", "currency", "user", "method", "type", "description"):
        assert after[name] == before[name]
    assert before["transaction"] != after["transaction"]
    assert (before["created_at"], after["created_at"]) == ("2026-03-04T12:00:00Z", "2026-04-03T12:00:00Z")


@pytest.mark.spec("EVT-03", "ORD-46", "ORD-32", "STA-03")
def test_a_renewal_is_notified_and_listed(service: Service) -> None:
    """One payment.success and one row of its own, found by the same metadata."""
    second = renewed(service, first := subscribed(service))
    assert service.receiver.events == ["payment.success", "payment.success"]
    assert service.listed_ids(("invoice_id", "r-1")) == [first, second]
    assert service.listed().json()["items"][1]["status"] == "processed"


@pytest.mark.spec("ORD-46", "ORD-47")
def test_each_order_of_an_agreement_can_be_renewed(service: Service) -> None:
    """The newest one too; two agreements are two identities."""
    first = subscribed(service)
    third = renewed(service, renewed(service, first))
    other = subscribed(service)
    ids = {order["id"]: order["recurring_id"] for order in documents(service)}
    assert ids[first] == ids[third] != ids[other]
    assert not {*ids.values()} & {*ids, ""}


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize(("action", "status"), [("refund", "refunded"), ("chargeback", "chargeback")])
def test_the_reversal_of_a_renewal_is_its_own(service: Service, action: str, status: str) -> None:
    """The first order stays paid."""
    second = renewed(service, first := subscribed(service))
    service.act(second, action)
    by_id = {item["id"]: item["status"] for item in service.listed().json()["items"]}
    assert (by_id[first], by_id[second]) == ("processed", status)
    assert service.receiver.events[-1] == f"payment.{action}"


@pytest.mark.spec("STA-08", "STA-05")
def test_a_renewal_may_be_declined(service: Service) -> None:
    """The order is rejected, and payment.cancel says so."""
    renewed(service, subscribed(service), declined=True)
    assert service.receiver.events == ["payment.success", "payment.cancel"]
    assert documents(service)[-1]["status"] == "rejected"
    assert documents(service)[-1]["recurring_id"] == documents(service)[0]["recurring_id"]


@pytest.mark.spec("EVT-07")
def test_a_renewal_asks_for_no_approval(service: Service) -> None:
    """No customer initiates it, so user.validate is not sent."""
    first = subscribed(service)
    service.sandbox.projects.update(PROJECT, mode="pre_approval")
    renewed(service, first)
    assert service.receiver.events == ["payment.success", "payment.success"]


@pytest.mark.spec("AUT-04", "EP5-01")
def test_a_renewal_follows_the_project_as_it_is_now(service: Service) -> None:
    """A rotated secret signs the renewal, since it is an order made now."""
    first = subscribed(service)
    service.sandbox.projects.update(PROJECT, secret_key="sandbox_new")
    second = renewed(service, first)
    order = service.sandbox.ledger.find(second)
    assert order is not None and order.secret_key == "sandbox_new"


@pytest.mark.spec("HTT-09", "HTT-11")
def test_only_an_agreement_can_be_renewed(service: Service) -> None:
    """An order without one, an unpaid one and an unknown one are refused; nothing is made."""
    paid, unpaid = service.paid(), service.order_id()
    answers = [service.act(order, "renew").status_code for order in (paid, unpaid, "nothing")]
    assert answers == [409, 409, 404]
    assert len(service.listed_ids()) == 2


@pytest.mark.spec("MTH-11")
@pytest.mark.parametrize(
    ("paid_with", "allowed"), [({}, True), ({"wallet": "ada-1"}, False), ({"crypto_currency": "bc1q"}, False)]
)
def test_the_method_says_whether_it_can_be_renewed(
    service: Service, paid_with: dict[str, str], allowed: bool
) -> None:
    """A card can; with the others an agreement is refused, and the order stays unpaid."""
    order_id = service.order_id()
    answer = service.act(order_id, "pay", recurring=True, **paid_with)
    assert answer.status_code == (200 if allowed else 409)
    service.act(order_id, "pay", **paid_with)
    assert documents(service)[0]["method"]["recurring_allowed"] is allowed


@pytest.mark.spec("ORD-46")
def test_the_buyer_agrees_on_the_form(service: Service) -> None:
    """The card's page asks for consent, the wallet's does not."""
    order_id = service.order_id()
    assert 'name="recurring"' in service.form(order_id).text
    assert 'name="recurring"' not in service.form(order_id, method="wallet").text
    service.pay_form(order_id, recurring="1")
    assert documents(service)[0]["recurring"] is True


def test_a_renewal_is_offered(service: Service) -> None:
    """The control API lists it among the actions of orders with an agreement only."""
    subscription, checkout = subscribed(service), service.paid()
    orders = requests.get(f"{service.url}/_sandbox/orders", timeout=10).json()["orders"]
    actions = {order["id"]: order["actions"] for order in orders}
    assert ("renew" in actions[subscription], "renew" in actions[checkout]) == (True, False)
    service.act(subscription, "renew")
    assert service.receiver.events == ["payment.success"] * 3


def test_deployed_services_name_subscription_and_plan(field: Service) -> None:
    """Empty without an agreement; the same price is the same plan, each agreement is a subscription of its own."""
    field.paid()
    subscribed(field)
    subscribed(field)
    none, one, two = ([order[name] for name in AGREEMENT] for order in documents(field))
    assert none == [False, "", "", ""]
    assert one[2] != two[2] and "" not in one
    assert one[3] == two[3]


@pytest.mark.spec("ORD-47")
def test_the_specification_knows_neither(spec: Service) -> None:
    """Orders have no field that the specification does not list."""
    subscribed(spec)
    assert not set(AGREEMENT[2:]) & set(documents(spec)[0])


@pytest.mark.spec(
    "ORD-05", "ORD-12", "ORD-13", "ORD-17", "ORD-18", "ORD-19", "ORD-20", "ORD-22", "ORD-23", "ORD-24"
)
@pytest.mark.spec(
    "ORD-25", "ORD-26", "ORD-27", "ORD-28", "ORD-29", "ORD-32", "ORD-33", "ORD-34", "ORD-35", "ORD-39"
)
@pytest.mark.spec(
    "ORD-40", "ORD-41", "ORD-46", "ORD-47", "MTH-06", "MTH-07", "MTH-11", "USR-03", "USR-11", "USR-12"
)
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("country", ["US", "DE"])
def test_a_renewal_is_the_same_payment_again(profile: str, country: str) -> None:
    """All that the customer agreed to and entered, in its notification and in the list; only what an order has of its own."""
    own = {"id", "created_at", "transaction", "receipt_id", "receipt_number", "receipt_url", "issuer"}
    user = {
        "id": "Ada/7",
        "name": {"value": "Ada"},
        "metadata": {"Guild": "Owl"},
        "address": {"country": "FR", "city": "Lyon"},
    }
    settings = {
        "type": "simple",
        "amount": 9.99,
        "currency": "USD",
        "description": "A pass",
        "metadata": {"a": "B"},
    }
    with running(
        profile=profile, vat_payer="buyer", charge_currency="EUR", charge_rate=2, live=True
    ) as service:
        first = service.post(
            "/api/v1/order", {"token": service.token(settings, user).json()["token"]}
        ).json()["id"]
        service.act(
            first, "pay", recurring=True, saved=True, notify_sale=True, notify_new_region=True,
            notify_new_region_email="n@mail.example", receipt_email="r@mail.example", receipt_phone="+4930",
            billing_country=country, billing_state="CA", billing_zip="94105",
        )  # fmt: skip
        service.advance(86400)
        second = renewed(service, first)
        rows = service.listed().json()["items"]
        notified = documents(service)
    consent = {
        "notify_new_region",
        "notify_new_region_email",
    }  # of user.validate, which a renewal does not send
    for before, after in (notified, rows):
        assert (before["id"], after["id"]) == (first, second)
        for order in (before, after):
            order["user"] = {name: value for name, value in order["user"].items() if name not in consent}
        assert {name: value for name, value in after.items() if name not in own} == {
            name: value for name, value in before.items() if name not in own
        }
        assert after["billing_address"]["country"] == country
        assert after["method"]["card"]["last4"] == "4242"
