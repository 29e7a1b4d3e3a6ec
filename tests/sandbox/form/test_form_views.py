"""The hosted form: paying, declining, cancelling, trying again, and the way back to the shop."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests

from tests.support.sandbox.service import SECRET, Service, running

PAYS, DECLINED = "4242 4242 4242 4242", "4000 0000 0000 0002"


def order_of(page: requests.Response) -> str:
    """Return the order that a form page is about."""
    found = re.search(r"order_id=([0-9a-f-]{36})", page.url)
    assert found
    return found[1]


@pytest.mark.spec("SVC-01", "EP6-01", "EP6-02", "EP6-03")
def test_the_form_shows_what_is_bought(service: Service) -> None:
    """Description, amount, the fields of the card, the test numbers and the banner; any page may frame it."""
    page = service.form(service.order_id(description="A hat", amount=1234.5))
    assert page.status_code == 200
    for text in ("A hat", "$1,234.50 USD", 'name="number"', "4242 4242 4242 4242", DECLINED, "No real money"):
        assert text in page.text
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in page.headers


def test_nothing_comes_back_unescaped(service: Service) -> None:
    """Texts of strangers in order and form are text on every page."""
    evil = "<script>alert(1)</script>\"'&{x}"
    order_id = service.order_id(description=evil)
    pages = [
        service.form(order_id),
        service.pay_form(order_id, email=evil),
        service.pay_form(order_id, number=DECLINED),
    ]
    pages.append(requests.get(f"{service.url}/_sandbox/", timeout=10))
    for page in pages:
        assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in pages[0].text


@pytest.mark.spec("ORD-12", "EVT-03", "STA-03")
def test_a_card_pays(service: Service) -> None:
    """The page says so, the list has the payment, its receipt e-mail and card, and the merchant is notified."""
    order_id = service.order_id()
    page = service.pay_form(order_id)
    assert "Payment successful" in page.text
    (item,) = service.listed().json()["items"]
    assert (item["status"], item["receipt_email"]) == ("processed", "a@example.com")
    assert item["method"]["card"]["masked"] == "424242...4242"
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("MTH-07")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("number", "4242 4242 4242 4241"),
        ("number", ""),
        ("expiry", "13/34"),
        ("expiry", "02/26"),
        ("cvc", "12"),
        ("email", "nobody"),
    ],
)
def test_a_wrong_field_charges_nothing(field: Service, name: str, text: str) -> None:
    """The page comes back with the field marked, and the order stays open."""
    page = field.pay_form(field.order_id(), **{name: text})
    assert page.status_code == 422
    assert f'id="{name}-error"' in page.text
    assert field.listed().json()["items"][0]["status"] == "created"


def test_the_card_is_never_shown_again(field: Service) -> None:
    """After a mistake in another field, the page does not contain the card number."""
    page = field.pay_form(field.order_id(), number="5555555555554444", email="nobody")
    assert "5555555555554444" not in page.text


@pytest.mark.spec("SVC-04", "STA-03", "EVT-03")
@pytest.mark.spec("STA-05")
def test_a_decline_can_be_tried_again(service: Service) -> None:
    """Trying again makes a new order with a new id and the same metadata, which can be paid."""
    first = service.order_id(metadata={"reference": "r-1"}, description="A hat", account="player-1")
    page = service.pay_form(first, number=DECLINED)
    assert "Payment declined" in page.text
    assert "Try again" in page.text
    again = requests.post(f"{service.url}/form/again", {"order_id": first}, timeout=10)
    second = order_of(again)
    assert second != first
    assert "Payment successful" in service.pay_form(second).text
    rejected, paid = service.listed(("invoice_id", "r-1")).json()["items"]
    assert (rejected["id"], rejected["status"]) == (first, "rejected")
    assert (paid["id"], paid["status"], paid["metadata"]) == (second, "processed", {"reference": "r-1"})
    assert paid["user"]["external_id"] == "player-1"
    assert service.receiver.events == ["payment.cancel", "payment.success"]
    assert service.receiver.received[1].document["object"]["id"] == second


@pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")
@pytest.mark.parametrize(
    ("number", "address"), [(PAYS, "https://shop.example/y"), (DECLINED, "https://shop.example/n")]
)
def test_another_attempt_leads_back_as_the_first(service: Service, number: str, address: str) -> None:
    """To the address for its own end."""
    first = service.order_id(url_success="https://shop.example/y", url_fail="https://shop.example/n")
    service.pay_form(first, number=DECLINED)
    second = order_of(requests.post(f"{service.url}/form/again", {"order_id": first}, timeout=10))
    assert f'href="{address}"' in service.pay_form(second, number=number).text


@pytest.mark.spec(
    "ORD-05", "ORD-22", "ORD-23", "ORD-24", "ORD-30", "ORD-32", "ORD-35", "ORD-36", "ORD-37", "ORD-38"
)
@pytest.mark.spec(
    "ORD-42", "ORD-45", "USR-03", "EVT-03", "SVC-04", "STA-02", "EP1-13", "EP1-20", "EP1-21", "EP2-16"
)
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize(
    "sale",
    [
        {"type": "simple", "amount": 9.99, "currency": "EUR"},
        {"type": "key", "products_ids": ["quest"], "platform_id": "gog"},
        {"type": "product", "products_ids": ["owl", "hat"], "is_buy_for_virtual_currency": True},
        {"type": "virtual_currency", "products_ids": ["gems-500"]},
    ],
)
def test_another_attempt_is_the_same_sale(profile: str, sale: dict[str, Any]) -> None:
    """But for what an order has of its own."""
    own = {"id", "created_at", "status", "transaction", "method", "receipt_id", "receipt_number", "receipt_url",
           "issuer", "net_revenue", "fee", "items", "cancellation", "agreement_accepted", "agreement_version",
           "receipt_email"}  # fmt: skip
    said = {"description": "A hat", "metadata": {"a": "B"}, "button_caption": "Back",
            "return_url": {"success": "https://shop.example/y", "fail": "https://shop.example/n"}}  # fmt: skip
    user = {
        "id": "Ada/7",
        "name": {"value": "Ada"},
        "locale": {"value": "de-DE"},
        "metadata": {"Guild": "Owl"},
    }
    with running(profile=profile, live=True) as service:
        token = service.token({**sale, **said}, user).json()["token"]
        first = service.post("/api/v1/order", {"token": token}).json()["id"]
        service.pay_form(first, number=DECLINED)
        second = order_of(requests.post(f"{service.url}/form/again", {"order_id": first}, timeout=10))
        page = service.pay_form(second).text
        assert 'href="https://shop.example/y"' in page
        assert ">Back</a>" in page
        declined, paid = (each.document["object"] for each in service.receiver.received)
        rows = service.listed().json()["items"]
    for before, after in ((declined, paid), rows):
        assert (before["id"], after["id"], after["status"] != "rejected") == (first, second, True)
        assert {name: value for name, value in after.items() if name not in own} == {
            name: value for name, value in before.items() if name not in own
        }
        assert [item["id"] for item in after["items"] or ()] == sale.get("products_ids", [])


@pytest.mark.spec("STA-04", "EVT-06", "ORD-07", "ORD-08", "ORD-09")
def test_the_buyer_cancels(service: Service) -> None:
    """The order is canceled and the merchant is notified."""
    order_id = service.order_id()
    service.advance(60)
    page = requests.post(f"{service.url}/form/cancel", {"order_id": order_id}, timeout=10)
    service.settle()
    assert "Payment cancelled" in page.text
    assert service.receiver.events == ["payment.cancel"]
    (item,) = service.listed().json()["items"]
    for order in (item, service.receiver.received[0].document["object"]):
        assert (order["status"], order["canceled"], order["canceled_at"]) == (
            "canceled",
            True,
            "2026-03-04T12:01:00Z",
        )
        assert order["cancellation"] == {"code": "01", "reason": "Canceled by the customer"}


@pytest.mark.spec("EP2-09", "EP2-10", "EP1-21")
@pytest.mark.parametrize(("number", "url"), [("4242424242424242", "/ok?ref=1"), (DECLINED, "/sorry?ref=1")])
def test_the_way_back_is_a_link_with_nothing_appended(field: Service, number: str, url: str) -> None:
    """The button leads to the order's own success or fail URL, in the same frame, captioned OK."""
    shop = "https://shop.example"
    order_id = field.order_id(url_success=f"{shop}/ok?ref=1", url_fail=f"{shop}/sorry?ref=1")
    page = field.pay_form(order_id, number=number)
    link = re.search(rf'<a class="[^"]*" href="{re.escape(shop + url)}"[^>]*>OK</a>', page.text)
    assert link
    assert "target=" not in link[0]


