"""Guests: a customer whom staff link to an account gives it what they bought; the link can be undone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from checkout_integration import flows
from checkout_integration.flows.ledger import customers
from checkout_integration.models import Checkout, CheckoutUser, Order, StaffAct
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.flows.operations.test_blocking import erase
from tests.support.admin.screens import page_address
from tests.support.flows.concurrency import in_background
from tests.support.flows.shop import record_listed

pytestmark = pytest.mark.django_db
GUEST = "service-7"


@pytest.fixture
def staff() -> User:
    """A member of staff."""
    return User.objects.create_user("grace", is_staff=True)


@pytest.fixture
def ada() -> User:
    """An account of the shop."""
    return User.objects.create_user("ada")


def bought(user_id: str = GUEST, account: User | None = None, **changes: Any) -> dict[str, Any]:
    """A payment for a checkout, of a guest unless it has an account."""
    document: dict[str, Any] = order_document_for(
        CheckoutFactory(user=account, type="product", products=["sword"]), **changes
    )
    external_id = str(account.pk) if account else None
    return {**document, "user": UserDocumentFactory(id=user_id, external_id=external_id)}


def guest(deliver: Deliver, user_id: str = GUEST) -> CheckoutUser:
    """A guest who has bought a sword."""
    deliver(order=bought(user_id))
    return CheckoutUser.objects.get(user_id=user_id)


def link(row: CheckoutUser, account: User, staff: User) -> bool:
    """Link the customer."""
    return flows.operations.link_account(row, account, staff=staff, reason="their receipt")


def unlink(row: CheckoutUser, staff: User) -> bool:
    """Undo the link."""
    return flows.operations.unlink_account(row, staff=staff, reason="another person")


def owns(account: User) -> set[str]:
    """The orders of what an account owns, by each way in which a shop looks, which must agree."""
    owned = Checkout.objects.owned_by(account)
    found = set(owned.values_list("paid_order__order_id", flat=True))
    assert bool(found) == owned.exists()
    paid = Order.objects.for_user(account).paid().values_list("order_id", flat=True)
    assert set(paid) == found
    return found


@pytest.mark.urls("tests.api.urls")
def test_the_account_owns_what_the_guest_bought(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """By every question of a shop, over REST too; and what the guest buys later, by notification or list."""
    row = guest(checkout_deliver)
    assert owns(ada) == set()
    assert [each.pk for each in flows.operations.linkable_checkouts(row)] == [Checkout.objects.get().pk]
    assert link(row, ada, staff) and not link(row, ada, staff)
    assert Checkout.objects.owns(ada, "sword")
    first, later, listed = Order.objects.get().order_id, bought(), bought()
    checkout_deliver(order=later)
    record_listed([listed])
    assert owns(ada) == {first, later["id"], listed["id"]}
    api = APIClient()
    api.force_authenticate(ada)
    for address in ("/api/checkouts/", "/api/orders/"):
        assert len(api.get(address).json()["data"]) == 3, address
    assert api.get(f"/api/orders/{first}/").status_code == 200


def test_the_link_is_undone(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """The account keeps what it bought itself; the guest's is nobody's; the history says who and why."""
    row = guest(checkout_deliver)
    own = bought("service-8", ada)
    checkout_deliver(order=own)
    link(row, ada, staff)
    checkout_deliver(order=bought())
    assert len(owns(ada)) == 3
    assert unlink(row, staff) and not unlink(row, staff)
    checkout_deliver(order=bought())
    assert owns(ada) == {own["id"]}
    acts = StaffAct.objects.order_by("pk").values_list(
        "act", "reason", "staff", "account", "counts__checkouts"
    )
    assert list(acts) == [
        ("link", "their receipt", staff.pk, ada.pk, 1),
        ("unlink", "another person", staff.pk, ada.pk, 2),
    ]


def test_another_account(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """The new one gets all that the link gave to the previous one."""
    row, rob = guest(checkout_deliver), User.objects.create_user("rob")
    link(row, ada, staff)
    link(row, rob, staff)
    assert (len(owns(ada)), len(owns(rob))) == (0, 1)


def test_what_an_account_bought_stays_its_own(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """Although its customer is linked to another one."""
    checkout_deliver(order=bought("service-8", ada))
    rob = User.objects.create_user("rob")
    row = CheckoutUser.objects.get()
    assert row.account == ada
    link(row, rob, staff)
    assert (len(owns(ada)), len(owns(rob))) == (1, 0)


def test_undoing_takes_nothing_that_the_account_bought(
    checkout_deliver: Deliver, ada: User, staff: User
) -> None:
    """Not even where its customer is the one who was linked to it."""
    checkout_deliver(order=bought("service-8", ada))
    row = CheckoutUser.objects.get()
    link(row, ada, staff)
    unlink(row, staff)
    assert len(owns(ada)) == 1


def test_a_link_by_a_hook_gives_nothing(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """It may rest on an address that nobody has confirmed. Staff may make it their own."""
    row = guest(checkout_deliver)
    CheckoutUser.objects.update(account=ada)
    checkout_deliver(order=bought())
    assert owns(ada) == set() and not unlink(row, staff)
    assert link(row, ada, staff)
    assert len(owns(ada)) == 2


def test_bound_by_staff(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """A payment that was known before, and its checkout: found or described."""
    documents = [
        {
            **OrderDocumentFactory(metadata={}, type="simple"),
            "user": UserDocumentFactory(id=GUEST, external_id=None),
        }
        for _ in range(2)
    ]
    for each in documents:
        checkout_deliver(order=each)
    found, described = (Order.objects.get(order_id=each["id"]) for each in documents)
    row = CheckoutUser.objects.get()
    link(row, ada, staff)
    flows.operations.bind_order(found, to=CheckoutFactory(), staff=staff, reason="by hand")
    terms = flows.operations.CheckoutDescription(amount=described.amount, currency=described.currency)
    flows.operations.bind_order(described, to=terms, staff=staff, reason="by hand")
    assert set(Checkout.objects.values_list("user", "by_link")) == {(ada.pk, True)}
    unlink(row, staff)
    assert not Checkout.objects.exclude(user=None, by_link=False).exists()


def test_a_refund_ends_it(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """As of anything that is owned."""
    document = bought()
    checkout_deliver(order=document)
    link(CheckoutUser.objects.get(), ada, staff)
    checkout_deliver(event="payment.refund", order={**document, "status": "refunded", "refunded": True})
    assert owns(ada) == set()


def test_an_erased_customer(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """What the account owns stays its own; what comes later is nobody's, and nothing can be linked."""
    row = guest(checkout_deliver)
    link(row, ada, staff)
    erase(row)
    checkout_deliver(order=bought())
    assert len(owns(ada)) == 1
    row.refresh_from_db()
    assert row.linked_at is None and not link(row, ada, staff)


