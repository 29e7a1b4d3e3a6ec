"""A deadlock in a receiver on MariaDB: it takes the whole transaction away, and the receiver is run again (A.39)."""

from __future__ import annotations

from contextlib import suppress
from threading import Event

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, transaction

from checkout_integration import flows
from checkout_integration.models import Order, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.crowd import await_waiting_locks, in_background
from tests.flows.shop import Listening, make_due, own, owned


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_receiver_that_hides_a_deadlock_is_run_again(listen: Listening) -> None:
    """Its goods were rolled back with everything else, so it is not done, whatever it says."""
    Group.objects.bulk_create(Group(name=f"heavy {number}") for number in range(50))
    for name in ("first", "second"):
        Group.objects.create(name=name)
    first_is_held, second_is_held = Event(), Event()

    def hold_second_and_want_first() -> None:
        with transaction.atomic():
            for each in Group.objects.filter(name__startswith="heavy"):
                each.name += "!"
                each.save()  # so much written that InnoDB ends the other one
            Group.objects.select_for_update().get(name="second")
            second_is_held.set()
            assert first_is_held.wait(60)
            Group.objects.select_for_update().get(name="first")

    def grant(order: Order, attempt: int, **arguments: object) -> None:
        own(order)
        if attempt > 1:
            return
        assert second_is_held.wait(60)
        Group.objects.select_for_update().get(name="first")
        first_is_held.set()
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
