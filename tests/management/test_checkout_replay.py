"""`checkout_replay`: past events for a receiver that was connected later, and failed runs once more."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from checkout_integration import flows
from checkout_integration.flows.outbox.receivers import record_now
from checkout_integration.models import OutboxMessage, Receiver, ReceiverRun
from checkout_integration.signals import checkout_paid, payment_refund, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from tests.management.test_commands import run
from tests.support.flows.shop import Failing, Listening, make_due, notification, own, owned

pytestmark = pytest.mark.django_db


def sold(count: int) -> None:
    """Payments whose receivers have run, as far as any were connected."""
    for _ in range(count):
        OrderFactory(checkout=CheckoutFactory())
    flows.run_due()


def states(receiver: str) -> list[str]:
    """States of a receiver's runs."""
    return list(ReceiverRun.objects.filter(receiver=receiver).values_list("state", flat=True))


def test_receiver_connected_later_is_given_past_events(listen: Listening) -> None:
    """Past events with and without earlier receivers; each once, however often the command runs."""
    sold(2)
    early = listen(checkout_paid, name="early")
    sold(1)
    late = listen(checkout_paid, own, name="late")
    assert run("checkout_replay", "--receiver", "late") == (0, "3 past events given to late\n")
    flows.run_due()
    assert (len(early), len(late), owned(), states("late")) == (1, 3, 3, ["done"] * 3)
    assert run("checkout_replay", "--receiver", "late", "--dry-run")[1].startswith("0 past events")
    assert run("checkout_replay", "--receiver", "late") == (0, "0 past events given to late\n")
    flows.run_due()
    assert (len(late), owned()) == (3, 3)
    heard = OutboxMessage.objects.filter(signal="checkout_paid").values_list("state", flat=True)
    assert set(heard) == {"sent"}


def test_dry_run_changes_nothing(listen: Listening) -> None:
    """It says how many it would be."""
    sold(2)
    listen(checkout_paid, name="late")
    expected = (0, "2 past events would be given to late\n")
    assert run("checkout_replay", "--receiver", "late", "--dry-run") == expected
    assert states("late") == []


def test_taken_back_meanwhile_is_not_granted(listen: Listening, checkout_deliver: Deliver) -> None:
    """The late receiver hears of the refund, and its success is superseded."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
    heard = listen(checkout_paid, name="late")
    refunds = listen(payment_refund, name="late")
    run("checkout_replay", "--receiver", "late")
    flows.run_due()
    assert (heard, len(refunds)) == ([], 1)
    assert sorted(states("late")) == ["done", "superseded"]


def test_chosen_by_signal_time_and_project(listen: Listening, settings: Any) -> None:
    """All of the receiver's past when nothing is chosen."""
    sold(2)
    long_ago = datetime.now(UTC) - timedelta(days=9)
    first = OutboxMessage.objects.order_by("pk")[0].order
    OutboxMessage.objects.filter(order=first).update(recorded_at=long_ago)
    OutboxMessage.objects.exclude(order=first).update(project="second")
    other = {"PROJECT_ID": "other", "SECRET_KEY": "sandbox_other_secret"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "second": other}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    listen(checkout_paid, name="late")
    listen(payment_success, name="late")
    week = (datetime.now(UTC) - timedelta(days=7)).date().isoformat()

    def count(*words: str) -> int:
        _code, printed = run("checkout_replay", "--receiver", "late", "--dry-run", "--json", *words)
        number: int = json.loads(printed)["steps"][0]["count"]
        return number

    assert (count(), count("--signal", "checkout_paid"), count("--since", week)) == (4, 2, 2)
    assert (count("--project", "second"), count("--project", "default", "--since", week)) == (2, 0)
    assert count("--since", long_ago.isoformat()) == 4


def test_parked_deliveries_are_run_again(listen: Listening) -> None:
    """After the receiver is fixed: ten new attempts; nothing else changes."""
    failing = Failing(times=10)
    heard = listen(checkout_paid, failing, name="mended")
    sold(1)
    for _ in range(10):
        make_due()
        flows.run_due()
    assert states("mended") == ["failed"]
    expected = (0, "1 failed or waiting runs would be given to mended\n")
    assert run("checkout_replay", "--receiver", "mended", "--failed", "--dry-run") == expected
    assert run("checkout_replay", "--receiver", "mended")[1] == "0 past events given to mended\n"
    assert run("checkout_replay", "--receiver", "mended", "--failed")[0] == 0
    flows.run_due()
    assert (states("mended"), len(heard)) == (["done"], 1)


