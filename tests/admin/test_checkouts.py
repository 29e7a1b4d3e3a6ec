"""The screen of checkouts."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.models import Transition
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/checkout/"


@pytest.mark.spec("ORD-01")
def test_the_list_shows_the_order_that_paid(admin_client: Client) -> None:
    """A first card was declined, "try again" made another order: that one pays."""
    checkout = rows.make_checkout(order_id="order-declined")
    paying = rows.make_order("order-paying", checkout=checkout)
    checkout.paid_order, checkout.status = paying, "paid"
    checkout.save()
    page = admin_client.get(LIST).content.decode()
    assert "order-paying" in page
    assert "order-declined" not in page


@pytest.mark.spec("EP2-17")
def test_the_list_shows_the_order_of_the_form_while_none_has_paid(admin_client: Client) -> None:
    """That is the one by which the service knows the checkout."""
    rows.make_checkout(order_id="order-1")
    assert "order-1" in admin_client.get(LIST).content.decode()


@pytest.mark.spec("EP6-01", "TOK-02", "EP2-17")
@pytest.mark.parametrize(
    ("status", "linked"),
    [("new", True), ("open", True), ("paid", False), ("reversed", False), ("failed", False)],
)
def test_the_form_is_linked_while_there_is_something_to_pay(
    admin_client: Client, status: str, linked: bool
) -> None:
    """Afterwards it is dead, or would take the money a second time."""
    form = "https://service.example/form/?token=canary"
    checkout = rows.make_checkout(status=status, payment_form_url=form)
    page = admin_client.get(page_address("checkout", checkout)).content.decode()
    assert ("canary" in page, "There is nothing left to pay" in page) == (linked, not linked)


def text(client: Client, address: str) -> str:
    """The page, without where a long word may end a line."""
    return client.get(address).content.decode().replace("<wbr>", "")


def test_both_accounts_of_a_gift_are_named(admin_client: Client) -> None:
    """On the pages of checkout and order, and in the timeline where it was ordered and where it went back."""
    robin, juno = (User.objects.create_user(name) for name in ("robin", "juno"))
    checkout = rows.make_checkout(user=robin, recipient=juno, gift=True)
    order = rows.make_order(checkout=checkout, status="refunded", refunded_at=rows.NOON)
    Transition.objects.create(
        order=order, from_status="processed", to_status="refunded", source="notification"
    )
    page = text(admin_client, page_address("checkout", checkout))
    assert "robin" in page and "A gift for" in page and ">juno</a>" in page
    page = text(admin_client, page_address("order", order))
    juno_page = f'<a href="/admin/auth/user/{juno.pk}/change/">juno</a>'
    for words in ("a gift for: {}", "ordered, as a gift for {}", "the goods were a gift for {}"):
        assert words.format(juno_page) in page, words
    juno.delete()
    for address in (page_address("checkout", checkout), page_address("order", order)):
        assert "an account that was deleted" in text(admin_client, address)


def test_a_purchase_that_is_no_gift_says_nothing_of_one(admin_client: Client) -> None:
    """On neither page."""
    order = rows.make_order(checkout=rows.make_checkout(user=User.objects.create_user("robin")))
    assert "gift" not in text(admin_client, page_address("order", order))


def test_a_gift_is_found_by_the_name_of_the_recipient(client: Client) -> None:
    """Order and checkout; for those who may search by it."""
    juno = User.objects.create_user("juno")
    rows.make_order(
        "order-gift", checkout=rows.make_checkout(recipient=juno, gift=True, order_id="order-gift")
    )
    for permissions, hits in ((("view_personal_data",), 2), ((), 0)):
        client.force_login(rows.make_staff("view_order", "view_checkout", *permissions, name=f"staff-{hits}"))
        pages = [
            client.get(f"/admin/checkout_integration/{screen}/?q=juno") for screen in ("order", "checkout")
        ]
        assert sum("order-gift" in page.content.decode() for page in pages) == hits
