"""A deadlock in a receiver takes its whole transaction away; the receiver is run again."""

from __future__ import annotations

from contextlib import suppress
from threading import Event

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import OperationalError, transaction

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.support.flows.concurrency import await_waiting_locks, in_background
from tests.support.flows.shop import Listening, make_due, own, owned

DEADLOCK = OperationalError(1213, "Deadlock found when trying to get lock")
"""As MariaDB says it; where the database chose the other one to end."""


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_deadlock_is_no_failure_of_the_receiver(listen: Listening) -> None:
    """It is retried at once without counting an attempt; its writes were rolled back."""
    rows = [Group.objects.create(name=name) for name in ("first", "second")]
    calls: list[int] = []
    first_is_locked, second_is_locked = Event(), Event()

    def hold_second_and_want_first() -> None:
        # The database may end this one instead of the receiver's.
        with suppress(OperationalError), transaction.atomic():
            Group.objects.select_for_update().get(pk=rows[1].pk)
            second_is_locked.set()
            assert first_is_locked.wait(60)
            Group.objects.select_for_update().get(pk=rows[0].pk)

    def grant(order: Order, attempt: int, **arguments: object) -> None:
        calls.append(attempt)
        own(order)
        if len(calls) > 1:
            return
        Group.objects.select_for_update().get(pk=rows[0].pk)
        first_is_locked.set()
        await_waiting_locks()
        Group.objects.select_for_update().get(pk=rows[1].pk)
        raise DEADLOCK  # the other one was ended: be ended as well

    listen(checkout_paid, grant)
    OrderFactory(checkout=CheckoutFactory())
    other = in_background(hold_second_and_want_first)
    assert second_is_locked.wait(60)
    flows.run_due()
    other.join()
    run = ReceiverRun.objects.get()
    assert (calls, run.state, run.attempts, owned()) == ([1, 1], "done", 1, 1)


@pytest.mark.django_db
def test_a_second_try_reads_its_rows_anew(checkout_deliver: Deliver, listen: Listening) -> None:
    """What the first one changed in memory is undone in the database: goods are not counted twice."""
    account = get_user_model().objects.create(username="10")
    tries: list[int] = []

    def grant(checkout: Checkout, **arguments: object) -> None:
        assert checkout.user is not None
        checkout.user.username = str(int(checkout.user.username) + 5)
        checkout.user.save()
        tries.append(len(tries))
        if len(tries) == 1:
            raise DEADLOCK

    listen(checkout_paid, grant)
    checkout_deliver(order=order_document_for(CheckoutFactory(user=account)))
    account.refresh_from_db()
    assert (tries, account.username) == ([0, 1], "15")


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_receiver_that_hides_a_deadlock_is_run_again(listen: Listening) -> None:
    """Its goods were rolled back with everything else, so it is not done, whatever it says."""
    Group.objects.bulk_create(Group(name=f"heavy {number}") for number in range(50))
    for name in ("first", "second"):
        Group.objects.create(name=name)
    first_is_locked, second_is_locked = Event(), Event()

    def hold_second_and_want_first() -> None:
        with transaction.atomic():
            for each in Group.objects.filter(name__startswith="heavy"):
                each.name += "!"
                each.save()  # so much written that InnoDB ends the other one
            Group.objects.select_for_update().get(name="second")
            second_is_locked.set()
            assert first_is_locked.wait(60)
            Group.objects.select_for_update().get(name="first")

    def grant(order: Order, attempt: int, **arguments: object) -> None:
        own(order)
        if attempt > 1:
            return
        assert second_is_locked.wait(60)
        Group.objects.select_for_update().get(name="first")
        first_is_locked.set()
        await_waiting_locks()
        with suppress(OperationalError):
            Group.objects.select_for_update().get(name="second")

    listen(checkout_paid, grant)
    OrderFactory(checkout=CheckoutFactory())
    other = in_background(hold_second_and_want_first)
    flows.run_due()
    other.join()
    run = ReceiverRun.objects.get()
    assert (run.state, run.error, owned()) == ("due", "OperationalError", 0)
    make_due()
    flows.run_due()
    run.refresh_from_db()
    assert (run.state, run.attempts, owned()) == ("done", 2, 1)
