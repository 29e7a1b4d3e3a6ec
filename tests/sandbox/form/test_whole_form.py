"""Everything that a customer enters on the hosted form is in the order: in its notification and in the list.

Three payments that differ in every field, one by each kind of method, in both profiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest
import requests

from tests.support.sandbox.service import Service, running

ADA: Final = {
    "number": "5555 5555 5555 4444", "expiry": "02/2031", "cvc": "123", "email": "Ada@Mail.example",
    "phone": "+49 30 123456", "country": "US", "state": "CA", "zip": "94105", "saved": "1", "recurring": "1",
    "notify_sale": "1",
}  # fmt: skip
WANDA: Final = {
    "method": "wallet", "wallet_brand": "Pocket Purse", "wallet_account": "wanda-1", "email": "wanda@mail.example",
    "country": "DE", "notify_new_region": "1",
}  # fmt: skip
CARL: Final = {
    "method": "crypto", "crypto_brand": "Litecoin", "crypto_address": "ltc1Q", "email": "carl@mail.example",
    "phone": "12025550103", "country": "BR", "notify_sale": "1", "notify_new_region": "1", "saved": "1",
}  # fmt: skip
NO_CARD: Final = {"number": "", "expiry": "", "cvc": ""}


@dataclass(frozen=True)
class Paid:
    """One payment: what was entered, and the fields of the order."""

    entered: dict[str, str]
    order: dict[str, Any]
    method: dict[str, Any]
    consent: tuple[bool, str]


PAYMENTS = [
    Paid(
        ADA,
        {
            "receipt_email": "Ada@Mail.example",
            "receipt_phone": "+49 30 123456",
            "billing_address": {"country": "US", "state": "CA", "zip": "94105"},
            "country": "US",
            "notify_sale": True,
            "notify_sale_email": "Ada@Mail.example",
            "agreement_accepted": True,
            "agreement_version": "1.0",
            "recurring": True,
        },
        {
            "title": "Bank card",
            "external_id": "BANKCARD",
            "payment_system_id": "sandbox-bankcard",
            "type": "BANKCARD",
            "saved": True,
            "card": {
                "first6": "555555",
                "last4": "4444",
                "masked": "555555...4444",
                "expiry_month": "02",
                "expiry_year": "2031",
                "brand": "MASTERCARD",
                "secure3d": False,
            },
            "wallet": None,
            "crypto_currency": None,
            "refund_allowed": True,
            "recurring_allowed": True,
        },
        (False, ""),
    ),
    Paid(
        WANDA,
        {
            "receipt_email": "wanda@mail.example",
            "receipt_phone": "",
            "billing_address": {"country": "DE"},
            "country": "DE",
            "notify_sale": False,
            "notify_sale_email": "",
            "agreement_accepted": True,
            "agreement_version": "1.0",
            "recurring": False,
        },
        {
            "title": "Wallet",
            "external_id": "WALLET",
            "payment_system_id": "sandbox-wallet",
            "type": "WALLET",
            "saved": False,
            "card": None,
            "wallet": {"brand": "Pocket Purse", "account": "wanda-1"},
            "crypto_currency": None,
            "refund_allowed": True,
            "recurring_allowed": False,
        },
        (True, "wanda@mail.example"),
    ),
    Paid(
        CARL,
        {
            "receipt_email": "carl@mail.example",
            "receipt_phone": "12025550103",
            "billing_address": {"country": "BR"},
            "country": "BR",
            "notify_sale": True,
            "notify_sale_email": "carl@mail.example",
            "agreement_accepted": True,
            "agreement_version": "1.0",
            "recurring": False,
        },
        {
            "title": "Crypto currency",
            "external_id": "CRYPTO",
            "payment_system_id": "sandbox-crypto",
            "type": "CRYPTO",
            "saved": True,
            "card": None,
            "wallet": None,
            "crypto_currency": {"brand": "Litecoin", "address": "ltc1Q"},
            "refund_allowed": False,
            "recurring_allowed": False,
        },
        (True, "carl@mail.example"),
    ),
]


def pay(service: Service, entered: dict[str, str]) -> list[dict[str, Any]]:
    """Pay by the form; return the order in its notification and in the list."""
    service.sandbox.projects.update("project-1", ask_billing_address=True)
    order_id = service.order_id()
    page = service.pay_form(order_id, **{**(NO_CARD if "method" in entered else {}), **entered})
    assert "Payment successful" in page.text
    (listed,) = service.listed(("id", order_id)).json()["items"]
    (notified,) = (each.document["object"] for each in service.receiver.received)
    return [notified, listed]


@pytest.mark.spec("ORD-12", "ORD-13", "ORD-17", "ORD-18", "ORD-19", "ORD-20", "ORD-25", "ORD-34", "ORD-46")
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("paid", PAYMENTS, ids=["card", "wallet", "crypto"])
def test_what_is_entered_is_in_the_order(paid: Paid, profile: str) -> None:
    """Each field has what was entered into it, and what was not is empty or false."""
    with running(profile=profile) as service:
        for order in pay(service, paid.entered):
            assert {name: order[name] for name in paid.order} == paid.order
            assert bool(order["recurring_id"]) is paid.order["recurring"]


@pytest.mark.spec(
    "MTH-01", "MTH-02", "MTH-03", "MTH-04", "MTH-05", "MTH-06", "MTH-07", "MTH-08", "MTH-09", "MTH-10", "MTH-11", "ORD-29"
)  # fmt: skip
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("paid", PAYMENTS, ids=["card", "wallet", "crypto"])
def test_the_method_of_an_order_is_the_one_that_paid(paid: Paid, profile: str) -> None:
    """Whole: one of card, wallet and crypto currency, with each of its members."""
    with running(profile=profile) as service:
        notified, listed = pay(service, paid.entered)
    if paid.method["card"]:
        for order in (notified, listed):
            assert len(order["method"]["card"].pop("fingerprint")) == 32
    handler = {"handler": f"sandbox_{paid.method['type'].lower()}"}
    assert listed["method"] == paid.method | handler
    assert notified["method"] == paid.method | (handler if profile == "field" else {})


@pytest.mark.spec("MTH-07")
def test_a_card_has_a_fingerprint_and_says_whether_3d_secure_was_used(service: Service) -> None:
    """The same card has the same fingerprint, another one another; a failed step was none."""
    cards = []
    for number, code in (
        ("4242 4242 4242 4242", ""),
        ("4242 4242 4242 4242", ""),
        ("4000 0027 6000 3184", "1234"),
        ("4000 0027 6000 3184", "4321"),
    ):
        order_id = service.order_id()
        page = service.pay_form(order_id, number=number)
        if code:
            step = page.text.split('name="step" value="')[1].split('"')[0]
            requests.post(
                f"{service.url}/form/code", {"order_id": order_id, "step": step, "code": code}, timeout=10
            )
        (order,) = service.listed(("id", order_id)).json()["items"]
        cards.append(
            (order["status"], order["method"]["card"]["secure3d"], order["method"]["card"]["fingerprint"])
        )
    assert [card[:2] for card in cards] == [
        ("processed", False), ("processed", False), ("processed", True), ("rejected", False),
    ]  # fmt: skip
    assert cards[0][2] == cards[1][2] != cards[2][2] == cards[3][2]
    assert len(cards[0][2]) == 32


@pytest.mark.spec("USR-13", "USR-14", "EVT-02", "EVT-07", "EVT-08")
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("paid", PAYMENTS, ids=["card", "wallet", "crypto"])
def test_the_form_has_the_consent_to_a_newsletter(paid: Paid, profile: str) -> None:
    """user.validate has it, and by the letter the user of the order has it too."""
    with running(profile=profile, mode="pre_approval") as service:
        service.sandbox.projects.update("project-1", ask_billing_address=True)
        order_id = service.order_id()
        service.pay_form(order_id, **{**(NO_CARD if "method" in paid.entered else {}), **paid.entered})
        validated, notified = (each.document["object"] for each in service.receiver.received)
        (listed,) = service.listed(("id", order_id)).json()["items"]
    users = [validated] if profile == "field" else [validated, notified["user"], listed["user"]]
    for user in users:
        assert (user["notify_new_region"], user["notify_new_region_email"]) == paid.consent
        assert user["object"] == "user"


@pytest.mark.spec("MTH-11", "ORD-46")
@pytest.mark.parametrize(("method", "offered"), [("card", True), ("wallet", False), ("crypto", False)])
def test_only_a_card_is_offered_to_be_renewed(service: Service, method: str, offered: bool) -> None:
    """The page of another method has no such field, and does not take it either."""
    page = service.form(service.order_id(), method=method).text
    assert ('name="recurring"' in page) is offered
    assert 'name="saved"' in page
