"""The operator's pages: clock, acts, partial refund, one order, one exchange."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

from checkout_integration.sandbox.operator.clock_views import span_in_words
from tests.support.sandbox.service import Service, running


def press(service: Service, path: str, **fields: str) -> requests.Response:
    """Press a button of the operator's pages, and wait until its notifications are sent."""
    answer = service.press(path, fields)
    service.settle()
    return answer


def look(service: Service, path: str = "") -> requests.Response:
    """Open one of the operator's pages."""
    return requests.get(f"{service.url}/_sandbox/{path}", timeout=10)


def test_the_clock_runs_or_stands(service: Service) -> None:
    """The page lets it run with real time, and stops it again."""
    press(service, "clock", running="yes")
    assert service.sandbox.clock.running
    press(service, "clock", running="no", advance="60")
    assert not service.sandbox.clock.running


def test_a_clock_that_is_ahead_is_turned_back(tmp_path: Path) -> None:
    """The page shows how far it is ahead, also after a restart, and the effects, and has a button to turn it back."""
    state = tmp_path / "state"
    with running(state=state, moment=datetime.now(UTC)) as before:
        assert "ahead of real time" not in look(before).text
        press(before, "clock", advance="172800")
        press(before, "clock", advance="172800", running="yes")
    with running(state=state, moment=datetime.now(UTC)) as after:
        page = look(after).text
        assert "<strong>4 days ahead of real time.</strong>" in page
        assert "refuse notifications from more than two days ahead" in page
        assert "ahead of real time" not in press(after, "clock/real").text
        assert abs(after.sandbox.clock.ahead()) < timedelta(minutes=1)


def test_a_clock_that_is_behind_stays(service: Service) -> None:
    """The way back leads to no later time."""
    before = service.sandbox.clock.now()
    press(service, "clock/real")
    assert service.sandbox.clock.now() == before


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-86400, ""),
        (29, ""),
        (600.4, "10 minutes"),
        (3599.9, "1 hour"),
        (172799.9, "2 days"),
        (90061, "1 day 1 hour"),
        (604800 + 60, "7 days 1 minute"),
    ],
)
def test_a_length_of_time_in_words(seconds: float, words: str) -> None:
    """In its two largest units."""
    assert span_in_words(timedelta(seconds=seconds)) == words


def test_the_bare_address_leads_to_the_page(service: Service) -> None:
    """The address that the command prints redirects to the operator's page."""
    page = requests.get(service.url, timeout=10)
    assert (page.url, page.status_code) == (f"{service.url}/_sandbox/", 200)


def test_a_button_of_an_order_leads_back_to_it(service: Service) -> None:
    """From the order's own page to the order's own page, from the list to the list."""
    order_id = service.order_id()
    own = f"operator/orders/{order_id}"
    assert 'name="then" value="order"' in look(service, own).text
    assert press(service, f"orders/{order_id}/pay", then="order").url.endswith(own)
    assert press(service, f"orders/{order_id}/refund").url.endswith("/_sandbox/")


@pytest.mark.parametrize(
    ("path", "status"),
    [("orders/nothing/pay", 404), ("orders/nothing", 405), ("log/one", 404), ("dance", 404)],
)
def test_people_get_pages_with_a_way_back(service: Service, path: str, status: int) -> None:
    """No JSON where a person has clicked."""
    page = press(service, path)
    assert (page.status_code, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert 'href="/_sandbox/"' in page.text


@pytest.mark.spec("STA-08", "EVT-06")
def test_a_paid_order_is_cancelled_by_its_button(service: Service) -> None:
    """payment.cancel after payment.success, as it happens in the field."""
    order_id = service.paid()
    assert "Cancel</button>" in look(service, f"operator/orders/{order_id}").text
    press(service, f"orders/{order_id}/cancel")
    assert service.receiver.events == ["payment.success", "payment.cancel"]


@pytest.mark.spec("RFD-01", "RFD-03", "STA-06")
def test_a_part_is_refunded(service: Service) -> None:
    """Amount and reason of the form reach the refund object."""
    order_id = service.paid()
    press(service, f"orders/{order_id}/refund", amount="2.50", reason="Half a hat")
    refund = service.receiver.received[-1].document["object"]["refund"]
    assert (str(refund["amount"]), refund["reason"]) == ("2.5", "Half a hat")


@pytest.mark.parametrize("amount", ["much", "-1", "NaN"])
def test_a_wrong_amount_refunds_nothing(service: Service, amount: str) -> None:
    """The page says so."""
    page = press(service, f"orders/{service.paid()}/refund", amount=amount)
    assert (page.status_code, "Not possible" in page.text) == (400, True)
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("WHK-01")
def test_a_message_is_sent_again(service: Service) -> None:
    """With the identifier of the first."""
    press(service, f"orders/{service.paid()}/resend")
    first, again = (each.document["id"] for each in service.receiver.received)
    assert first == again


def test_an_order_has_a_page(service: Service) -> None:
    """Its document with exact numbers, and its notifications."""
    order_id = service.paid(description="<A hat>", amount=100.1)
    page = look(service, f"operator/orders/{order_id}")
    assert "&lt;A hat&gt;" in page.text
    assert "&#34;amount&#34;: 100.1," in page.text
    assert "payment.success: delivered" in page.text
    assert look(service, "operator/orders/nothing").status_code == 404


def test_an_exchange_has_a_page(service: Service) -> None:
    """Request and response, complete and readable; the newest page links there."""
    service.create(amount=12.50, description="<A hat>")
    assert 'href="/_sandbox/operator/log/1"' in look(service).text
    page = look(service, "operator/log/1")
    assert "&#34;amount&#34;: 12.5" in page.text
    assert "payment_form_url" in page.text
    assert "<A hat>" not in page.text
    assert look(service, "operator/log/999").status_code == 404
