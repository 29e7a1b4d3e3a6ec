"""Order creation: directly, by token alone, and with a token over it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import requests

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox import Product
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service, running


def listed(service: Service, order_id: str) -> dict[str, Any]:
    """Return the list's item of one order."""
    answer = service.listed(("id", order_id))
    (item,) = json.loads(answer.content, parse_float=Decimal)["items"]
    return dict(item)


@pytest.mark.spec("EP2-01", "EP2-17", "STA-02", "EP6-03", "SVC-02")
def test_an_order_comes_with_its_form(service: Service) -> None:
    """The response has exactly the identifier and the form's address; the order is `created`."""
    answer = service.create()
    order_id = answer.json()["id"]
    assert answer.json() == {"id": order_id, "payment_form_url": f"{service.url}/form/?order_id={order_id}"}
    assert listed(service, order_id)["status"] == "created"


@pytest.mark.spec("EP2-03", "EP2-04", "EP2-05", "EP2-11", "EP2-15", "EP2-18", "SVC-03")
@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"type": "simple", "amount": 1, "currency": "USD"}, "project"),
        ({"project": PROJECT, "type": "simple", "currency": "USD"}, "amount"),
        ({"project": PROJECT, "type": "simple", "amount": -1, "currency": "USD"}, "amount"),
        ({"project": PROJECT, "type": "simple", "amount": True, "currency": "USD"}, "amount"),
        ({"project": PROJECT, "type": "simple", "amount": 1}, "currency"),
        ({"project": PROJECT, "type": "simple", "amount": 1, "currency": "usd"}, "currency"),
        ({"project": PROJECT, "type": "product"}, "products"),
        ({"project": PROJECT, "type": "product", "products": ["a"], "amount": 5}, "amount"),
        ({"project": PROJECT, "type": "product", "products": "a"}, "products"),
        ({"project": PROJECT, "type": "key"}, "products"),
        ({"project": PROJECT, "type": "key", "products": ["a", "b"]}, "products"),
        ({"project": PROJECT, "amount": 1, "currency": "USD"}, "type"),
        ({"project": PROJECT, "type": "products", "products": ["a"]}, "type"),
        ({"project": PROJECT, "type": "product", "products": ["a"], "platform_id": "gog"}, "platform_id"),
        ({"project": PROJECT, "type": "virtual_currency", "platform_id": "gog"}, "platform_id"),
    ],
)
def test_what_a_type_requires_must_be_there(service: Service, document: dict[str, Any], field: str) -> None:
    """A missing or wrong field is a 400 with its name in the details."""
    answer = service.post("/api/v1/order", document)
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("HTT-05", "EP2-17", "ERR-03")
def test_all_problems_are_reported_at_once(service: Service) -> None:
    """Two wrong fields are both named."""
    details = service.create(metadata={"a": 1}, description="x" * 256).json()["details"]
    assert "metadata" in details
    assert "description" in details


@pytest.mark.spec("EP2-06", "EP2-07", "EP2-08", "ORD-05", "ORD-32", "USR-03")
def test_the_requested_purchase_is_sold(service: Service) -> None:
    """Account, description, metadata and amount come back in the order."""
    order_id = service.order_id(
        account="player-1", description="A hat", metadata={"reference": "r-1"}, amount=5.5
    )
    item = listed(service, order_id)
    assert item["user"]["external_id"] == "player-1"
    assert item["description"] == "A hat"
    assert item["metadata"] == {"reference": "r-1"}
    assert item["amount"] == Decimal("5.5")


@pytest.mark.spec("ORD-05")
def test_a_description_is_made_up_when_none_is_sent(service: Service) -> None:
    """An order always has a description."""
    assert listed(service, service.order_id())["description"]


