"""Token creation: authentication, required fields, refusals."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import SECRET, Service, running

BUY = {"type": "simple", "amount": 5, "currency": "EUR"}


@pytest.mark.spec("EP1-01", "EP1-02", "EP1-23", "TOK-01", "TOK-02", "SVC-02")
def test_a_token_comes_with_its_form(service: Service) -> None:
    """The response has exactly the token and the address of a form."""
    answer = service.token(BUY)
    assert answer.status_code == 200
    assert set(answer.json()) == {"token", "payment_form_url"}
    assert requests.get(answer.json()["payment_form_url"], timeout=10).status_code == 200


@pytest.mark.spec("TOK-01")
def test_a_token_cannot_be_read_nor_guessed(service: Service) -> None:
    """It is long, another one each time, and tells neither customer nor sale."""
    sent = {**BUY, "description": "A-hat"}
    tokens = {service.token(sent).json()["token"] for _ in range(5)}
    assert len(tokens) == 5
    assert all(len(token) >= 64 and "A-hat" not in token for token in tokens)


@pytest.mark.spec("TOK-01", "EP1-24", "EP1-22")
@pytest.mark.parametrize(
    ("settings", "user", "bought"),
    [
        (
            {
                "type": "simple",
                "amount": 5,
                "currency": "EUR",
                "description": "A hat",
                "metadata": {"a": "1"},
            },
            {
                "id": "player-1",
                "email": {"value": "ada@example.com", "verified": True},
                "ip": {"value": "192.0.2.7"},
            },
            ("simple", 5, "EUR", "A hat", {"a": "1"}, "", "player-1", "ada@example.com", True, "192.0.2.7"),
        ),
        (
            {"type": "key", "products_ids": ["quest"], "platform_id": "gog", "description": "Quest"},
            {"id": "player-2", "phone": {"value": "+441234567", "verified": False}},
            ("key", 12.99, "USD", "Quest", {}, "gog", "player-2", "", False, ""),
        ),
    ],
)
def test_a_token_holds_the_customer_and_the_sale(
    service: Service, settings: dict[str, Any], user: dict[str, Any], bought: tuple[object, ...]
) -> None:
    """In encrypted form: nothing of either can be read in it."""
    token = service.token(settings, user).json()["token"]
    order_id = service.post("/api/v1/order", {"token": token}).json()["id"]
    (item,) = service.listed(("id", order_id)).json()["items"]
    sale = ("type", "amount", "currency", "description", "metadata", "platform_id")
    customer = ("external_id", "email", "email_verified", "ip")
    assert (
        *(item[name] or {} if name == "metadata" else item[name] for name in sale),
        *(item["user"][name] for name in customer),
    ) == bought
    assert item["user"]["phone"] == user.get("phone", {}).get("value", "")
    assert user["id"] not in token and settings["description"] not in token


@pytest.mark.spec("EP2-12", "EP6-05", "EP1-24")
@pytest.mark.parametrize(
    "beside", [{"currency": "JPY"}, {"amount": 1, "currency": "JPY"}, {"products": ["coat"]}]
)
def test_the_sale_of_a_token_is_taken_as_a_whole(service: Service, beside: dict[str, Any]) -> None:
    """A price or a product that is sent beside the token changes nothing, also where the token has none."""
    for settings in ({"type": "product", "products_ids": ["hat"]}, BUY):
        sold = []
        for extra in ({}, beside):
            token = service.token(settings).json()["token"]
            order_id = service.post("/api/v1/order", {"token": token, **extra}).json()["id"]
            (item,) = service.listed(("id", order_id)).json()["items"]
            things = [each["sku"] for each in item["items"] or []]
            sold.append((item["type"], item["amount"], item["currency"], things))
        assert sold[0] == sold[1]


@pytest.mark.spec("EP1-24", "EP1-13")
def test_an_order_has_the_return_addresses_of_its_token(service: Service) -> None:
    """Each at its place; without them those of the project stand."""
    addresses = {"success": "https://shop.example/paid", "fail": "https://shop.example/not"}
    for given in (addresses, {name: f"{each}/2" for name, each in addresses.items()}):
        token = service.token({**BUY, "return_url": given}).json()["token"]
        order = service.sandbox.ledger.find(service.post("/api/v1/order", {"token": token}).json()["id"])
        assert order is not None
        assert (order.url_success, order.url_fail) == (given["success"], given["fail"])


@pytest.mark.spec("EP1-14", "EP1-15")
@pytest.mark.parametrize("name", ["amount", "currency"])
@pytest.mark.parametrize(
    "beside",
    [
        {"is_buy_for_virtual_currency": True},
        {"is_buy_for_virtual_currency": False},
        {"description": "A hat"},
        {"metadata": {"reference": "r-1"}},
        {"button_caption": "Back"},
        {"return_url": {"success": "https://shop.example/paid"}},
    ],
)
def test_nothing_replaces_what_simple_requires(service: Service, name: str, beside: dict[str, Any]) -> None:
    """Amount and currency are required, whichever other parameter is given."""
    settings = {"type": "simple", "amount": 5, "currency": "EUR", **beside}
    assert service.token(settings).status_code == 200
    del settings[name]
    answer = service.token(settings)
    assert (answer.status_code, f"settings.{name}: is required" in answer.json()["details"]) == (400, True)


@pytest.mark.spec("EP1-11")
@pytest.mark.parametrize("document", [{}, {"settings": None}, {"user": {"id": "p-1"}}])
def test_settings_are_required(service: Service, document: dict[str, Any]) -> None:
    """They are named themselves."""
    answer = service.post("/api/v1/tokens", document, headers={"X-API-SIGNATURE": SECRET})
    assert (answer.status_code, "settings: is required" in answer.json()["details"]) == (400, True)


@pytest.mark.spec("EP1-11", "EP1-12", "EP1-14", "EP1-15", "EP1-17", "EP1-19", "EP2-18")
@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"type": "simple", "currency": "EUR"}, "settings.amount"),
        ({"type": "simple", "amount": 5}, "settings.currency"),
        ({"type": "product"}, "settings.products"),
        ({"type": "key", "products_ids": []}, "settings.products"),
        ({"type": "key", "products_ids": ["a", "b"]}, "settings.products"),
        ({}, "settings.type"),
        ({**BUY, "project_id": None}, "settings.project_id"),
    ],
)
def test_what_a_type_requires_must_be_there(service: Service, settings: dict[str, Any], field: str) -> None:
    """A missing field is a 400 with its name in the details."""
    answer = service.token(settings)
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10")
@pytest.mark.parametrize(
    ("user", "field"),
    [
        ({}, "user.id"),
        ({"id": "u", "email": "a@example.com"}, "user.email"),
        ({"id": "u", "email": {"value": "a@example.com", "verified": "yes"}}, "user.email.verified"),
        ({"id": "u", "phone": {"value": 5}}, "user.phone.value"),
        ({"id": "u", "name": "Ada"}, "user.name"),
        ({"id": "u", "ip": {"value": "999.1.1.1"}}, "user.ip.value"),
        ({"id": "u", "locale": {"value": "!!!!!"}}, "user.locale.value"),
        ({"id": "u", "address": {"country": "de"}}, "user.address.country"),
    ],
)
def test_customer_data_has_its_shapes(service: Service, user: dict[str, Any], field: str) -> None:
    """Each field of the customer is checked, and named when it is wrong."""
    answer = service.token(BUY, user)
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("EP1-13", "EP1-16", "EP1-18", "EP1-19", "EP1-20", "EP1-21", "EP1-22")
@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"description": "x" * 256}, "settings.description"),
        ({"button_caption": "x" * 19}, "settings.button_caption"),
        ({"metadata": {"k": 1}}, "settings.metadata"),
        ({"metadata": {"k": "x" * 256}}, "settings.metadata"),
        ({"return_url": {"success": "javascript:alert(1)"}}, "settings.return_url.success"),
        ({"type": "gold"}, "settings.type"),
        ({"platform_id": "amiga"}, "settings.platform_id"),
        ({"is_buy_for_virtual_currency": "yes"}, "settings.is_buy_for_virtual_currency"),
        ({"currency": "usd"}, "settings.currency"),
        ({"amount": "5"}, "settings.amount"),
        ({"amount": 0}, "settings.amount"),
        ({"amount": 1.234}, "settings.amount"),
        ({"products_ids": ["a"]}, "settings.products"),
    ],
)
def test_settings_have_their_limits(service: Service, settings: dict[str, Any], field: str) -> None:
    """Each setting that breaks its rule is a 400 with its name in the details."""
    answer = service.token({**BUY, **settings})
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("EP1-09", "USR-10")
@pytest.mark.parametrize("locale", ["fr", "de"])
def test_a_language_alone_is_a_locale_by_the_specification(locale: str) -> None:
    """RFC 7231 has no shortest text; deployed services want five characters."""
    for profile, status in (("spec", 200), ("field", 400)):
        with running(profile=profile) as service:
            answer = service.token(BUY, {"id": "u", "locale": {"value": locale}})
            assert answer.status_code == status
            if status == 200:
                service.post("/api/v1/order", {"token": answer.json()["token"]})
                assert service.listed().json()["items"][0]["user"]["locale"] == locale


@pytest.mark.spec("EP1-05", "EP1-06", "USR-06", "USR-08")
@pytest.mark.parametrize("email", [True, False])
@pytest.mark.parametrize("phone", [True, False])
def test_e_mail_and_phone_are_verified_each_by_itself(service: Service, email: bool, phone: bool) -> None:
    """The order says of each what the token says of it."""
    user = {
        "id": "player-1",
        "email": {"value": "ada@example.com", "verified": email},
        "phone": {"value": "+441234567", "verified": phone},
    }
    service.post("/api/v1/order", {"token": service.token(BUY, user).json()["token"]})
    (item,) = service.listed().json()["items"]
    assert (item["user"]["email_verified"], item["user"]["phone_verified"]) == (email, phone)


@pytest.mark.spec("EP1-16", "ORD-05")
@pytest.mark.parametrize("description", ["A hat", "Größe ✓", " A\n\n hat ", ""])
def test_the_description_of_a_token_is_that_of_its_order(service: Service, description: str) -> None:
    """One is generated where the token has none."""
    token = service.token({**BUY, "description": description}).json()["token"]
    made = service.post("/api/v1/order", {"token": token}).json()["id"]
    (item,) = service.listed(("id", made)).json()["items"]
    assert item["description"] == (description or f"Payment by order # {made}")


@pytest.mark.spec("AUT-05", "HTT-06", "HTT-01", "EP1-02", "AUT-02")
@pytest.mark.parametrize(("profile", "status"), [("spec", 401), ("field", 400)])
@pytest.mark.parametrize("secret", [None, "sandbox_other", "SANDBOX_SECRET", "sandbox_", "sandbox_secret2"])
@pytest.mark.parametrize("user", [None, {"id": "player-1"}, {"id": "player-2", "name": {"value": "Ada"}}])
def test_a_token_needs_the_secret(profile: str, status: int, secret: str | None, user: Any) -> None:
    """Without the right secret there is no token, with a customer or without: 401 by the specification, 400 in the field."""
    with running(profile=profile) as service:
        answer = service.token(BUY, user, secret=secret)
    assert answer.status_code == status
    assert set(answer.json()) >= {"code", "message"}


@pytest.mark.spec("EP1-23", "HTT-09", "HTT-15")
@pytest.mark.parametrize(("profile", "status"), [("spec", 404), ("field", 400)])
def test_an_unknown_project_has_no_tokens(profile: str, status: int) -> None:
    """A project that does not exist is a 404 by the specification, a 400 in the field."""
    with running(profile=profile) as service:
        assert service.token({**BUY, "project_id": "nobody"}).status_code == status


@pytest.mark.spec("HTT-07")
def test_a_live_project_must_be_activated() -> None:
    """Live requests of an account that is not yet activated are a 402."""
    with running(live=True, activated=False) as service:
        assert service.token(BUY).status_code == 402
