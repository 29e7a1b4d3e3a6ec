"""A checkout over REST: the shop's price, the customer's account, and every odd body a 400."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connections
from rest_framework.test import APIClient

from checkout_integration.models import Checkout
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.stress.hostile.naughty import is_storable, some_strings

pytestmark = pytest.mark.django_db
GEMS = {"amount": Decimal("9.99"), "currency": "USD", "description": "500 gems"}
ADDRESS = "/api/checkouts/"


def post(api: APIClient, body: bytes, kind: str = "application/json") -> Any:
    """The response to a body as it is."""
    sent: Any = body  # the stubs want text, which would be encoded again
    return api.generic("POST", ADDRESS, sent, content_type=kind)


@pytest.mark.spec("HTT-03", "SVC-02", "SVC-06", "EP2-17", "EP6-01")
def test_a_checkout_is_made(api: APIClient, buyer: User, shop: Any, checkout_sandbox: Sandbox) -> None:
    """201 with reference, status and the address of the form; the row is the customer's."""
    shop.answer = GEMS
    answer = api.post(ADDRESS, {"product": "gems-500"}, format="json")
    assert answer.status_code == 201, answer.content
    checkout = Checkout.objects.get()
    body = answer.json()
    assert (body["reference"], body["status"]) == (checkout.reference, "open")
    assert body["payment_form_url"] == checkout.payment_form_url != ""
    assert (checkout.user, checkout.expected_amount) == (buyer, Decimal("9.99"))
    ((request, data),) = shop.calls
    assert data == {"product": "gems-500"} and request.user == buyer


@pytest.mark.spec("EP2-04", "EP2-05")
def test_the_price_is_never_the_clients(api: APIClient, shop: Any, checkout_sandbox: Sandbox) -> None:
    """What the hook does not take over is nowhere."""
    shop.answer = GEMS
    body = {"amount": 0.01, "currency": "XXX", "user": 1, "expected_amount": "0.01", "status": "paid"}
    assert api.post(ADDRESS, body, format="json").status_code == 201
    checkout = Checkout.objects.get()
    assert (checkout.expected_amount, checkout.currency, checkout.status) == (Decimal("9.99"), "USD", "open")


def test_the_checkout_is_the_signed_in_accounts(
    api: APIClient, buyer: User, stranger: User, shop: Any, checkout_sandbox: Sandbox
) -> None:
    """Even where a hook takes the account from the body."""
    shop.answer = {**GEMS, "user": stranger}
    assert api.post(ADDRESS, {}, format="json").status_code == 201
    assert Checkout.objects.get().user == buyer


