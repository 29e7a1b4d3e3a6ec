"""My purchases: an account's own rows, in words for the customer, as a page of the shop."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.views.generic import ListView

from checkout_integration.models import Checkout, Notification
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory
from checkout_integration.views.purchases import PurchasesMixin, PurchasesPage
from checkout_integration.views.returning import heading_of
from tests.urls import urlpatterns as others

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class Mine(PurchasesMixin, ListView):  # type: ignore[type-arg]
    """A page of the shop's own."""

    template_name = "checkout_integration/purchases.html"
    paginate_by = 2

    def get_recipient_name(self, checkout: Checkout) -> str:
        """Return the player's name."""
        return checkout.recipient.get_username() if checkout.recipient else ""

    def get_again_url(self, checkout: Checkout) -> str:
        """Return the page of the product."""
        return f"/buy/{checkout.description}/"


urlpatterns = [path("purchases/", PurchasesPage.as_view()), path("mine/", Mine.as_view()), *others]


@pytest.fixture
def ada(client: Client) -> User:
    """The account that is logged in."""
    account = User.objects.create_user("ada")
    client.force_login(account)
    return account


@pytest.fixture
def ben() -> User:
    """Another one."""
    return User.objects.create_user("ben")


def lines(client: Client, address: str = "/purchases/") -> list[str]:
    """The lines of the page, without markup."""
    response = client.get(address)
    assert response.status_code == 200
    listed = re.findall(r"<li .*?</li>", response.content.decode(), re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", each).split()) for each in listed]


def links(client: Client, address: str = "/purchases/") -> list[str]:
    """Where the links of the lines lead."""
    text = " ".join(re.findall(r"<li .*?</li>", client.get(address).content.decode(), re.DOTALL))
    return re.findall(r'href="([^"]+)"', text)


def bought(account: User | None, status: str = "processed", **changes: Any) -> Checkout:
    """A checkout with its order."""
    columns = {name: changes.pop(name) for name in ("recipient", "gift", "subject") if name in changes}
    checkout = CheckoutFactory(user=account, description="500 gems", **columns)
    OrderFactory(checkout=checkout, status=status, **changes)
    checkout.refresh_from_db()
    return checkout


def test_it_is_for_accounts(client: Client, settings: Any) -> None:
    """Without a session it leads to the log-in, and back; nothing of it is stored on the way."""
    settings.LOGIN_URL = "/log-in/"
    assert client.get("/purchases/")["Location"] == "/log-in/?next=/purchases/"
    client.force_login(User.objects.create_user("ada"))
    assert "no-store" in client.get("/purchases/")["Cache-Control"]
    assert client.post("/purchases/").status_code == 405


def test_a_pass_says_until_when_it_is_paid(client: Client, ada: User) -> None:
    """Without the days of grace, on which nobody counts; after these it has ended."""
    end = datetime(2031, 3, 4, 12, tzinfo=UTC)
    checkout = bought(ada)
    Checkout.objects.update(lasts_days=31, grace_days=2, owned_until=end)
    assert "March 2, 2031" in lines(client)[0]
    Checkout.objects.filter(pk=checkout.pk).update(owned_until=datetime.now(UTC))
    assert "Ended" in lines(client)[0]


def test_only_the_accounts_own(client: Client, ada: User, ben: User) -> None:
    """Neither those of others nor of guests; whoever has bought nothing reads that."""
    bought(ben)
    bought(None)
    assert (
        lines(client) == [] and "You have bought nothing yet." in client.get("/purchases/").content.decode()
    )
    bought(ada)
    assert len(lines(client)) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("created", "Waiting for the payment"),
        ("processed", "Paid"),
        ("canceled", "Not paid"),
        ("refunded", "Refunded"),
        ("chargeback", "Charged back"),
    ],
)
def test_how_it_stands(client: Client, ada: User, status: str, words: str) -> None:
    """With what it is, its price, and, once it was paid, the receipt."""
    bought(ada, status, receipt_url="https://service.example/r/1", receipt_number="R-1")
    (line,) = lines(client)
    assert line.startswith(f"500 gems {words}") and "9.99 USD" in line
    assert ("Receipt R-1" in line) == (status in ("processed", "refunded", "chargeback"))


@pytest.mark.parametrize("status", [Checkout.Status.FAILED, Checkout.Status.REVIEW])
def test_what_failed_or_is_being_checked(client: Client, ada: User, status: str) -> None:
    """Neither offers the form again."""
    CheckoutFactory(user=ada, status=status)
    (line,) = lines(client)
    assert ("Not started" if status == "failed" else "Received") in line and "Pay now" not in line


def test_the_form_is_offered_while_it_can_be_paid(client: Client, ada: User) -> None:
    """Of the same checkout; a link that is unsafe is none."""
    checkout = CheckoutFactory(user=ada)
    assert links(client) == [checkout.payment_form_url]
    Checkout.objects.update(payment_form_url="javascript:alert(1)")
    assert links(client) == []
    Checkout.objects.all().delete()
    bought(ada, receipt_url="javascript:alert(1)")
    assert links(client) == []


