"""Events of one checkout reach a receiver in their order, with any processes, and wherever one of them stops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.flows import outbox
from checkout_integration.flows.database import key_of
from checkout_integration.flows.outbox import claiming, write_messages
from checkout_integration.models import Checkout, OutboxMessage, ReceiverRun
from checkout_integration.signals import order_changed
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.flows.concurrency import in_background
from tests.support.flows.shop import Failing, Listening, make_due, statements
from tests.support.flows.threads import PATIENCE
from tests.support.scale import FULL

pytestmark = pytest.mark.django_db
with_row_locks = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.django_db(transaction=True),
]


def marked(test: Any) -> Any:
    """A test that needs several processes at the same time."""
    for mark in with_row_locks:
        test = mark(test)
    return test


def say(checkout: Checkout, *numbers: int) -> None:
    """Record changes of a checkout, as the ledger does."""
    messages = [
        OutboxMessage(
            idempotency_key=key_of(checkout.pk, number),
            signal="order_changed",
            project="default",
            checkout=checkout,
            arguments={"number": number},
        )
        for number in numbers
    ]
    with transaction.atomic():
        write_messages(messages)


def note(number: int, checkout: Checkout, **arguments: Any) -> None:
    """Append the received event in the same database."""
    Group.objects.create(name=f"{Group.objects.count():06} {checkout.pk} {number}")


def heard(checkout: Checkout) -> list[int]:
    """The numbers that a receiver heard of a checkout, in its order."""
    names = Group.objects.order_by("name").values_list("name", flat=True)
    return [int(name.split()[2]) for name in names if name.split()[1] == str(checkout.pk)]


def states() -> list[str]:
    """States of all runs, in the order of their messages."""
    return list(ReceiverRun.objects.order_by("message", "receiver").values_list("state", flat=True))


def test_later_runs_wait(listen: Listening) -> None:
    """Only the head is due; when it ends the next one is."""
    listen(order_changed, Failing(times=1), name="a")
    say(CheckoutFactory(), 1, 2, 3)
    assert states() == ["due", "waiting", "waiting"]
    flows.run_due()
    assert states() == ["due", "waiting", "waiting"]
    make_due()
    flows.run_due(limit=1)
    assert states() == ["done", "due", "waiting"]
    flows.run_due()
    assert states() == ["done"] * 3


def test_a_run_that_was_given_up_holds_up_nothing(listen: Listening) -> None:
    """It has ended: the next event is due."""
    listen(order_changed, Failing(times=1), name="a")
    say(CheckoutFactory(), 1, 2)
    ReceiverRun.objects.filter(state="due").update(attempts=9)
    flows.run_due()
    assert states() == ["failed", "done"]


def test_what_waits_costs_nothing(listen: Listening) -> None:
    """Looking for work reads no row of it, however many there are."""
    listen(order_changed, Failing(), name="a")
    count = 30_000 if FULL else 300
    say(CheckoutFactory(), *range(count))
    flows.run_due()
    with statements() as seen:
        assert outbox.run_due().run == 0
    assert len(seen) <= 5
    assert not any("waiting" in each for each in seen)
    assert states().count("waiting") == count - 1


def test_a_new_run_waits_behind_one_in_back_off(listen: Listening) -> None:
    """Its message comes later; another checkout's is due at once."""
    listen(order_changed, Failing(times=1), name="a")
    first, second = CheckoutFactory(), CheckoutFactory()
    say(first, 1)
    flows.run_due()
    say(first, 2)
    say(second, 1)
    assert states() == ["due", "waiting", "due"]


@marked
def test_a_run_whose_head_is_being_attempted_waits_later(listen: Listening) -> None:
    """The head may be about to end, so the later run is looked at again; once the head has failed, it has to wait."""
    listen(order_changed, Failing(times=1), name="a")
    checkout = CheckoutFactory()
    say(checkout, 1)
    with transaction.atomic():
        assert list(ReceiverRun.objects.select_for_update())
        in_background(lambda: say(checkout, 2)).join(PATIENCE)
    assert states() == ["due", "due"]
    flows.run_due()
    assert states() == ["due", "waiting"]
    make_due()
    flows.run_due()
    assert states() == ["done", "done"]


class Killed(BaseException):
    """An exception that stands for the death of a process."""


def at_statement(number: int, then: Callable[[], None]) -> Any:
    """Count this thread's statements, and do something before one of them and all that follow."""
    count = 0

    def run(execute: Any, *query: Any) -> Any:
        nonlocal count
        count += 1
        if count >= number:
            then()
        return execute(*query)

    return connection.execute_wrapper(run)


@marked
def test_a_process_that_stops_at_any_statement_spoils_no_order(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is suspended there while another one works, and goes on afterwards."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(0))
    listen.connect(order_changed, note, "a")
    for number in range(1, 60):
        checkout, reached, stopped, go_on = CheckoutFactory(), Event(), Event(), Event()
        say(checkout, 1, 2)

        def stop() -> None:
            stopped.set()  # noqa: B023
            reached.set()  # noqa: B023
            assert go_on.wait(PATIENCE)  # noqa: B023

        def work() -> None:
            with at_statement(number, stop):  # noqa: B023
                flows.run_due()
            reached.set()  # noqa: B023

        suspended = in_background(work)
        assert reached.wait(PATIENCE)
        say(checkout, 3)
        other = in_background(flows.run_due)
        other.join(0.5)  # a bound: it may wait for a row that the first one has changed
        go_on.set()
        suspended.join(PATIENCE)
        other.join(PATIENCE)
        while flows.run_due().run:
            pass
        assert heard(checkout) == [1, 2, 3], number
        if not stopped.is_set():
            break
    assert number > 10
    assert set(states()) == {"done"}


@marked
def test_a_process_that_dies_at_any_statement_loses_nothing(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work is taken over; each event is received once."""
    monkeypatch.setattr(claiming, "GRACE", timedelta(0))
    listen.connect(order_changed, note, "a")
    deaths = 0
    for number in range(1, 60):
        checkout = CheckoutFactory()
        say(checkout, 1, 2)

        def die() -> None:
            connection.connection.close()
            raise Killed

        def work() -> None:
            nonlocal deaths
            try:
                with at_statement(number, die):  # noqa: B023
                    flows.run_due()
            except Killed:
                deaths += 1
            finally:
                with suppress(Exception):  # the driver's own, where it is closed already
                    connection.connection.close()
                connection.connection = None

        in_background(work).join(PATIENCE)
        say(checkout, 3)
        while flows.run_due().run:
            pass
        assert heard(checkout) == [1, 2, 3], number
        if deaths < number:
            break
    assert deaths > 10
    assert set(states()) == {"done"}
