"""A receiver that waits for another system, on a server that ends transactions which idle for a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from checkout_integration import flows
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Listening, own, owned

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
LIMITS = {
    "postgresql": [("idle_in_transaction_session_timeout", "300", 0.6), ("transaction_timeout", "300", 0.6)],
    "mysql": [("idle_transaction_timeout", "1", 1.6), ("wait_timeout", "1", 1.6)],
}.get(connection.vendor, [])


def value_of(name: str) -> str | None:
    """The session's own limit; None if the server knows none of this name."""
    texts = {
        "postgresql": "SELECT current_setting(%s, true)",
        "mysql": "SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME = %s",
    }
    with connection.cursor() as cursor:
        cursor.execute(texts[connection.vendor], [name])
        row = cursor.fetchone()
    return None if row is None else row[0]


@pytest.fixture(params=LIMITS, ids=lambda limit: limit[0])
def limit(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, float]]:
    """A limit of this session, and a time that is longer."""
    name, value, longer = request.param
    connection.close()
    if value_of(name) is None:
        pytest.skip(f"this server has no {name}")
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {name} = {value}")
    yield name, value, longer
    connection.close()


def waiting(seconds: float) -> Callable[..., None]:
    """An effect: a call of another system, and then the goods."""

    def wait(**arguments: Any) -> None:
        Group.objects.create(name=f"asked for {arguments['order'].order_id}")
        time.sleep(seconds)
        own(**arguments)

    return wait


def test_receiver_may_wait_for_longer(limit: tuple[str, str, float], listen: Listening) -> None:
    """The server's limit is raised while it runs, and is what it was afterwards."""
    name, _, longer = limit
    before = value_of(name)
    listen(checkout_paid, waiting(longer))
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert (ReceiverRun.objects.get().state, owned()) == ("done", 1)
    assert value_of(name) == before


def test_limit_that_strikes_is_named(
    limit: tuple[str, str, float], listen: Listening, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """RECEIVER_LIMIT is no longer than the server's: a receiver may not take for ever."""
    name, _, longer = limit
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVER_LIMIT": 0.2}
    listen(checkout_paid, waiting(longer))
    OrderFactory(checkout=CheckoutFactory())
    with caplog.at_level(logging.ERROR, "checkout_integration.receivers"):
        flows.run_due()
    assert (ReceiverRun.objects.get().state, owned()) == ("due", 0)
    assert f"by its limit {name}; RECEIVER_LIMIT" in caplog.text


class Stopped(Exception):
    """The receiver's own."""


@pytest.mark.parametrize("error", [Stopped, SystemExit, "closed"], ids=str)
def test_limit_is_what_it_was_on_every_way_out(
    error: Any, limit: tuple[str, str, float], listen: Listening
) -> None:
    """Or the connection is another one."""
    name, _, _ = limit
    before = value_of(name)
    session = connection.connection

    def end(**arguments: Any) -> None:
        if error == "closed":
            connection.close()
        raise Stopped if error == "closed" else error

    listen(checkout_paid, end)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert ReceiverRun.objects.get().state == "due"
    assert connection.connection is not session or value_of(name) == before


def test_no_limit_costs_no_statement(listen: Listening) -> None:
    """The limits of a server without any are read once for each connection."""
    listen(checkout_paid, own)
    seen: list[str] = []

    def remember(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(remember):
        for _ in range(3):
            OrderFactory(checkout=CheckoutFactory())
            flows.run_due()
    assert len([sql for sql in seen if "timeout" in sql]) <= 1