def test_a_cancelled_one_can_be_bought_again_where_the_shop_says_so(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the page of the subject, or by another one; without either nothing is offered."""
    checkout = bought(ada, "canceled")
    assert links(client) == []
    assert links(client, "/mine/") == ["/buy/500 gems/"]
    monkeypatch.setattr(Group, "get_absolute_url", lambda self: f"/hats/{self.name}/", raising=False)
    checkout.subject = Group.objects.create(name="top")
    checkout.save()
    assert links(client) == ["/hats/top/"]
    Checkout.objects.update(status=Checkout.Status.PAID)
    assert "/hats/top/" not in links(client)


def test_activation_codes_are_shown_while_it_is_paid_for(client: Client, ada: User) -> None:
    """And no longer after a refund."""
    item = OrderItemDocumentFactory(code="KEY-1")
    bought(ada, items=[item])
    assert "Activation code KEY-1" in lines(client)[0]
    bought(ada, "refunded", items=[item])
    assert "KEY-1" not in lines(client)[0]


def test_a_gift_has_its_receipt_at_the_buyer_and_its_code_at_the_recipient(
    client: Client, ada: User, ben: User
) -> None:
    """Neither learns the other's part: no price and no name of the buyer, no code."""
    document: dict[str, Any] = {
        "items": [OrderItemDocumentFactory(code="KEY-1")],
        "receipt_url": "https://service.example/r/1",
    }
    bought(ada, recipient=ben, gift=True, receipt_number="R-1", **document)
    (line,) = lines(client)
    assert "A gift for somebody else" in line and "Receipt R-1" in line and "KEY-1" not in line
    assert "A gift for ben" in lines(client, "/mine/")[0]
    client.force_login(ben)
    (line,) = lines(client)
    assert line.startswith("500 gems Yours") and "A gift for you" in line and "Activation code KEY-1" in line
    for text in ("Receipt", "9.99", "ada", "http"):
        assert text not in line
    assert links(client) == []


@pytest.mark.parametrize(
    ("status", "words"),
    [("created", ""), ("canceled", ""), ("refunded", "Taken back"), ("chargeback", "Taken back")],
)
def test_a_gift_is_the_recipients_business_once_it_was_paid(
    client: Client, ada: User, ben: User, status: str, words: str
) -> None:
    """Nobody learns of a gift that was not paid; what went back is said, and not why."""
    bought(ada, status, recipient=ben, gift=True)
    client.force_login(ben)
    assert [words in line for line in lines(client)] == ([True] if words else [])
    assert "Refunded" not in str(lines(client)) and "Charged back" not in str(lines(client))


def test_pages(client: Client, ada: User) -> None:
    """The newest first."""
    for number in range(5):
        CheckoutFactory(user=ada, description=f"hat {number}")
    pages = [lines(client, f"/mine/?page={number}") for number in (1, 2, 3)]
    assert [[line[:5] for line in page] for page in pages] == [
        ["hat 4", "hat 3"],
        ["hat 2", "hat 1"],
        ["hat 0"],
    ]
    page = client.get("/mine/?page=2").content.decode()
    assert "Page 2 of 3" in page and 'href="?page=1"' in page and 'href="?page=3"' in page
    assert client.get("/mine/?page=9").status_code == client.get("/mine/?page=x").status_code == 404


def test_it_costs_the_same_for_any_number_of_purchases(client: Client, ada: User, ben: User) -> None:
    """No statement for a purchase, an order, an item, a subject or a recipient."""

    def statements() -> int:
        bought(ada, subject=Group.objects.create(name=f"hat {Group.objects.count()}"))
        bought(ada, "canceled", subject=Group.objects.create(name=f"hat {Group.objects.count()}"))
        bought(ben, recipient=ada, gift=True)
        bought(ada, recipient=ben, gift=True, items=[OrderItemDocumentFactory(code="KEY-1")])
        client.get("/purchases/")
        with CaptureQueriesContext(connection) as seen:
            client.get("/purchases/")
        return len(seen)

    few = statements()
    statements()
    assert statements() == few <= 8


def test_what_is_stored_is_applied_first(
    client: Client, checkout_deliver: Deliver, ada: User, settings: Any
) -> None:
    """What cannot be applied now is being processed, and offers no form."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    paid, failed = (CheckoutFactory(user=ada, description=name) for name in ("paid", "failed"))
    for each in (paid, failed):
        checkout_deliver(order=order_document_for(each))
    later = datetime.now(UTC) + timedelta(minutes=5)
    Notification.objects.filter(reference=failed.reference).update(state="failed", tries=1, due_at=later)
    assert [line.split()[:2] for line in lines(client)] == [["failed", "Processing"], ["paid", "Paid"]]
    assert failed.payment_form_url not in links(client)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "{{ 7 }}"])
def test_texts_are_escaped(client: Client, ada: User, text: str) -> None:
    """Of the shop and of the service."""
    CheckoutFactory(user=ada, description=text)
    page = client.get("/purchases/").content.decode()
    assert "<script>alert" not in page and "<h2>7</h2>" not in page


def test_it_has_the_look_of_the_shop(client: Client, ada: User, tmp_path: Any, settings: Any) -> None:
    """By the name of its base template alone; each part of the page can be replaced."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "base.html").write_text(
        "<title>{% block title %}{% endblock %} - Hats</title>{% block content %}{% endblock %}"
    )
    (tmp_path / "checkout_integration" / "purchases").mkdir(parents=True)
    (tmp_path / "checkout_integration" / "purchases" / "purchase.html").write_text("My {{ purchase.title }}")
    templates = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    CheckoutFactory(user=ada, description="500 gems")
    settings.TEMPLATES = templates
    view = PurchasesPage.as_view(base_template="shop/base.html")
    with override_settings(ROOT_URLCONF=(path("hats/", view), *others)):
        page = client.get("/hats/").content.decode()
    assert page.startswith("<title>Your purchases - Hats</title>")
    assert lines(client) == ["My 500 gems"]


def test_what_staff_took_back_was_not_refunded() -> None:
    """The money stays with the shop, and the customer must not read that it has come back."""
    checkout = CheckoutFactory()
    order = OrderFactory(checkout=checkout, revoked=True)
    checkout.refresh_from_db()
    assert (checkout.status, heading_of(checkout, order)) == ("reversed", "Taken back")
