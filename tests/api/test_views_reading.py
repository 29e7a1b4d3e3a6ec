"""The rows of an account over REST: its own ones, without internal fields."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory

pytestmark = pytest.mark.django_db
LISTS = ["/api/checkouts/", "/api/orders/"]


def make_order(account: User | None, /, **changes: Any) -> Order:
    """An order for a checkout of this account."""
    order: Order = OrderFactory(checkout=CheckoutFactory(user=account), **changes)
    return order


def snapshot() -> list[tuple[str, str, str]]:
    """Checkouts and orders with their statuses."""
    rows = Order.objects.values_list("order_id", "status", "checkout__status")
    return sorted((number, status, paid or "") for number, status, paid in rows)


def test_a_checkout_as_its_buyer_sees_it(api: APIClient, buyer: User) -> None:
    """Every field, compared with a document written by hand."""
    checkout = CheckoutFactory(
        user=buyer, order_id="o-1", description="500 gems", metadata={"margin": "90 %"}
    )
    answer = api.get(f"/api/checkouts/{checkout.reference}/")
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("recorded_at")
    assert body == {
        "reference": checkout.reference,
        "status": "open",
        "type": "simple",
        "expected_amount": "9.99",
        "currency": "USD",
        "products": [],
        "virtual_currency_amount": None,
        "platform_id": "",
        "description": "500 gems",
        "test": True,
        "payment_form_url": "https://service.example.com/form/?order_id=o-1",
        "order_id": "o-1",
        "paid_order": None,
        "paid_at": None,
    }


def test_an_order_as_its_buyer_sees_it(api: APIClient, buyer: User) -> None:
    """Exactly the fields listed here are shown."""
    order = make_order(buyer)
    body = api.get(f"/api/orders/{order.order_id}/").json()
    assert set(body) == {
        *("order_id", "checkout", "status", "paid", "type", "description", "amount", "currency"),
        *("charge_amount", "charge_currency", "virtual_currency_amount", "tax", "method"),
        *("receipt_number", "receipt_url", "refund", "items", "created_at", "canceled_at", "refunded_at"),
    }
    assert (body["status"], body["paid"], body["amount"], body["currency"]) == (
        "processed",
        True,
        "9.99",
        "USD",
    )
    assert order.checkout is not None and body["checkout"] == order.checkout.reference


def test_nothing_personal_and_nothing_internal_is_shown(api: APIClient, buyer: User) -> None:
    """The paying customer may be another person than the account."""
    private = "private@person.example"
    user = {"external_id": str(buyer.pk), "name": private, "email": private, "phone": private}
    order = make_order(buyer, receipt_email=private, user=user)
    text = (
        api.get("/api/orders/").content.decode() + api.get(f"/api/orders/{order.order_id}/").content.decode()
    )
    assert private not in text
    for word in ("verdict", "facts", "stamps", "metadata", "net_revenue", "fee", "card", "email", "reason"):
        assert f'"{word}' not in text


def test_an_amount_that_the_service_does_not_have_is_null(api: APIClient, buyer: User) -> None:
    """It writes a zero without a currency there: no client is to show that nothing was charged. Units have none."""
    nothing = {"amount": Decimal(0), "currency": ""}
    order = make_order(
        buyer, charge_amount=Decimal(0), charge_currency="", tax={**nothing, "rate": Decimal(0)}
    )
    body = api.get(f"/api/orders/{order.order_id}/").json()
    assert (body["charge_amount"], body["tax"]["amount"]) == (None, None)
    assert (body["virtual_currency_amount"], body["tax"]["rate"]) == ("0", "0")


def test_amounts_have_the_places_of_their_currency(api: APIClient, buyer: User) -> None:
    """As text, never as a JSON number."""
    for amount, currency in (
        ("1200", "JPY"),
        ("9.5", "USD"),
        ("1.234", "KWD"),
        ("9.995", "USD"),
        ("7.1", "XXX"),
    ):
        CheckoutFactory(user=buyer, expected_amount=Decimal(amount), currency=currency)
    body = [(row["expected_amount"], row["currency"]) for row in api.get("/api/checkouts/").json()["data"]]
    assert body == [("7.1", "XXX"), ("9.995", "USD"), ("1.234", "KWD"), ("9.50", "USD"), ("1200", "JPY")]


def test_a_code_is_shown_only_while_it_is_paid_for(api: APIClient, buyer: User) -> None:
    """Not for a payment that is in review or was taken back."""
    key = {"type": "key", "products": ["key-1"]}
    for status in ("processed", "refunded"):
        OrderFactory(checkout=CheckoutFactory(user=buyer, **key), status=status)
    make_order(buyer, amount=Decimal("0.01"), items=[OrderItemDocumentFactory(code="SECRET-CODE")])
    rows = {row["status"] + str(row["paid"]): row for row in api.get("/api/orders/").json()["data"]}
    codes = {name: [item["code"] for item in row["items"]] for name, row in rows.items()}
    assert all(codes["processedTrue"]) and codes["processedTrue"]
    assert codes["refundedFalse"] == [None]
    assert codes["processedFalse"][-1] is None


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "http://service.example.com/", "data:text/html,x"]
)
def test_an_unsafe_address_is_not_shown(api: APIClient, buyer: User, address: str) -> None:
    """A client may make a link of it."""
    item = OrderItemDocumentFactory(images=[address, "https://cdn.example/a.png"])
    order = make_order(buyer, receipt_url=address, items=[item])
    Checkout.objects.update(payment_form_url=address, status="open")
    body = api.get(f"/api/orders/{order.order_id}/").json()
    assert body["receipt_url"] is None and body["items"][-1]["images"] == ["https://cdn.example/a.png"]
    assert api.get("/api/checkouts/").json()["data"][0]["payment_form_url"] is None


def test_a_paid_checkout_has_no_form_and_names_the_order(api: APIClient, buyer: User) -> None:
    """Nothing is left to pay."""
    order = make_order(buyer)
    body = api.get("/api/checkouts/").json()["data"][0]
    assert (body["status"], body["paid_order"], body["payment_form_url"]) == ("paid", order.order_id, None)


def test_a_checkout_of_a_project_that_is_gone_is_still_listed(api: APIClient, buyer: User) -> None:
    """Settings change, rows stay."""
    checkout = CheckoutFactory(user=buyer)
    Checkout.objects.filter(pk=checkout.pk).update(project="former")
    assert api.get("/api/checkouts/").status_code == 200


class TestOwnership:
    """Requests of the owner, of a stranger, and without login."""

    def details(self, user: User | None) -> list[str]:
        """Addresses of a checkout and of an order of this account."""
        order = make_order(user)
        assert order.checkout is not None
        return [f"/api/checkouts/{order.checkout.reference}/", f"/api/orders/{order.order_id}/"]

    @pytest.mark.parametrize("verb", ["get", "head", "options", "post", "put", "patch", "delete"])
    def test_a_strangers_rows_are_unknown(self, api: APIClient, stranger: User, verb: str) -> None:
        """Every address and verb: 404, or 405 for a verb that is not allowed; the same as for missing rows."""
        for address in self.details(stranger):
            answer = getattr(api, verb)(address)
            missing = getattr(api, verb)(address[:-2] + "x/")
            assert answer.status_code == missing.status_code
            assert verb == "options" or answer.status_code in (404, 405)
            assert answer.content == missing.content

    @pytest.mark.parametrize("verb", ["get", "head", "options", "post", "put", "patch", "delete"])
    def test_who_is_not_signed_in_gets_nothing(self, buyer: User, verb: str) -> None:
        """Every address and verb: 401 or 403, before anything is looked up."""
        for address in (*LISTS, *self.details(buyer)):
            answer = getattr(APIClient(), verb)(address)
            assert answer.status_code in (401, 403)

    @pytest.mark.parametrize("verb", ["put", "patch", "delete"])
    def test_nothing_can_be_changed(self, api: APIClient, buyer: User, verb: str) -> None:
        """State is written by the flows only."""
        addresses = (*LISTS, *self.details(buyer))
        before = snapshot()
        for address in addresses:
            assert getattr(api, verb)(address, {"status": "paid"}, format="json").status_code == 405
        assert snapshot() == before

    def test_lists_hold_the_buyers_rows_only(self, api: APIClient, buyer: User, stranger: User) -> None:
        """Neither those of another account nor those of none."""
        for user in (stranger, None, buyer):
            self.details(user)
        for address in LISTS:
            answer = api.get(address).json()
            assert (len(answer["data"]), answer["total_count"]) == (1, 1)

    def test_an_account_without_a_key_owns_nothing(self, buyer: User) -> None:
        """A token may name a user without a row, who must not own checkouts without an account."""
        make_order(None)
        client = APIClient()
        client.force_authenticate(User(username="token"))
        assert [client.get(address).json()["total_count"] for address in LISTS] == [0, 0]

    def test_two_orders_with_one_id_are_no_error(self, api: APIClient, buyer: User, stranger: User) -> None:
        """Identifiers are unique within a project only."""
        order = make_order(buyer)
        twin = make_order(buyer)
        Order.objects.filter(pk=twin.pk).update(project="other", order_id=order.order_id)
        assert api.get(f"/api/orders/{order.order_id}/").status_code == 200


@pytest.mark.parametrize("address", LISTS)
def test_the_number_of_statements_is_constant(api: APIClient, buyer: User, address: str) -> None:
    """For any number of rows, with their items."""

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert api.get(address, {"limit": "50"}).status_code == 200
        return len(captured)

    make_order(buyer)
    few = statements()
    for _ in range(4):
        make_order(buyer)
    assert statements() == few <= 6  # session, account, stored notifications, count, page, items


@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01", "HTT-05", "HTT-06", "HTT-09")
def test_errors_have_the_services_shape(api: APIClient) -> None:
    """Code, message and details, as text."""
    assert api.get("/api/orders/unknown/").json() == {
        "code": "not_found",
        "message": "Not found.",
        "details": "",
    }
    assert api.get("/api/orders/", {"status": "gone"}).json() == {
        "code": "invalid",
        "message": "The request is not valid.",
        "details": "status: Use one of: created, processed, rejected, canceled, refunded, chargeback, pending.",
    }
    assert APIClient().get("/api/orders/").json()["code"] == "not_authenticated"
    assert api.delete("/api/orders/").json()["code"] == "method_not_allowed"


@pytest.mark.parametrize("address", [*LISTS, "/api/orders/x%00y/", "/api/checkouts/%00/"])
@pytest.mark.parametrize(
    "query", ["", "?starting_after=%00", "?status=%00", "?limit=%00", "?ending_before=%ff"]
)
def test_nul_and_broken_text_are_no_error_of_ours(api: APIClient, address: str, query: str) -> None:
    """PostgreSQL refuses NUL even to look for it."""
    assert api.get(address + query).status_code in (200, 400, 404)


def test_unknown_parameters_reach_nothing(api: APIClient, buyer: User) -> None:
    """No lookup of the ORM is open to the query string."""
    CheckoutFactory(user=buyer)
    query = {"user__password__startswith": "x", "failure": "x", "ordering": "failure", "search": "x"}
    assert len(api.get("/api/checkouts/", query).json()["data"]) == 1


def test_responses_are_not_cached(api: APIClient) -> None:
    """They are one person's."""
    assert "no-store" in api.get("/api/orders/")["Cache-Control"]


