"""Origin and customer of a payment: fields from the form's visit and the customer's input."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import requests

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox import Product, SandboxProject
from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.orders.order_factory import new_order
from checkout_integration.sandbox.orders.purchase import Purchase
from checkout_integration.sandbox.profile import find_profile
from tests.support.sandbox.service import NOON, PROJECT, SECRET, SIMPLE, Service, running


def last_order(service: Service) -> dict[str, Any]:
    """Return the order of the newest notification."""
    found: dict[str, Any] = service.receiver.received[-1].document["object"]
    return found


def visited(service: Service, referrer: str = "", **query: str) -> dict[str, Any]:
    """Open the form of a new order from somewhere, pay, and return the issuer of the notification."""
    order_id = service.order_id()
    headers = {"Referer": referrer} if referrer else {}
    requests.get(f"{service.url}/form/", {"order_id": order_id, **query}, headers=headers, timeout=10)
    service.act(order_id, "pay")
    issuer: dict[str, Any] = last_order(service)["issuer"]
    return issuer


@pytest.mark.spec("ORD-21")
def test_the_issuer_names_the_linked_entity(service: Service) -> None:
    """A payment link names itself; without one both are empty."""
    linked = visited(service, reference="link-7", reference_type="paylink")
    assert (linked["reference"], linked["reference_type"]) == ("link-7", "paylink")
    plain = visited(service)
    assert (plain["reference"], plain["reference_type"]) == ("", "")


@pytest.mark.spec("ORD-21")
@pytest.mark.parametrize(
    ("referrer", "host"),
    [
        ("https://shop.example:8443/cart?x=1", "shop.example"),
        ("http://user@games.example/", "games.example"),
        ("", ""),
    ],
)
def test_the_host_of_the_referrer_has_no_port(service: Service, referrer: str, host: str) -> None:
    """The address as it came, and its host alone."""
    issuer = visited(service, referrer)
    assert (issuer["url"], issuer["referrer_host"]) == (referrer, host)


@pytest.mark.spec("ORD-21", "EP6-04")
def test_the_origin_survives_the_making_of_the_order(service: Service) -> None:
    """An address with a token makes the order first; where the customer came from is not lost on the way."""
    token = service.token({"type": "simple", "amount": 5, "currency": "USD"}).json()["token"]
    query = {"token": token, "utm_source": "letter", "reference": "link-8", "reference_type": "paylink"}
    requests.get(f"{service.url}/form/", query, timeout=10)
    (item,) = service.listed().json()["items"]
    issuer = item["issuer"]
    assert [issuer[name] for name in ("utm_source", "reference", "reference_type")] == [
        "letter",
        "link-8",
        "paylink",
    ]


@pytest.mark.spec("ORD-13")
def test_the_receipt_goes_to_a_phone(service: Service) -> None:
    """As typed on the form, or as the control API says; empty when there is none."""
    service.pay_form(service.order_id(), phone="+1 (555) 0100")
    assert last_order(service)["receipt_phone"] == "+1 (555) 0100"
    service.act(service.order_id(), "pay", receipt_phone="+44 1234")
    assert last_order(service)["receipt_phone"] == "+44 1234"
    service.pay_form(service.order_id())
    assert last_order(service)["receipt_phone"] == ""


@pytest.mark.spec("ORD-13")
def test_a_phone_that_is_none_pays_nothing(service: Service) -> None:
    """The form says so, and so does the control API."""
    order_id = service.order_id()
    assert service.pay_form(order_id, phone="call me").status_code == 422
    assert service.act(order_id, "pay", receipt_phone="call me").status_code == 400
    assert service.receiver.received == []


@pytest.mark.spec("ORD-25")
@pytest.mark.parametrize("given", [{}, {"billing_state": "CA"}, {"billing_zip": "94105"}])
def test_the_usa_need_state_and_zip(service: Service, given: dict[str, str]) -> None:
    """The control API refuses an address that the form would not take."""
    answer = service.act(service.order_id(), "pay", billing_country="US", **given)
    assert answer.status_code == 400
    assert service.receiver.received == []


@pytest.mark.spec("ORD-25")
@pytest.mark.parametrize(
    ("given", "address"),
    [
        (
            {"billing_country": "US", "billing_state": "CA", "billing_zip": "94105"},
            {"country": "US", "state": "CA", "zip": "94105"},
        ),
        ({"billing_country": "DE", "billing_state": "BE", "billing_zip": "1"}, {"country": "DE"}),
    ],
)
def test_only_the_usa_have_state_and_zip(
    service: Service, given: dict[str, str], address: dict[str, str]
) -> None:
    """Of another country only its code is written."""
    service.act(service.order_id(), "pay", **given)
    assert last_order(service)["billing_address"] == address


@pytest.mark.spec("ORD-34")
def test_the_billing_country_counts_before_the_customer_s(service: Service) -> None:
    """The customer's own country counts only if there is no billing address."""
    document = {**SIMPLE, "user": {"external_id": "u", "address": {"country": "FR"}}}
    made = [
        service.post("/api/v1/order", document, headers={"X-API-SIGNATURE": SECRET}).json()["id"]
        for _ in range(2)
    ]
    service.act(made[0], "pay")
    assert last_order(service)["country"] == "FR"
    service.act(made[1], "pay", billing_country="DE")
    assert (last_order(service)["country"], last_order(service)["user"]["address"]["country"]) == ("DE", "FR")


