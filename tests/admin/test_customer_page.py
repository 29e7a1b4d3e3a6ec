"""The page of a customer: who it is, what they paid in each currency, bought, own, and what was noted."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows import operations
from checkout_integration.models import CheckoutUser, PersonalData
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
SPACE = "\N{NO-BREAK SPACE}"
CUSTOMERS = "/admin/checkout_integration/checkoutuser/"


def page_of(client: Client, customer: CheckoutUser) -> str:
    """The page as text."""
    answer = client.get(page_address("checkoutuser", customer))
    assert answer.status_code == 200
    return answer.content.decode()


def table(html: str, title: str) -> list[list[str]]:
    """The rows of a table, cell by cell."""
    found = re.search(rf"<h2[^>]*>{title}</h2>(.*?)</section>", html, re.DOTALL)
    body = found[1].partition("<tbody>")[2] if found else ""
    lines = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[re.sub("<[^>]+>", "", cell).strip() for cell in line.split("<td")[1:]] for line in lines]


def cells(html: str, title: str) -> list[list[str]]:
    """The same without the attributes of cells."""
    return [[cell.partition(">")[2] if ">" in cell else cell for cell in line] for line in table(html, title)]


@pytest.mark.spec("USR-03", "USR-04", "USR-05")
def test_the_title_is_who_it_is(client: Client) -> None:
    """Name and e-mail address for those who may see them, else the customer's id."""
    customer = rows.make_customer()
    rows.make_order(user=customer)
    client.force_login(rows.make_staff("view_checkoutuser", "view_personal_data"))
    assert "Ada Lovelace · ada@buyers.example" in page_of(client, customer).partition("</title>")[0]
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    html = page_of(client, customer)
    assert (
        "Ada Lovelace" not in html
        and "ada@buyers" not in html
        and "player-1" in html.partition("</title>")[0]
    )


@pytest.mark.spec("ORD-22", "ORD-23", "USR-04")
def test_the_list_says_who_they_are_and_what_they_paid(client: Client) -> None:
    """Each currency by itself, unknown is no zero; the address for those who may see it, money for those who see orders."""
    customer, stranger = rows.make_customer(), rows.make_customer("player-2")
    rows.make_order(user=customer, amount=Decimal("9.99"))
    rows.make_order(user=customer, amount=Decimal("5.01"), status="refunded")
    rows.make_order(user=customer, amount=None)
    rows.make_order(user=customer, amount=Decimal(7), currency="EUR")
    rows.make_order(user=customer, amount=Decimal(100), status="rejected")
    client.force_login(rows.make_staff("view_checkoutuser", "view_order", "view_personal_data"))
    listed = client.get(CUSTOMERS).content.decode()
    assert f"7.00{SPACE}EUR (1), 15.00{SPACE}USD (2), 1 without an amount" in listed
    assert "ada@buyers.example" in listed and str(stranger) in listed
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    listed = client.get(CUSTOMERS).content.decode()
    assert "15.00" not in listed and "ada@buyers" not in listed


def test_a_restored_payment_is_not_charged_back(client: Client) -> None:
    """The sums of a customer are by the rule of the page about money: the dispute was won."""
    customer = rows.make_customer()
    rows.make_refund(rows.make_order(user=customer), status="chargeback", amount=Decimal("9.99"))
    client.force_login(rows.make_staff("view_checkoutuser", "view_order"))
    assert cells(page_of(client, customer), "What they paid") == [["USD", f"9.99{SPACE}USD (1)", "–", "–"]]


def test_without_an_email_the_title_is_the_newest_address_of_a_receipt(client: Client) -> None:
    """A guest is known by it; masked as the e-mail address is."""
    customer = rows.make_customer()
    for address in ("old@buyers.example", "bills@buyers.example", ""):
        order = rows.make_order(user=customer, document={"user": {"name": "Ada"}, "receipt_email": address})
        PersonalData.objects.filter(order=order).update(email=address)
    client.force_login(rows.make_staff("view_checkoutuser", "view_personal_data"))
    assert "bills@buyers.example" in page_of(client, customer).partition("</title>")[0]
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    assert "bills@buyers" not in page_of(client, customer)


def test_what_they_own_has_the_codes(client: Client) -> None:
    """For those who may see them: whoever has one can redeem it."""
    customer = rows.make_customer()
    order = rows.make_order(user=customer)
    rows.make_granting_run(order)
    for code in ("KEY-1", "KEY-2"):
        rows.add_item(order, name="Game", code=code)
    client.force_login(rows.make_staff("view_checkoutuser", "view_order", "view_personal_data"))
    html = page_of(client, customer)
    assert [f'value="{code}"' in html for code in ("KEY-1", "KEY-2")] == [True, True]
    client.force_login(rows.make_staff("view_checkoutuser", "view_order", name="looks"))
    assert "KEY-" not in page_of(client, customer)


def test_a_second_payment_for_the_same_product_is_on_the_page_of_the_order(admin_client: Client) -> None:
    """Of the same customer, about the same time; nothing else is one too many."""
    customer, day = rows.make_customer(), timedelta(days=1)
    order, again = (rows.make_order(user=customer, product="Hat") for _ in range(2))
    rows.make_order(user=customer, product="Coat")
    rows.make_order(user=customer, product="Hat", status="created")
    rows.make_order(user=customer, product="Hat", created_at=rows.NOON - 2 * day)
    rows.make_order(user=rows.make_customer("player-2"), product="Hat")
    html = admin_client.get(page_address("order", order)).content.decode()
    notes = re.findall(r'<p class="ci-note">(The customer paid .*?)</p>', html, re.DOTALL)
    assert len(notes) == 1 and page_address("order", again) in notes[0]