@pytest.mark.spec("ORD-05", "EP2-07")
@pytest.mark.parametrize(
    "sold",
    [
        {"type": "simple", "amount": 5, "currency": "USD"},
        {"type": "key", "products": ["quest"]},
        {"type": "product", "products": ["owl", "raven"]},
        {"type": "virtual_currency", "products": ["gems-100"]},
    ],
    ids=lambda sold: sold["type"],
)
def test_each_sales_option_has_the_description_that_was_sent(service: Service, sold: dict[str, Any]) -> None:
    """To the letter, of any order type; one is generated for each order where none was sent."""
    for sent in ("Two maps & a café", "7"):
        answer = service.post("/api/v1/order", {"project": PROJECT, **sold, "description": sent})
        assert listed(service, answer.json()["id"])["description"] == sent
    made = [service.post("/api/v1/order", {"project": PROJECT, **sold}).json()["id"] for _ in range(2)]
    assert [listed(service, each)["description"] for each in made] == [
        f"Payment by order # {each}" for each in made
    ]


@pytest.mark.spec("EP2-06", "USR-03")
@pytest.mark.parametrize(
    ("given", "external_id"),
    [
        ({"account": "player-1"}, "player-1"),
        ({"account": "player-2", "user": {"name": "Ada"}}, "player-2"),
        ({"account": "player-3", "user": {"external_id": "", "email": "ada@example.com"}}, "player-3"),
        ({"account": "player-4", "user": {"external_id": "ada"}}, "ada"),
        ({"user": {"name": "Ada"}}, ""),
        ({}, ""),
    ],
)
def test_the_account_is_the_customer_in_the_merchants_project(
    service: Service, given: dict[str, Any], external_id: str
) -> None:
    """Beside other data of the customer too, unless they name the customer themselves; it may be left out."""
    answer = service.post("/api/v1/order", {**SIMPLE, **given}, headers={"X-API-SIGNATURE": SECRET})
    assert listed(service, answer.json()["id"])["user"]["external_id"] == external_id


@pytest.mark.spec("AUT-02", "AUT-06", "EP2-02", "EP2-13")
@pytest.mark.parametrize(("profile", "status"), [("spec", 401), ("field", 400)])
def test_customer_data_needs_the_secret(profile: str, status: int) -> None:
    """With `user` the signature is required; without it, anyone may create an order."""
    with running(profile=profile) as service:
        assert service.create(user={"external_id": "u"}).status_code == status
        document = {**SIMPLE, "user": {"external_id": "u"}}
        signed = service.post("/api/v1/order", document, headers={"X-API-SIGNATURE": SECRET})
        assert signed.status_code == 200
        assert service.create().status_code == 200
        without_user = service.post("/api/v1/order", SIMPLE, headers={"X-API-SIGNATURE": "sandbox_other"})
        assert without_user.status_code == (401 if profile == "spec" else 200)  # looked at by the letter only


@pytest.mark.spec("EP2-18", "EP2-11")
@pytest.mark.parametrize(
    ("kind", "products", "accepted"),
    [
        ("key", ["quest"], True),
        ("key", ["quest", "quest"], False),
        ("key", ["quest", "saga"], False),
        ("product", ["owl"], True),
        ("product", ["owl", "owl"], True),
        ("product", ["owl", "raven"], True),
    ],
)
def test_a_key_is_one_product(service: Service, kind: str, products: list[str], accepted: bool) -> None:
    """The same key twice is not one; virtual items may be as many as there are, and some of them equal."""
    answer = service.post("/api/v1/order", {"project": PROJECT, "type": kind, "products": products})
    assert answer.status_code == (200 if accepted else 400)
    assert accepted or "products" in answer.json()["details"]