@pytest.mark.parametrize("seed", range(6))
def test_any_history(checkout_deliver: Deliver, staff: User, seed: int) -> None:
    """Whatever is bought, linked and undone: an account owns what it bought, and what its linked guests bought."""
    draw = random.Random(seed)
    accounts = [User.objects.create_user(f"account-{number}") for number in range(2)]
    guests = [guest(checkout_deliver, f"service-{number}") for number in range(2)]
    by_guest = {
        row.pk: set(Order.objects.filter(user=row).values_list("order_id", flat=True)) for row in guests
    }
    by_account: dict[int, set[str]] = {account.pk: set() for account in accounts}
    linked: dict[int, int | None] = dict.fromkeys(by_guest)
    for _ in range(20):
        row, account = draw.choice(guests), draw.choice(accounts)
        act = draw.choice(["guest", "guest", "list", "account", "link", "unlink"])
        if act in ("guest", "list"):
            document = bought(row.user_id)
            record_listed([document]) if act == "list" else checkout_deliver(order=document)
            by_guest[row.pk].add(document["id"])
        elif act == "account":
            document = bought(f"of-{account.pk}", account)
            checkout_deliver(order=document)
            by_account[account.pk].add(document["id"])
        elif act == "link":
            assert link(row, account, staff) == (linked[row.pk] != account.pk)
            linked[row.pk] = account.pk
        else:
            assert unlink(row, staff) == (linked[row.pk] is not None)
            linked[row.pk] = None
        for each in accounts:
            theirs = [by_guest[key] for key, owner in linked.items() if owner == each.pk]
            assert owns(each) == by_account[each.pk].union(*theirs), (act, each)


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_bought_while_being_linked(checkout_deliver: Deliver, ada: User, staff: User) -> None:
    """The payment is recorded under the customer's lock: the link waits for it, and finds it at the second look."""
    row = guest(checkout_deliver)
    look, looks = customers.bought_as_guest, list[int]()

    def stopping(customer: CheckoutUser) -> Any:
        """Let the payment come between the first look and the lock."""
        found = Checkout.objects.filter(pk__in=[each.pk for each in look(customer)])
        looks.append(found.count())
        if len(looks) == 1:
            in_background(lambda: checkout_deliver(order=bought())).join()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(customers, "bought_as_guest", stopping)
        assert link(row, ada, staff)
    assert (len(owns(ada)), looks[0]) == (2, 1)