@pytest.mark.spec("ORD-26", "ORD-23", "ORD-39")
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_the_tax_is_in_the_currency_of_the_order(profile: str) -> None:
    """Although the card is charged in another."""
    with running(
        profile=profile, vat_payer="buyer", charge_currency="JPY", charge_rate=Decimal(150)
    ) as service:
        service.act(service.order_id(amount=10), "pay", billing_country="DE")
        order = last_order(service)
    assert order["tax"] == {
        "type": "vat",
        "rate": Decimal("0.19"),
        "amount": Decimal("1.9"),
        "currency": "USD",
    }
    assert (order["currency"], order["charge_currency"]) == ("USD", "JPY")


@pytest.mark.spec("ORD-36")
@pytest.mark.parametrize(
    ("kind", "requested", "platform"),
    [("key", "gog", "gog"), ("key", None, ""), ("product", None, ""), ("product", "gog", "")],
)
def test_only_a_key_has_a_platform(kind: str, requested: str | None, platform: str) -> None:
    """The requested platform, else none; an order of another type has none."""
    project = SandboxProject(project_id=PROJECT, secret_key=SECRET)
    purchase = Purchase(project=PROJECT, type=kind, products=("hat",), platform_id=requested)
    order = new_order(purchase, project, NOON)
    for profile in ("field", "spec"):
        document = Documents(find_profile(profile)).order(order, Context.WEBHOOK)
        assert document["platform_id"] == platform


@pytest.mark.spec("ORD-38", "EP1-20")
@pytest.mark.parametrize("requested", [True, False])
def test_a_purchase_with_virtual_currency_says_so(service: Service, requested: bool) -> None:
    """The option of the token reaches the order."""
    settings = {"type": "product", "products_ids": ["hat"], "is_buy_for_virtual_currency": requested}
    token = service.token(settings).json()["token"]
    service.act(service.post("/api/v1/order", {"token": token}).json()["id"], "pay")
    assert last_order(service)["is_buy_for_virtual_currency"] is requested


@pytest.mark.spec("USR-12")
def test_a_token_brings_attributes_of_the_customer(service: Service) -> None:
    """Set with the token, written with every order of it."""
    settings = {"type": "simple", "amount": 5, "currency": "USD"}
    token = service.token(settings, {"id": "u-1", "metadata": {"guild": "owls"}}).json()["token"]
    service.act(service.post("/api/v1/order", {"token": token}).json()["id"], "pay")
    assert last_order(service)["user"]["metadata"] == {"guild": "owls"}


@pytest.mark.spec("USR-13", "USR-14", "EVT-07")
def test_the_customer_wants_news_of_regions(service: Service) -> None:
    """The form's checkbox is in user.validate; by the specification in orders too."""
    service.sandbox.projects.update(PROJECT, mode="pre_approval")
    service.pay_form(service.order_id(), email="ada@example.com", notify_new_region="1")
    requested, paid = (each.document["object"] for each in service.receiver.received)
    assert (requested["notify_new_region"], requested["notify_new_region_email"]) == (True, "ada@example.com")
    in_order = paid["user"].get("notify_new_region")
    assert in_order is (True if service.sandbox.profile.name == "spec" else None)


@pytest.mark.spec("USR-13", "USR-14", "ORD-19", "ORD-20")
@pytest.mark.parametrize("offers", ["", "1"])
@pytest.mark.parametrize("regions", ["", "1"])
def test_each_consent_is_its_own(service: Service, offers: str, regions: str) -> None:
    """Offers and new regions are two boxes of the form: either may be ticked without the other."""
    service.sandbox.projects.update(PROJECT, mode="pre_approval")
    service.pay_form(
        service.order_id(), email="ada@example.com", notify_sale=offers, notify_new_region=regions
    )
    requested, paid = (each.document["object"] for each in service.receiver.received)
    assert requested["notify_new_region"] is bool(regions)
    assert requested["notify_new_region_email"] == ("ada@example.com" if regions else "")
    assert paid["notify_sale"] is bool(offers)
    assert paid["notify_sale_email"] == ("ada@example.com" if offers else "")


