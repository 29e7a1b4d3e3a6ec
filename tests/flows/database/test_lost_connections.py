"""A connection that is lost where a transaction ends: it is closed with its failure, and no other connection is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.signals import request_started
from django.db import (
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper

from checkout_integration import flows
from checkout_integration.flows.database import (
    Unavailable,
    close_stranded,
    own_transaction,
    with_retries,
    write_transaction,
)
from checkout_integration.models import FailedAttempt
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.stress.connections.killing import kill
from tests.support.flows.shop import Failing, Listening


@pytest.fixture
def host() -> Iterator[BaseDatabaseWrapper]:
    """The connection, as it was before."""
    yield connections["default"]
    connection.close()


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_lost_where_a_transaction_ends(
    end: str, when: str, host: BaseDatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the outcome, the next transaction of this thread works."""
    really_end = getattr(host, end)

    def lost() -> None:
        if when == "before":
            kill(host)
        really_end()
        if when == "after":
            kill(host)

    monkeypatch.setattr(host, end, lost)
    try:
        with write_transaction():
            Group.objects.create(name="lost or not")
            if end == "rollback":
                raise ValueError("the receiver's")
    except Exception:  # noqa: BLE001  # the one above, or that of the driver
        pass
    monkeypatch.undo()
    assert not host.in_atomic_block
    assert host.connection is None or host.autocommit  # else the next block would hang in it
    with_retries(write_next)
    assert host.get_autocommit()
    assert Group.objects.filter(name="the next one").exists()


def write_next() -> None:
    """Write in a transaction of ours."""
    with write_transaction():
        Group.objects.create(name="the next one")


def begin_request() -> None:
    """Begin a request, as Django's handlers do."""
    request_started.send(None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seen_by_django", [True, False])
@pytest.mark.parametrize(
    "entrance", [close_stranded, begin_request, write_next, lambda: with_retries(write_next)]
)
def test_stranded_connection_is_closed_at_an_entrance(
    entrance: Callable[[], object], seen_by_django: bool, host: BaseDatabaseWrapper
) -> None:
    """It is in a block, and nobody has one open: what Django does about it makes it no better."""
    host.ensure_connection()
    host.set_autocommit(False)
    host.in_atomic_block = host.needs_rollback = True
    if seen_by_django:
        close_old_connections()
    with pytest.raises(Exception):  # noqa: B017, PT011  # Django's, or the bare one of a driver
        Group.objects.count()
    entrance()
    assert Group.objects.count() <= 1
    assert (host.in_atomic_block, host.get_autocommit()) == (False, True)


@pytest.mark.django_db(transaction=True)
def test_transaction_of_the_host_is_left_alone(host: BaseDatabaseWrapper) -> None:
    """A host may begin a transaction by hand, and handle the failure of our part of it by itself."""
    host.ensure_connection()
    before = host.connection
    transaction.set_autocommit(False)
    try:
        Group.objects.create(name="the host's")
        close_stranded()
        with pytest.raises(ValueError, match="ours"), own_transaction():
            raise ValueError("ours")
        close_stranded()
        assert host.connection is before
        transaction.commit()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert Group.objects.filter(name="the host's").exists()


@pytest.mark.django_db(transaction=True)
def test_block_of_a_test_is_left_alone(host: BaseDatabaseWrapper) -> None:
    """Django's TestCase has a block open around each test."""
    with transaction.atomic():
        before = host.connection
        Group.objects.create(name="of the test")
        close_stranded()
        with pytest.raises(ValueError, match="ours"), own_transaction():
            raise ValueError("ours")
        assert host.connection is before
        assert Group.objects.filter(name="of the test").exists()


@pytest.mark.django_db(transaction=True)
def test_text_of_a_receiver_is_no_context_of_another_error(listen: Listening) -> None:
    """The database goes away after a receiver has failed: the log of a task shows the chain of the error that follows."""
    listen(checkout_paid, Failing(), name="unsound")
    OrderFactory(checkout=CheckoutFactory())

    def go_away(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if FailedAttempt._meta.db_table in sql:
            raise OperationalError("gone")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(go_away), pytest.raises(Unavailable) as failed:
        flows.run_due()
    chain: list[BaseException] = []
    waiting: list[BaseException | None] = [failed.value]
    while waiting:
        if (error := waiting.pop()) is not None and error not in chain:
            chain.append(error)
            waiting += [error.__cause__, error.__context__]
    assert {type(error) for error in chain} == {Unavailable, OperationalError}
    assert not any("canary" in str(error) for error in chain)
