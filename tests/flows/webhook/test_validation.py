"""The responses to user.validate: may this customer pay?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from checkout_integration.flows.ledger.customers import identity_here
from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import CheckoutUser, Notification, Order, OutboxMessage, ValidationDecision
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.user import User
from checkout_integration.signals import user_validated
from checkout_integration.testing.assertions import assert_acknowledged
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.flows.shop import Listening, ShopHooks, notification

pytestmark = pytest.mark.django_db
QUESTION: dict[str, Any] = {"event": "user.validate", "user": UserDocumentFactory(external_id="player-1")}


def refuses(answer: Callable[[User], Any], hooks: type[ShopHooks], deliver: Deliver) -> dict[str, Any]:
    """The error object of a refusal."""
    hooks.user = staticmethod(answer)
    response = deliver(**QUESTION)
    assert (response.status_code, response["Content-Type"]) == (403, "application/json")
    error = strict_json.loads(response.content)
    assert isinstance(error, dict)
    return error


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-08")
def test_approved_customer_may_pay(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """An empty 200, and the hook was called with this customer."""
    users: list[User] = []

    def approve(user: User) -> bool:
        users.append(user)
        return True

    hooks.user = staticmethod(approve)
    assert_acknowledged(checkout_deliver(**QUESTION))
    assert [user.external_id for user in users] == ["player-1"]


@pytest.mark.spec("EVT-08", "EVT-07", "EVT-03", "EVT-02", "EVT-11")
@pytest.mark.parametrize("says", ["user", "order", None])
def test_the_event_decides_what_the_object_is(
    checkout_deliver: Deliver, hooks: type[ShopHooks], says: str | None
) -> None:
    """Whatever the object says of itself: the hook decides about a customer, a payment is stored."""
    questions: list[str | None] = []

    def approve(user: User) -> bool:
        questions.append(user.external_id)
        return True

    hooks.user = staticmethod(approve)
    checkout_deliver(event="user.validate", user=UserDocumentFactory(external_id="player-1", object=says))
    assert (questions, Order.objects.count()) == (["player-1"], 0)
    document = {**order_document_for(CheckoutFactory()), "object": says}
    assert_acknowledged(checkout_deliver(event="payment.success", order=document))
    assert (questions, [order.order_id for order in Order.objects.all()]) == (["player-1"], [document["id"]])


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-11", "ERR-01", "ERR-02", "ERR-03", "HTT-01", "SVC-05")
def test_refused_customer_may_not(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """403 with the service's error object."""
    error = refuses(lambda user: False, hooks, checkout_deliver)
    assert (error["code"], set(error)) == ("INVALID_USER", {"code", "message", "details"})