def test_staff_link_and_undo(checkout_deliver: Deliver, ada: User, admin_client: Client) -> None:
    """The page that asks shows what the account gets; the button to undo is there afterwards."""
    row = guest(checkout_deliver)
    address = page_address("checkoutuser", row)
    page = admin_client.get(address.replace("/change/", "/link-account/")).content.decode()
    page = page.replace("<wbr>", "")  # where a long word may end a line
    assert "sword" in page and Checkout.objects.get().reference[:20] in page
    admin_client.post(
        address.replace("/change/", "/link-account/"), {"account": "ada", "reason": "their receipt"}
    )
    assert "/unlink-account/" in admin_client.get(address).content.decode()
    page = admin_client.post(
        address.replace("/change/", "/unlink-account/"), {"reason": "another person"}, follow=True
    ).content.decode()
    assert "The link is undone" in page and "/unlink-account/" not in page


def test_a_link_that_moves_nothing_is_refused(
    checkout_deliver: Deliver, ada: User, admin_client: Client
) -> None:
    """What an account bought is its own: the page says whose it is, before and after the button is pressed."""
    checkout_deliver(order=bought("service-8", ada))
    row, rob = CheckoutUser.objects.get(), User.objects.create_user("rob")
    address = page_address("checkoutuser", row).replace("/change/", "/link-account/")
    why = "What the customer bought belongs to the account ada, and stays there: a link moves nothing."
    assert why in admin_client.get(address).content.decode()
    page = admin_client.post(address, {"account": "rob", "reason": "mail"}, follow=True).content.decode()
    assert f"Nothing changed. {why}" in page
    row.refresh_from_db()
    assert (row.account, owns(rob), StaffAct.objects.exists()) == (ada, set(), False)


def test_undoing_brings_back_the_account(checkout_deliver: Deliver, ada: User, admin_client: Client) -> None:
    """The one that bought as this customer itself; the page of the customer has what is that account's alone."""
    checkout_deliver(order=bought("service-8", ada))
    row, rob = CheckoutUser.objects.get(), User.objects.create_user("rob")
    own = Order.objects.get()
    checkout_deliver(
        order={**bought("service-8"), "user": UserDocumentFactory(id="service-8", external_id=str(ada.pk))}
    )
    given = Order.objects.exclude(pk=own.pk).get()
    address = page_address("checkoutuser", row)
    link(row, rob, ada)
    owned = (
        admin_client.get(address)
        .content.decode()
        .partition("What they own</h2>")[2]
        .partition("</section>")[0]
    )
    assert (str(given) in owned, str(own) in owned) == (True, False)
    undone = {"reason": "another person"}
    page = admin_client.post(
        address.replace("/change/", "/unlink-account/"), undone, follow=True
    ).content.decode()
    assert "The customer&#x27;s account is ada again." in page
    row.refresh_from_db()
    assert (row.account, row.linked_at) == (ada, None)
    acts = admin_client.get("/admin/checkout_integration/staffact/").content.decode()
    assert acts.count("rob, checkouts: 1") == 2
