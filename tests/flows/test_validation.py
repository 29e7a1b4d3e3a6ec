"""The answers to user.validate: may this customer pay? (must show 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import Announcement, CheckoutUser, Notification, Order, ValidationDecision
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.user import User
from checkout_integration.signals import user_validated
from checkout_integration.testing.assertions import assert_acknowledged
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.flows.shop import Listening, ShopHooks

pytestmark = pytest.mark.django_db
ASKED: dict[str, Any] = {"event": "user.validate", "user": UserDocumentFactory(external_id="player-1")}


def refuses(answer: Callable[[User], Any], hooks: type[ShopHooks], deliver: Deliver) -> dict[str, Any]:
    """The error object of a refusal."""
    hooks.user = staticmethod(answer)
    response = deliver(**ASKED)
    assert (response.status_code, response["Content-Type"]) == (403, "application/json")
    error = strict_json.loads(response.content)
    assert isinstance(error, dict)
    return error


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-08")
def test_approved_customer_may_pay(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """An empty 200, and the hook was asked about the very customer."""
    asked: list[User] = []

    def approve(user: User) -> bool:
        asked.append(user)
        return True

    hooks.user = staticmethod(approve)
    assert_acknowledged(checkout_deliver(**ASKED))
    assert [user.external_id for user in asked] == ["player-1"]


def test_refused_customer_may_not(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """403 with the service's error object."""
    error = refuses(lambda user: False, hooks, checkout_deliver)
    assert (error["code"], set(error)) == ("INVALID_USER", {"code", "message", "details"})


def test_refusal_has_its_own_words(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """The shop says why."""
    error = refuses(lambda user: Refusal("BANNED", "Not until May."), hooks, checkout_deliver)
    assert (error["code"], error["message"]) == ("BANNED", "Not until May.")


def failing(user: User) -> bool:
    """A hook with a bug."""
    raise LookupError(f"canary {user.email}")


@pytest.mark.parametrize(
    "answer", [failing, lambda user: None, lambda user: 1, lambda user: "yes", lambda user: []]
)
def test_anything_but_true_refuses(
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    caplog: pytest.LogCaptureFixture,
    answer: Callable[[User], Any],
) -> None:
    """An exception too; its words stay out of the answer and of the log."""
    error = refuses(answer, hooks, checkout_deliver)
    assert error["code"] == "INVALID_USER"
    assert "canary" not in caplog.text + str(error) + str(ValidationDecision.objects.values().get())


def test_without_hooks_everyone_is_refused(checkout_deliver: Deliver) -> None:
    """The default is the safe answer."""
    assert checkout_deliver(**ASKED).status_code == 403
    assert Hooks().validate_user(User(document={})) is False


def test_hooks_that_cannot_be_loaded_refuse(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """A hook's class that fails to start is an exception in the hook."""

    def broken(self: object) -> None:
        raise RuntimeError

    hooks.__init__ = broken  # type: ignore[method-assign]
    try:
        assert checkout_deliver(**ASKED).status_code == 403
    finally:
        del hooks.__init__


def test_status_of_a_refusal_is_a_setting(checkout_deliver: Deliver, settings: Any) -> None:
    """The specification does not show it (EVT-11)."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "VALIDATE_REFUSE_STATUS": 400}
    assert checkout_deliver(**ASKED).status_code == 400


@pytest.mark.parametrize("approved", [True, False])
def test_decision_is_kept_and_announced(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, approved: bool
) -> None:
    """Who was asked about, what was answered, and how long it took; the shop's receivers hear of it."""
    heard = listen(user_validated)
    checkout_deliver(order=OrderDocumentFactory(user__external_id="player-1"))
    hooks.user = staticmethod(lambda user: approved)
    checkout_deliver(**ASKED)
    decision = ValidationDecision.objects.get()
    assert (decision.approved, decision.external_id) == (approved, "player-1")
    assert decision.code == ("" if approved else "INVALID_USER")
    assert 0 <= decision.latency < 60
    assert decision.user is not None and decision.user.external_id == "player-1"
    assert decision.notification == Notification.objects.get(event="user.validate")
    assert [(each["decision"], each["approved"], each["order"]) for each in heard] == [
        (decision, approved, None)
    ]


def test_repeated_questions_are_repeated_decisions(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening
) -> None:
    """The customer may press Pay again: each time the shop is asked anew."""
    heard = listen(user_validated)
    answers = iter([False, True])
    hooks.user = staticmethod(lambda user: next(answers))
    assert [checkout_deliver(**ASKED).status_code for _ in range(2)] == [403, 200]
    assert len(heard) == 2


@pytest.mark.django_db(transaction=True)
def test_hook_runs_outside_any_transaction(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """It may take its time, and what it writes is its own."""
    hooks.user = staticmethod(lambda user: not connection.in_atomic_block)
    assert checkout_deliver(**ASKED).status_code == 200


@pytest.mark.spec("ORD-43")
@pytest.mark.parametrize(
    ("case", "known", "status"),
    [
        ("correct_payment", False, 200),
        ("existing_user", True, 200),
        ("existing_user", False, 403),
        ("non_existing_user", False, 403),
        ("non_existing_user", True, 200),
        ("a case of tomorrow", False, 200),
    ],
)
def test_testing_cases_of_payments(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, case: str, known: bool, status: int
) -> None:
    """Cases about users are answered by the hook; none makes an order or announces anything."""
    heard = listen(user_validated)
    hooks.user = staticmethod(lambda user: known)
    order = OrderDocumentFactory(testing_case=case, status="", object="", transaction="")
    assert checkout_deliver(order=order).status_code == status
    assert Notification.objects.get().state == "test"
    assert (Order.objects.count(), Announcement.objects.count(), heard) == (0, 0, [])


@pytest.mark.spec("AUT-04")
def test_testing_case_with_a_wrong_signature(checkout_deliver: Deliver) -> None:
    """The case that tests the check: refused like any other forgery."""
    order = OrderDocumentFactory(testing_case="invalid_signature")
    response = checkout_deliver(order=order, secret="sandbox_wrong_secret")
    assert response.status_code == 401
    assert b"INVALID_SIGNATURE" in response.content
    assert not Notification.objects.exists()


def test_nobody_hears_of_a_customer_who_has_no_row(checkout_deliver: Deliver) -> None:
    """While they are asked about, a row holds their place; a host's own receivers of Django's signals never see it."""
    heard: list[object] = []

    def hear(instance: object, **_: object) -> None:
        heard.append(instance)

    signals = (pre_save, post_save, pre_delete, post_delete)
    for signal in signals:
        signal.connect(hear, sender=CheckoutUser)
    try:
        checkout_deliver(**ASKED)
    finally:
        for signal in signals:
            signal.disconnect(hear, sender=CheckoutUser)
    assert heard == []
    assert not CheckoutUser.objects.exists()