@pytest.mark.spec("EVT-02", "ERR-02")
def test_refusal_has_its_own_words(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """The shop says why."""
    error = refuses(lambda user: Refusal("BANNED", "Not until May."), hooks, checkout_deliver)
    assert (error["code"], error["message"]) == ("BANNED", "Not until May.")


def failing(user: User) -> bool:
    """A hook with a bug."""
    raise LookupError(f"canary {user.email}")


@pytest.mark.spec("EVT-02")
@pytest.mark.parametrize(
    "answer", [failing, lambda user: None, lambda user: 1, lambda user: "yes", lambda user: []]
)
def test_anything_but_true_refuses(
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    caplog: pytest.LogCaptureFixture,
    answer: Callable[[User], Any],
) -> None:
    """An exception too; its message is neither in the response nor in the log."""
    error = refuses(answer, hooks, checkout_deliver)
    assert error["code"] == "INVALID_USER"
    assert "canary" not in caplog.text + str(error) + str(ValidationDecision.objects.values().get())


@pytest.mark.spec("EVT-02")
def test_without_hooks_everyone_is_refused(checkout_deliver: Deliver) -> None:
    """The default is the safe one."""
    assert checkout_deliver(**QUESTION).status_code == 403
    assert Hooks().validate_user(User(document={})) is False


@pytest.mark.spec("EVT-11")
def test_hooks_that_cannot_be_loaded_refuse(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """A hook's class that fails to start is an exception in the hook."""

    def broken(self: object) -> None:
        raise RuntimeError

    hooks.__init__ = broken  # type: ignore[method-assign]
    try:
        assert checkout_deliver(**QUESTION).status_code == 403
    finally:
        del hooks.__init__


@pytest.mark.spec("EVT-11")
def test_status_of_a_refusal_is_a_setting(checkout_deliver: Deliver, settings: Any) -> None:
    """The specification does not show it (EVT-11)."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "VALIDATE_REFUSE_STATUS": 400}
    assert checkout_deliver(**QUESTION).status_code == 400


@pytest.mark.spec("EVT-02", "EVT-07", "USR-03")
@pytest.mark.parametrize("approved", [True, False])
def test_decision_is_stored_and_announced(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, approved: bool
) -> None:
    """The row has the customer, the decision and the duration; the shop's receivers get a signal."""
    heard = listen(user_validated)
    checkout_deliver(order=OrderDocumentFactory(user__external_id="player-1"))
    hooks.user = staticmethod(lambda user: approved)
    checkout_deliver(**QUESTION)
    decision = ValidationDecision.objects.get()
    assert (decision.approved, decision.external_id) == (approved, "player-1")
    assert decision.code == ("" if approved else "INVALID_USER")
    assert 0 <= decision.latency < 60
    assert decision.user is not None and decision.user.external_id == "player-1"
    assert decision.notification == Notification.objects.get(event="user.validate")
    assert [(each["decision"], each["approved"], each["order"]) for each in heard] == [
        (decision, approved, None)
    ]


@pytest.mark.parametrize("changes", [{"id": "another"}, {"created_at": "2026-01-31T12:00:01Z"}])
def test_another_request_is_decided_anew(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, changes: dict[str, str]
) -> None:
    """The customer may press Pay again: any other body is another question, even under the same id."""
    heard = listen(user_validated)
    answers = iter([False, True])
    hooks.user = staticmethod(lambda user: next(answers))
    first = notification("user.validate", QUESTION["user"], id="one")
    assert [checkout_deliver(each).status_code for each in (first, {**first, **changes})] == [403, 200]
    assert len(heard) == ValidationDecision.objects.count() == 2


@pytest.mark.spec("EVT-11")
@pytest.mark.parametrize("answer", [True, False, Refusal("BANNED", "Not until May.")])
def test_exact_repetition_gets_the_recorded_answer(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, answer: Any
) -> None:
    """A replayed request calls no hook, records no decision and sends no signal; it is counted."""
    heard, answers = listen(user_validated), iter([answer])
    hooks.user = staticmethod(lambda user: next(answers))
    request = notification("user.validate", QUESTION["user"])
    first, second = checkout_deliver(request), checkout_deliver(request)
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert len(heard) == ValidationDecision.objects.count() == OutboxMessage.objects.count() == 1
    assert Notification.objects.get().receipts == 2


def test_repetition_is_known_after_the_secret_key_was_replaced(
    checkout_deliver: Deliver, hooks: type[ShopHooks], settings: Any
) -> None:
    """As long as the old key is among the fallbacks."""
    hooks.user = staticmethod(lambda user: True)
    request = notification("user.validate", QUESTION["user"])
    assert checkout_deliver(request).status_code == 200
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    hooks.user = staticmethod(lambda user: False)
    assert checkout_deliver(request).status_code == 200


def test_repetition_of_a_testing_case_gets_the_recorded_answer(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Testing cases about users are answered in the same way."""
    answers = iter([False])
    hooks.user = staticmethod(lambda user: next(answers))
    request = notification(order=OrderDocumentFactory(testing_case="non_existing_user"))
    assert [checkout_deliver(request).status_code for _ in range(2)] == [403, 403]
    assert ValidationDecision.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_loses_the_race_gives_the_winner_s_answer(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening
) -> None:
    """Two identical requests at the same time: both ask the shop, one decision is recorded, both give it."""
    heard, request = listen(user_validated), notification("user.validate", QUESTION["user"])
    answers = iter([True, False])

    def ask(user: User) -> bool:
        mine = next(answers)
        if mine:  # the first is overtaken by the second while the shop thinks
            assert checkout_deliver(request).status_code == 403
        return mine

    hooks.user = staticmethod(ask)
    assert checkout_deliver(request).status_code == 403
    assert ValidationDecision.objects.get().approved is False
    assert len(heard) == 1


@pytest.mark.django_db(transaction=True)
def test_hook_runs_outside_any_transaction(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """It may be slow, and its writes are committed on their own."""
    hooks.user = staticmethod(lambda user: not connection.in_atomic_block)
    assert checkout_deliver(**QUESTION).status_code == 200


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
    assert (Order.objects.count(), OutboxMessage.objects.count(), heard) == (0, 0, [])


@pytest.mark.spec("AUT-04")
def test_testing_case_with_a_wrong_signature(checkout_deliver: Deliver) -> None:
    """The case that tests the check: refused like any other forgery."""
    order = OrderDocumentFactory(testing_case="invalid_signature")
    response = checkout_deliver(order=order, secret="sandbox_wrong_secret")
    assert response.status_code == 401
    assert b"INVALID_SIGNATURE" in response.content
    assert not Notification.objects.exists()


NEWSLETTER = {"notify_new_region": True, "notify_new_region_email": "news@example.com"}


@pytest.mark.spec("USR-13", "USR-14")
@pytest.mark.parametrize("first", ["order", "user.validate"])
def test_what_only_user_validate_says_is_mirrored(
    checkout_deliver: Deliver, hooks: type[ShopHooks], first: str
) -> None:
    """Payments of newer services have neither of the two fields, so those from before the payment stay."""
    hooks.user = staticmethod(lambda user: True)
    user = {"id": "svc-1", "external_id": "player-1"}
    paid = notification(order={**OrderDocumentFactory(), "user": user})
    question = notification("user.validate", {**user, **NEWSLETTER})
    for each in (paid, question) if first == "order" else (question, paid):
        assert checkout_deliver(each).status_code == 200
    customer = CheckoutUser.objects.get()
    assert (customer.notify_new_region, customer.notify_new_region_email) == (True, "news@example.com")
    assert ValidationDecision.objects.get().user == Order.objects.get().user == customer


@pytest.mark.parametrize("in_the_checkout", [True, False])
def test_approved_customer_is_linked_to_their_account(
    checkout_deliver: Deliver, hooks: type[ShopHooks], django_user_model: Any, in_the_checkout: bool
) -> None:
    """That of their latest checkout, or else the one that Hooks.find_user names: as an order's customer would be."""
    account = django_user_model.objects.create_user("arthur")
    if in_the_checkout:
        identity = identity_here("player-1")
        CheckoutFactory(user=account, identity=identity)
        CheckoutFactory(user=None, identity=identity)
    else:
        hooks.find = staticmethod(lambda user: account)
    hooks.user = staticmethod(lambda user: True)
    checkout_deliver(**QUESTION)
    assert CheckoutUser.objects.get().account == account


def test_refused_customer_gets_no_row(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """They buy nothing here: the decision is all that is recorded of them."""
    assert checkout_deliver(event="user.validate", user={**QUESTION["user"], **NEWSLETTER}).status_code == 403
    assert not CheckoutUser.objects.exists()
    assert ValidationDecision.objects.get().user is None


def test_nobody_hears_of_a_customer_who_has_no_row(checkout_deliver: Deliver) -> None:
    """During user.validate a row reserves their identity; the host's receivers of Django's signals never see it."""
    heard: list[object] = []

    def hear(instance: object, **_: object) -> None:
        heard.append(instance)

    signals = (pre_save, post_save, pre_delete, post_delete)
    for signal in signals:
        signal.connect(hear, sender=CheckoutUser)
    try:
        checkout_deliver(**QUESTION)
    finally:
        for signal in signals:
            signal.disconnect(hear, sender=CheckoutUser)
    assert heard == []
    assert not CheckoutUser.objects.exists()
