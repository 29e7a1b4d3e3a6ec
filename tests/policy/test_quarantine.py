"""Which notifications are not applied, for which reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.policy.quarantine import MOST_AHEAD, is_too_far_ahead, quarantine_reason
from checkout_integration.protocol.notification import parse_notification
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import Event

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.mark.spec("WHK-05")
@pytest.mark.parametrize(
    ("created_at", "expected"),
    [
        (NOW + MOST_AHEAD, False),
        (NOW + MOST_AHEAD + timedelta(microseconds=1), True),
        (NOW, False),
        (datetime(2001, 1, 1, tzinfo=UTC), False),
        (None, False),
    ],
)
def test_two_days_ahead_is_the_limit(created_at: datetime | None, expected: bool) -> None:
    """Years old is late, not wrong, and no time at all wins no comparison."""
    assert is_too_far_ahead(created_at, NOW) is expected


@pytest.mark.spec("WHK-05")
def test_the_present_clock_judges() -> None:
    """A notification quarantined because the clock was behind is released when the clock is right."""
    created_at = NOW + timedelta(days=30)
    assert [is_too_far_ahead(created_at, now) for now in (NOW, created_at)] == [True, False]


@pytest.mark.parametrize(
    ("event", "order", "created_at", "expected"),
    [
        *((event, "order-1", NOW, "") for event in Event if event != Event.USER_VALIDATE),
        pytest.param(
            "user.validate",
            "order-1",
            NOW,
            "user.validate is answered in the request only",
            marks=pytest.mark.spec("EVT-01", "EVT-02"),
        ),
        pytest.param("payment.refund", None, NOW, "the order has no id", marks=pytest.mark.spec("ORD-01")),
        pytest.param(
            "payment.cancel",
            "order-12",
            NOW,
            "the order's id is longer than 7 characters",
            marks=pytest.mark.spec("ORD-01"),
        ),
        pytest.param(
            "payment.success",
            "order-1",
            NOW + timedelta(days=3),
            "created_at lies more than two days in the future",
            marks=pytest.mark.spec("WHK-05"),
        ),
        ("a.new.event", None, NOW, ""),
    ],
)
@pytest.mark.spec("WHK-08")
def test_why_a_notification_is_not_applied(
    event: str, order: str | None, created_at: datetime, expected: str
) -> None:
    """Only payments change orders; a question about a customer, and a payment of no order, change none."""
    content = {"id": order} if order else {}
    document = {"id": "note-1", "event": event, "created_at": created_at.isoformat(), "object": content}
    reason = quarantine_reason(parse_notification(document), parse_order(content), NOW, longest_id=7)
    assert reason == expected
