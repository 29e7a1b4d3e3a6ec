"""``manage.py checkout_apply``: notifications that failed or are quarantined."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from checkout_integration.models import Incident, Notification, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import ShopHooks, notification

pytestmark = pytest.mark.django_db(transaction=True)


def fail(order: object) -> Any:
    """A hook with a bug."""
    raise LookupError("canary-words")


@pytest.fixture
def failed(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> list[str]:
    """Ids of two notifications that failed in the shop's hook, which is fixed now."""
    hooks.resolve = staticmethod(fail)
    for number in (1, 2):
        checkout_deliver(
            notification(order=OrderDocumentFactory(id=f"order-{number}"), id=f"message-{number}")
        )
    hooks.resolve = staticmethod(lambda order: None)
    return ["message-1", "message-2"]


def run(*arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with this exit code."""
    output = StringIO()
    ended: object = 0
    try:
        call_command("checkout_apply", *arguments, stdout=output)
    except SystemExit as left:
        ended = left.code
    assert ended == code
    return output.getvalue()


def states() -> list[str]:
    """The states of all notifications, in the order of their ids."""
    return list(Notification.objects.order_by("notification_id").values_list("state", flat=True))


def test_a_dry_run_says_what_then_happens(failed: list[str]) -> None:
    """Line for line the same, and it changes nothing."""
    expected = run("--state", "failed", "--dry-run")
    assert states() == ["failed", "failed"]
    done = run("--state", "failed")
    assert expected.replace("would be applied", "were applied") == done
    assert "order order-1: unknown → processed, verdict pending → review (unbound)" in done
    assert done.endswith("2 of 2 notifications were applied.\n")
    assert states() == ["applied", "applied"]
    assert Order.objects.filter(status="processed").count() == 2
    assert not Incident.objects.filter(kind="not_applied", resolved_at=None).exists()


def test_one_of_them_by_its_id(failed: list[str]) -> None:
    """Or by its key, which the admin shows."""
    run("--notification", failed[1])
    assert states() == ["failed", "applied"]
    run("--notification", Notification.objects.get(state="failed").key)
    assert states() == ["applied", "applied"]


def test_json_holds_the_changes(failed: list[str]) -> None:
    """For a program that watches over a migration."""
    result = json.loads(run("--state", "failed", "--dry-run", "--json"))
    assert result["ok"] is True
    first = result["steps"][0]
    assert (first["name"], first["ok"], first["state"]) == ("message-1", True, "applied")
    (change,) = first["changes"]
    assert (change["order_id"], change["status_before"], change["status_after"]) == (
        "order-1",
        "",
        "processed",
    )
    assert change["signals"] == ["order_changed", "payment_review", "payment_success"]
    assert change["incidents"] == ["review:unbound"]


def test_what_fails_again_makes_the_command_fail(failed: list[str], hooks: type[ShopHooks]) -> None:
    """Exit code 1; the output has the location, not the message of the exception."""
    hooks.resolve = staticmethod(fail)
    output = run("--state", "failed", code=1)
    assert "0 of 2 notifications were applied." in output
    assert "LookupError in fail (" in output
    assert "canary-words" not in output
    assert states() == ["failed", "failed"]


def test_a_quarantined_one_that_is_still_in_the_future(checkout_deliver: Deliver) -> None:
    """It is named with the reason, and stays as it is."""
    checkout_deliver(notification(at=datetime.now(UTC) + timedelta(days=3)))
    assert "more than two days in the future" in run("--state", "quarantined", code=1)
    assert states() == ["quarantined"]


def test_nothing_to_do_is_no_failure(db: None) -> None:
    """A cron job may run it every night."""
    output = run("--state", "failed", "--state", "quarantined")
    assert output == "0 of 0 notifications were applied.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Select notifications by"),
        (["--notification", "nobody"], "No notification 'nobody' is waiting to be applied"),
        (["--state", "failed", "--project", "nowhere"], "There is no project 'nowhere'"),
        (["--state", "applied"], "invalid choice"),
        (["--notification", ""], "it is empty"),
    ],
)
def test_wrong_use_is_said_in_one_sentence(db: None, arguments: list[str], message: str) -> None:
    """Exit code 2."""
    with pytest.raises(CommandError, match=message) as caught:
        call_command("checkout_apply", *arguments)
    assert "Traceback" not in str(caught.value)
