"""Requests for tokens and orders: their shapes, required fields, and limits of fields."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.protocol.creation import (
    OrderRequest,
    TokenRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.creation_rules import check_token
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.protocol.strict_json import dumps, loads
from tests.support.protocol.creation_requests import (
    ADA,
    KEY_ORDER,
    KEY_TOKEN,
    SIMPLE_ORDER,
    SIMPLE_TOKEN,
    order_problems,
    token_problems,
)
from tests.support.protocol.vectors import vector


@pytest.mark.spec(
    "EP1-03", "EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10", "EP1-11", "EP1-12", "EP1-13",
    "EP1-14", "EP1-16", "EP1-17", "EP1-18", "EP1-19", "EP1-20", "EP1-21", "EP1-22",
)  # fmt: skip
def test_a_full_token_request_has_the_shape_of_the_specification() -> None:
    """The user has an id and values in objects of their own; the rest is in settings."""
    assert build_token_document(KEY_TOKEN) == vector("token_request_full")


@pytest.mark.spec("EP1-12", "EP1-14", "EP1-15", "EP1-19")
def test_the_least_simple_token() -> None:
    """Project, type, currency and amount; missing values are left out, not null."""
    assert build_token_document(SIMPLE_TOKEN) == vector("token_request_simple")


@pytest.mark.spec(
    "EP2-03",
    "EP2-05",
    "EP2-06",
    "EP2-07",
    "EP2-08",
    "EP2-09",
    "EP2-10",
    "EP2-11",
    "EP2-13",
    "EP2-14",
    "EP2-15",
    "EP2-16",
)
def test_a_full_order_request_has_the_shape_of_the_specification() -> None:
    """Everything is flat, the user too."""
    assert build_order_document(KEY_ORDER) == vector("order_request_full")


@pytest.mark.spec("EP2-03", "EP2-04", "EP2-05", "EP2-15", "EP2-18")
def test_simple_checkout_is_project_amount_currency_and_type() -> None:
    """The first of the accepted shapes."""
    assert build_order_document(SIMPLE_ORDER) == vector("order_request_simple")


@pytest.mark.spec("EP2-11", "EP2-18", "SVC-03")
def test_virtual_items_are_project_products_and_type() -> None:
    """One or more products."""
    request = OrderRequest(project="proj-1", type="product", products=("item-1", "item-2"))
    assert loads(dumps(build_order_document(request)).encode()) == vector("order_request_product")


@pytest.mark.spec("EP2-12", "EP6-05", "EP1-24")
def test_an_order_by_token_is_the_token_only() -> None:
    """The token has the required parameters, so no others are needed."""
    assert build_order_document(OrderRequest(token="tok-1")) == vector("order_request_token")


@pytest.mark.spec("EP2-12")
def test_a_token_may_come_with_other_parameters() -> None:
    """It overrides them; their own limits still apply."""
    assert build_order_document(OrderRequest(token="tok-1", account="a")) == {
        "token": "tok-1",
        "account": "a",
    }
    assert set(order_problems(OrderRequest(token="tok-1", description="x" * 256))) == {"description"}


@pytest.mark.spec("EP1-24", "EP2-12", "LIM-03", "TOK-01")
@pytest.mark.parametrize("length", [1, 4_097, 100_000])
def test_a_token_of_any_length_makes_an_order(length: int) -> None:
    """The service has issued it, so its length is right."""
    assert build_order_document(OrderRequest(token="t" * length)) == {"token": "t" * length}


@pytest.mark.spec("EP2-12")
@pytest.mark.parametrize("token", [5, "half a character: \ud800"])
def test_a_wrong_token_is_one_problem(token: Any) -> None:
    """A project is not required beside it."""
    assert set(order_problems(OrderRequest(token=token))) == {"token"}


@pytest.mark.spec("EP1-15", "EP2-04")
def test_the_amount_is_sent_with_its_exact_digits() -> None:
    """As a JSON number from the Decimal, never by way of a float."""
    request = replace(SIMPLE_ORDER, amount=Decimal("999999999999.90"))
    assert '"amount":999999999999.90' in dumps(build_order_document(request))


@pytest.mark.spec("EP1-14", "EP1-15")
def test_a_simple_token_requires_amount_and_currency() -> None:
    """Both are missed at once."""
    problems = token_problems(TokenRequest(project_id="proj-1", type="simple"))
    assert set(problems) == {"settings.amount", "settings.currency"}


@pytest.mark.spec("EP1-11")
@pytest.mark.parametrize("document", [{}, {"settings": None}, {"user": {"id": "p-1"}}])
def test_a_token_requires_settings(document: dict[str, Any]) -> None:
    """They are named themselves, not only what they lack."""
    with pytest.raises(CreationError) as caught:
        check_token(document)
    assert [problem for problem in caught.value.problems if problem[0] == "settings"]


@pytest.mark.spec("EP2-03", "EP2-04", "EP2-05", "EP2-15")
def test_an_order_requires_project_and_type_and_simple_the_price() -> None:
    """Every missing field is named, with what to do."""
    assert set(order_problems(OrderRequest())) == {"project", "type"}
    problems = order_problems(OrderRequest(project="", type="simple"))
    assert set(problems) == {"project", "amount", "currency"}
    assert all(problems.values())


@pytest.mark.parametrize("kind", ["product", "key"])
@pytest.mark.spec("EP1-17", "EP2-11")
def test_products_are_required_for_products_and_keys(kind: str) -> None:
    """An empty list is no product."""
    assert set(token_problems(TokenRequest(project_id="p", type=kind, products_ids=[]))) == {
        "settings.products_ids"
    }
    assert set(order_problems(OrderRequest(project="p", type=kind))) == {"products"}


@pytest.mark.spec("SVC-03", "EP2-15")
def test_virtual_currency_requires_neither() -> None:
    """Amount and currency are required for simple, products for product and key; nothing is for this type."""
    assert build_order_document(OrderRequest(project="p", type="virtual_currency")) == {
        "project": "p",
        "type": "virtual_currency",
    }


@pytest.mark.spec("EP2-18")
def test_a_key_order_has_exactly_one_product() -> None:
    """One key product, says the shape."""
    for products in (["key-1", "key-2"], ("key-1", "key-2"), ["key-1", "key-1"]):
        assert set(order_problems(replace(KEY_ORDER, products=products))) == {"products"}
        token = replace(KEY_TOKEN, products_ids=products)
        assert set(token_problems(token)) == {"settings.products_ids"}


@pytest.mark.spec("EP2-18", "EP2-04")
@pytest.mark.parametrize("kind", ["product", "key"])
def test_products_and_keys_have_no_amount(kind: str) -> None:
    """Deployed services refuse it: the price is theirs."""
    request = OrderRequest(project="p", type=kind, products=["a"], amount=Decimal(1), currency="USD")
    assert set(order_problems(request)) == {"amount"}


@pytest.mark.spec("EP2-18", "EP2-11")
def test_simple_has_no_products() -> None:
    """Deployed services refuse both a price and products; an empty list is left out."""
    assert set(order_problems(replace(SIMPLE_ORDER, products=["a"]))) == {"products"}
    assert "products" not in build_order_document(replace(SIMPLE_ORDER, products=[]))


@pytest.mark.parametrize("kind", [None, "", "products", "SIMPLE", 5])
@pytest.mark.spec("EP1-19", "EP2-15")
def test_the_type_is_one_of_four(kind: Any) -> None:
    """`products` is what an Order object says, not what creation takes."""
    problems = token_problems(replace(SIMPLE_TOKEN, type=kind))
    assert "virtual_currency" in problems["settings.type"]


@pytest.mark.parametrize(
    "amount",
    [9.99, 10, "9.99", True, Decimal(0), Decimal(-1), Decimal("NaN"), Decimal("Infinity"), Decimal("1e50"),
     Decimal("9.999"), Decimal("1e-50")],
)  # fmt: skip
@pytest.mark.spec("EP1-15", "EP2-04")
def test_the_amount_is_a_positive_decimal_that_fits_its_currency(amount: Any) -> None:
    """Floats, zero, negative and endless numbers, and a third place for USD are refused."""
    assert set(order_problems(replace(SIMPLE_ORDER, amount=amount))) == {"amount"}


@pytest.mark.spec("EP2-04", "EP2-05")
@pytest.mark.parametrize(
    ("amount", "currency"), [("100", "JPY"), ("1.234", "KWD"), ("9.9900", "USD"), ("1", "USD")]
)
def test_amounts_fit_the_places_of_their_currency(amount: str, currency: str) -> None:
    """Each currency has its own."""
    request = replace(SIMPLE_ORDER, amount=Decimal(amount), currency=currency)
    assert build_order_document(request)["currency"] == currency


@pytest.mark.spec("EP2-04", "EP2-05")
def test_a_yen_has_no_cents() -> None:
    """The wrong exponent has given hundredfold charges elsewhere."""
    assert set(order_problems(replace(SIMPLE_ORDER, amount=Decimal("9.99"), currency="JPY"))) == {"amount"}


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "U1D", "ＵＳＤ", "", 840, "ZZZ", "ANG", "BGN"])
@pytest.mark.spec("EP1-14", "EP2-05")
def test_the_currency_is_an_active_code(currency: Any) -> None:
    """ISO 4217, uppercase."""
    assert "currency" in order_problems(replace(SIMPLE_ORDER, currency=currency))


@pytest.mark.spec("EP2-14")
def test_a_prepared_order_is_project_and_order() -> None:
    """The service knows the content; a request that repeats it must be valid in itself."""
    request = OrderRequest(project="p", order="order-9")
    assert build_order_document(request) == {"project": "p", "order": "order-9"}
    assert set(order_problems(replace(request, type="simple"))) == {"amount", "currency"}


@pytest.mark.spec("EP1-18", "EP2-16")
def test_the_platform_is_for_keys_and_from_the_list() -> None:
    """Both rules, on both endpoints, for each of the other types."""
    for kind, products in (
        ("product", ["item-1"]),
        ("virtual_currency", None),
        ("virtual_currency", ["gems"]),
    ):
        request = OrderRequest(project="p", type=kind, products=products, platform_id="steam")
        assert order_problems(request) == {"platform_id": "is used only for type key; leave it out"}
        token = TokenRequest(project_id="p", type=kind, products_ids=products, platform_id="steam")
        assert set(token_problems(token)) == {"settings.platform_id"}
    assert set(order_problems(replace(SIMPLE_ORDER, platform_id="steam"))) == {"platform_id"}
    assert set(token_problems(replace(SIMPLE_TOKEN, platform_id="steam"))) == {"settings.platform_id"}
    assert set(order_problems(replace(KEY_ORDER, platform_id="amiga"))) == {"platform_id"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"description": "x" * 256}, "settings.description"),
        ({"button_caption": "x" * 19}, "settings.button_caption"),
        ({"metadata": {"k": "x" * 256}}, "settings.metadata.k"),
        ({"metadata": {"k" * 256: "x"}}, "settings.metadata"),
        ({"metadata": {"k": 5}}, "settings.metadata.k"),
        ({"metadata": {"k": None}}, "settings.metadata.k"),
        ({"metadata": {"k": "half \ud800"}}, "settings.metadata.k"),
        ({"is_buy_for_virtual_currency": "no"}, "settings.is_buy_for_virtual_currency"),
        ({"products_ids": ["key-1", "key-2"]}, "settings.products_ids"),
        ({"currency": "ZZZ"}, "settings.currency"),
        ({"metadata": [("k", "v")]}, "settings.metadata"),
        ({"products_ids": "key-1"}, "settings.products_ids"),
        ({"products_ids": [5]}, "settings.products_ids.0"),
        ({"products_ids": [""]}, "settings.products_ids.0"),
        ({"project_id": ""}, "settings.project_id"),
        ({"project_id": 5}, "settings.project_id"),
        ({"return_url_success": "/paid"}, "settings.return_url.success"),
        ({"return_url_fail": "javascript:alert(1)"}, "settings.return_url.fail"),
        ({"return_url_fail": "https://evil\\@good.example/"}, "settings.return_url.fail"),
        ({"return_url_fail": "https://[bad/"}, "settings.return_url.fail"),
        ({"return_url_fail": "https:///nowhere"}, "settings.return_url.fail"),
    ],
)
@pytest.mark.spec("EP1-13", "EP1-16", "EP1-17", "EP1-20", "EP1-21", "EP1-22")
def test_fields_have_limits(change: dict[str, Any], field: str) -> None:
    """What deployed services refuse is refused before it is sent."""
    assert set(token_problems(replace(KEY_TOKEN, **change))) == {field}


@pytest.mark.spec("EP1-09", "EP1-16", "EP1-21", "LIM-03")
def test_the_limits_themselves_are_allowed() -> None:
    """255 characters, 18 for the caption, five for the locale."""
    build_token_document(
        replace(
            KEY_TOKEN,
            description="x" * 255,
            button_caption="x" * 18,
            metadata={"k" * 255: "v" * 255},
            user=replace(ADA, locale="en-US"),
        )
    )


def test_all_problems_are_reported_at_once() -> None:
    """A developer corrects a request once; values do not appear in the message."""
    request = replace(
        KEY_ORDER, currency="eur", amount=Decimal(1), description="d" * 256, url_fail="secret-path"
    )
    with pytest.raises(CreationError) as caught:
        build_order_document(request)
    assert {field for field, _ in caught.value.problems} == {"currency", "amount", "description", "url_fail"}
    assert "secret-path" not in str(caught.value)
    assert "url_fail: must be a complete web address" in str(caught.value)


def test_repr_of_a_request_shows_no_personal_data() -> None:
    """Requests end up in tracebacks."""
    shown = repr(KEY_TOKEN) + repr(KEY_ORDER) + repr(OrderRequest(token="tok-secret"))
    for text in ("Ada", "ada@", "+4930", "192.0.2.7", "Berlin", "player-42", "ref-0001", "tok-secret"):
        assert text not in shown