@pytest.mark.spec("AUT-02", "EP2-13")
@pytest.mark.parametrize(("profile", "status"), [("spec", 401), ("field", 400)])
def test_customer_data_beside_a_token_needs_the_secret_too(profile: str, status: int) -> None:
    """The token was made with it, but this customer was not in it; the wrong secret is none."""
    with running(profile=profile) as service:
        token = service.token({"type": "simple", "amount": 7, "currency": "EUR"}).json()["token"]
        document = {"token": token, "user": {"external_id": "u"}}
        answers = [
            service.post("/api/v1/order", document, headers=headers).status_code
            for headers in ({}, {"X-API-SIGNATURE": "sandbox_other"}, {"X-API-SIGNATURE": SECRET})
        ]
    assert answers == [status, status, 200]


@pytest.mark.spec("EP2-09", "EP2-10")
def test_dynamic_urls_must_be_enabled() -> None:
    """A project without dynamic URLs refuses return URLs in a request."""
    with running(dynamic_urls=False) as service:
        answer = service.create(url_success="https://shop.example/ok")
    assert answer.status_code == 400
    assert "dynamic URLs" in answer.json()["details"]


@pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")
@pytest.mark.parametrize("name", ["success", "fail"])
def test_a_token_may_have_return_addresses_by_the_specification(name: str) -> None:
    """Only order creation has the condition; deployed services have it for both."""
    settings = {"type": "simple", "amount": 5, "currency": "USD"}
    address = {name: f"https://shop.example/{name}"}
    with running(profile="spec", dynamic_urls=False) as service:
        token = service.token({**settings, "return_url": address}).json()["token"]
        made = service.post("/api/v1/order", {"token": token}).json()["id"]
        order = service.sandbox.ledger.find(made)
        assert order is not None and getattr(order, f"url_{name}") == f"https://shop.example/{name}"
        own = {f"url_{name}": "https://shop.example/own"}
        assert service.post("/api/v1/order", {"token": token, **own}).json()["code"] == "fm000014"
        assert service.create(**own).json()["code"] == "fm000014"
    with running(dynamic_urls=False) as service:
        assert service.token({**settings, "return_url": address}).json()["code"] == "fm000014"


@pytest.mark.spec("EP1-24", "EP2-12", "EP6-05", "EP1-03")
def test_a_token_alone_makes_an_order(service: Service) -> None:
    """Customer and purchase come from the token, and no signature is required."""
    user = {"id": "player-7", "name": {"value": "Ada"}, "locale": {"value": "en-GB,en;q=0.8"}}
    settings = {"type": "product", "products_ids": ["sword"], "metadata": {"reference": "t"}}
    token = service.token(settings, user).json()["token"]
    answer = service.post("/api/v1/order", {"token": token})
    item = listed(service, answer.json()["id"])
    assert (item["user"]["external_id"], item["user"]["name"], item["user"]["locale"]) == (
        "player-7",
        "Ada",
        "en-GB",
    )
    assert item["metadata"] == {"reference": "t"}
    assert [each["id"] for each in item["items"]] == ["sword"]


@pytest.mark.spec("EP2-12")
def test_a_token_overrides_the_order(service: Service) -> None:
    """Where both have a parameter, the token's counts; parameters of the order alone stay."""
    token = service.token({"type": "simple", "amount": 7, "currency": "EUR"}).json()["token"]
    item = listed(service, service.order_id(token=token, amount=1, description="stays"))
    assert (item["amount"], item["currency"], item["description"]) == (7, "EUR", "stays")


@pytest.mark.spec("EP2-12")
@pytest.mark.parametrize("kind", ["simple", "product", "key"])
@pytest.mark.parametrize(
    "own", [SIMPLE, {"type": "key", "products": ["of-the-order"], "platform_id": "gog"}, {"type": "simple"}]
)
def test_a_token_overrides_what_its_type_forbids(service: Service, kind: str, own: dict[str, Any]) -> None:
    """The sale is the token's as a whole: what the order says of type, price and products is neither used nor refused."""
    sale = {"amount": 7, "currency": "EUR"} if kind == "simple" else {"products_ids": ["sword"]}
    token = service.token({"type": kind, **sale}).json()["token"]
    item = listed(service, service.order_id(**{**own, "token": token}))
    assert item["type"] in (kind, f"{kind}s")
    assert [each["id"] for each in item["items"] or ()] == ([] if kind == "simple" else ["sword"])
    assert (item["amount"] == 7) == (kind == "simple")


