"""``checkout_erase``: its options, its output, its question."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from checkout_integration.models import CheckoutUser, Order, StaffAct
from checkout_integration.testing.factories import OrderFactory
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db
CANARIES = ["zaphod@canary.example", "Zaphod Canaryblossom", "zb@canary.example"]
ONE_ORDER = "default: 1 customers, 1 orders, 0 checkouts, 0 notifications, 0 decisions"


def run(*words: str) -> tuple[str, str]:
    """What it printed, and what it said to the person at the screen."""
    printed, said = StringIO(), StringIO()
    call_command("checkout_erase", *words, stdout=printed, stderr=said, no_color=True)
    return printed.getvalue(), said.getvalue()


@pytest.fixture
def order() -> Order:
    """An order of a customer."""
    user = UserDocumentFactory(
        external_id=CANARIES[0], id="canary-service-id", name=CANARIES[1], email="zb@canary.example"
    )
    made: Order = OrderFactory(user=user)
    return made


REASON = "--reason=request 4711"
WAYS = ["--external-id=zaphod@canary.example", "--user-id=canary-service-id", "--order-id", "--customer"]


@pytest.mark.parametrize("way", [*WAYS, "--email=ZB@canary.example"])
def test_a_customer_is_erased(order: Order, way: str) -> None:
    """By any of the ids or the address; the output has counts and no personal data."""
    way = {"--order-id": f"--order-id={order.order_id}", "--customer": f"--customer={order.user_id}"}.get(
        way, way
    )
    printed, _ = run(way, REASON, "--no-input")
    assert printed == f"{ONE_ORDER} erased\n"
    assert columns_with(CANARIES) == set()


def test_a_dry_run_erases_nothing(order: Order) -> None:
    """It counts."""
    printed, _ = run(WAYS[0], "--dry-run")
    assert printed == f"{ONE_ORDER} would be erased\n"
    assert columns_with(CANARIES)


def test_json_is_for_machines(order: Order) -> None:
    """The same form as the other commands."""
    result = json.loads(run(WAYS[0], REASON, "--no-input", "--json")[0])
    assert (result["ok"], [step["name"] for step in result["steps"]]) == (True, ["default"])


@pytest.mark.parametrize(("answer", "erased"), [("y", True), ("yes ", True), ("", False), ("n", False)])
def test_it_asks_first(order: Order, monkeypatch: pytest.MonkeyPatch, answer: str, *, erased: bool) -> None:
    """Anything but yes is no."""
    monkeypatch.setattr("builtins.input", lambda *_: answer)
    if erased:
        assert "cannot be undone" in run(WAYS[0], REASON)[1]
    else:
        with pytest.raises(CommandError, match="Nothing was erased"):
            run(WAYS[0], REASON)
    assert (CheckoutUser.objects.filter(erased_at=None).count() == 0) is erased


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--external-id=nobody"], 1), (["--customer=999"], 1), ([WAYS[0], "--project=nowhere"], 2)],
)
def test_mistakes_have_exit_codes(order: Order, words: list[str], code: int) -> None:
    """Exit code 1 for an unknown customer, 2 for an unknown project; the identifier is not printed."""
    with pytest.raises(CommandError) as caught:
        run(*words, REASON, "--no-input")
    assert caught.value.returncode == code
    assert columns_with(CANARIES)


@pytest.mark.parametrize(
    ("words", "error"),
    [([], "Give a --reason"), ([REASON, "--as=nobody"], "There is no account 'nobody'")],
)
def test_who_asks_and_why_must_be_known(order: Order, words: list[str], error: str) -> None:
    """Nothing is erased without a reason; a dry run needs none."""
    with pytest.raises(CommandError, match=error) as caught:
        run(WAYS[0], "--no-input", *words)
    assert caught.value.returncode == 2
    assert columns_with(CANARIES)


def test_the_act_is_recorded(order: Order) -> None:
    """By whom, from where and why; how much it was."""
    grace = User.objects.create_user("grace")
    run(WAYS[0], REASON, "--as=grace", "--no-input")
    act = StaffAct.objects.get()
    assert (act.act, act.origin, act.staff, act.reason) == ("erase", "command", grace, "request 4711")
    assert (act.customer_id, act.counts["orders"]) == (order.user_id, 1)


@pytest.mark.parametrize("way", ["--external-id", "--user-id", "--email", "--order-id"])
def test_an_empty_name_is_nobodys(order: Order, way: str) -> None:
    """A variable of a script that is not set is a usage error."""
    with pytest.raises(CommandError, match=f"argument {way}: it is empty"):
        run(f"{way}=", REASON, "--no-input")


def test_an_empty_project_is_not_all_of_them(order: Order) -> None:
    """The same mistake would erase more than was meant."""
    with pytest.raises(CommandError, match="argument --project: it is empty"):
        run(WAYS[0], "--project=", REASON, "--no-input")
    assert columns_with(CANARIES)


def test_without_a_terminal_the_message_names_the_option(
    order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from cron; nothing is erased."""
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match="pass --no-input") as caught:
        run(WAYS[0], REASON)
    assert caught.value.returncode == 2
    assert columns_with(CANARIES)


@pytest.mark.parametrize("words", [[], [WAYS[0], WAYS[1]]])
def test_one_way_of_naming_the_customer_is_needed(words: list[Any]) -> None:
    """Not two, and not none."""
    with pytest.raises(CommandError):
        run(*words, REASON)