@pytest.mark.spec("EP1-13", "EP1-21")
def test_the_button_has_the_caption_of_the_token(service: Service) -> None:
    """`button_caption` and `return_url` of a token reach the form."""
    settings = {"type": "simple", "amount": 3, "currency": "USD", "button_caption": "Back to the game"}
    settings["return_url"] = {"success": "https://shop.example/ok", "fail": "https://shop.example/no"}
    token = service.token(settings).json()["token"]
    order_id = service.post("/api/v1/order", {"token": token}).json()["id"]
    assert 'href="https://shop.example/ok"' in service.pay_form(order_id).text
    assert ">Back to the game</a>" in service.form(order_id).text


@pytest.mark.spec("EP6-04", "TOK-02")
def test_a_token_opens_a_form_of_its_own(service: Service) -> None:
    """The form's address with a token makes an order and shows it."""
    url = service.token({"type": "simple", "amount": 3, "currency": "USD"}).json()["payment_form_url"]
    page = requests.get(url, timeout=10)
    assert service.listed_ids() == [order_of(page)]


def test_a_form_expires_after_half_an_hour(service: Service) -> None:
    """Then it cannot be paid; the order stays created and nothing is sent."""
    order_id = service.order_id()
    service.advance(30 * 60 + 1)
    assert "This form has expired" in service.form(order_id).text
    assert "This form has expired" in service.pay_form(order_id).text
    assert service.listed().json()["items"][0]["status"] == "created"
    assert service.receiver.received == []


