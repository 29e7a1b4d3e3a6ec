"""Notifications: their content, signature and attempts."""

from __future__ import annotations

from datetime import datetime

import pytest
import requests

from checkout_integration.sandbox import Card
from tests.support.sandbox.receiver import Receiver
from tests.support.sandbox.service import NOON, SECRET, Service, running


@pytest.mark.spec(
    "EP5-01", "EVT-03", "EVT-08", "STA-03", "AUT-04", "WHK-01", "WHK-02", "WHK-03", "WHK-08", "SVC-04"
)
def test_a_payment_sends_a_signed_notification(service: Service) -> None:
    """One POST with the three headers, signed over its bytes, in an envelope of type notification."""
    order_id = service.paid()
    (received,) = service.receiver.received
    assert received.method == "POST"
    assert received.is_signed_with(SECRET)
    assert received.headers["Content-Type"] == "application/json"
    assert received.headers["Accept"] == "application/json"
    assert "Content-Encoding" not in received.headers
    envelope = received.document
    assert (envelope["type"], envelope["event"]) == ("notification", "payment.success")
    assert envelope["object"]["id"] == order_id


@pytest.mark.spec("ORD-04", "STA-03")
@pytest.mark.parametrize(("profile", "status"), [("field", "created"), ("spec", "processed")])
def test_the_event_decides_not_the_status(profile: str, status: str) -> None:
    """In the field a success carries the status `created`, while the list says processed."""
    with running(profile=profile) as service:
        service.paid()
        assert service.receiver.received[0].document["object"]["status"] == status
        assert service.listed().json()["items"][0]["status"] == "processed"


@pytest.mark.spec("EVT-01", "EVT-04", "EVT-05", "EVT-06", "STA-04", "STA-05", "STA-06", "STA-07", "STA-08")
@pytest.mark.parametrize(
    ("actions", "events", "status"),
    [
        (["pay", "refund"], ["payment.success", "payment.refund"], "refunded"),
        (["pay", "chargeback"], ["payment.success", "payment.chargeback"], "chargeback"),
        (["cancel"], ["payment.cancel"], "canceled"),
        (["decline"], ["payment.cancel"], "rejected"),
    ],
)
def test_each_transition_sends_a_notification(
    service: Service, actions: list[str], events: list[str], status: str
) -> None:
    """Every end of a payment sends its event, and the order ends in its state."""
    order_id = service.order_id()
    for action in actions:
        assert service.act(order_id, action).status_code == 200
    assert service.receiver.events == events
    assert service.receiver.received[-1].document["object"]["status"] == status


@pytest.mark.spec("STA-06", "STA-07", "HTT-11")
@pytest.mark.parametrize("first", ["refund", "chargeback"])
@pytest.mark.parametrize("action", ["refund", "chargeback"])
def test_only_a_processed_order_is_reversed(service: Service, first: str, action: str) -> None:
    """There is no way from created to refunded or chargeback, and no second reversal of either kind."""
    order_id = service.order_id()
    assert service.act(order_id, action).status_code == 409
    service.act(order_id, "pay")
    assert service.act(order_id, first).status_code == 200
    events = list(service.receiver.events)
    assert service.act(order_id, action).status_code == 409
    assert service.receiver.events == events


@pytest.mark.spec("AUT-04")
def test_the_sent_bytes_are_escaped(field: Service) -> None:
    """`< > &` arrive escaped, other characters raw, 100.00 as 100: parsing and writing again breaks the hash."""
    field.paid(description="Zoë <3 & you>", amount=100.0)
    body = field.receiver.received[0].body.decode()
    assert '"description":"Zoë \\u003c3 \\u0026 you\\u003e"' in body
    assert '"amount":100,' in body


@pytest.mark.spec("EVT-10", "EVT-12", "WHK-07")
def test_a_refused_message_comes_again(field: Service) -> None:
    """After 600 s of virtual time, with the same id, the next delivery_try and a new created_at and signature."""
    field.receiver.answers = [500]
    field.paid()
    field.advance(599)
    assert len(field.receiver.received) == 1
    field.advance(1)
    first, second = (each.document for each in field.receiver.received)
    assert (first["delivery_try"], second["delivery_try"]) == (0, 1)
    assert first["id"] == second["id"]
    assert (first["created_at"], second["created_at"]) == ("2026-03-04T12:00:00Z", "2026-03-04T12:10:00Z")
    assert first["object"] == second["object"]
    assert field.receiver.received[1].is_signed_with(SECRET)