def test_runs_that_wait_for_their_next_attempt_are_run_at_once(listen: Listening) -> None:
    """Their attempts stay counted; what is done, and what another receiver waits for, is left alone."""
    failing = Failing(times=2)
    heard = listen(checkout_paid, failing, name="mended")
    listen(checkout_paid, Failing(), name="broken")
    sold(2)
    assert (states("mended"), failing.tries) == (["due", "due"], 2)
    words = ("checkout_replay", "--receiver", "mended", "--failed")
    assert run(*words, "--dry-run") == (0, "2 failed or waiting runs would be given to mended\n")
    assert run(*words) == (0, "2 failed or waiting runs given to mended\n")
    flows.run_due()
    assert (states("mended"), len(heard), failing.tries) == (["done", "done"], 2, 4)
    assert set(ReceiverRun.objects.values_list("receiver", "attempts")) == {("mended", 2), ("broken", 1)}
    assert run(*words) == (0, "0 failed or waiting runs given to mended\n")


@pytest.mark.parametrize("kind", [(), ("--failed",), ("--dry-run",), ("--signal", "payment_refund")])
def test_unknown_receiver_is_refused(listen: Listening, kind: tuple[str, ...]) -> None:
    """Exit code 2, and the names of those that are connected."""
    sold(1)
    listen(checkout_paid, name="shop.receivers.grant")
    name = "shop.receivers.grant" if "--signal" in kind else "shop.receivers.gant"
    with pytest.raises(CommandError) as caught:
        run("checkout_replay", "--receiver", name, *kind)
    to = " to payment_refund" if "--signal" in kind else ""
    assert str(caught.value) == (
        f"No receiver {name!r} is connected{to}. Connected are: shop.receivers.grant (checkout_paid)."
    )
    assert caught.value.returncode == 2
    assert not ReceiverRun.objects.exists()


@pytest.mark.parametrize("words", [("--since", "yesterday"), ("--since", "2026-13-01"), ("--project", "x")])
def test_mistakes_are_usage_errors(listen: Listening, words: tuple[str, str]) -> None:
    """Exit code 2, and the wrong value."""
    listen(checkout_paid, name="late")
    with pytest.raises(CommandError, match=words[1]) as caught:
        run("checkout_replay", "--receiver", "late", *words)
    assert caught.value.returncode == 2


@pytest.mark.parametrize(
    ("option", "said"), [("--since", "--since is not a date"), ("--project", "no project ''")]
)
def test_an_empty_value_is_a_mistake(listen: Listening, option: str, said: str) -> None:
    """A variable of a script that is not set does not stand for all of the past."""
    listen(checkout_paid, name="late")
    with pytest.raises(CommandError, match=said) as caught:
        run("checkout_replay", "--receiver", "late", option, "")
    assert caught.value.returncode == 2


def test_runner_at_once_in_request_mode(listen: Listening, settings: Any) -> None:
    """The command hands over, as every door does."""
    sold(1)
    heard = listen(checkout_paid, name="late")
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    run("checkout_replay", "--receiver", "late")
    assert len(heard) == 1


def test_what_cannot_be_retired_says_why_and_from_when(
    listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such name; a process that was at work a moment ago, with the time from which it can be; code that is still here."""
    with pytest.raises(CommandError, match="No receiver is named 'nobody', now or earlier"):
        call_command("checkout_replay", "--receiver", "nobody", "--retire")
    listen(checkout_paid, name="letter")
    record_now()
    seen = Receiver.objects.get(name="letter").last_seen
    with pytest.raises(CommandError, match=f"try again after {seen + timedelta(minutes=5):%H:%M:%S} UTC"):
        call_command("checkout_replay", "--receiver", "letter", "--retire")
    Receiver.objects.update(last_seen=seen - timedelta(minutes=6))
    with pytest.raises(CommandError, match="in the code of this process"):
        call_command("checkout_replay", "--receiver", "letter", "--retire")
