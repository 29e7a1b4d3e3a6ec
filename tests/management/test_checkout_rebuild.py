"""``manage.py checkout_rebuild``: what it prints, and how it ends."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from checkout_integration.flows.rebuild import Gap
from checkout_integration.management.commands.checkout_rebuild import GAPS, SHOWN
from checkout_integration.models import Notification, Order
from checkout_integration.testing.delivery import Deliver
from tests.support.documents import block
from tests.support.flows.rebuilt import paid

pytestmark = pytest.mark.django_db


def run(*arguments: str, code: int = 0, **more: Any) -> str:
    """What the command prints; it must end with this exit code."""
    output, ended = StringIO(), 0
    try:
        call_command("checkout_rebuild", *arguments, stdout=output, **more)
    except SystemExit as left:
        ended = int(left.code or 0)
    assert ended == code
    return output.getvalue()


def test_equal_orders_end_with_0(checkout_deliver: Deliver) -> None:
    """And so does a shop without orders."""
    assert run() == "default: 0 orders: 0 proven, 0 different, 0 not provable\n"
    paid(checkout_deliver)
    assert run("--project", "default") == "default: 1 orders: 1 proven, 0 different, 0 not provable\n"


def test_a_difference_ends_with_1_and_both_values(checkout_deliver: Deliver) -> None:
    """For people, and for programs."""
    order = paid(checkout_deliver)
    Order.objects.update(amount="1000", country="\n")
    printed = run(code=1)
    assert f"  {order.order_id}\n" in printed
    assert "    amount: 1000 stored, 9.99 recomputed\n" in printed
    assert "    country: '\\n' stored, DE recomputed\n" in printed
    result = json.loads(run("--json", code=1))
    (step,) = result["steps"]
    assert (result["ok"], step["ok"], step["name"]) == (False, False, "default")
    (found,) = step["different"]
    assert found["order_id"] == order.order_id
    assert {"field": "amount", "stored": "1000", "recomputed": "9.99"} in found["differences"]


def test_what_cannot_be_proven_is_said_and_no_difference(checkout_deliver: Deliver) -> None:
    """It ends with 0."""
    order = paid(checkout_deliver)
    Notification.objects.update(body=None)
    printed = run()
    assert "1 orders: 0 proven, 0 different, 1 not provable" in printed
    assert "  not provable: 1 orders, bodies of notifications are gone\n" in printed
    (step,) = json.loads(run("--json"))["steps"]
    assert step["not_provable"] == [{"order_id": order.order_id, "differences": [], "gaps": ["bodies"]}]
    assert (step["gaps"]["bodies"], step["gaps"]["erased"]) == (1, 0)


def test_only_chosen_orders_are_looked_at(checkout_deliver: Deliver) -> None:
    """By id, and by when they were created."""
    one, other = (paid(checkout_deliver, created_at=f"2024-0{month}-01T00:00:00Z") for month in (1, 2))
    Order.objects.filter(pk=other.pk).update(country="FR")
    assert "1 orders: 1 proven" in run("--order", one.order_id)
    assert "2 orders: 1 proven" in run("--order", one.order_id, "--order", other.order_id, code=1)
    assert "1 orders: 1 proven" in run("--to", "2024-01-15")
    assert "1 orders: 0 proven" in run("--from", "2024-01-15", code=1)


def test_only_some_are_printed_and_all_are_in_the_json(checkout_deliver: Deliver) -> None:
    """A terminal has room for few."""
    for _ in range(SHOWN + 2):
        paid(checkout_deliver)
    Order.objects.update(country="FR")
    printed = run(code=1)
    assert printed.count("country: FR stored") == SHOWN
    assert "  and 2 more; --json prints 10,000 of them\n" in printed
    assert len(json.loads(run("--json", code=1))["steps"][0]["different"]) == SHOWN + 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--project", "nobody"], "There is no project 'nobody' in the settings."),
        (["--order", "nothing"], "There is no order 'nothing'."),
        (["--order", ""], "it is empty"),
        (["--from", "soon"], "no date or time"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], complaint: str) -> None:
    """Before anything is read."""
    with pytest.raises(CommandError, match=complaint) as refused:
        run(*arguments)
    assert refused.value.returncode in (1, 2)  # argparse ends by itself when it is called from a shell


def test_each_gap_has_its_words() -> None:
    """One that is added later is said too."""
    assert set(GAPS) == set(Gap)


class Terminal(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """Say that somebody looks."""
        return True


def test_a_terminal_shows_the_progress(checkout_deliver: Deliver) -> None:
    """And is clean in the end; a file gets none of it."""
    paid(checkout_deliver)
    terminal, plain = Terminal(), StringIO()
    run(stderr=terminal)
    run(stderr=plain)
    assert "\rdefault: 1 orders, " in terminal.getvalue()
    assert terminal.getvalue().endswith(" \r")
    assert plain.getvalue() == ""


def test_the_commands_of_the_page(checkout_deliver: Deliver) -> None:
    """Each does what the page says; the order of its example is not there."""
    paid(checkout_deliver)
    shown = block("docs/reconciliation.md", "$ python manage.py checkout_rebuild")
    for command in shown.splitlines():
        arguments = command.removeprefix("$ python manage.py checkout_rebuild").split()
        if "--order" in arguments:
            with pytest.raises(CommandError, match="There is no order"):
                run(*arguments)
        else:
            assert "0 different" in run(*arguments)