def test_a_page_in_the_shops_middleware_does_not_redirect(settings: Any, buyer: User) -> None:
    """With Django's LoginRequiredMiddleware the response is still JSON."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    answer = APIClient().get("/api/orders/")
    assert answer.status_code in (401, 403) and json.loads(answer.content)["code"] == "not_authenticated"


@pytest.mark.parametrize("address", ["/api/checkouts/", "/api/checkouts/{}/"])
def test_what_is_stored_is_applied_first(
    api: APIClient, buyer: User, checkout_deliver: Deliver, settings: Any, address: str
) -> None:
    """A payment that no worker has come to; one that cannot be applied now is processing, without a form."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    paid, failed = CheckoutFactory(user=buyer), CheckoutFactory(user=buyer)
    for checkout in (paid, failed):
        checkout_deliver(order=order_document_for(checkout))
    later = timezone.now() + timedelta(minutes=5)
    Notification.objects.filter(reference=failed.reference).update(state="failed", tries=1, due_at=later)
    found: dict[str, Any] = {}
    for checkout in (paid, failed):
        body = api.get(address.format(checkout.reference)).json()
        found |= {each["reference"]: each for each in body.get("data", [body])}
    assert (found[paid.reference]["status"], found[failed.reference]["status"]) == ("paid", "processing")
    assert found[failed.reference]["payment_form_url"] is None


@pytest.mark.parametrize("address", ["/api/orders/", "/api/orders/{}/"])
def test_an_order_that_only_a_stored_notification_tells_of(
    api: APIClient, buyer: User, checkout_deliver: Deliver, settings: Any, address: str
) -> None:
    """The order is shown, and another customer's notification stays stored."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    other = User.objects.create_user("grace")
    documents = [order_document_for(CheckoutFactory(user=user)) for user in (buyer, other)]
    for document in documents:
        checkout_deliver(order=document)
    answer = api.get(address.format(documents[0]["id"])).json()
    (order,) = answer.get("data", [answer])
    assert (order["order_id"], order["paid"]) == (documents[0]["id"], True)
    assert Notification.objects.get(state="stored").object_id == documents[1]["id"]
