"""The JSON control API and the operator's page."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.sandbox.service import PROJECT, Service


def get(service: Service, path: str) -> Any:
    """Return a JSON answer of the control API."""
    answer = requests.get(service.url + path, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_order_is_told_with_its_messages(service: Service) -> None:
    """One order: state, form, document and deliveries."""
    order_id = service.paid(metadata={"reference": "r"})
    told = get(service, f"/_sandbox/orders/{order_id}")
    assert (told["status"], told["metadata"]) == ("processed", {"reference": "r"})
    assert told["document"]["id"] == order_id
    assert [(each["event"], each["state"], each["answer"]) for each in told["notifications"]] == [
        ("payment.success", "delivered", 200)
    ]


def test_the_newest_orders_come_first(service: Service) -> None:
    """The list of the control API is for people."""
    orders = [service.order_id() for _ in range(3)]
    told = get(service, "/_sandbox/orders")
    assert told["count"] == 3
    assert [each["id"] for each in told["orders"]] == orders[::-1]


@pytest.mark.parametrize(
    ("actions", "status"),
    [
        (["pay"], "processed"),
        (["decline"], "rejected"),
        (["cancel"], "canceled"),
        (["expire"], "created"),
        (["pay", "refund"], "refunded"),
        (["pay", "chargeback"], "chargeback"),
        (["pay", "resend"], "processed"),
    ],
)
def test_each_action_answers_the_order(service: Service, actions: list[str], status: str) -> None:
    """The answer is the order after the action."""
    order_id = service.order_id()
    answers = [service.act(order_id, action) for action in actions]
    assert [answer.status_code for answer in answers] == [200] * len(actions)
    assert answers[-1].json()["status"] == status


def test_a_card_can_be_named(service: Service) -> None:
    """`pay` with a declining card is a decline."""
    assert service.act(service.order_id(), "pay", card="4000000000000002").json()["outcome"] == "declined"


@pytest.mark.spec("STA-08")
def test_a_paid_order_can_be_cancelled_on_purpose(service: Service) -> None:
    """payment.cancel after payment.success happens in the field, so it can be made to happen."""
    order_id = service.paid()
    assert service.act(order_id, "cancel").status_code == 409
    assert service.act(order_id, "cancel", after_payment=True).status_code == 200
    assert service.receiver.events == ["payment.success", "payment.cancel"]


def test_a_refund_can_be_partial(service: Service) -> None:
    """The refund object tells the smaller amount."""
    order_id = service.paid()
    service.act(order_id, "refund", amount="1.50")
    assert str(service.receiver.received[-1].document["object"]["refund"]["amount"]) == "1.5"


@pytest.mark.parametrize(
    ("path", "document", "status"),
    [
        ("/_sandbox/orders/nothing/pay", {}, 404),
        ("/_sandbox/orders/nothing/dance", {}, 404),
        ("/_sandbox/clock", {"advance": "soon"}, 400),
        ("/_sandbox/clock", {"advance": -5}, 400),
        ("/_sandbox/clock", {"advance": 1e18}, 400),
        ("/_sandbox/clock", [], 400),
    ],
)
def test_nonsense_is_refused(service: Service, path: str, document: Any, status: int) -> None:
    """Unknown orders and actions are a 404, unreadable wishes a 400, both with the error object."""
    answer = service.post(path, document)
    assert answer.status_code == status
    assert answer.json()["message"]


def test_project_settings_are_changed(service: Service) -> None:
    """PATCH changes what it names and tells the project without its secret."""
    url = f"{service.url}/_sandbox/project/{PROJECT}"
    told = requests.patch(url, json={"mode": "pre_approval", "live": True}, timeout=10).json()
    assert (told["mode"], told["live"]) == ("pre_approval", True)
    assert "secret_key" not in told
    assert get(service, "/_sandbox/project") == told


@pytest.mark.parametrize(
    "change",
    [
        {"webhook_url": "http://shop.example/"},
        {"secret_key": "real"},
        {"mode": "often"},
        {"colour": 1},
        {"live": "yes"},
        {"title": 5},
        {"retry_limit": 1.5},
        {"project_id": "x"},
    ],
)
def test_a_project_refuses_dangerous_settings(service: Service, change: dict[str, Any]) -> None:
    """The guards of the start hold for changes too."""
    assert requests.patch(f"{service.url}/_sandbox/project", json=change, timeout=10).status_code == 400


def test_the_clock_moves(service: Service) -> None:
    """The clock is told, and moves by what is asked."""
    assert get(service, "/_sandbox/clock") == {"now": "2026-03-04T12:00:00Z", "running": False}
    assert service.post("/_sandbox/clock", {"advance": 90}).json()["now"] == "2026-03-04T12:01:30Z"


def test_deliver_answers_when_all_is_told(service: Service) -> None:
    """After the answer, what was due has arrived."""
    service.receiver.answers = [500]
    service.paid()
    service.sandbox.clock.advance(600)
    assert service.post("/_sandbox/deliver").json() == {"idle": True}
    assert len(service.receiver.received) == 2


def test_the_run_log_tells_both_directions(service: Service) -> None:
    """Requests to the sandbox and its messages are kept with their answers."""
    service.paid()
    entries = get(service, "/_sandbox/log")["entries"]
    assert [(each["direction"], each["status"]) for each in entries] == [("in", 200), ("out", 200)]
    assert entries[0]["url"] == "/api/v1/order"
    assert "payment.success" in entries[1]["request"]


def test_the_operators_buttons_work(service: Service) -> None:
    """The page shows the order, and its buttons change it."""
    order_id = service.order_id(description="A hat")
    for action in ("pay", "refund"):
        page = requests.post(f"{service.url}/_sandbox/operator/orders/{order_id}/{action}", timeout=10)
        assert page.status_code == 200
    assert "A hat" in page.text
    assert service.receiver.events == ["payment.success", "payment.refund"]
    assert "payment.refund: delivered" in page.text


def test_the_operator_switches_mode_and_clock(service: Service) -> None:
    """Both forms of the page take effect."""
    requests.post(f"{service.url}/_sandbox/operator/project/{PROJECT}", {"mode": "pre_approval"}, timeout=10)
    requests.post(f"{service.url}/_sandbox/operator/clock", {"advance": "600"}, timeout=10)
    assert get(service, "/_sandbox/project")["mode"] == "pre_approval"
    assert get(service, "/_sandbox/clock")["now"] == "2026-03-04T12:10:00Z"


def test_an_impossible_button_says_so(service: Service) -> None:
    """A refund of an order that is not paid is refused on a page."""
    page = requests.post(f"{service.url}/_sandbox/operator/orders/{service.order_id()}/refund", timeout=10)
    assert page.status_code == 409
    assert "Not possible" in page.text
