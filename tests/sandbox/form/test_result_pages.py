"""Pages of the form for orders with an unusual end, and for wrong addresses."""

from __future__ import annotations

import pytest
import requests

from tests.support.sandbox.service import PROJECT, SECRET, Service


def again(service: Service, order_id: str) -> requests.Response:
    """Press "try again"."""
    return requests.post(f"{service.url}/form/again", {"order_id": order_id}, timeout=10)


def test_a_payment_that_nobody_acknowledged_is_still_paid(field: Service) -> None:
    """The list says rejected; the customer has paid, reads so, and cannot be led to pay again."""
    field.sandbox.projects.update(PROJECT, retry_limit=0)
    field.receiver.answers = [500]
    order_id = field.paid()
    assert field.listed().json()["items"][0]["status"] == "rejected"
    page = again(field, order_id)
    assert "Payment successful" in page.text
    assert "Nothing was charged" not in page.text
    assert field.listed().json()["count"] == 1


def test_a_payment_cancelled_afterwards_is_not_called_free(service: Service) -> None:
    """Money has moved: the page does not say that nothing was charged."""
    order_id = service.paid()
    service.act(order_id, "cancel", after_payment=True)
    page = service.form(order_id).text
    assert "Payment cancelled" in page
    assert "Nothing was charged" not in page


@pytest.mark.parametrize("ending", ["pay", "decline", "cancel", "expire"])
def test_another_window_shows_how_it_ended(service: Service, ending: str) -> None:
    """Pay pressed on a form that is open still: the order's end, even where something was typed wrong."""
    order_id = service.order_id()
    service.act(order_id, ending)
    assert 'action="/form/pay"' not in service.pay_form(order_id, number="12").text
    assert len(service.receiver.received) == (ending != "expire")


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize("action", ["refund", "chargeback"])
def test_a_returned_payment_completes_nothing(service: Service, action: str) -> None:
    """Title and heading say returned, and the page around the form hears of no completed payment."""
    order_id = service.paid()
    assert 'data-event="paymentCompleted"' in service.form(order_id).text
    service.act(order_id, action)
    page = service.form(order_id).text
    assert "<title>Payment returned</title>" in page
    assert "paymentCompleted" not in page


@pytest.mark.spec("HTT-08")
def test_trying_again_is_refused_to_a_suspended_project(service: Service) -> None:
    """As every other creation, on a page."""
    order_id = service.order_id()
    service.act(order_id, "decline")
    service.sandbox.projects.update(PROJECT, suspended=True)
    page = again(service, order_id)
    assert (page.status_code, "not authorized" in page.text, "<html" in page.text) == (403, True, True)


@pytest.mark.parametrize(
    ("path", "status"), [("/form/pay", 405), ("/form/nowhere", 404), ("/receipt/x", 404)]
)
def test_people_get_pages(service: Service, path: str, status: int) -> None:
    """A customer who opens the address of a sent form again reads no JSON."""
    page = requests.get(service.url + path, timeout=10)
    assert (page.status_code, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert "Not possible" in page.text


@pytest.mark.spec("EP1-09")
@pytest.mark.parametrize(
    ("ranges", "locale"), [("en;q=0.1, fr-FR", "fr-FR"), ("pt-BR,pt;q=0.8", "pt-BR"), ("*;q=0.5", "")]
)
def test_the_locale_of_a_token_is_the_preferred_one(service: Service, ranges: str, locale: str) -> None:
    """Read as RFC 7231 says; "*" names no language."""
    settings = {"type": "simple", "amount": 1, "currency": "USD"}
    token = service.token(settings, {"id": "u", "locale": {"value": ranges}}).json()["token"]
    service.post("/api/v1/order", {"token": token}, headers={"X-API-SIGNATURE": SECRET})
    assert service.listed().json()["items"][0]["user"]["locale"] == locale