@pytest.mark.spec("WHK-05")
def test_an_event_has_one_time_by_the_specification(spec: Service) -> None:
    """`created_at` is the time of the event in each attempt and in a re-send; a later event has its own."""
    spec.receiver.answers = [500]
    order_id = spec.paid()
    spec.advance(600)
    spec.advance(60)
    spec.act(order_id, "resend")
    spec.act(order_id, "refund")
    times = [each.document["created_at"][11:16] for each in spec.receiver.received]
    assert spec.receiver.events == ["payment.success"] * 3 + ["payment.refund"]
    assert times == ["12:00", "12:00", "12:00", "12:11"]


@pytest.mark.spec("EVT-09", "EP5-02")
@pytest.mark.parametrize(
    ("profile", "acknowledging"), [("spec", {200}), ("field", {200, 204})], ids=["spec", "field"]
)
@pytest.mark.parametrize("status", [200, 201, 202, 204, 422, 503])
def test_which_statuses_acknowledge(profile: str, acknowledging: set[int], status: int) -> None:
    """200 alone by the specification, in the field 204 too; everything else is tried again."""
    with running(profile=profile) as service:
        service.receiver.answers = [status]
        service.paid()
        service.advance(600)
        assert len(service.receiver.received) == (1 if status in acknowledging else 2)


@pytest.mark.spec("EVT-12", "EVT-10")
@pytest.mark.parametrize(
    ("profile", "numbers", "status"), [("field", [0, 1, 2], "rejected"), ("spec", [1, 2, 3], "processed")]
)
def test_retries_end(profile: str, numbers: list[int], status: str) -> None:
    """After the last attempt nothing more comes, and in the field the paid order turns rejected in silence."""
    with running(profile=profile, retry_limit=2) as service:
        service.receiver.answers = [500] * 9
        order_id = service.paid()
        for _ in range(5):
            service.advance(600)
        assert [each.document["delivery_try"] for each in service.receiver.received] == numbers
        (item,) = service.listed(("id", order_id)).json()["items"]
        assert (item["status"], item["cancellation"]) == (status, None)


@pytest.mark.spec("EVT-09")
def test_a_redirect_turns_into_a_get(field: Service) -> None:
    """A 302 is followed by a GET without the body, and the response to that counts."""
    field.receiver.answers = [302]
    field.receiver.location = "/elsewhere/"
    field.paid()
    assert [(each.method, each.path) for each in field.receiver.received] == [
        ("POST", "/webhook/"),
        ("GET", "/elsewhere/"),
    ]
    assert field.receiver.received[1].body == b""


@pytest.mark.spec("WHK-04", "ORD-42")
def test_an_order_keeps_secret_url_and_mode_of_its_creation(field: Service) -> None:
    """A refund after a change of the project is signed with the old secret and goes to the old address."""
    order_id = field.paid()
    with Receiver() as other:
        field.sandbox.projects.update("project-1", secret_key="sandbox_new", webhook_url=other.url, live=True)
        field.act(order_id, "refund")
        field.paid()
        assert field.receiver.received[-1].document["event"] == "payment.refund"
        assert field.receiver.received[-1].is_signed_with(SECRET)
        assert field.receiver.received[-1].document["live"] is False
        (fresh,) = other.received
        assert fresh.is_signed_with("sandbox_new")
        assert fresh.document["live"] is True
        assert fresh.document["object"]["is_production"] is True


@pytest.mark.spec("WHK-01")
def test_an_id_is_stable_for_one_event_of_one_order(field: Service) -> None:
    """A re-send has the id of the first message; another event or order has another."""
    order_id = field.paid()
    field.act(order_id, "resend")
    field.act(order_id, "refund")
    field.paid()
    success, again, refund, other = (each.document["id"] for each in field.receiver.received)
    assert success == again
    assert len({success, refund, other}) == 3


@pytest.mark.spec("WHK-01")
def test_two_refunds_are_two_events_by_the_specification(spec: Service) -> None:
    """Each has an id of its own, and its re-send has the same."""
    order_id = spec.paid()
    spec.act(order_id, "refund", amount="1")
    spec.act(order_id, "refund", amount="2")
    spec.act(order_id, "resend")
    _, one, two, again = (each.document["id"] for each in spec.receiver.received)
    assert one != two == again


@pytest.mark.spec("WHK-01")
def test_two_refunds_share_an_id_in_the_field(field: Service) -> None:
    """It depends on order and event, so only the body differs."""
    order_id = field.paid()
    field.act(order_id, "refund", amount="1")
    field.act(order_id, "refund", amount="2")
    _, one, two = (each.document for each in field.receiver.received)
    assert one["id"] == two["id"]
    assert one["object"]["refund"]["amount"] != two["object"]["refund"]["amount"]