@pytest.mark.spec("EP1-24", "EP2-12")
def test_a_token_is_used_again_for_thirty_days(service: Service) -> None:
    """Each use makes another order; after thirty days the token is refused."""
    token = service.token({"type": "simple", "amount": 7, "currency": "EUR"}).json()["token"]
    orders = {service.post("/api/v1/order", {"token": token}).json()["id"] for _ in range(2)}
    assert len(orders) == 2
    service.advance(30 * 86_400)
    assert service.post("/api/v1/order", {"token": token}).status_code == 200
    service.advance(1)
    assert service.post("/api/v1/order", {"token": token}).status_code == 400


@pytest.mark.spec("EP2-12", "HTT-05", "EP2-17")
def test_an_unknown_token_is_refused(service: Service) -> None:
    """A made-up token is a 400."""
    assert service.post("/api/v1/order", {"token": "made-up"}).status_code == 400


@pytest.mark.spec("SVC-08", "HTT-10")
@pytest.mark.parametrize(("profile", "status"), [("spec", 406), ("field", 400)])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"project=1", "application/x-www-form-urlencoded"),
        (b"{", "application/json"),
        (json.dumps(SIMPLE).encode(), "text/plain"),
        (json.dumps(SIMPLE).encode(), "text/xml"),
        (json.dumps(SIMPLE).encode(), "application/xml"),
        (json.dumps(SIMPLE).encode(), "text/json"),
        (json.dumps(SIMPLE).encode(), "application/vnd.api+json"),
        (json.dumps(SIMPLE).encode(), None),
    ],
)
def test_other_formats_are_refused(profile: str, status: int, body: bytes, kind: str | None) -> None:
    """Another format than JSON is a 406 by the specification, a 400 in the field, wherever something is created."""
    with running(profile=profile) as service:
        for path in ("/api/v1/order", "/api/v1/tokens"):
            answer = requests.post(service.url + path, data=body, headers={"Content-Type": kind}, timeout=10)
            assert answer.status_code == status
            assert answer.json()["message"]


@pytest.mark.spec("EP1-01", "EP2-01", "EP3-01", "SVC-05")
@pytest.mark.parametrize(
    ("path", "method"),
    [("/api/v1/tokens", "POST"), ("/api/v1/order", "POST"), ("/merchant/s2s/api/v1/order", "GET")],
)
def test_an_operation_has_one_method(service: Service, path: str, method: str) -> None:
    """Any other is refused in JSON, with the right one named."""
    for other in {"GET", "POST", "PUT", "DELETE"} - {method}:
        answer = requests.request(other, service.url + path, timeout=10)
        assert answer.status_code == 405
        assert set(answer.headers["Allow"].split(", ")) >= {method}
        assert other not in answer.headers["Allow"].split(", ")
        assert answer.json()["message"]


@pytest.mark.spec("HTT-05", "EP2-17", "EP2-04")
@pytest.mark.parametrize("profile", ["spec", "field"])
@pytest.mark.parametrize("number", ["1e999", "1e99999999999999999999", "1" * 5000])
def test_a_number_beyond_reach_is_bad_data(profile: str, number: str) -> None:
    """It is JSON, so the format is right: a 400 in either profile."""
    body = f'{{"project": "p", "type": "simple", "currency": "USD", "amount": {number}}}'
    with running(profile=profile) as service:
        answer = requests.post(
            service.url + "/api/v1/order", data=body, headers={"Content-Type": "application/json"}, timeout=10
        )
    assert answer.status_code == 400


