"""Findings about user.validate: validators that fail, are late, or refuse everybody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from checkout_integration.flows import operations
from checkout_integration.flows.operations import Finding
from checkout_integration.models import Notification, ValidationDecision
from tests.support.admin import rows
from tests.support.flows.shop import ShopHooks

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
PLACE = "KeyError in validate_user (shop/hooks.py:12)"
_numbers = count()


def found() -> Finding:
    """The finding about user.validate."""
    (finding,) = [each for each in operations.health().findings if each.name == "user_validate"]
    return finding


def decide(times: int = 1, age: timedelta = timedelta(minutes=1), **columns: Any) -> None:
    """Record decisions about so many customers, each a second after the one before."""
    for number in range(times):
        given = {"approved": True, "decided_by": "shop", "failure": "", "code": "", "late": False}
        given |= {"external_id": f"player-{next(_numbers)}", "request_hash": f"hash-{next(_numbers)}"}
        at = datetime.now(UTC) - age + timedelta(seconds=number)
        rows.make_decision(**{**given, "decided_at": at, **columns})


def fail(times: int = 1, age: timedelta = timedelta(minutes=1), **columns: Any) -> None:
    """The same, of a validator that raises."""
    given = {"approved": False, "decided_by": "failure", "failure": PLACE, "code": "INVALID_USER"}
    decide(times, age, **{**given, **columns})


def test_nothing_is_known_before_the_first_customer(hooks: type[ShopHooks]) -> None:
    """Where the shop has validators; without any nothing is to be known. Once one was approved it stays well."""
    assert found().severity == "unknown"
    decide(age=timedelta(days=300))
    assert found().severity == "ok"


def test_a_shop_without_validators_is_well() -> None:
    """Its customers are not asked about."""
    assert found().severity == "ok"


@pytest.mark.parametrize(
    ("failed", "approved", "severity"),
    [(5, 5, "warning"), (6, 5, "failing"), (1, 30, "warning"), (6, 3, "warning"), (0, 30, "ok")],
)
def test_failures_in_more_than_half_of_ten_of_the_hour(failed: int, approved: int, severity: str) -> None:
    """Are failing; any failure is a warning for a day, with its place in the shop's code."""
    fail(failed, age=timedelta(minutes=30))
    decide(approved, age=timedelta(minutes=20))
    assert found().severity == severity
    if failed:
        assert f"{failed} of the last {failed + approved} customers ({PLACE})" in found().text
        assert found().link.endswith("/validationdecision/?approved=no")


@pytest.mark.spec("EVT-02")
@pytest.mark.parametrize("column", [{"late": True, "approved": True}, {"decided_by": "timeout"}])
def test_a_late_answer_is_a_failure(column: dict[str, Any]) -> None:
    """Whatever was decided then: the service did not wait for it."""
    decide(11, **column)
    assert (found().severity, "(late)" in found().text) == ("failing", True)


def test_the_last_three_customers_are_failing_in_a_small_shop() -> None:
    """However many days they took; the one who is approved ends it."""
    fail(2, age=timedelta(days=2))
    assert found().severity == "warning"
    fail(1, age=timedelta(days=1, hours=1))
    assert found().severity == "failing"
    decide()
    assert found().severity == "ok"


def test_one_customer_who_tries_again_is_one() -> None:
    """They are no proof that the validator fails for everybody."""
    fail(9, external_id="player-x")
    assert found().severity == "warning"


def test_refusals_of_everybody_are_a_warning() -> None:
    """As of a hook that does not find accounts; one that is approved ends it. Who tries again is one customer."""
    decide(2, approved=False, code="INVALID_USER")
    decide(7, approved=False, code="INVALID_USER", external_id="player-x")
    assert found().severity == "warning"
    assert "All 3 customers of the last 24 hours were refused (INVALID_USER)" in found().text
    decide()
    assert found().severity == "ok"


def test_refusals_of_one_or_two_are_the_shops_decision() -> None:
    """And those of yesterday are over."""
    decide(2, approved=False, code="TOO_YOUNG")
    decide(9, age=timedelta(days=2), approved=False, code="TOO_YOUNG")
    assert found().severity == "ok"


def test_tests_of_the_webhook_do_not_count() -> None:
    """The service's page sends users that are not to be found."""
    decide(9, approved=False, code="INVALID_USER")
    for decision in ValidationDecision.objects.all():
        test = rows.make_notification(f"test-{decision.pk}", state="test")
        ValidationDecision.objects.filter(pk=decision.pk).update(notification=test)
    assert Notification.objects.filter(state="test").count() == 9
    assert found().severity == "ok"
