"""Ways to pay on the hosted form: cards with and without a code, wallets, crypto currencies."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests

from tests.support.sandbox.service import Service, running

ASKS_CODE = "4000 0027 6000 3184"


def method_of(service: Service) -> dict[str, Any]:
    """Return the method of the only order, as listed."""
    (item,) = service.listed().json()["items"]
    method: dict[str, Any] = item["method"]
    return method


def status_of(service: Service) -> str:
    """Return the status of the only order."""
    return str(service.listed().json()["items"][0]["status"])


def give_code(service: Service, page: requests.Response, code: str, **other: str) -> requests.Response:
    """Fill the bank's question in and confirm."""
    fields = dict(re.findall(r'name="(order_id|step)" value="([^"]*)"', page.text))
    answer = requests.post(f"{service.url}/form/code", {**fields, "code": code, **other}, timeout=10)
    service.settle()
    return answer


@pytest.mark.spec("MTH-07", "ORD-29")
def test_a_card_without_a_code_says_so(service: Service) -> None:
    """Most cards use no 3-D Secure."""
    service.pay_form(service.order_id())
    assert method_of(service)["card"]["secure3d"] is False


@pytest.mark.spec("MTH-07", "STA-03")
def test_the_right_code_pays(service: Service) -> None:
    """The bank's page comes before the charge; its code pays, and the order has 3-D Secure."""
    page = service.pay_form(service.order_id(), number=ASKS_CODE)
    assert "Confirm the payment" in page.text
    assert (status_of(service), service.receiver.events) == ("created", [])
    assert "Payment successful" in give_code(service, page, "1234").text
    assert method_of(service)["card"]["secure3d"] is True
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("STA-05", "STA-08", "EVT-06")
def test_a_wrong_code_is_a_decline(service: Service) -> None:
    """Any other code ends the order as rejected; it can be tried again as a new one."""
    page = service.pay_form(service.order_id(), number=ASKS_CODE)
    end = give_code(service, page, "0000")
    assert "Payment declined" in end.text
    assert "Try again" in end.text
    assert (status_of(service), service.receiver.events) == ("rejected", ["payment.cancel"])
    assert method_of(service)["card"]["secure3d"] is False


@pytest.mark.spec("MTH-07")
def test_a_code_counts_once_and_for_its_order(service: Service) -> None:
    """Neither a second press nor another order's step pays anything; a made-up step leads back to the form."""
    first, second = service.order_id(), service.order_id()
    page = service.pay_form(first, number=ASKS_CODE)
    assert "Pay with" in give_code(service, page, "1234", order_id=second).text
    assert "Pay with" in give_code(service, page, "1234").text
    assert "Pay with" in give_code(service, page, "1234", step="made-up").text
    assert service.receiver.events == []


@pytest.mark.spec("EVT-02", "EVT-07")
def test_the_merchant_validates_before_the_bank() -> None:
    """user.validate is sent once, when the customer begins to pay; a refusal shows no question."""
    with running(mode="pre_approval") as service:
        order_id = service.order_id()
        service.receiver.answers = [403]
        assert "The payment was refused." in service.pay_form(order_id, number=ASKS_CODE).text
        page = service.pay_form(order_id, number=ASKS_CODE)
        assert service.receiver.events == ["user.validate"] * 2
        give_code(service, page, "1234")
        assert service.receiver.events == ["user.validate", "user.validate", "payment.success"]


def test_an_order_that_ended_meanwhile_takes_no_code(service: Service) -> None:
    """The form had run out before the code came."""
    page = service.pay_form(service.order_id(), number=ASKS_CODE)
    service.advance(30 * 60 + 1)
    assert "This form has expired" in give_code(service, page, "1234").text
    assert service.receiver.events == []


@pytest.mark.spec("MTH-01", "MTH-02", "MTH-03", "MTH-04", "MTH-08", "MTH-10")
def test_a_wallet_pays(service: Service) -> None:
    """Its form asks for wallet and account, which the order has; card and crypto currency are null."""
    order_id = service.order_id()
    assert 'name="wallet_account"' in service.form(order_id, method="wallet").text
    service.pay_form(order_id, method="wallet", wallet_brand="Pocket Purse", wallet_account="ada")
    method = method_of(service)
    assert method["wallet"] == {"brand": "Pocket Purse", "account": "ada"}
    assert (method["type"], method["card"], method["crypto_currency"]) == ("WALLET", None, None)
    assert method["title"] and method["external_id"] and method["payment_system_id"]
    assert method["refund_allowed"] is True


@pytest.mark.spec("MTH-04", "MTH-09")
def test_a_crypto_currency_pays(service: Service) -> None:
    """Its form asks for currency and address, which the order has; card and wallet are null."""
    order_id = service.order_id()
    assert 'name="crypto_address"' in service.form(order_id, method="crypto").text
    service.pay_form(order_id, method="crypto", crypto_brand="Ethereum", crypto_address="0xada")
    method = method_of(service)
    assert method["crypto_currency"] == {"brand": "Ethereum", "address": "0xada"}
    assert (method["type"], method["card"], method["wallet"]) == ("CRYPTO", None, None)


@pytest.mark.spec("MTH-10", "HTT-11")
def test_what_cannot_be_refunded_is_not(service: Service) -> None:
    """A crypto payment says that no refund is allowed, and a refund of it is a conflict."""
    order_id = service.order_id()
    service.act(order_id, "pay", crypto_currency="0xada")
    assert method_of(service)["refund_allowed"] is False
    assert service.act(order_id, "refund").status_code == 409
    assert service.act(order_id, "chargeback").status_code == 200


@pytest.mark.spec("STA-05", "MTH-08", "MTH-09")
@pytest.mark.parametrize(
    "typed",
    [
        {"method": "wallet", "wallet_account": "declined-ada"},
        {"method": "crypto", "crypto_address": "declined-0x"},
    ],
)
def test_wallets_and_transfers_can_be_declined(service: Service, typed: dict[str, str]) -> None:
    """Names that begin with `declined` do not pay."""
    assert "Payment declined" in service.pay_form(service.order_id(), **typed).text
    assert status_of(service) == "rejected"


@pytest.mark.parametrize(("method", "name"), [("wallet", "wallet_account"), ("crypto", "crypto_address")])
def test_an_empty_field_charges_nothing(service: Service, method: str, name: str) -> None:
    """The page comes back with the method still chosen and its field marked."""
    page = service.pay_form(service.order_id(), method=method, **{name: "two words"})
    assert page.status_code == 422
    assert f'id="{name}-error"' in page.text
    assert 'value="two words"' in page.text
    assert status_of(service) == "created"


@pytest.mark.spec("MTH-06", "ORD-19", "ORD-20")
@pytest.mark.parametrize(("ticked", "expected"), [({}, False), ({"saved": "1", "notify_sale": "1"}, True)])
def test_the_buyers_consents_are_sent(service: Service, ticked: dict[str, str], expected: bool) -> None:
    """Keeping the method and hearing of checkouts are off until the customer ticks them."""
    service.pay_form(service.order_id(), **ticked)
    (item,) = service.listed().json()["items"]
    assert (item["method"]["saved"], item["notify_sale"]) == (expected, expected)
    assert item["notify_sale_email"] == ("a@example.com" if expected else "")
