"""The page about the support desk: its table and its example agree with the code."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.admin.order.buttons import CHECK_SELECTED, RUN_SELECTED
from checkout_integration.admin.site.buttons import MOST_AT_ONCE
from checkout_integration.models import Order, Transition
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.reference.test_examples import executed
from tests.support.admin import rows
from tests.support.admin.screens import order_buttons
from tests.support.documents import ROOT, block

PAGE = (ROOT / "docs" / "support-desk.md").read_text(encoding="utf-8")


def test_the_page_has_each_button_with_its_permission() -> None:
    """And no other."""
    rows_of_page = re.findall(r"^\| ([^|`]+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows_of_page) == sorted((str(each.label), each.permission) for each in order_buttons())


def test_the_page_has_the_actions_and_the_bounds() -> None:
    """By the words that the list shows."""
    for act in (CHECK_SELECTED, RUN_SELECTED):
        assert f"| {act.label} |" in PAGE
    assert f"At most {MOST_AT_ONCE} orders at once" in PAGE
    assert f"up to {LONGEST_REASON:,} characters" in PAGE


@pytest.mark.django_db
def test_the_example_of_the_page_runs(checkout_deliver: Deliver) -> None:
    """Its functions, each with an order."""
    desk = executed("desk", block("docs/support-desk.md", "# shop/desk.py"))
    staff = rows.make_staff()
    order, customer = rows.make_order(), rows.make_customer()
    run = rows.make_run(order, state="failed", receiver="shop.letter")
    assert desk.hand_over(order, customer, User.objects.create_user("robin"), staff) == [run.receiver]
    assert Transition.objects.get().reason == "linked to an account, with 0 checkouts"
    order.user = customer
    assert desk.take_back(order, staff)
    rows.make_run(order, state="failed", receiver="shop.count")
    assert desk.after_a_deployment("shop.count", staff) == 1
    rows.make_granting_run(order)
    assert desk.by_hand(order, staff) == [True]
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    paid = Order.objects.exclude(pk=order.pk).get()
    assert desk.read_again(paid, staff) == ["applied: nothing changes"]
    assert paid.checkout is not None
    assert flows.claim(paid.checkout, User.objects.create_user("rob"))
    assert desk.take_back(paid, staff)
