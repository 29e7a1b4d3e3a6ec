"""Failures that only a real database has."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import InternalError, connection
from django.test.utils import CaptureQueriesContext

from checkout_integration import flows
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_gpustack_6105_a_pool_stays_on_the_node_that_a_failover_demoted(checkout_deliver: Deliver) -> None:
    """The node passes every health check and refuses every write."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    connection.close_at = None  # open, as in a pool
    for _ in range(2):
        with pytest.raises(InternalError):
            Group.objects.create(name="payment")
        connection.close_if_unusable_or_obsolete()
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_authentik_23876_a_lock_of_the_session_outlives_its_transaction(checkout_deliver: Deliver) -> None:
    """Behind a pooler it cannot be released: all others wait."""
    checkout_deliver(order=OrderDocumentFactory())
    flows.run_due()
    assert advisory_locks() == 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
    assert advisory_locks() == 1
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_djstripe_2001_a_transaction_that_reads_first_finds_the_database_locked(
    checkout_deliver: Deliver,
) -> None:
    """On SQLite one that has read may not write any more once another has: the first statement must be a write."""
    checkout_deliver(order=OrderDocumentFactory())  # so that nothing is set up below
    with CaptureQueriesContext(connection) as captured:
        checkout_deliver(order=OrderDocumentFactory())
    control = ("BEGIN", "SAVEPOINT", "COMMIT", "RELEASE")
    words = [each["sql"].split()[0] for each in captured if not each["sql"].startswith(control)]
    assert words[0] != "SELECT"


def advisory_locks() -> int:
    """Return the number of session locks of this connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        return int(cursor.fetchone()[0])