def test_paying_twice_charges_once(service: Service) -> None:
    """A second press of the button only shows how it ended."""
    order_id = service.order_id()
    service.pay_form(order_id)
    assert "Payment successful" in service.pay_form(order_id).text
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("EP6-03")
@pytest.mark.parametrize("order_id", ["", "nothing", "<b>"])
def test_an_unknown_order_has_no_form(service: Service, order_id: str) -> None:
    """A page says so, with 404."""
    page = service.form(order_id)
    assert page.status_code == 404
    assert "No such order" in page.text


@pytest.mark.spec("ORD-21", "ORD-44")
def test_the_issuer_is_where_the_form_was_opened(field: Service) -> None:
    """Referrer, campaign, frame and mode of the first visit are stored."""
    order_id = field.order_id()
    requests.get(
        f"{field.url}/form/",
        params={"order_id": order_id, "utm_source": "news", "form_mode": "iframe"},
        headers={"Referer": "https://shop.example/gems", "Sec-Fetch-Dest": "iframe"},
        timeout=10,
    )
    item = field.listed().json()["items"][0]
    assert item["form_mode"] == "iframe"
    assert item["issuer"] == {
        "url": "https://shop.example/gems",
        "embedded": True,
        "reference": "",
        "reference_type": "",
        "utm_source": "news",
        "utm_medium": "",
        "utm_campaign": "",
        "referrer_host": "shop.example",
    }


@pytest.mark.spec("ORD-25", "ORD-26", "ORD-34")
def test_a_project_may_ask_for_the_country() -> None:
    """The total follows the chosen country; for the USA state and zip are required and sent."""
    with running(ask_billing_address=True, vat_payer="buyer") as service:
        order_id = service.order_id(amount=10)
        assert "$11.90 USD" in service.form(order_id, country="DE").text
        assert 'name="zip"' in service.form(order_id, country="US").text
        service.pay_form(order_id, country="US", state="CA", zip="94105")
        order = service.receiver.received[0].document["object"]
    assert order["billing_address"] == {"country": "US", "state": "CA", "zip": "94105"}
    assert (order["tax"]["type"], order["country"]) == ("sales_tax", "US")


@pytest.mark.spec("ORD-14", "ORD-15", "ORD-16")
def test_the_receipt_can_be_read(service: Service) -> None:
    """receipt_url leads to a page with the receipt's number."""
    service.paid()
    order = service.receiver.received[0].document["object"]
    assert order["receipt_number"] in requests.get(order["receipt_url"], timeout=10).text
    assert requests.get(order["receipt_url"] + "x", timeout=10).status_code == 404


def test_the_secret_is_on_no_page(service: Service) -> None:
    """Neither form nor operator page nor control API shows the project's secret."""
    order_id = service.paid()
    service.token({"type": "simple", "amount": 3, "currency": "USD"})
    for path in (
        f"/form/?order_id={order_id}",
        "/_sandbox/",
        "/_sandbox/log",
        "/_sandbox/project",
        "/_sandbox/orders",
    ):
        assert SECRET not in requests.get(service.url + path, timeout=10).text
