"""A guest's purchase is claimed by the account that is logged in: by the buyer's address, by POST, once."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from checkout_integration.flows.checkout import VALID_SECONDS, claim, signed_reference
from checkout_integration.flows.operations import undo_claim
from checkout_integration.models import Checkout, Order, StaffAct
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def bought() -> Checkout:
    """A guest's paid checkout."""
    checkout = CheckoutFactory(description="Lanternfall")
    OrderFactory(checkout=checkout)
    checkout.refresh_from_db()
    assert (checkout.status, checkout.user, checkout.identity) == ("paid", None, "")
    return checkout


@pytest.fixture
def ada() -> User:
    """The buyer's account."""
    return User.objects.create_user("ada")


def address(checkout: Checkout, page: str = "claim") -> str:
    """The buyer's address of a page about the checkout."""
    return reverse(f"checkout_integration:{page}", args=[signed_reference(checkout.reference)])


def text(response: Any) -> str:
    """The page, without its markup."""
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", response.content.decode()))


def test_from_the_return_page_to_the_account(client: Client, bought: Checkout, ada: User) -> None:
    """The link leads to a page that asks; after it the account owns the purchase, and the link is gone."""
    shown = client.get(address(bought, "return")).content.decode()
    (link,) = re.findall(r'<a href="(/checkout/claim/[^"]+)" target="_top">', shown)
    client.force_login(ada)
    question = client.get(link)
    assert "Lanternfall" in text(question) and "It will belong to ada." in text(question)
    assert not Checkout.objects.owned_by(ada).exists()
    done = client.post(link, follow=True)
    assert "This purchase belongs to your account." in text(done)
    assert list(Checkout.objects.owned_by(ada)) == [bought]
    assert "/claim/" not in client.get(address(bought, "return")).content.decode()
    bought.refresh_from_db()
    assert bought.claimed_at is not None


def test_what_was_claimed_and_refunded_is_not_yours_any_more(
    client: Client, bought: Checkout, ada: User, admin_client: Client
) -> None:
    """The page says what became of it; at the desk the guest's page says to which account it belongs."""
    claim(bought, ada)
    order = Order.objects.get()
    pages = [reverse("admin:checkout_integration_checkoutuser_change", args=[order.user_id])]
    pages.append(reverse("admin:checkout_integration_checkoutuser_changelist") + "?q=ada")
    guest, found = (text(admin_client.get(page)) for page in pages)
    assert "What they bought belongs to the account ada." in guest
    assert str(order.user) in found
    Checkout.objects.update(status=Checkout.Status.REVERSED)
    client.force_login(ada)
    page = text(client.get(address(bought)))
    assert "Refunded" in page and "The payment was refunded." in page
    assert "belongs to your account" not in page


def test_once_also_after_its_account_is_deleted(
    client: Client, bought: Checkout, ada: User, django_user_model: type[User]
) -> None:
    """Until staff undo it: somebody else has the buyer's address, perhaps."""
    claim(bought, ada)
    ada.delete()
    bob = django_user_model.objects.create_user("bob")
    bought.refresh_from_db()
    assert not claim(bought, bob)
    assert undo_claim(bought, staff=None, reason="the account is deleted")
    bought.refresh_from_db()
    assert claim(bought, bob)


def test_a_button_that_is_pressed_twice(bought: Checkout, ada: User) -> None:
    """It is the account's: two presses at once must not tell it that somebody else has it. A refunded one is nobody's."""
    twice = [Checkout.objects.get(), Checkout.objects.get()]
    assert [claim(each, ada) for each in twice] == [True, True]
    assert not claim(twice[1], User.objects.create_user("bob"))
    Checkout.objects.update(status=Checkout.Status.REVERSED)
    assert not claim(twice[1], ada)


@pytest.mark.parametrize(
    ("status", "heading"), [("refunded", "Refunded"), ("chargeback", "Charged back"), ("", "Waiting")]
)
def test_a_guest_reads_why_it_cannot_be_claimed(
    client: Client, ada: User, bought: Checkout, status: str, heading: str
) -> None:
    """As the return page says it: refunded, or not here yet."""
    Checkout.objects.update(status=Checkout.Status.REVERSED if status else Checkout.Status.OPEN)
    Order.objects.update(status=status or "created")
    client.force_login(ada)
    page = text(client.get(address(bought)))
    assert heading in page and "cannot be added: it is not paid" not in page


