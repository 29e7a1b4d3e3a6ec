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
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderItemDocumentFactory
from tests.support.protocol.sales import EVENTS, sale

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


@pytest.mark.spec("SVC-02", "EP2-04", "EP2-05", "EP2-07", "EP2-15", "EP2-17")
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
        "gift": False,
        "lasts_days": None,
        "paid_until": None,
        "owned_until": None,
        "test": True,
        "payment_form_url": "https://service.example.com/form/?order_id=o-1",
        "order_id": "o-1",
        "paid_order": None,
        "paid_at": None,
    }


@pytest.mark.spec("ORD-04", "ORD-22", "ORD-23")
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


SOLD = [
    # field of an order over REST, and what it is of the sales in `sales`
    pytest.param(
        "order_id",
        (
            "0b8f8f0e-9d1c-4c6e-8f0b-1f7a2c3d4e5f",
            *(f"a1000000-0000-4000-8000-00000000000{number}" for number in (3, 2, 5)),
        ),
        marks=pytest.mark.spec("ORD-01"),
    ),
    pytest.param(
        "status",
        ("refunded", "processed", "processed", "canceled"),
        marks=pytest.mark.spec("ORD-04", "STA-01"),
    ),
    pytest.param(
        "type", ("product", "key", "virtual_currency", "simple"), marks=pytest.mark.spec("ORD-35", "SVC-03")
    ),
    pytest.param(
        "description",
        ("Two <maps> & one café skin", "Space game", "500 gems", None),
        marks=pytest.mark.spec("ORD-05"),
    ),
    pytest.param("amount", ("59.99", "21.43", "1200", "2.50"), marks=pytest.mark.spec("ORD-22")),
    pytest.param("currency", ("EUR", "USD", "JPY", "USD"), marks=pytest.mark.spec("ORD-23")),
    pytest.param("charge_amount", ("64.12", "21.43", "7.35", None), marks=pytest.mark.spec("ORD-40")),
    pytest.param("charge_currency", ("USD", "USD", "EUR", ""), marks=pytest.mark.spec("ORD-39")),
    pytest.param("virtual_currency_amount", ("0", "0", "500.5", "0"), marks=pytest.mark.spec("ORD-37")),
    pytest.param("tax.type", ("vat", "sales_tax", "", None), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.rate", ("0.19", "0.072", "0", None), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.amount", ("9.58", "1.44", "0", None), marks=pytest.mark.spec("ORD-26")),
    pytest.param("tax.currency", ("EUR", "USD", "JPY", None), marks=pytest.mark.spec("ORD-26")),
    pytest.param(
        "method", ("Bank card", "Bank card", "Bitcoin", None), marks=pytest.mark.spec("ORD-29", "MTH-01")
    ),
    pytest.param("receipt_number", ("R-77", "", "", ""), marks=pytest.mark.spec("ORD-14")),
    pytest.param(
        "receipt_url",
        (*(f"https://receipts.example/{name}" for name in ("R-77", "k-3", "c-2")), None),
        marks=pytest.mark.spec("ORD-15"),
    ),
    pytest.param(
        "refund.amount", ("64.12", None, None, None), marks=pytest.mark.spec("ORD-31", "ORD-10", "RFD-01")
    ),
    pytest.param("refund.currency", ("USD", None, None, None), marks=pytest.mark.spec("RFD-02")),
    pytest.param("refund.receipt_number", ("RR-78", None, None, None), marks=pytest.mark.spec("RFD-05")),
    pytest.param(
        "refund.receipt_url",
        ("https://receipts.example/RR-78", None, None, None),
        marks=pytest.mark.spec("RFD-06"),
    ),
    pytest.param(
        "items.0.item_id", ("item-1", "item-k", None, None), marks=pytest.mark.spec("ORD-30", "ITM-01")
    ),
    pytest.param("items.0.sku", ("map-pack", "space-game", None, None), marks=pytest.mark.spec("ITM-02")),
    pytest.param("items.0.name", ("Map pack", "Space game", None, None), marks=pytest.mark.spec("ITM-03")),
    pytest.param(
        "items.0.description", ("Two maps", "For one computer", None, None), marks=pytest.mark.spec("ITM-04")
    ),
    pytest.param(
        "items.0.images",
        (
            ["https://img.example/1.png", "https://img.example/2.png"],
            ["https://img.example/space.png"],
            None,
            None,
        ),
        marks=pytest.mark.spec("ITM-05"),
    ),
    pytest.param("items.0.code", (None, "SPACE-0003", None, None), marks=pytest.mark.spec("ITM-07")),
    pytest.param("items.0.platform", ("steam", "gog", None, None), marks=pytest.mark.spec("ITM-08")),
    pytest.param("items.1.item_id", ("item-2", None, None, None), marks=pytest.mark.spec("ORD-30")),
    pytest.param(
        "created_at",
        (
            "2024-05-01T10:00:00.123456Z",
            "2025-03-04T05:06:07Z",
            "2025-02-03T03:05:06.500000Z",
            "2025-05-06T07:08:09Z",
        ),
        marks=pytest.mark.spec("ORD-06"),
    ),
    pytest.param(
        "canceled_at",
        (None, None, None, "2025-05-06T07:18:09Z"),
        marks=pytest.mark.spec("ORD-07", "ORD-08", "STA-04"),
    ),
    pytest.param(
        "refunded_at", ("2024-05-03T10:30:00Z", None, None, None), marks=pytest.mark.spec("ORD-11", "STA-06")
    ),
]
KEY = {
    "type": "key",
    "products": ["item-k"],
    "expected_amount": Decimal("19.99"),
    "currency": "USD",
    "platform_id": "gog",
}


