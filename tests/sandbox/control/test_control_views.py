"""The JSON control API and the operator's page."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import PROJECT, Service


def get(service: Service, path: str) -> Any:
    """Return a JSON response of the control API."""
    answer = requests.get(service.url + path, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_order_is_returned_with_its_notifications(service: Service) -> None:
    """One order: state, form, document and deliveries."""
    order_id = service.paid(metadata={"reference": "r"})
    document = get(service, f"/_sandbox/orders/{order_id}")
    assert (document["status"], document["metadata"]) == ("processed", {"reference": "r"})
    assert document["document"]["id"] == order_id
    assert [(each["event"], each["state"], each["answer"]) for each in document["notifications"]] == [
        ("payment.success", "delivered", 200)
    ]


def test_the_newest_orders_come_first(service: Service) -> None:
    """The list of the control API is for people."""
    orders = [service.order_id() for _ in range(3)]
    document = get(service, "/_sandbox/orders")
    assert document["count"] == 3
    assert [each["id"] for each in document["orders"]] == orders[::-1]


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
    """The response is the order after the action."""
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
    """The refund object has the smaller amount."""
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
        ("/_sandbox/clock", {"back": -5}, 400),
        ("/_sandbox/clock", {"back": "soon"}, 400),
        ("/_sandbox/clock", [], 400),
        ("/_sandbox/clock", {"running": "no"}, 400),
        ("/_sandbox/clock", {"advanec": 60}, 400),
        ("/_sandbox/deliver", {"timeuot": 1}, 400),
        ("/_sandbox/deliver", {"timeout": "soon"}, 400),
    ],
)
def test_nonsense_is_refused(service: Service, path: str, document: Any, status: int) -> None:
    """Unknown orders and actions are a 404, unreadable wishes a 400, both with the error object."""
    answer = service.post(path, document)
    assert answer.status_code == status
    assert answer.json()["message"]


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("pay", {"crad": "4242424242424242"}),
        ("pay", {"card": "abc"}),
        ("pay", {"card": 4242424242424242}),
        ("pay", {"card": "4242424242424242", "wallet": "ada"}),
        ("pay", {"wallet": {"a": 1}}),
        ("pay", {"billing_country": "Germany"}),
        ("pay", {"receipt_email": ["a@example.com"]}),
        ("pay", {"saved": "yes"}),
        ("cancel", {"after_payment": "yes"}),
        ("decline", {"reason": "no"}),
        ("refund", {"reason": {"a": 1}}),
        ("refund", {"amuont": 1}),
        ("resend", {"event": ["payment.success"]}),
        ("resend", {"event": "payment.sucess"}),
    ],
)
def test_an_unknown_name_does_nothing(service: Service, action: str, body: dict[str, Any]) -> None:
    """A wish that is not understood is a 400 that names it, and nothing happens."""
    order_id = service.order_id()
    answer = service.act(order_id, action, **body)
    assert (answer.status_code, answer.json()["code"]) == (400, "sb000006")
    assert next(iter(body)) in answer.json()["details"]
    assert get(service, f"/_sandbox/orders/{order_id}")["status"] == "created"


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize(
    ("amount", "details"),
    [
        (0, "amount: above zero, $9.99 USD at most"),
        ("10.00", "amount: above zero, $9.99 USD at most"),
        (1e8, "amount: above zero, $9.99 USD at most"),
        (0.001, "amount: no parts of $0.01 USD"),
        (9.989, "amount: no parts of $0.01 USD"),
    ],
)
def test_a_part_that_cannot_be_paid_back_is_refused(service: Service, amount: Any, details: str) -> None:
    """Nothing, more than was charged, and parts of a cent, each with its own reason."""
    order_id = service.paid()
    answer = service.act(order_id, "refund", amount=amount)
    assert (answer.status_code, answer.json()["details"]) == (400, details)
    assert service.receiver.events == ["payment.success"]


def test_the_step_of_the_bank_can_be_chosen(service: Service) -> None:
    """A card that asks for a code passes the step by default (MTH-07)."""
    ends = []
    for more in ({}, {"secure3d": True}, {"secure3d": False}):
        document = service.act(service.order_id(), "pay", card="4000002760003184", **more).json()
        ends.append((document["outcome"], document["document"]["method"]["card"]["secure3d"]))
    assert ends == [("paid", True), ("paid", True), ("declined", False)]


def test_the_clock_ends_before_dates_do(service: Service) -> None:
    """Too far is refused, by the control API and on the operator's page, and time stays as it was."""
    for _ in range(220):
        service.sandbox.clock.advance(10**9)
    now = get(service, "/_sandbox/clock")
    assert service.post("/_sandbox/clock", {"advance": 10**9}).status_code == 400
    page = service.press("clock", {"advance": "999999999"})
    assert (page.status_code, "Not possible" in page.text) == (400, True)
    assert get(service, "/_sandbox/clock") == now
    assert service.create().status_code == 200