def test_of_a_gift_the_receipt_was_claimed(client: Client, bought: Checkout, ada: User) -> None:
    """The page does not call it yours afterwards: the gift stays with its recipient."""
    Checkout.objects.update(gift=True, recipient=User.objects.create_user("friend"))
    client.force_login(ada)
    page = text(client.post(address(bought), follow=True))
    assert "The receipt belongs to your account; the gift stays with its recipient." in page
    assert "This purchase belongs" not in page


def test_a_claimed_agreement_is_on_the_page_of_its_account(ada: User, admin_client: Client) -> None:
    """And not any more on that of the guest."""
    OrderFactory(checkout=CheckoutFactory(user=ada))
    own = Order.objects.get().user
    checkout = CheckoutFactory(description="Season pass", lasts_days=30)
    guest = OrderFactory(checkout=checkout).user
    change = "admin:checkout_integration_checkoutuser_change"
    pages = [reverse(change, args=[each.pk]) for each in (guest, own) if each]

    def listed() -> list[bool]:
        tables = [
            text(admin_client.get(page)).partition("Agreements")[2].partition("Checkouts of")[0]
            for page in pages
        ]
        return ["Season pass" in each for each in tables]

    assert listed() == [True, False]
    checkout.refresh_from_db()
    claim(checkout, ada)
    assert listed() == [False, True]
    paid = text(admin_client.get(pages[1])).partition("What they paid")[2]
    assert paid.partition("What they own")[0].count("19.98 USD (2)") == 1, "with what was paid as a guest"


@pytest.mark.parametrize("account", [None, "ada"])
def test_an_agreement_without_a_payment_that_stands_is_still_seen(
    django_user_model: type[User], admin_client: Client, account: str | None
) -> None:
    """As ended, on its customer's page and by a filter; and nobody is said to own it."""
    user = django_user_model.objects.create_user(account) if account else None
    checkout = CheckoutFactory(description="Season pass", lasts_days=30, user=user)
    customer = OrderFactory(checkout=checkout, status="refunded").user
    checkout.refresh_from_db()
    assert (checkout.status, checkout.owned_until) == ("reversed", None)
    change = reverse("admin:checkout_integration_checkoutuser_change", args=[customer and customer.pk])
    page = text(admin_client.get(change))
    agreements = page.partition("Agreements")[2].partition("Checkouts of")[0]
    assert "Season pass" in agreements and "ended" in agreements
    assert "belongs to the account" not in page
    listed = reverse("admin:checkout_integration_checkout_changelist")
    answer: Any = admin_client.get(f"{listed}?agreement=reversed")
    assert list(answer.context_data["cl"].queryset) == [checkout]


def test_no_agreement_begins_after_its_last_payment(ada: User, admin_client: Client) -> None:
    """One that was learnt from the list was found later than it was paid."""
    customer = OrderFactory(checkout=CheckoutFactory(user=ada, lasts_days=30)).user
    Checkout.objects.update(owned_until=datetime(2026, 3, 31, 12, tzinfo=UTC))
    change = reverse("admin:checkout_integration_checkoutuser_change", args=[customer and customer.pk])
    page = text(admin_client.get(change)).partition("Agreements")[2].partition("Checkouts of")[0]
    assert page.count("2026-03-01 12:00:00") == 2


def test_what_the_own_account_owns_is_not_somebodys(admin_client: Client, ada: User) -> None:
    """The sentence names other accounts."""
    customer = OrderFactory(checkout=CheckoutFactory(user=ada)).user
    change = reverse("admin:checkout_integration_checkoutuser_change", args=[customer and customer.pk])
    Checkout.objects.update(lasts_days=30, owned_until=datetime.now(UTC) - timedelta(days=1))
    assert "belongs to the account" not in text(admin_client.get(change))


def test_the_page_says_what_is_claimed(client: Client, bought: Checkout, ada: User) -> None:
    """By name and price also where the shop gave no description: the service's name of it, or the product."""
    Checkout.objects.update(description="", products=["crown"], expected_amount=None)
    client.force_login(ada)
    for name in ("Lanternfall", "crown"):
        for page in ("claim", "return"):
            shown = text(client.get(address(bought, page)))
            assert name in shown and "9.99" in shown, page
        Order.objects.update(product="")