@pytest.mark.django_db(transaction=True)
def test_the_checkout_is_committed_first_also_with_atomic_requests(
    buyer: User, shop: Any, checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view is outside the request's transaction, in which the service must not be called."""
    monkeypatch.setitem(connections["default"].settings_dict, "ATOMIC_REQUESTS", True)
    shop.answer = GEMS
    client = APIClient()
    client.force_authenticate(buyer)
    assert client.post(ADDRESS, {}, format="json").status_code == 201


def test_what_is_due_is_handed_over(
    api: APIClient, buyer: User, shop: Any, checkout_sandbox: Sandbox, settings: Any
) -> None:
    """A notification before the service's response is bound once the checkout has its order."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    heard: list[str] = []

    def listen(**kwargs: Any) -> None:
        heard.append(kwargs["checkout"].reference)

    checkout_paid.connect(listen, dispatch_uid="tests.api.listen")
    try:
        paid = OrderFactory(checkout=CheckoutFactory(user=buyer)).checkout
        assert heard == []
        shop.answer = GEMS
        assert api.post(ADDRESS, {}, format="json").status_code == 201
    finally:
        checkout_paid.disconnect(dispatch_uid="tests.api.listen")
    assert heard == [paid.reference]


@pytest.mark.spec("HTT-08")
def test_a_shop_that_has_no_hook_sells_nothing(api: APIClient, settings: Any) -> None:
    """403, and no row."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HOOKS": "checkout_integration.hooks.Hooks",
    }
    answer = api.post(ADDRESS, {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert not Checkout.objects.exists()


@pytest.mark.parametrize(
    ("refusal", "status", "details"),
    [
        (PermissionDenied("Not in your country."), 403, ""),
        (PermissionDenied(), 403, ""),
        (ValidationError({"product": "Sold out."}), 400, "product: Sold out."),
        (ValidationError("Sold out."), 400, "non_field_errors: Sold out."),
    ],
)
def test_a_hook_may_refuse(api: APIClient, shop: Any, refusal: Exception, status: int, details: str) -> None:
    """By Django's own exceptions."""
    shop.answer = refusal
    answer = api.post(ADDRESS, {}, format="json")
    assert (answer.status_code, answer.json()["details"]) == (status, details)
    assert set(answer.json()) == {"code", "message", "details"} and answer.json()["message"]


def test_a_hooks_own_words_reach_the_buyer(api: APIClient, shop: Any) -> None:
    """The response has the hook's reason, or REST framework's default."""
    shop.answer = PermissionDenied("Not in your country.")
    assert api.post(ADDRESS, {}, format="json").json()["message"] == "Not in your country."


@pytest.mark.spec("HTT-01", "HTT-05", "ERR-01", "ERR-03")
def test_a_checkout_against_the_rules_is_refused_before_anything_is_stored(api: APIClient, shop: Any) -> None:
    """Each rule that it breaks is named."""
    shop.answer = {"amount": Decimal("9.999"), "currency": "USD"}
    answer = api.post(ADDRESS, {}, format="json")
    assert answer.status_code == 400 and answer.json()["details"].startswith("amount: ")
    assert not Checkout.objects.exists()


@pytest.mark.spec("HTT-01", "HTT-14", "ERR-01", "ERR-02")
def test_a_service_that_does_not_answer_is_a_502(api: APIClient, shop: Any, settings: Any) -> None:
    """Without details of the failure; the row has them for staff."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "CHECKOUT_URL": "http://127.0.0.1:9"}
    shop.answer = GEMS
    answer = api.post(ADDRESS, {}, format="json")
    assert answer.status_code == 502
    assert answer.json() == {
        "code": "service_failed",
        "message": "The payment could not be started. Nothing was charged.",
        "details": "",
    }
    assert Checkout.objects.get().failure


def test_a_session_needs_the_csrf_token(buyer: User, shop: Any) -> None:
    """REST framework asks for it; nothing here takes that away."""
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(buyer)
    assert client.post(ADDRESS, {}, format="json").status_code == 403
    assert shop.calls == []


@pytest.mark.spec("HTT-05")
@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"[]",
        b'"text"',
        b"null",
        b"1",
        b"{",
        b"{} {}",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e400}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\xff"}',
        '{"a": 1}'.encode("utf-16"),
        b'{"a":' * 5000,
        b"[" * 60000,
    ],
)
def test_odd_bodies_are_refused(api: APIClient, shop: Any, body: bytes) -> None:
    """400, and the hook is not called."""
    answer = post(api, body)
    assert (answer.status_code, shop.calls) == (400, [])


def test_no_body_asks_for_nothing_in_particular(api: APIClient, shop: Any) -> None:
    """The hook decides."""
    shop.answer = PermissionDenied()
    assert api.post(ADDRESS).status_code == 403
    assert shop.calls[0][1] == {}


def test_a_body_that_is_too_large_is_refused(api: APIClient, shop: Any) -> None:
    """413, before it is read to its end."""
    answer = post(api, b" " * 70_000 + b"{}")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert shop.calls == []


@pytest.mark.spec("SVC-08")
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_other_formats_are_refused(api: APIClient, shop: Any, kind: str) -> None:
    """415."""
    assert post(api, b"a=1", kind).status_code == 415
    assert shop.calls == []


def test_text_that_a_database_refuses_arrives_mended(api: APIClient, shop: Any) -> None:
    """NUL and lone surrogates, which a hook would store or look for."""
    shop.answer = PermissionDenied()
    post(api, b'{"a": "x\\u0000\\ud800"}')
    assert shop.calls[0][1] == {"a": "x\ufffd\ufffd"}


@pytest.mark.slow
def test_naughty_strings_are_no_error_of_ours(api: APIClient, buyer: User, shop: Any) -> None:
    """In bodies, cursors, filters, addresses and responses; none causes a 500."""
    checkout = CheckoutFactory(user=buyer)
    shop.answer = PermissionDenied()
    for text in filter(is_storable, some_strings(120)):
        Checkout.objects.filter(pk=checkout.pk).update(
            description=text[:255].replace("\0", ""), payment_form_url=text
        )
        shown = api.get(ADDRESS)
        assert shown.json()["data"][0]["description"] == text[:255].replace("\0", "")
        assert api.post(ADDRESS, {text: [text]}, format="json").status_code == 403
        for parameter in ("limit", "status", "starting_after", "ending_before"):
            assert api.get(ADDRESS, {parameter: text}).status_code in (200, 400)
