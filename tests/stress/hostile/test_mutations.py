"""Nearly right bodies, a great many: read or refused, never anything else."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import islice

import pytest
from django.db import connection

from checkout_integration.models import Notification
from checkout_integration.protocol.listing import parse_cursor_page, parse_transaction_page
from checkout_integration.protocol.notification import MalformedNotification, parse_notification
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.responses import MalformedResponse
from checkout_integration.protocol.strict_json import StrictJsonError, dumps, loads
from checkout_integration.protocol.user import parse_user
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.stress.hostile.door import Door, nothing_broke
from tests.stress.hostile.log_lines import broken_lines
from tests.stress.hostile.mutation import Mutations, documents, notifications
from tests.stress.hostile.regressions import ONCE_BROKE
from tests.support.scale import times

SEED = 20261121


def decoded(body: bytes) -> str:
    """What becomes of a body in the loader and the decoders; any error but their own fails the test."""
    try:
        document = loads(body)
    except StrictJsonError as error:
        return type(error).__name__
    try:
        notification = parse_notification(document)
        notification.order(), notification.user()
        return "notification"
    except MalformedNotification:
        return other(document)


def other(document: object) -> str:
    """The same for documents that are no notifications."""
    try:
        return f"page of {len(parse_transaction_page(dumps(document).encode()).items)} orders"
    except (MalformedResponse, StrictJsonError):
        pass
    try:
        return f"page of {len(parse_cursor_page(document).data)} elements"
    except MalformedResponse:
        pass
    if isinstance(document, dict):
        parse_order(document), parse_user(document)
        return "object"
    return "value"


def test_mutated_bodies_are_read_or_refused() -> None:
    """By loader and decoders; a document that is read can be written and read again unchanged."""
    bodies = islice(Mutations(SEED, [*notifications(), *documents()]), times(20_000, 1_000_000))
    outcomes: Counter[str] = Counter()
    for number, body in enumerate(bodies):
        outcomes[decoded(body)] += 1
        if number % 100 == 0 and outcomes["notification"]:
            check_written_again(body)
    assert set(outcomes) >= {"NotJson", "JsonRefused", "notification", "object"}
    assert min(outcomes["NotJson"], outcomes["JsonRefused"], outcomes["notification"]) > 100


def check_written_again(body: bytes) -> None:
    """Reading, writing and reading is reading once."""
    try:
        document = loads(body)
    except StrictJsonError:
        return
    assert loads(dumps(document).encode()) == document


@pytest.mark.django_db(transaction=True)
def test_mutated_bodies_with_a_signature_are_stored_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    """Through the receiver's view into the database: no response of 5xx, nothing unhandled, logs of one line a record."""
    caplog.set_level(logging.WARNING, "checkout_integration")
    door = Door()
    # Other bodies on each database: a run tries two of them at least.
    seed = SEED + len(connection.vendor)
    bodies = islice(Mutations(seed, notifications()), times(1_000, 10_000))
    statuses = Counter(door.send(body) for body in bodies)
    assert set(statuses) == {200, 400, 403}, statuses
    assert broken_lines(caplog.records) == []
    nothing_broke()


@pytest.mark.django_db(transaction=True)
def test_id_that_no_database_takes_in_a_body_that_is_refused() -> None:
    """Erased customers are looked for in such a body, by its ids alone."""
    assert Door().send(b'{"id": "\\ud800", "a number": 1%s}' % (b"0" * 40)) == 200
    assert Notification.objects.get().state == "quarantined"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ONCE_BROKE)
def test_what_once_broke_does_not_break(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a response of 5xx, nor a failure of our rules, nor a second line in the log."""
    fields = dict(ONCE_BROKE[name])
    envelope = fields.pop("envelope", {})
    document = NotificationDocumentFactory()
    document |= envelope | {"object": document["object"] | fields}
    assert Door().send(dumps(document).encode()) == 200
    assert broken_lines(caplog.records) == []
    nothing_broke()
