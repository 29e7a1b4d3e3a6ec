"""``checkout_prune``: what it prints, and that a dry run removes nothing."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from checkout_integration.models import Notification
from checkout_integration.testing.delivery import Deliver
from tests.support.flows.aged import age, prune_after
from tests.support.tables import rows_of_all_tables

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    """Return what it printed."""
    printed = StringIO()
    call_command("checkout_prune", *words, stdout=printed, no_color=True)
    return printed.getvalue()


@pytest.fixture
def _old(checkout_deliver: Deliver, settings: Any) -> None:
    """Let an old notification be stored, whose signals nobody receives."""
    prune_after(settings, notification_bodies=30, outbox_messages=30)
    checkout_deliver()
    age()


@pytest.mark.usefixtures("_old")
def test_it_says_what_it_removed() -> None:
    """A line for each kind; the second time there is nothing left. What is in review stays."""
    assert run() == (
        "notification_bodies: 1 older than 30 days removed\noutbox_messages: 2 older than 30 days removed\n"
    )
    assert Notification.objects.get().body is None
    assert run().count(": 0 older") == 2


@pytest.mark.usefixtures("_old")
def test_a_dry_run_removes_nothing() -> None:
    """It counts the same rows."""
    before = rows_of_all_tables()
    assert run("--dry-run").splitlines()[0] == "notification_bodies: 1 older than 30 days would be removed"
    assert rows_of_all_tables() == before


@pytest.mark.usefixtures("_old")
def test_json_is_for_machines() -> None:
    """The same form as the other commands."""
    result = json.loads(run("--json"))
    assert result["ok"]
    assert {step["name"]: step["count"] for step in result["steps"]} == {
        "notification_bodies": 1,
        "outbox_messages": 2,
    }


def test_without_the_setting_it_says_so(checkout_deliver: Deliver) -> None:
    """Nothing is removed by surprise."""
    checkout_deliver()
    age(4_000)
    assert run() == "RETENTION is not set, so nothing is removed.\n"
    assert json.loads(run("--json")) == {"ok": True, "steps": []}
    assert Notification.objects.get().body