def test_project_settings_are_changed(service: Service) -> None:
    """PATCH changes what it names and returns the project without its secret."""
    url = f"{service.url}/_sandbox/project/{PROJECT}"
    document = requests.patch(url, json={"mode": "pre_approval", "live": True}, timeout=10).json()
    assert (document["mode"], document["live"]) == ("pre_approval", True)
    assert "secret_key" not in document
    assert get(service, "/_sandbox/project") == document


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
        {"secret_key": ""},
        {"secret_key": "sandbox_\n"},
        {"secret_key": "sandbox_\u00e9"},
        {"currency": "ZZZ"},
        {"charge_currency": "eur"},
        {"charge_rate": 0},
        {"virtual_currency_price": 0},
        {"success_url": "javascript:alert(1)"},
        {"fail_url": "shop"},
        {"retry_interval": -1},
        {"retry_limit": -1},
        {"attempt_timeout": 0},
        {"unsafe_allow_any_secret": True},
        {"unsafe_allow_any_webhook": True},
    ],
)
def test_a_project_refuses_dangerous_settings(service: Service, change: dict[str, Any]) -> None:
    """The guards of the start apply to changes too."""
    assert requests.patch(f"{service.url}/_sandbox/project", json=change, timeout=10).status_code == 400


def test_the_clock_moves(service: Service) -> None:
    """The clock is returned, and moves as requested."""
    assert get(service, "/_sandbox/clock") == {"now": "2026-03-04T12:00:00Z", "running": False}
    assert service.post("/_sandbox/clock", {"advance": 90}).json()["now"] == "2026-03-04T12:01:30Z"


def test_the_clock_is_turned_back(service: Service) -> None:
    """Retries wait as long as before, and the times of orders do not change."""
    service.receiver.answers = [500]
    service.paid()
    service.advance(540)
    assert service.post("/_sandbox/clock", {"back": 3600}).json()["now"] == "2026-03-04T11:09:00Z"
    (order,) = get(service, "/_sandbox/orders")["orders"]
    (waiting,) = order["notifications"]
    assert (order["created_at"], waiting["due_at"]) == ("2026-03-04T12:00:00Z", "2026-03-04T11:10:00Z")
    service.advance(60)
    assert service.receiver.events == ["payment.success"] * 2


@pytest.mark.spec("ORD-08", "ORD-11")
@pytest.mark.parametrize("action", ["refund", "chargeback", "cancel"])
def test_nothing_ends_before_it_began(service: Service, action: str) -> None:
    """An order made before the clock was turned back ends at the time of its creation at the earliest."""
    order_id = service.paid()
    service.sandbox.turn_back(86400)
    service.act(order_id, action, **({"after_payment": True} if action == "cancel" else {}))
    document = service.receiver.received[-1].document["object"]
    ended_at = document["canceled_at" if action == "cancel" else "refunded_at"]
    assert ended_at == document["created_at"]
    assert {item["created_at"] for item in service.listed().json()["items"]} == {document["created_at"]}


def test_the_newest_order_is_the_one_made_last(service: Service) -> None:
    """Although the clock was turned back in between."""
    orders = [service.order_id()]
    service.sandbox.turn_back(86400)
    orders.append(service.order_id())
    assert [each["id"] for each in get(service, "/_sandbox/orders")["orders"]] == orders[::-1]


def test_the_clock_begins_where_dates_do(service: Service) -> None:
    """Too far back is refused, and time stays as it was."""
    assert service.post("/_sandbox/clock", {"back": 10**9}).status_code == 200
    now = get(service, "/_sandbox/clock")
    assert service.post("/_sandbox/clock", {"back": 10**9}).status_code == 400
    assert get(service, "/_sandbox/clock") == now


def test_deliver_returns_when_everything_is_sent(service: Service) -> None:
    """Due notifications have arrived before the response."""
    service.receiver.answers = [500]
    service.paid()
    service.sandbox.clock.advance(600)
    assert service.post("/_sandbox/deliver", {}).json() == {"idle": True}
    assert len(service.receiver.received) == 2


def test_the_run_log_tells_both_directions(service: Service) -> None:
    """Requests to the sandbox and its notifications are stored with their responses."""
    service.paid()
    entries = get(service, "/_sandbox/log")["entries"]
    assert [(each["direction"], each["status"]) for each in entries] == [("in", 200), ("out", 200)]
    assert entries[0]["url"] == "/api/v1/order"
    assert "payment.success" in entries[1]["request"]


def test_the_operators_buttons_work(service: Service) -> None:
    """The page shows the order, and its buttons change it."""
    order_id = service.order_id(description="A hat")
    for action in ("pay", "refund"):
        page = service.press(f"orders/{order_id}/{action}")
        assert page.status_code == 200
    assert "A hat" in page.text
    assert service.receiver.events == ["payment.success", "payment.refund"]
    assert "payment.refund: delivered" in page.text


def test_the_operator_switches_mode_and_clock(service: Service) -> None:
    """Both forms of the page take effect."""
    service.press(f"project/{PROJECT}", {"mode": "pre_approval"})
    service.press("clock", {"advance": "600"})
    assert get(service, "/_sandbox/project")["mode"] == "pre_approval"
    assert get(service, "/_sandbox/clock")["now"] == "2026-03-04T12:10:00Z"


def test_an_impossible_button_says_so(service: Service) -> None:
    """A refund of an order that is not paid is refused on a page."""
    page = service.press(f"orders/{service.order_id()}/refund")
    assert page.status_code == 409
    assert "Not possible" in page.text
