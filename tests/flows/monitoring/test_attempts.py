"""A service that does not rewrite ``created_at`` at each attempt is recognised by its own notifications, and named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command

from checkout_integration.checks import check_attempt_times
from checkout_integration.flows.monitoring import Severity, health
from checkout_integration.models import Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db
TEN = datetime.now(UTC) - timedelta(hours=3)
ORDER = OrderDocumentFactory(id="order-1")


def attempt(
    delivery_try: int, at: datetime = TEN, event: str = "payment.success", **changes: Any
) -> dict[str, Any]:
    """An attempt to deliver the one notification of an event of the order."""
    return notification(event, {**ORDER, **changes}, at=at, id=event, delivery_try=delivery_try)


def named() -> bool:
    """Whether health names the setting, and the check with it."""
    (finding,) = (each for each in health().findings if each.name == "attempt_times")
    messages = check_attempt_times(None, databases=["default"])
    assert [each.id for each in messages] == ["checkout_integration.W024"] * (
        finding.severity == Severity.WARNING
    )
    assert all("RETRY_INTERVAL of" in f"{each.hint}" for each in messages)
    assert ("RETRY_INTERVAL" in finding.action) == bool(finding.link) == bool(messages)
    return bool(messages)


def interval(settings: Any, seconds: int) -> None:
    """Set RETRY_INTERVAL."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RETRY_INTERVAL": seconds}


@pytest.mark.spec("WHK-05", "EVT-10")
def test_attempts_with_one_time_name_the_setting(checkout_deliver: Deliver, settings: Any) -> None:
    """From the second attempt on, until the setting is made."""
    checkout_deliver(attempt(0))
    assert not named()
    checkout_deliver(attempt(1))
    assert named()
    assert check_attempt_times(None, databases=None) == []
    interval(settings, 0)
    assert not named()


@pytest.mark.parametrize("first", [0, 1, 5])
def test_attempts_with_times_of_their_own_name_nothing(checkout_deliver: Deliver, first: int) -> None:
    """As deployed services send them, whichever attempt is the first to come."""
    for delivery_try in range(first, first + 3):
        checkout_deliver(attempt(delivery_try, TEN + delivery_try * timedelta(minutes=10)))
    assert not named()


@pytest.mark.spec("WHK-07", "EVT-10")
@pytest.mark.parametrize(("first", "many", "names"), [(1, 10, True), (1, 9, False), (0, 10, False)])
def test_a_service_that_counts_from_one_is_named(
    checkout_deliver: Deliver, settings: Any, first: int, many: int, names: bool
) -> None:
    """Ten notifications and no attempt 0; until the setting is made."""
    for number in range(many):
        checkout_deliver(
            attempt(first if number == 0 else 1, event="payment.chargeback", id=f"order-{number}")
        )
    assert named() == names
    interval(settings, 0)
    assert not named()


def test_other_notifications_of_one_time_name_nothing(checkout_deliver: Deliver) -> None:
    """Of another event, another order, or the same attempt once more with another body; and one without a time."""
    checkout_deliver(attempt(0))
    checkout_deliver(attempt(1, event="payment.refund", status="refunded"))
    checkout_deliver(attempt(1, id="order-2"))
    checkout_deliver(attempt(0, description="as the order is now"))
    for delivery_try in (0, 1):
        checkout_deliver({**attempt(delivery_try, id="order-3"), "created_at": ""})
    assert not named()


def test_projects_are_judged_apart(checkout_deliver: Deliver, settings: Any) -> None:
    """One project may be at another service."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    other = {**own, "PROJECT_ID": "other", "SECRET_KEY": "sandbox_other_secret"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "other": other}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    for delivery_try in (0, 1):
        checkout_deliver(attempt(delivery_try), project="other")
    found = {each.project: each.severity for each in health().findings if each.name == "attempt_times"}
    assert found == {"default": "ok", "other": "warning"}
    (message,) = check_attempt_times(None, databases=["default"])
    assert "'other'" in message.msg


@pytest.mark.spec("WHK-05")
@pytest.mark.parametrize(("seconds", "status"), [(600, "refunded"), (0, "chargeback")])
def test_nothing_is_changed_by_itself(
    checkout_deliver: Deliver, settings: Any, seconds: int, status: str
) -> None:
    """A chargeback after a refund, delivered at its second attempt: the end is a function of what came and of the setting."""
    interval(settings, seconds)
    checkout_deliver(attempt(0))
    back = {"status": "refunded", "refunded": True, "refunded_at": ""}
    checkout_deliver(attempt(0, TEN + timedelta(minutes=5), "payment.refund", **back))
    late = TEN + timedelta(minutes=8)
    for delivery_try in (1, 2):
        checkout_deliver(attempt(delivery_try, late, "payment.chargeback", status="chargeback"))
    assert Order.objects.get().status == status
    assert named() == bool(seconds)


def test_the_check_runs_with_the_others(
    checkout_deliver: Deliver, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the page of what to do before going live."""
    for delivery_try in (0, 1):
        checkout_deliver(attempt(delivery_try))
    call_command("check", databases=["default"], tags=["database"])
    assert "checkout_integration.W024" in "".join(capsys.readouterr())