def test_a_blocked_customer_has_a_badge_on_each_page(admin_client: Client) -> None:
    """Of the customer, and of their orders."""
    customer = rows.make_customer()
    order = rows.make_order(user=customer)
    badge = '<span aria-hidden="true">!</span> blocked</span>'
    pages = [page_address("checkoutuser", customer), page_address("order", order)]
    assert [badge in admin_client.get(page).content.decode() for page in pages] == [False, False]
    CheckoutUser.objects.update(blocked_at=rows.NOON)
    assert [badge in admin_client.get(page).content.decode() for page in pages] == [True, True]


def test_customers_without_an_account_are_a_filter(admin_client: Client, admin_user: User) -> None:
    """Guests whom staff may link."""
    guest, linked = rows.make_customer("guest"), rows.make_customer("linked")
    CheckoutUser.objects.filter(pk=linked.pk).update(account=admin_user)
    for query, customer in (("no", guest), ("yes", linked)):
        page = admin_client.get(f"/admin/checkout_integration/checkoutuser/?account_known={query}")
        assert list(page.context["cl"].queryset) == [customer]
    assert "Without an account" in page.content.decode() or "without an account" in page.content.decode()


@pytest.mark.spec("ORD-22", "ORD-23", "RFD-01", "RFD-02", "STA-06", "STA-07")
def test_sums_are_of_each_currency_and_what_is_unknown_is_no_zero(admin_client: Client) -> None:
    """Paid, refunded and charged back; orders that are not paid and other customers are left out."""
    customer = rows.make_customer()
    rows.make_order(user=customer)
    refunded = rows.make_order(user=customer, status="refunded", amount=Decimal("5.00"))
    rows.make_refund(refunded, status="refunded", amount="2.00", currency="USD")
    rows.make_refund(refunded, status="refunded", amount="1.50", currency="USD")
    disputed = rows.make_order(user=customer, status="chargeback", amount=Decimal(1500), currency="JPY")
    rows.make_refund(disputed, status="chargeback", amount=None, currency="JPY")
    rows.make_order(user=customer, status="created", verdict="pending")
    rows.make_order(user=rows.make_customer("player-2"))
    assert [
        [cell.replace(SPACE, " ") for cell in line]
        for line in cells(page_of(admin_client, customer), "What they paid")
    ] == [
        ["JPY", "1,500 JPY (1)", "–", "1 without an amount"],
        ["USD", "14.99 USD (2)", "3.50 USD (2)", "–"],
    ]


@pytest.mark.spec("ORD-01", "ORD-05", "ORD-24")
def test_it_shows_orders_with_products_goods_notes_and_checkouts(client: Client, admin_user: User) -> None:
    """Each table for those who may see its rows."""
    customer = rows.make_customer()
    customer.account = User.objects.create_user("robin")
    customer.save()
    checkout = rows.make_checkout(user=customer.account, status="paid", description="500 gems")
    order = rows.make_order(user=customer, checkout=checkout)
    rows.make_granting_run(order, state="done")
    operations.add_note(order, staff=admin_user, text="asked the bank on Monday")
    client.force_login(admin_user)
    html = page_of(client, customer)
    assert cells(html, "What they own")[0][:3] == ["500 gems", "–", order.order_id]
    assert cells(html, "Notes")[0][1:] == ["admin", order.order_id, "asked the bank on Monday"]
    assert cells(html, "Checkouts of the account")[0][1] == "500 gems"
    assert cells(html, "Orders")[0][1] == "500 gems"
    client.force_login(rows.make_staff("view_checkoutuser", name="looks"))
    html = page_of(client, customer)
    assert "500 gems" not in html and "asked the bank" not in html


def test_it_costs_the_same_for_any_number_of_rows(admin_client: Client, admin_user: User) -> None:
    """No statement for an order, a grant, a note or a checkout."""
    customer = rows.make_customer()
    customer.account = admin_user
    customer.save()

    def statements() -> int:
        order = rows.make_order(user=customer, checkout=rows.make_checkout(user=admin_user, status="paid"))
        rows.make_granting_run(order)
        rows.make_refund(order)
        operations.add_note(order, staff=admin_user, text="seen")
        page_of(admin_client, customer)
        with CaptureQueriesContext(connection) as seen:
            page_of(admin_client, customer)
        return len(seen)

    few = statements()
    statements()
    assert statements() == few <= 20


def test_a_gift_is_owned_by_its_recipient(admin_client: Client) -> None:
    """Of both customers, the one to whose account it was given."""
    buyer, recipient = rows.make_customer("buyer"), rows.make_customer("recipient")
    recipient.account = User.objects.create_user("juno")
    recipient.save()
    checkout = rows.make_checkout(
        recipient=recipient.account, gift=True, status="paid", description="500 gems"
    )
    rows.make_granting_run(rows.make_order(user=buyer, checkout=checkout))
    rows.make_granting_run(rows.make_order(user=buyer, product="Hat"))
    assert [row[0] for row in cells(page_of(admin_client, recipient), "What they own")] == ["500 gems"]
    assert [row[0] for row in cells(page_of(admin_client, buyer), "What they own")] == ["Hat"]
