"""``manage.py checkout_accept``: payments in review, and from before the installation."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from checkout_integration import flows
from checkout_integration.models import Incident, Order, Transition
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from tests.flows.operations.test_binding import before_installation, historic, new_checkout, unbound
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


def run(*arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with this exit code."""
    output, ended = StringIO(), 0
    try:
        call_command("checkout_accept", *arguments, "--reason", "migrated", stdout=output)
    except SystemExit as left:
        ended = int(left.code or 0)
    assert ended == code
    return output.getvalue()


@pytest.mark.parametrize(
    ("make", "kind"), [(before_installation, "before_installation"), (historic, "historic")]
)
def test_all_from_before_the_installation(
    checkout_deliver: Deliver, listen: Listening, make: Any, kind: str
) -> None:
    """The dry run prints the changes; the goods are granted, and the history has the reason and the account."""
    heard, order = listen(checkout_paid), make(checkout_deliver)
    User.objects.create_user("grace", is_staff=True)
    expected = run("--kind", kind, "--dry-run")
    assert Order.objects.get().verdict == order.verdict
    assert run("--kind", kind, "--as", "grace") == expected.replace("would be", "were")
    assert f"{order.order_id}: order {order.order_id}: processed" in expected
    flows.run_due()
    assert [each["order"] for each in heard] == [order]
    transition = Transition.objects.latest("pk")
    assert (transition.reason, str(transition.staff)) == ("migrated", "grace")
    assert not Incident.objects.filter(resolved_at=None).exists()


def test_one_order_bound_first(checkout_deliver: Deliver, listen: Listening) -> None:
    """By the checkout's reference; one that pays for exactly that needs no acceptance."""
    heard, order, checkout = listen(checkout_paid), unbound(checkout_deliver), new_checkout()
    output = run("--order", order.order_id, "--checkout", checkout.reference)
    assert f"{order.order_id}: already verified" in output
    flows.run_due()
    assert [each["checkout"] for each in heard] == [checkout]


def test_one_order_bound_to_another_price_is_accepted(checkout_deliver: Deliver, listen: Listening) -> None:
    """Its goods are granted for that checkout."""
    heard, order, checkout = (
        listen(checkout_paid),
        unbound(checkout_deliver),
        new_checkout(expected_amount="12"),
    )
    run("--order", order.order_id, "--checkout", checkout.reference)
    flows.run_due()
    assert [each["checkout"] for each in heard] == [checkout]
    assert Order.objects.get().verdict == "accepted"


def test_json_and_what_cannot_be_accepted(checkout_deliver: Deliver) -> None:
    """Exit code 1; the second time it is accepted already."""
    order = unbound(checkout_deliver)
    accepted = json.loads(run("--order", order.order_id, "--json"))
    assert (accepted["ok"], accepted["steps"][0]["changes"][0]["verdict_after"]) == (
        True,
        "accepted (by_staff)",
    )
    refused = json.loads(run("--order", order.order_id, "--json", code=1))
    assert (refused["ok"], refused["steps"][0]["ok"]) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --order or --kind"),
        (["--order", "x", "--kind", "historic"], "either --order or --kind"),
        (["--order", "nobody"], "There is no order 'nobody'"),
        (["--kind", "historic", "--project", "nowhere"], "There is no project 'nowhere'"),
        (["--kind", "historic", "--as", "nobody"], "There is no account 'nobody'"),
        (["--kind", "historic", "--checkout", "x"], "needs exactly one --order"),
        (["--kind", "verified"], "invalid choice"),
    ],
)
def test_wrong_use_is_said_in_one_sentence(arguments: list[str], message: str) -> None:
    """Exit code 2."""
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_a_reference_that_is_not_here(checkout_deliver: Deliver) -> None:
    """Nothing is accepted then."""
    order = unbound(checkout_deliver)
    with pytest.raises(CommandError, match="There is no checkout 'x' in its project"):
        run("--order", order.order_id, "--checkout", "x")
    assert Order.objects.get().verdict == "review"