@pytest.mark.spec("ORD-13")
@pytest.mark.parametrize("profile", ["spec", "field"])
@pytest.mark.parametrize("phone", ["+49 30 123456", "0650-1234", ""])
def test_the_phone_of_the_receipt_is_the_one_that_the_customer_typed(profile: str, phone: str) -> None:
    """Not the one that the shop knows, in the notification and in the list; "" without one."""
    with running(profile=profile) as service:
        customer = {"external_id": "ada", "phone": "+441234567"}
        signed = {"X-API-SIGNATURE": SECRET}
        order_id = service.post("/api/v1/order", {**SIMPLE, "user": customer}, headers=signed).json()["id"]
        service.pay_form(order_id, phone=phone)
        (listed,) = service.listed(("id", order_id)).json()["items"]
        assert [each["receipt_phone"] for each in (last_order(service), listed)] == [phone] * 2


@pytest.mark.spec("ORD-12", "ORD-20")
@pytest.mark.parametrize("profile", ["spec", "field"])
@pytest.mark.parametrize("typed", ["gifts@example.com", "ada@example.org"])
def test_offers_go_to_the_address_that_the_customer_typed(profile: str, typed: str) -> None:
    """Not to the one that the shop knows, in the notification and in the list."""
    with running(profile=profile) as service:
        customer = {"external_id": "ada", "email": "ada@shop.example"}
        signed = {"X-API-SIGNATURE": SECRET}
        order_id = service.post("/api/v1/order", {**SIMPLE, "user": customer}, headers=signed).json()["id"]
        service.pay_form(order_id, email=typed, notify_sale="1")
        (listed,) = service.listed(("id", order_id)).json()["items"]
        for document in (last_order(service), listed):
            assert document["user"]["email"] == "ada@shop.example"
            assert (document["receipt_email"], document["notify_sale_email"]) == (typed, typed)


@pytest.mark.spec("USR-13", "USR-14")
def test_without_consent_there_is_no_address(service: Service) -> None:
    """An address alone is no consent."""
    service.sandbox.projects.update(PROJECT, mode="pre_approval")
    service.act(service.order_id(), "pay", notify_new_region_email="ada@example.com")
    requested = service.receiver.received[0].document["object"]
    assert (requested["notify_new_region"], requested["notify_new_region_email"]) == (False, "")


@pytest.mark.spec("ITM-03", "ITM-04")
@pytest.mark.parametrize("kind", [OrderType.KEY, OrderType.PRODUCT, OrderType.VIRTUAL_CURRENCY])
@pytest.mark.parametrize("text", ["A grey owl", "von HAND gemacht – für dich"])
def test_an_item_of_each_kind_has_the_texts_of_its_product(kind: OrderType, text: str) -> None:
    """Name and description, to the letter; a description may be empty, and is then not another text."""
    described = Product(id="a", name=f"the {text}", description=text, price=Decimal(5), kind=kind)
    plain = Product(id="b", name="plain", price=Decimal(5), kind=kind)
    with running(catalogue=(described, plain)) as service:
        for product in (described, plain):
            requested = {"project": PROJECT, "type": kind, "products": [product.id]}
            service.act(service.post("/api/v1/order", requested).json()["id"], "pay")
            (item,) = last_order(service)["items"]
            assert (item["name"], item["description"]) == (product.name, product.description)


@pytest.mark.spec("ITM-06", "ITM-05")
def test_a_product_brings_its_attributes() -> None:
    """Those of the catalogue; a product without has none."""
    owl = Product(
        id="owl",
        name="Owl",
        price=Decimal(5),
        kind=OrderType.PRODUCT,
        metadata={"colour": "grey"},
        images=("https://shop.example/owl.png", "https://shop.example/b.png", "https://shop.example/a.png"),
    )
    hat = Product(
        id="hat", name="Hat", price=Decimal(5), kind=OrderType.PRODUCT, url="https://shop.example/hat"
    )
    with running(catalogue=(owl, hat)) as service:
        requested = {"project": PROJECT, "type": "product", "products": ["owl", "hat"]}
        service.act(service.post("/api/v1/order", requested).json()["id"], "pay")
        items = last_order(service)["items"]
    assert [item["metadata"] for item in items] == [{"colour": "grey"}, {}]
    assert [item["url"] for item in items] == ["", "https://shop.example/hat"]
    assert [item["images"] for item in items] == [list(owl.images), []]


@pytest.mark.spec("WHK-04")
@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    "case", ["correct_payment", "existing_user", "non_existing_user", "invalid_signature"]
)
def test_a_testing_case_is_as_live_as_its_project(service: Service, live: bool, case: str) -> None:
    """`live` of the envelope, and `is_production` of its order."""
    service.sandbox.projects.update(PROJECT, live=live)
    service.post(f"/_sandbox/testing/{case}", {})
    (sent,) = service.receiver.received
    assert (sent.document["live"], sent.document["object"]["is_production"]) == (live, live)


