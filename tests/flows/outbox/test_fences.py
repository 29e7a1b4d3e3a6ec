"""Work of another process is left to it: its runs, and rows removed by a rollback."""

from __future__ import annotations

import pytest
from django.db import connection

from checkout_integration import flows
from checkout_integration.flows.outbox.claiming import claim, give_back
from checkout_integration.flows.outbox.retrying import fail
from checkout_integration.flows.outbox.running import attempt, load
from checkout_integration.models import Order, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Listening, own, owned


@pytest.mark.django_db
def test_a_turn_of_another_process_is_not_given_back(listen: Listening) -> None:
    """A process that was overtaken and ends late must not release the turn of the second one."""
    listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    (slow,) = load(claim())
    ReceiverRun.objects.update(fence="of-the-second")
    fail(slow.run, ValueError())
    give_back([slow.run])
    assert not attempt(slow).did_anything
    assert ReceiverRun.objects.values_list("state", "exclusive").get() == ("running", slow.run.line)


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_receiver_whose_transaction_was_taken_away_is_not_done(listen: Listening) -> None:
    """A deadlock in InnoDB rolls everything back; a receiver that hides it has granted nothing."""

    def grant(order: Order, **arguments: object) -> None:
        own(order)
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")

    listen(checkout_paid, grant)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert (ReceiverRun.objects.get().state, owned()) == ("due", 0)
