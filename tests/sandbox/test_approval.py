"""Pre-approval: user.validate before the payment."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.sandbox.service import SECRET, Service, running


@pytest.fixture
def strict() -> Iterator[Service]:
    """A sandbox whose project asks before each payment."""
    with running(mode="pre_approval") as service:
        yield service


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-08", "EVT-11", "USR-01", "USR-02", "WHK-06", "WHK-07")
def test_the_customer_is_asked_about_alone(strict: Service) -> None:
    """user.validate carries the user and nothing of the order, signed, as first try, and comes before the payment."""
    strict.paid(account="player-1")
    validate, success = strict.receiver.received
    envelope = validate.document
    assert validate.is_signed_with(SECRET)
    assert envelope["event"] == "user.validate"
    assert (envelope["delivery_try"], envelope["expires_at"]) == (1, "")
    assert uuid.UUID(envelope["id"]).version == 4
    assert envelope["object"] == {
        "id": success.document["object"]["user"]["id"],
        "object": "user",
        "external_id": "player-1",
        "name": "",
        "email": "",
        "email_verified": False,
        "phone": "",
        "phone_verified": False,
        "ip": "",
        "locale": "",
        "address": None,
        "metadata": None,
        "notify_new_region": False,
        "notify_new_region_email": "",
    }


@pytest.mark.spec("EVT-02", "EVT-11")
@pytest.mark.parametrize("status", [201, 204, 403, 500])
def test_only_200_approves(strict: Service, status: int) -> None:
    """Any other answer refuses: nothing is charged, nobody is told, the order stays created and can be tried again."""
    order_id = strict.order_id()
    strict.receiver.answers = [status]
    assert strict.act(order_id, "pay").json()["outcome"] == "refused"
    assert strict.listed().json()["items"][0]["status"] == "created"
    assert strict.receiver.events == ["user.validate"]
    assert strict.act(order_id, "pay").json()["outcome"] == "paid"


def test_each_question_has_an_id_of_its_own(strict: Service) -> None:
    """Asking about the same customer again is a new notification."""
    order_id = strict.order_id()
    strict.receiver.answers = [403]
    strict.act(order_id, "pay")
    strict.act(order_id, "pay")
    first, second, _ = (each.document["id"] for each in strict.receiver.received)
    assert first != second


def test_nobody_there_refuses(strict: Service) -> None:
    """A connection error is a refusal."""
    strict.sandbox.projects.update("project-1", webhook_url="http://127.0.0.1:9/")
    assert strict.act(strict.order_id(), "pay").json()["outcome"] == "refused"


@pytest.mark.spec("EVT-01")
def test_the_default_mode_does_not_ask(service: Service) -> None:
    """Without pre-approval only the payment is told."""
    service.paid()
    assert service.receiver.events == ["payment.success"]


def test_the_form_says_that_it_was_refused(strict: Service) -> None:
    """The buyer reads that the payment was refused, and can pay again."""
    order_id = strict.order_id()
    strict.receiver.answers = [403]
    page = strict.pay_form(order_id)
    assert "The payment was refused." in page.text
    assert 'action="/form/pay"' in page.text


def test_an_order_cancelled_while_the_merchant_thinks_is_not_paid(strict: Service) -> None:
    """The answer to user.validate comes too late: the order stays canceled, and no payment is told."""
    order_id = strict.order_id()

    def cancel_once() -> None:
        strict.receiver.meanwhile = lambda: None
        strict.sandbox.payments.cancel(order_id)

    strict.receiver.meanwhile = cancel_once
    assert strict.act(order_id, "pay").status_code == 409
    assert strict.listed().json()["items"][0]["status"] == "canceled"
    assert sorted(strict.receiver.events) == ["payment.cancel", "user.validate"]