def test_without_a_session_the_customer_logs_in_first(
    client: Client, bought: Checkout, settings: Any
) -> None:
    """And comes back to the same page; a POST without one changes nothing."""
    settings.LOGIN_URL = "/log-in/"
    for response in (client.get(address(bought)), client.post(address(bought))):
        assert response.status_code == 302
        assert response["Location"].startswith("/log-in/?next=/checkout/claim/")
    bought.refresh_from_db()
    assert bought.user is None


def test_once(client: Client, bought: Checkout, ada: User) -> None:
    """Whoever has the address later sees that it belongs to somebody, not to whom."""
    assert claim(bought, ada)
    client.force_login(User.objects.create_user("eve"))
    page = client.post(address(bought), follow=True)
    assert "cannot be added" in text(page) and "ada" not in text(page)
    assert "Add this purchase to your account" not in text(page)
    assert list(Checkout.objects.owned_by(ada)) == [bought]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "open"},
        {"status": "review"},
        {"status": "reversed"},
        {"identity": "somebody"},
        {"erased_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
)
def test_what_is_not_nobodys_cannot_be_claimed(
    client: Client, bought: Checkout, ada: User, changes: dict[str, Any]
) -> None:
    """Neither offered nor done."""
    Checkout.objects.filter(pk=bought.pk).update(**changes)
    assert "/claim/" not in client.get(address(bought, "return")).content.decode()
    client.force_login(ada)
    assert "<form" not in client.get(address(bought)).content.decode()
    client.post(address(bought))
    assert not claim(bought, ada) and not Checkout.objects.filter(user=ada).exists()


def test_the_address_expires_and_cannot_be_forged(
    client: Client, bought: Checkout, ada: User, time_machine: Any
) -> None:
    """404, as the return page's."""
    client.force_login(ada)
    mine = address(bought)
    assert client.get(mine.replace("/claim/", "/claim/x")).status_code == 404
    time_machine.move_to(datetime.now(UTC) + timedelta(seconds=VALID_SECONDS + 60))
    client.force_login(ada)
    assert client.post(mine).status_code == 404
    assert not Checkout.objects.filter(user=ada).exists()


def test_it_needs_the_token_against_forged_requests(bought: Checkout, ada: User) -> None:
    """Another site cannot claim in the name of whoever is logged in."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post(address(bought)).status_code == 403
    assert not Checkout.objects.filter(user=ada).exists()


def test_it_is_in_no_frame(client: Client, bought: Checkout, ada: User) -> None:
    """Where a button could be clicked unseen; the address stays with this site."""
    client.force_login(ada)
    page = client.get(address(bought))
    assert (page["X-Frame-Options"], page["Referrer-Policy"]) == ("DENY", "same-origin")
    assert "no-store" in page["Cache-Control"]


def test_staff_can_undo_it(bought: Checkout, ada: User, admin_user: User) -> None:
    """It is nobody's again, and can be claimed again."""
    assert not undo_claim(bought, staff=admin_user, reason="nothing to undo")
    claim(bought, ada)
    bought.refresh_from_db()
    assert undo_claim(bought, staff=admin_user, reason="the wrong account")
    assert not Checkout.objects.owned_by(ada).exists()
    (act,) = StaffAct.objects.all()
    assert (act.act, act.staff, act.account, act.reason) == ("unclaim", admin_user, ada, "the wrong account")
    assert claim(bought, ada)


@pytest.mark.django_db(transaction=True)
def test_of_two_accounts_at_once_one_gets_it(bought: Checkout) -> None:
    """The other one is told that it cannot."""
    accounts = [User.objects.create_user(f"player-{number}") for number in range(2)]
    together, got = threading.Barrier(2), list[bool]()

    def race(account: User) -> None:
        try:
            together.wait()
            got.append(claim(bought, account))
        finally:
            connection.close()

    threads = [threading.Thread(target=race, args=[account]) for account in accounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False, True]
    (owner,) = [account for account in accounts if Checkout.objects.owned_by(account).exists()]
    bought.refresh_from_db()
    assert bought.user == owner
