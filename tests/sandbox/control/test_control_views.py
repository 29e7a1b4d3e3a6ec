"""The JSON control API."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox.faults.catalogue import KINDS, SUBJECTS
from tests.support.sandbox.service import PROJECT, Service, running


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


@pytest.mark.spec("STA-05", "STA-08", "EVT-01", "EVT-06")
def test_a_card_can_be_named(service: Service) -> None:
    """`pay` with a declining card is a decline."""
    assert service.act(service.order_id(), "pay", card="4000000000000002").json()["outcome"] == "declined"
    assert service.receiver.events == ["payment.cancel"]
    assert service.receiver.received[0].document["object"]["status"] == "rejected"


@pytest.mark.spec("ORD-09", "STA-04", "STA-05", "EVT-06")
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_an_order_that_ended_says_why(profile: str) -> None:
    """By code and reason; of a decline deployed services only, which is no cancellation by the specification."""
    with running(profile=profile) as service:
        for action in ("decline", "cancel"):
            service.act(service.order_id(), action)
        assert service.receiver.events == ["payment.cancel", "payment.cancel"]
        declined, canceled = (each.document["object"] for each in service.receiver.received)
    refusal = {"code": "05", "reason": "Do not honour"} if profile == "field" else None
    assert (declined["status"], declined["cancellation"]) == ("rejected", refusal)
    assert canceled["cancellation"] == {"code": "01", "reason": "Canceled by the customer"}


@pytest.mark.spec("HTT-11")
@pytest.mark.parametrize("action", ["pay", "decline", "cancel"])
def test_what_has_ended_is_a_conflict(service: Service, action: str) -> None:
    """A paid order can be neither paid again, nor declined, nor cancelled by its customer."""
    order_id = service.paid()
    assert service.act(order_id, action).status_code == 409


@pytest.mark.spec("STA-04", "EVT-06", "ORD-07", "ORD-09")
@pytest.mark.parametrize("seconds", [0, 3600])
def test_an_order_is_cancelled_while_it_is_created(service: Service, seconds: int) -> None:
    """However long its form has been open."""
    order_id = service.order_id()
    service.advance(seconds)
    assert service.act(order_id, "cancel").status_code == 200
    (item,) = service.listed().json()["items"]
    assert (item["status"], item["canceled"], bool(item["cancellation"]["reason"])) == (
        "canceled",
        True,
        True,
    )
    assert service.receiver.events == ["payment.cancel"]


@pytest.mark.spec("STA-08", "EVT-06", "ORD-07")
def test_a_paid_order_can_be_cancelled_on_purpose(service: Service) -> None:
    """payment.cancel after payment.success happens in the field, so it can be made to happen; its object says so."""
    order_id = service.paid()
    assert service.act(order_id, "cancel").status_code == 409
    assert service.act(order_id, "cancel", after_payment=True).status_code == 200
    assert service.receiver.events == ["payment.success", "payment.cancel"]
    canceled = [received.document["object"]["canceled"] for received in service.receiver.received]
    assert canceled == [False, True]


@pytest.mark.spec("RFD-01", "RFD-03", "STA-06", "STA-10")
def test_a_refund_can_be_partial(service: Service) -> None:
    """Amount and reason reach the refund object."""
    order_id = service.paid()
    service.act(order_id, "refund", amount="2.50", reason="Half a hat")
    refund = service.receiver.received[-1].document["object"]["refund"]
    assert (str(refund["amount"]), refund["reason"]) == ("2.5", "Half a hat")


@pytest.mark.spec("HTT-09", "ERR-01")
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


@pytest.mark.spec("MTH-07")
def test_the_step_of_the_bank_can_be_chosen(service: Service) -> None:
    """A card that asks for a code passes the step by default (MTH-07)."""
    ends = []
    for more in ({}, {"secure3d": True}, {"secure3d": False}):
        document = service.act(service.order_id(), "pay", card="4000002760003184", **more).json()
        ends.append((document["outcome"], document["document"]["method"]["card"]["secure3d"]))
    assert ends == [("paid", True), ("paid", True), ("declined", False)]


def test_the_clock_ends_before_dates_do(service: Service) -> None:
    """Too far is refused, and time stays as it was."""
    for _ in range(220):
        service.sandbox.clock.advance(10**9)
    now = get(service, "/_sandbox/clock")
    assert service.post("/_sandbox/clock", {"advance": 10**9}).status_code == 400
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
@pytest.mark.parametrize("action", ["refund", "cancel"])
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


@pytest.mark.parametrize(
    ("actions", "offered"),
    [
        ([], ["pay", "decline", "cancel", "expire"]),
        (["pay"], ["refund", "chargeback", "cancel", "resend"]),
        (["decline"], ["resend"]),
        (["pay", "refund"], ["resend"]),
    ],
)
def test_an_order_says_what_can_be_done(service: Service, actions: list[str], offered: list[str]) -> None:
    """In its present state; nothing with an item of a reversal."""
    order_id = service.order_id()
    for action in actions:
        service.act(order_id, action)
    orders = get(service, "/_sandbox/orders")["orders"]
    assert {order["id"]: order["actions"] for order in orders if not order["reversal"]} == {order_id: offered}
    assert [order["actions"] for order in orders if order["reversal"]] in ([], [[]])


@pytest.mark.spec("RFD-01", "RFD-02", "STA-10")
def test_an_order_says_what_is_left_to_refund(service: Service) -> None:
    """In the currency of the charge; while something is left, a refund is possible."""
    order_id = service.paid()
    answer = service.act(order_id, "refund", amount="4.00").json()
    assert (answer["refundable"], answer["charge_currency"], "refund" in answer["actions"]) == (
        5.99,
        "USD",
        True,
    )
    assert service.act(order_id, "refund").json()["refundable"] == 0


@pytest.mark.spec("WHK-01")
def test_a_message_is_sent_again(service: Service) -> None:
    """With the identifier of the first."""
    service.act(service.paid(), "resend")
    first, again = (each.document["id"] for each in service.receiver.received)
    assert first == again


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize("amount", ["much", "-1", "NaN"])
def test_a_wrong_amount_refunds_nothing(service: Service, amount: str) -> None:
    """The error says so."""
    assert service.act(service.paid(), "refund", amount=amount).status_code == 400
    assert service.receiver.events == ["payment.success"]


def test_the_testing_cases_are_listed(service: Service) -> None:
    """With the results of those that were run."""
    service.post("/_sandbox/testing/correct_payment", {})
    document = get(service, "/_sandbox/testing")
    assert set(document["cases"]) == set(TestingCase)
    assert [trial["case"] for trial in document["trials"]] == ["correct_payment"]


def add(service: Service, **rule: Any) -> requests.Response:
    """Add a rule to the fault switchboard."""
    return service.post("/_sandbox/faults", rule)


def test_a_fault_more_leaves_the_others_as_they_are(service: Service) -> None:
    """Counts of other faults do not begin anew."""
    add(service, point="notification", kind="drop", times=1)
    service.paid()
    rules = add(service, point="list", kind="lying_count", number=-7).json()["rules"]
    assert [(rule["kind"], rule["struck"]) for rule in rules] == [("drop", 1), ("lying_count", 0)]
    assert service.listed().json()["count"] == -7


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"point": "moon", "kind": "drop"}, "point must be one of"),
        ({"point": "api", "kind": "slow", "seconds": "soon"}, "seconds must be a number, not below zero"),
        ({"point": "api", "kind": "slow", "seconds": -1}, "seconds must be a number, not below zero"),
        ({"point": "api", "kind": "slow", "times": -1}, "skip and times must not be below zero"),
        ({"point": "list", "kind": "lying_count", "number": -1.5}, "must be whole numbers"),
        ({"point": "api", "kind": "slow", "subject": "payment.success"}, "subject must be one of tokens"),
        ({"point": "api"}, "a rule has point, kind"),
    ],
)
def test_a_fault_that_cannot_strike_is_refused(service: Service, rule: dict[str, Any], words: str) -> None:
    """With the possible values; no fault is switched on."""
    answer = add(service, **rule)
    assert (answer.status_code, words in answer.json()["details"]) == (400, True)
    assert get(service, "/_sandbox/faults")["rules"] == []


def test_every_kind_of_fault_is_explained(service: Service) -> None:
    """By the point where it strikes, with the subjects that a rule can be limited to."""
    document = get(service, "/_sandbox/faults/kinds")
    assert document["kinds"] == {point: dict(kinds) for point, kinds in KINDS.items()}
    assert document["subjects"] == {point: list(names) for point, names in SUBJECTS.items()}