@pytest.mark.spec("USR-11")
def test_an_empty_member_of_an_address_is_left_out_in_the_field(field: Service) -> None:
    """An address of which nothing is known is null."""
    user: dict[str, Any] = {"external_id": "u", "address": {"country": "FR", "city": ""}}
    for address in (user["address"], {"city": ""}):
        document = {**SIMPLE, "user": {**user, "address": address}}
        field.post("/api/v1/order", document, headers={"X-API-SIGNATURE": SECRET})
    known, unknown = (item["user"]["address"] for item in json.loads(field.listed().content)["items"])
    assert (known, unknown) == ({"country": "FR"}, None)


@pytest.mark.spec("ORD-27", "ORD-28", "ORD-29")
@pytest.mark.parametrize("currency", ["USD", "JPY"])
def test_an_unpaid_order_has_objects_where_the_specification_says_object(
    spec: Service, currency: str
) -> None:
    """Nothing is earned yet, in the currency of the order, and nothing is known of the method."""
    spec.act(spec.order_id(amount=500, currency=currency), "cancel")
    (listed,) = spec.listed().json()["items"]
    for order in (last_order(spec), listed):
        assert order["net_revenue"] == order["fee"] == {"amount": 0, "currency": currency}
        method = dict(order["method"])
        assert {method.pop(name) for name in ("card", "wallet", "crypto_currency")} == {None}
        assert {method.pop(name) for name in ("saved", "refund_allowed", "recurring_allowed")} == {False}
        assert set(method.values()) == {""}
        assert ("handler" in method) is (order is listed)


@pytest.mark.spec("ORD-29")
def test_deployed_services_write_null_before_the_payment(field: Service) -> None:
    """For method, net revenue and fee."""
    field.act(field.order_id(), "cancel")
    order = last_order(field)
    assert [order[name] for name in ("method", "net_revenue", "fee")] == [None] * 3


@pytest.mark.spec("ORD-26")
@pytest.mark.parametrize(
    ("country", "kind", "rate"),
    [
        ("", "", "0"),
        ("BR", "", "0"),
        ("DE", "vat", "0.19"),
        ("RU", "vat", "0.2"),
        ("US", "sales_tax", "0.08"),
    ],
)
def test_the_tax_has_the_type_of_its_country(service: Service, country: str, kind: str, rate: str) -> None:
    """Sales tax for the USA, VAT for the EU and Russia; where there is no tax, it has no type."""
    service.sandbox.projects.update(PROJECT, vat_payer="buyer")
    address = {"billing_country": country, "billing_state": "CA", "billing_zip": "94105"} if country else {}
    service.act(service.order_id(), "pay", **address)
    assert (last_order(service)["tax"]["type"], str(last_order(service)["tax"]["rate"])) == (kind, rate)


@pytest.mark.spec("ORD-36", "ITM-08")
@pytest.mark.parametrize("platform", ["", "gog", "egs"])
def test_a_key_has_the_platform_that_was_chosen(service: Service, platform: str) -> None:
    """None is made up."""
    chosen = {"platform_id": platform} if platform else {}
    answer = service.post("/api/v1/order", {"project": PROJECT, "type": "key", "products": ["q"], **chosen})
    service.act(answer.json()["id"], "pay")
    order = last_order(service)
    (item,) = order["items"]
    assert (order["platform_id"], item[service.sandbox.profile.platform_key]) == (platform, platform)


@pytest.mark.spec("ORD-35")
@pytest.mark.parametrize(
    ("sold", "spec_word", "field_word"),
    [
        ({"type": "simple", "amount": 5, "currency": "USD"}, "simple", "simple"),
        ({"type": "key", "products": ["quest"]}, "key", "key"),
        ({"type": "product", "products": ["hat"]}, "products", "product"),
        ({"type": "virtual_currency", "products": ["gems-5"]}, "products", "virtual_currency"),
        ({"type": "virtual_currency", "amount": 5, "currency": "USD"}, "simple", "virtual_currency"),
    ],
)
def test_an_order_has_a_type_of_the_list(
    service: Service, sold: dict[str, Any], spec_word: str, field_word: str
) -> None:
    """Three words by the specification; virtual currency is sold as products, or for an amount."""
    service.act(service.post("/api/v1/order", {"project": PROJECT, **sold}).json()["id"], "pay")
    (item,) = service.listed().json()["items"]
    word = spec_word if service.sandbox.profile.name == "spec" else field_word
    assert {item["type"], last_order(service)["type"]} == {word}
