"""The header Idempotency-Key: a request that is sent again makes no second checkout."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import requests
from django.contrib.auth.models import User
from rest_framework.test import APIClient, RequestsClient

from checkout_integration.models import Checkout
from checkout_integration.sandbox import Sandbox
from tests.support.documents import block

pytestmark = pytest.mark.django_db
GEMS = {"amount": Decimal("9.99"), "currency": "USD", "description": "500 gems"}
ADDRESS = "/api/checkouts/"


@pytest.fixture(autouse=True)
def _no_double_click(settings: Any) -> None:
    """Only the key can find the first request again."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DOUBLE_CLICK_SECONDS": 0}


def sell(api: APIClient, key: str | None) -> Any:
    """The response to a sale with this header."""
    given: Any = {} if key is None else {"headers": {"Idempotency-Key": key}}
    return api.post(ADDRESS, {}, format="json", **given)


@pytest.mark.parametrize(
    ("first", "second", "checkouts"),
    [
        (None, None, 2),
        ('"basket-1"', '"basket-1"', 1),
        ('"basket-1"', '"basket-2"', 2),
        ('"basket-1"', "basket-1", 1),
        (r'"a \"b\" \\ c"', r'"a \"b\" \\ c"', 1),
        ('"basket-1"', None, 2),
    ],
)
def test_a_key_stands_for_one_checkout(
    api: APIClient,
    shop: Any,
    checkout_sandbox: Sandbox,
    first: str | None,
    second: str | None,
    checkouts: int,
) -> None:
    """Both responses are 201, and of one checkout for one key."""
    shop.answer = GEMS
    answers = [sell(api, key) for key in (first, second)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert Checkout.objects.count() == len({answer.json()["reference"] for answer in answers}) == checkouts


def test_it_finds_the_checkout_in_any_state(api: APIClient, shop: Any, checkout_sandbox: Sandbox) -> None:
    """Paid, too; but one that failed is nobody's purchase, and the request is a new one."""
    shop.answer = GEMS
    reference = sell(api, '"basket-1"').json()["reference"]
    Checkout.objects.update(status=Checkout.Status.PAID)
    assert sell(api, '"basket-1"').json() == {
        **sell(api, '"basket-1"').json(),
        "reference": reference,
        "status": "paid",
        "payment_form_url": None,
    }
    Checkout.objects.update(status=Checkout.Status.FAILED)
    assert sell(api, '"basket-1"').json()["reference"] != reference


@pytest.mark.spec("HTT-12")
def test_another_purchase_under_the_same_key_is_refused(
    api: APIClient, shop: Any, checkout_sandbox: Sandbox
) -> None:
    """422, and nothing is stored."""
    shop.answer = GEMS
    sell(api, '"basket-1"')
    shop.answer = {**GEMS, "amount": Decimal("19.99")}
    answer = sell(api, '"basket-1"')
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")
    assert Checkout.objects.count() == 1


@pytest.mark.spec("HTT-11")
def test_a_request_that_is_still_being_worked_on(
    api: APIClient, shop: Any, checkout_sandbox: Sandbox, settings: Any
) -> None:
    """409: the first one waits for the service, longer than TIMEOUT."""
    shop.answer = GEMS
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "TIMEOUT": 0.2}
    sell(api, '"basket-1"')
    Checkout.objects.update(status=Checkout.Status.NEW, payment_form_url="")
    answer = sell(api, '"basket-1"')
    assert (answer.status_code, answer.json()["code"]) == (409, "in_progress")
    assert Checkout.objects.count() == 1


def test_a_key_is_each_accounts_own(
    api: APIClient, stranger: User, shop: Any, checkout_sandbox: Sandbox
) -> None:
    """Nobody learns of another's purchase by guessing its key."""
    shop.answer = GEMS
    mine = sell(api, '"basket-1"').json()["reference"]
    api.force_login(stranger)
    assert sell(api, '"basket-1"').json()["reference"] != mine


@pytest.mark.parametrize(
    "key", ['"', '"a', 'a"', '"a" "b"', "a b", '""', "\u20ac", f'"{"x" * 254}"', '"a\tb"']
)
def test_what_is_no_key_is_refused(api: APIClient, shop: Any, key: str) -> None:
    """400 with what it must be; the hook is not asked."""
    shop.answer = GEMS
    answer = sell(api, key)
    assert answer.status_code == 400
    assert answer.json()["message"] == "Idempotency-Key must be a text in quotes, of at most 255 characters."
    assert (shop.calls, Checkout.objects.count()) == ([], 0)


def test_the_key_of_the_shop_wins(api: APIClient, shop: Any, checkout_sandbox: Sandbox) -> None:
    """It may know the purchase better than the client does."""
    shop.answer = {**GEMS, "idempotency_key": "basket-1"}
    first, second = (sell(api, key).json()["reference"] for key in ('"one"', '"two"'))
    assert first == second


def test_the_client_of_the_page(buyer: User, shop: Any, checkout_sandbox: Sandbox) -> None:
    """Called twice, it gets the same form."""
    shop.answer = GEMS
    buyer.set_password("secret")
    buyer.save()
    client = RequestsClient()
    client.auth = ("buyer", "secret")
    page: dict[str, Any] = {"requests": requests}
    exec(block("docs/reference/rest.md", "# a client of the shop"), page)  # our own page
    buy = page["buy"]
    assert buy(client, "basket-1") == buy(client, "basket-1") == Checkout.objects.get().payment_form_url