@pytest.mark.spec("SVC-07")
def test_gzip_goes_both_ways(service: Service) -> None:
    """A packed request is read, and the response is packed only on request."""
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    packed = gzip.compress(json.dumps(SIMPLE).encode())
    answer = requests.post(service.url + "/api/v1/order", data=packed, headers=headers, timeout=10)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.json()["id"]
    plain = service.post("/api/v1/order", SIMPLE, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers


@pytest.mark.spec("SVC-07")
def test_a_gzip_bomb_is_refused(service: Service) -> None:
    """A packed body that would unpack to more than a mebibyte is a 400."""
    packed = gzip.compress(b" " * 5_000_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = requests.post(service.url + "/api/v1/order", data=packed, headers=headers, timeout=10)
    assert answer.status_code == 400


@pytest.mark.spec("LIM-03")
def test_a_body_too_large_is_refused(service: Service) -> None:
    """More than a mebibyte is a 413 with the error object."""
    answer = service.post("/api/v1/order", {**SIMPLE, "extra": "x" * 1_100_000})
    assert answer.status_code == 413
    assert answer.json()["message"]


@pytest.mark.spec("VER-01", "VER-02", "VER-03")
@pytest.mark.parametrize("version", [None, "1.0", "9.9"])
def test_any_version_is_served(service: Service, version: str | None) -> None:
    """The version header is accepted, missing or other as well."""
    headers = {"x-service-api-version": version} if version else {}
    assert service.post("/api/v1/order", SIMPLE, headers=headers).status_code == 200


@pytest.mark.spec("SVC-05", "ERR-01", "ERR-02", "HTT-09")
def test_even_an_unknown_path_answers_json(service: Service) -> None:
    """Framework errors are JSON with a message."""
    answer = service.post("/api/v1/nothing", {})
    assert answer.status_code == 404
    assert answer.json()["message"] == "Not Found"


@pytest.mark.spec("EP2-11", "RFD-07")
def test_a_catalogue_sells_only_what_it_holds() -> None:
    """With a catalogue, unknown products are refused and known ones have its price."""
    gem = Product(id="gem", name="Gem", price=Decimal("2.50"), kind=OrderType.PRODUCT)
    with running(catalogue=(gem,)) as service:
        bought = {"project": PROJECT, "type": "product"}
        assert service.post("/api/v1/order", {**bought, "products": ["rock"]}).status_code == 400
        answer = service.post("/api/v1/order", {**bought, "products": ["gem", "gem"]})
        assert listed(service, answer.json()["id"])["amount"] == 5


@pytest.mark.spec("ORD-37", "EP2-04", "EP2-05", "EP2-15", "SVC-03")
@pytest.mark.parametrize(
    ("body", "units", "price"),
    [
        ({}, 1, Decimal("0.10")),
        ({"amount": 9.9, "currency": "EUR"}, 99, Decimal("9.9")),
        ({"amount": 50}, 500, 50),
        ({"metadata": {"virtual_currency_amount": "500"}}, 500, 50),
        (
            {"metadata": {"virtual_currency_amount": "500"}, "amount": 9.99, "currency": "EUR"},
            500,
            Decimal("9.99"),
        ),
        ({"metadata": {"virtual_currency_amount": "many"}}, 1, Decimal("0.10")),
        ({"currency": "JPY"}, 1, 1),
    ],
)
def test_virtual_currency_is_priced_in_money(
    service: Service, body: dict[str, Any], units: int, price: Decimal
) -> None:
    """`amount` is money in its currency, never units; nothing of it is required. A unit costs 0.10."""
    document = {"project": PROJECT, "type": "virtual_currency", **body}
    item = listed(service, service.post("/api/v1/order", document).json()["id"])
    assert (item["virtual_currency_amount"], item["amount"]) == (units, price)
    assert item["currency"] == body.get("currency", "USD")


@pytest.mark.spec("ORD-37", "EP2-11")
def test_a_package_of_virtual_currency_knows_its_units(service: Service) -> None:
    """A made-up package has them at the end of its identifier; one without them has the units that its price buys."""
    document = {"project": PROJECT, "type": "virtual_currency"}
    sold = [
        listed(service, service.post("/api/v1/order", {**document, "products": products}).json()["id"])
        for products in (["gems-500"], ["gems-500", "gems-20"], ["chest"])
    ]
    assert [item["virtual_currency_amount"] for item in sold] == [500, 520, sold[2]["amount"] * 10]
    assert [each["id"] for each in sold[1]["items"]] == ["gems-500", "gems-20"]


@pytest.mark.spec("ORD-37", "EP2-04")
@pytest.mark.parametrize("amount", [1, 9.99])
def test_packages_have_their_own_price(service: Service, amount: float) -> None:
    """An amount beside them changes neither the price nor the units."""
    document = {"project": PROJECT, "type": "virtual_currency", "products": ["gems-500"], "currency": "USD"}
    plain, priced = (
        listed(service, service.post("/api/v1/order", {**document, **more}).json()["id"])
        for more in ({}, {"amount": amount})
    )
    assert priced["virtual_currency_amount"] == 500
    assert priced["amount"] == plain["amount"] != amount


@pytest.mark.spec("EP2-14", "ORD-01")
def test_a_prepared_order_comes_back_in_the_field(field: Service) -> None:
    """Its identifier and the project are enough; an order of another project is not found."""
    order_id = field.order_id(amount=3)
    prepared = field.post("/api/v1/order", {"project": PROJECT, "order": order_id})
    assert prepared.json() == {"id": order_id, "payment_form_url": f"{field.url}/form/?order_id={order_id}"}
    assert field.order_id(order=order_id) == order_id
    assert field.order_id(order="unknown") not in {order_id, "unknown"}
    other = replace(field.sandbox.projects.get(PROJECT), project_id="project-2")
    field.sandbox.projects.add(other)
    foreign = field.post("/api/v1/order", {**SIMPLE, "project": "project-2", "order": order_id}).json()["id"]
    assert foreign != order_id
    assert field.post("/api/v1/order", {"project": "project-2", "order": order_id}).status_code == 400
    assert field.post("/api/v1/order", {"project": PROJECT, "order": "unknown"}).status_code == 400


@pytest.mark.spec("EP2-14", "EP2-15", "ORD-01")
def test_an_orders_identifier_has_no_effect_by_the_letter(spec: Service) -> None:
    """The specification requires the type all the same, and says of no conflict; the new order has an id of its own."""
    order_id = spec.order_id()
    assert spec.post("/api/v1/order", {"project": PROJECT, "order": order_id}).status_code == 400
    other_id = spec.order_id(order=order_id)
    assert spec.listed_ids() == [order_id, other_id] and other_id != order_id


@pytest.mark.spec("EP2-12")
def test_a_tokens_user_takes_the_place_of_the_orders(service: Service) -> None:
    """Both give a customer: the token's counts, as a whole."""
    token = service.token({"type": "simple", "amount": 7, "currency": "EUR"}, {"id": "of-the-token"}).json()[
        "token"
    ]
    document = {"token": token, "user": {"external_id": "of-the-order", "name": "Bob"}}
    answer = service.post("/api/v1/order", document, headers={"X-API-SIGNATURE": SECRET})
    user = listed(service, answer.json()["id"])["user"]
    assert (user["external_id"], user["name"]) == ("of-the-token", "")


@pytest.mark.spec("USR-12")
def test_a_tokens_customer_may_have_metadata(service: Service) -> None:
    """Deployed services take `user.metadata`, and give it back with the order."""
    user = {"id": "u", "metadata": {"level": "7"}}
    token = service.token({"type": "simple", "amount": 7, "currency": "EUR"}, user).json()["token"]
    answer = service.post("/api/v1/order", {"token": token})
    assert listed(service, answer.json()["id"])["user"]["metadata"] == {"level": "7"}