def at_path(body: Any, path: str) -> Any:
    """Follow a dotted path; None behind what is null or not there."""
    for step in path.split("."):
        body = dict(enumerate(body)) if isinstance(body, list) else body or {}
        body = body.get(int(step) if step.isdigit() else step)
    return body


@pytest.mark.parametrize(("path", "values"), SOLD)
def test_a_buyer_reads_the_value_of_each_sale(
    api: APIClient, buyer: User, checkout_deliver: Deliver, settings: Any, path: str, values: tuple[Any, ...]
) -> None:
    """Of four sales that differ in it: one refunded, a key that was paid for, virtual currency, one cancelled."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ACCEPT_TEST_PAYMENTS": False}
    for name, value in zip(("complete", "key", "crypto", "cancelled"), values, strict=True):
        checkout = CheckoutFactory(user=buyer, test=False, **(KEY if name == "key" else {}))
        document = {**sale(name), "metadata": {"checkout_reference": checkout.reference}}
        checkout_deliver(order=document, event=EVENTS.get(name, Event.PAYMENT_SUCCESS))
        assert at_path(api.get(f"/api/orders/{document['id']}/").json(), path) == value, name


@pytest.mark.spec(
    "SVC-03", "EP2-04", "EP2-05", "EP2-07", "EP2-11", "EP2-15", "EP2-16", "EP2-17", "ORD-36", "ORD-37"
)
@pytest.mark.spec("EP1-14", "EP1-15", "EP1-16", "EP1-17", "EP1-18", "EP1-19", "EP6-01")
def test_a_buyer_reads_what_was_sold(api: APIClient, buyer: User) -> None:
    """Of two checkouts that differ in all their terms, and in their forms."""
    form = "https://service.example.com/form/?order_id="
    gems = {"type": "virtual_currency", "virtual_currency_amount": Decimal("1200.5"), "description": "Gems"}
    made = (
        CheckoutFactory(user=buyer, order_id="o-1", description="A game", **KEY),
        CheckoutFactory(user=buyer, order_id="o-2", expected_amount=Decimal(1500), currency="JPY", **gems),
    )
    found = [api.get(f"/api/checkouts/{each.reference}/").json() for each in made]
    names = (
        "type",
        "expected_amount",
        "currency",
        "products",
        "virtual_currency_amount",
        "platform_id",
        "description",
    )
    assert [[body[name] for name in (*names, "payment_form_url", "order_id")] for body in found] == [
        ["key", "19.99", "USD", ["item-k"], None, "gog", "A game", f"{form}o-1", "o-1"],
        ["virtual_currency", "1500", "JPY", [], "1200.5", "", "Gems", f"{form}o-2", "o-2"],
    ]


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


@pytest.mark.spec("ORD-26", "ORD-37", "ORD-40")
def test_an_amount_that_the_service_does_not_have_is_null(api: APIClient, buyer: User) -> None:
    """It writes a zero without a currency there: no client is to show that nothing was charged. Units have none."""
    nothing = {"amount": Decimal(0), "currency": ""}
    order = make_order(
        buyer, charge_amount=Decimal(0), charge_currency="", tax={**nothing, "rate": Decimal(0)}
    )
    body = api.get(f"/api/orders/{order.order_id}/").json()
    assert (body["charge_amount"], body["tax"]["amount"]) == (None, None)
    assert (body["virtual_currency_amount"], body["tax"]["rate"]) == ("0", "0")


@pytest.mark.spec("EP2-04", "EP2-05")
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


@pytest.mark.spec("ITM-07", "STA-06")
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


@pytest.mark.spec("ITM-05", "ORD-15", "EP6-01")
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


@pytest.mark.spec("ORD-01", "EP6-01", "STA-03")
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


@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01", "HTT-05", "HTT-06", "HTT-09", "ORD-04", "STA-01")
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


@pytest.mark.spec("STA-03", "EVT-03")
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


def test_what_a_stored_notification_says_was_paid_is_owned(
    api: APIClient, buyer: User, checkout_deliver: Deliver, settings: Any
) -> None:
    """A client that comes back from the form does not wait for a worker."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout = CheckoutFactory(user=buyer)
    checkout_deliver(order=order_document_for(checkout))
    assert [each["reference"] for each in api.get("/api/owned/").json()["data"]] == [checkout.reference]


@pytest.mark.spec("ITM-05")
def test_what_an_account_owns_has_its_codes_and_nothing_of_the_giver(
    api: APIClient, buyer: User, stranger: User, checkout_deliver: Deliver
) -> None:
    """What it bought, and what another gave to it: not what it gave away, nor what is unpaid or went back."""
    item = OrderItemDocumentFactory(code="KEY-1")
    for whose in (
        {"user": buyer},
        {"user": stranger, "gift": True, "recipient": buyer, "description": "a gift"},
    ):
        checkout = CheckoutFactory(**whose)
        checkout_deliver(order=order_document_for(checkout, items=[item]))
    CheckoutFactory(user=buyer)
    checkout_deliver(order=order_document_for(CheckoutFactory(user=buyer, gift=True, recipient=stranger)))
    refunded = CheckoutFactory(user=buyer)
    checkout_deliver(order=order_document_for(refunded, status="refunded"))
    with CaptureQueriesContext(connection) as captured:
        body = api.get("/api/owned/").json()
    assert len(captured.captured_queries) <= 6
    given, bought = body["data"]
    assert (given["gift"], given["description"], bought["gift"]) == (True, "a gift", False)
    assert [each["items"][0]["code"] for each in (given, bought)] == ["KEY-1", "KEY-1"]
    assert stranger.username not in json.dumps(body) and "@" not in json.dumps(body)
    assert body["total_count"] == 2
    api.force_authenticate(stranger)
    assert [each["gift"] for each in api.get("/api/owned/").json()["data"]] == [True]
