"""Several validators, and the time that they may take together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections

from checkout_integration.flows.webhook import validators
from checkout_integration.hooks import Hooks, Refusal, Validator
from checkout_integration.models import CheckoutUser, ValidationDecision
from checkout_integration.protocol.user import User
from checkout_integration.testing.delivery import Deliver
from tests.support.flows.shop import ShopHooks
from tests.support.flows.threads import PATIENCE, await_true

QUESTION: dict[str, Any] = {"event": "user.validate", "user": {"id": "svc-1", "external_id": "player-1"}}
in_threads = pytest.mark.django_db(transaction=True)
"""Inside the transaction of a test a validator runs in the request's own thread."""


@pytest.fixture
def budget(settings: Any) -> Callable[..., None]:
    """Set the budget, in seconds, and the decision when it runs out."""

    def set_to(seconds: float, when_late: str = "refuse") -> None:
        settings.CHECKOUT_INTEGRATION = {
            **settings.CHECKOUT_INTEGRATION,
            "VALIDATE_BUDGET": seconds,
            "VALIDATE_WHEN_LATE": when_late,
        }

    return set_to


class Hanging:
    """A validator that does not end before it is let go."""

    def __init__(self) -> None:
        self.calls = 0
        self._let_go = threading.Event()

    def __call__(self, user: User) -> bool:
        """Wait, and refuse."""
        self.calls += 1
        assert self._let_go.wait(PATIENCE)
        list(CheckoutUser.objects.all())
        return False

    def let_go(self) -> None:
        """Let all of them end, and wait for that."""
        self._let_go.set()
        await_true(lambda: "checkout-validator" not in {each.name for each in threading.enumerate()})


@pytest.fixture
def hanging(hooks: type[ShopHooks]) -> Iterator[Hanging]:
    """Let the shop's validator hang until the end of the test."""
    validator = Hanging()
    hooks.user = staticmethod(validator)
    yield validator
    validator.let_go()


@pytest.mark.spec("EVT-02")
@in_threads
@pytest.mark.parametrize(("when_late", "status"), [("refuse", 403), ("approve", 200)])
def test_answered_when_the_budget_runs_out(
    checkout_deliver: Deliver,
    hanging: Hanging,
    budget: Callable[..., None],
    when_late: str,
    status: int,
) -> None:
    """By VALIDATE_WHEN_LATE; a later result of the validator changes nothing."""
    budget(0.05, when_late)
    response = checkout_deliver(**QUESTION)
    assert response.status_code == status
    if status == 403:
        assert b"The customer could not be checked in time." in response.content
    hanging.let_go()
    decision = ValidationDecision.objects.get()
    assert (decision.approved, decision.decided_by, decision.late) == (status == 200, "timeout", True)
    assert decision.latency > 0.05
    assert not CheckoutUser.objects.exists()


@in_threads
def test_validators_that_hang_do_not_add_up(
    checkout_deliver: Deliver,
    hanging: Hanging,
    budget: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once all places are taken, no validator is called; one that ends releases its place."""
    monkeypatch.setattr(validators, "_places", threading.BoundedSemaphore(2))
    budget(0.05)
    assert [checkout_deliver(**QUESTION).status_code for _ in range(4)] == [403] * 4
    assert hanging.calls == 2
    hanging.let_go()
    budget(PATIENCE)
    checkout_deliver(**QUESTION)
    assert hanging.calls == 3


@in_threads
def test_connections_of_the_thread_are_closed(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """A thread has connections of its own, which end with it."""
    opened: list[Any] = []

    def look(user: User) -> bool:
        list(CheckoutUser.objects.all())
        opened.append(connections["default"])
        return connections["default"].connection is not None

    hooks.user = staticmethod(look)
    assert checkout_deliver(**QUESTION).status_code == 200
    assert [(each is connection, each.connection) for each in opened] == [(False, None)]


@in_threads
def test_exit_of_a_validator_reaches_the_request(hooks: type[ShopHooks]) -> None:
    """An exception that ends a process ends it from a thread, too."""

    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        validators.run_within(PATIENCE, leave)


@pytest.mark.django_db
@pytest.mark.parametrize(("answer", "status"), [(True, 200), (False, 403)])
def test_late_answer_of_a_validator_that_cannot_be_left(
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    budget: Callable[..., None],
    answer: bool,
    status: int,
) -> None:
    """In a transaction it runs in the request's own thread: its response stands, and is counted as late."""
    budget(1e-9, "approve")
    threads: list[threading.Thread] = []

    def ask(user: User) -> bool:
        threads.append(threading.current_thread())
        return answer

    hooks.user = staticmethod(ask)
    assert checkout_deliver(**QUESTION).status_code == status
    assert threads == [threading.current_thread()]
    decision = ValidationDecision.objects.get()
    assert (decision.approved, decision.decided_by, decision.late) == (answer, "shop", True)


@pytest.mark.django_db
def test_answer_within_the_budget_is_not_late(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Three seconds are plenty for a validator that does nothing."""
    hooks.user = staticmethod(lambda user: True)
    checkout_deliver(**QUESTION)
    assert ValidationDecision.objects.get().late is False


def refuse(code: str) -> Validator:
    """A validator that refuses with a code."""
    return lambda user: Refusal(code, code)


def approve(user: User) -> bool:
    """A validator that approves."""
    return True


def fail(user: User) -> bool:
    """A validator with a bug."""
    raise LookupError("canary")


@pytest.mark.spec("EVT-02", "EVT-11")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("chain", "code"),
    [
        ([approve, approve], ""),
        ([approve, refuse("ONE"), refuse("TWO")], "ONE"),
        ([refuse("ONE"), fail], "ONE"),
        ([approve, fail, refuse("TWO")], "INVALID_USER"),
        ([approve, lambda user: None], "INVALID_USER"),
        ([], "INVALID_USER"),
    ],
)
def test_validators_are_called_in_turn(
    checkout_deliver: Deliver, settings: Any, chain: list[Validator], code: str
) -> None:
    """The first refusal stands, a failure is a refusal, and without validators no customer is approved."""

    class Chained(Hooks):
        def validators(self) -> list[Validator]:
            return chain

    globals()["Chained"] = Chained
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HOOKS": f"{__name__}.Chained"}
    assert checkout_deliver(**QUESTION).status_code == (403 if code else 200)
    assert ValidationDecision.objects.get().code == code


@pytest.mark.django_db
def test_failure_is_recorded_with_its_place(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Staff see the line of the shop's code that failed, and not the message of the exception."""
    hooks.user = staticmethod(fail)
    checkout_deliver(**QUESTION)
    decision = ValidationDecision.objects.get()
    assert decision.decided_by == "failure"
    assert decision.failure.startswith("LookupError in fail (")
    assert "canary" not in decision.failure
