"""Every text that customers see is translated: the return page, the tags for the form, and the REST interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone, translation

from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.views.purchases import PurchasesPage
from checkout_integration.views.returning import return_link
from tests.languages.marked_pages import unmarked_in, unmarked_on
from tests.languages.pseudo import BEGIN, marked_texts
from tests.support.rendered_page import render

pytestmark = pytest.mark.django_db
STATUSES = [None, "processed", "canceled", "refunded", "chargeback", "rejected"]


@pytest.mark.parametrize("status", STATUSES)
def test_the_return_page_has_translated_texts_only(client: Client, status: str | None) -> None:
    """Whatever became of the payment."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    if status:
        OrderFactory(checkout=checkout, status=status)
    assert unmarked_on(client, return_link(checkout)) == []


@pytest.mark.parametrize("status", [Checkout.Status.REVIEW, Checkout.Status.FAILED])
def test_the_return_page_of_a_doubtful_checkout_has_translated_texts_only(
    client: Client, status: str
) -> None:
    """A payment in review, and one that was not started."""
    assert unmarked_on(client, return_link(CheckoutFactory(status=status))) == []


@pytest.mark.parametrize("buys", [True, False], ids=["buyer", "recipient"])
def test_the_page_of_purchases_has_translated_texts_only(buys: bool) -> None:
    """In each state, and of gifts, to the buyer and to the recipient; and where there is nothing yet."""
    buyer, recipient = (User.objects.create_user(name) for name in ("buyer", "recipient"))
    request = RequestFactory().get("/")
    request.user = buyer if buys else recipient
    view = PurchasesPage.as_view(paginate_by=5)

    def unmarked() -> list[str]:
        with marked_texts():
            return unmarked_in(view(request).render().content.decode())  # type: ignore[attr-defined]

    assert unmarked() == []
    for status in filter(None, STATUSES):
        for gift in (True, False):
            checkout = CheckoutFactory(user=buyer, recipient=recipient if gift else None, gift=gift)
            OrderFactory(checkout=checkout, status=status)
    assert unmarked() == []


def test_the_page_of_a_failure_has_translated_texts_only() -> None:
    """The service made no order."""
    with marked_texts():
        html = render_to_string("checkout_integration/not_created.html")
    assert unmarked_in(html) == []


@pytest.mark.parametrize("tag", ["checkout_link", "checkout_frame"])
@pytest.mark.parametrize("status", [Checkout.Status.OPEN, Checkout.Status.PAID])
def test_tags_have_translated_texts_only(tag: str, status: str) -> None:
    """The link, the name of the frame, and what stands in their place when there is nothing left to pay."""
    checkout = CheckoutFactory(status=status)
    with marked_texts():
        page = render(f"{tag} checkout", checkout=checkout)
    texts = [each.text for each in page.elements] + [
        each.attributes.get("title") or "" for each in page.elements
    ]
    assert all(BEGIN in text for text in texts if text.strip(" \n()"))


@pytest.fixture
def get(client: Client, settings: Any) -> Iterator[Callable[[str], Any]]:
    """The customer's REST interface, in the language of the request."""
    settings.ROOT_URLCONF = "tests.api.urls"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]
    client.force_login(User.objects.create_user("customer"))
    with translation.override("en-us"):  # the middleware leaves the language of a request to its thread
        yield lambda path: client.get(f"/api/{path}", headers={"Accept-Language": "de"}).json()


@pytest.mark.parametrize(
    ("path", "message", "details"),
    [
        (
            "checkouts/?limit=0",
            "Die Anfrage ist ungültig.",
            "limit: Verwende eine ganze Zahl von 1 bis 100.",
        ),
        ("checkouts/?status=x", "Die Anfrage ist ungültig.", "status: Verwende eines von: new, unknown"),
        (
            "orders/?starting_after=x",
            "Die Anfrage ist ungültig.",
            "starting_after: Ein solches Objekt gibt es nicht.",
        ),
        ("orders/x/", "Nicht gefunden.", ""),
    ],
)
def test_errors_of_the_rest_interface_are_in_the_language_of_the_request(
    get: Callable[[str], Any], path: str, message: str, details: str
) -> None:
    """Codes and names of fields are not translated."""
    error = get(path)
    assert (error["message"], error["details"].startswith(details)) == (message, True)
    assert error["code"].isascii()