@pytest.mark.spec("EP5-01")
def test_no_webhook_url_sends_nothing() -> None:
    """Nothing is sent for a project without an address, and nothing waits."""
    with running(webhook_url="") as service:
        service.paid()
        assert service.receiver.received == []


def test_no_proxy_of_the_machine_is_used(field: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shop is tested on this machine: a proxy outside could not reach it, and would read what is sent."""
    order_id = field.order_id()
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    field.sandbox.payments.pay(order_id, Card(), approved=True)
    field.settle()
    assert len(field.receiver.received) == 1


@pytest.mark.spec("EVT-09", "EVT-10")
def test_nobody_listening_is_a_failed_attempt() -> None:
    """A refused connection is retried like any other failure."""
    with running(webhook_url="http://127.0.0.1:9/") as service:
        order_id = service.paid()
        (notification,) = service.act(order_id, "resend").json()["notifications"][:1]
    assert (notification["state"], notification["answer"], notification["delivery_try"]) == ("due", 0, 1)


@pytest.mark.spec("EVT-12")
def test_a_fraction_of_a_second_is_a_retry_interval(field: Service) -> None:
    """A schedule set by the control API is followed."""
    url = f"{field.url}/_sandbox/project"
    assert requests.patch(url, json={"retry_interval": 0.5}, timeout=10).status_code == 200
    field.receiver.answers = [500]
    field.paid()
    field.advance(0.5)
    assert len(field.receiver.received) == 2


@pytest.mark.spec("EVT-09", "EP5-02")
def test_the_status_counts_when_the_answer_breaks_off(field: Service) -> None:
    """A 200 with an incomplete body acknowledges: the body is ignored."""
    field.receiver.promised = 100
    (delivery,) = field.sandbox.outbox.of_order(field.paid())
    assert (delivery.state, delivery.answer) == ("delivered", 200)


@pytest.mark.spec("WHK-02", "WHK-03", "WHK-08", "EVT-03", "EVT-04", "EVT-05", "EVT-06")
@pytest.mark.parametrize(
    ("actions", "event"),
    [
        (["pay"], "payment.success"),
        (["pay", "refund"], "payment.refund"),
        (["pay", "chargeback"], "payment.chargeback"),
        (["cancel"], "payment.cancel"),
        (["decline"], "payment.cancel"),
    ],
)
def test_a_notification_names_its_event_at_each_attempt(
    service: Service, actions: list[str], event: str
) -> None:
    """The first time, when it is tried again, and when it is sent once more; its object is the order."""
    service.receiver.answers = [*[200] * (len(actions) - 1), 500]
    order_id = service.order_id()
    for action in actions:
        service.act(order_id, action)
    service.advance(600)
    service.act(order_id, "resend", event=event)
    attempts = [each.document for each in service.receiver.received[len(actions) - 1 :]]
    assert [each["event"] for each in attempts] == [event] * 3
    assert {each["type"] for each in attempts} == {"notification"}
    assert {each["object"]["id"] for each in attempts} == {order_id}


@pytest.mark.spec("WHK-07", "EVT-10")
@pytest.mark.parametrize(("profile", "numbers"), [("spec", [1, 2, 3]), ("field", [0, 1, 2])])
def test_attempts_are_counted_from_the_first(profile: str, numbers: list[int]) -> None:
    """By the specification the first is number one; deployed services begin payment notifications at zero."""
    with running(profile=profile, mode="pre_approval") as service:
        service.receiver.answers = [200, 500, 500, 200]
        service.paid()
        service.advance(600)
        service.advance(600)
        validation, *payments = service.receiver.received
        assert [each.document["delivery_try"] for each in payments] == numbers
        assert validation.document["delivery_try"] == 1


@pytest.mark.spec("WHK-05")
@pytest.mark.parametrize("moment", [NOON, NOON.replace(microsecond=250_000)])
def test_times_of_the_specification_have_no_fractions(moment: datetime) -> None:
    """Neither in user.validate, nor in a payment notification, nor in a testing case, nor in the list."""
    with running(profile="spec", mode="pre_approval", moment=moment) as service:
        service.act(service.paid(), "refund")
        service.post("/_sandbox/testing/correct_payment", {})
        orders = [each.document["object"] for each in service.receiver.received[1:]]
        listed = service.listed().json()["items"]
        times = [each.document["created_at"] for each in service.receiver.received]
        times += [order[name] for order in [*orders, *listed] for name in ("created_at", "refunded_at")]
        assert {each for each in times if each} == {"2026-03-04T12:00:00Z"}
