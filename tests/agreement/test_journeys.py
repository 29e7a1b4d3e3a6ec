"""What a shop says of a sale, on its whole way: the request, the order at the service, its form, and back in the shop's row.

Three sales that differ in everything, by an order and by a token, in both profiles of the sandbox.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import pytest
import requests

from checkout_integration import flows
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Card
from checkout_integration.sandbox.orders.documents import Context
from checkout_integration.testing.service import CheckoutSandbox, running_sandbox

pytestmark = pytest.mark.django_db(transaction=True)

PROJECT: Final = "Test-Project 2"
BERLIN: Final = {"country": "DE", "city": "Berlin", "postal_code": "10115", "state": "DE-BE"}
OAKLAND: Final = {"country": "US", "city": "Oakland", "postal_code": "94601", "state": "CA"}
ADA: Final[dict[str, Any]] = {
    "external_id": " Player/7 ", "name": " ada LOVELACE", "email": "Ada@Mail.example", "email_verified": True,
    "phone": "+49 30 123456", "phone_verified": False, "ip": "192.0.2.7", "locale": "de-DE", "address": BERLIN,
}  # fmt: skip
BEN: Final[dict[str, Any]] = {
    "external_id": "ben/2", "name": "Ben", "email": "ben@shop.example", "email_verified": False,
    "phone": "12025550103", "phone_verified": True, "ip": "2001:db8::1", "locale": "en-US", "address": OAKLAND,
}  # fmt: skip
SALES: list[dict[str, Any]] = [
    {
        "customer": ADA,
        "terms": {"type": "simple", "amount": Decimal("9.99"), "currency": "EUR"},
        "more": {"description": " A „HAT“\n", "metadata": {"Gift": "Yes", "note": "for ADA "}},
        "caption": "Back to the hats",
        "addresses": {
            "url_success": "https://shop.example/Paid?a=1",
            "url_fail": "https://shop.example/No#b",
        },
        "spent": None,
    },
    {
        "customer": BEN,
        "terms": {"type": "product", "products": ["map", "Ant", "map"]},
        "more": {"description": "x" * 255, "metadata": {"k" * 255: "v" * 255}},
        "caption": "x" * 18,
        "addresses": {"url_success": "https://ben.example/yes", "url_fail": "https://ben.example/no"},
        "spent": True,
    },
    {
        "customer": {"external_id": "cleo/3"},
        "terms": {"type": "key", "products": ["Quest"], "platform_id": "egs"},
        "more": {},
        "caption": "",
        "addresses": {},
        "spent": False,
    },
]
SALES += [
    {"customer": {"external_id": "d/4"}, "terms": {"type": "simple", "amount": amount, "currency": currency},
     "more": {}, "caption": "", "addresses": {}, "spent": None}
    for amount, currency in ((Decimal("1.234"), "KWD"), (Decimal(1200), "JPY"))
]  # fmt: skip
SALE = pytest.mark.parametrize("sale", SALES, ids=["simple", "product", "key", "three places", "none"])
BOTH = pytest.mark.parametrize("profile", ["field", "spec"])


def running(settings: Any, profile: str) -> Any:
    """Run the service with a project that has usual addresses of its own and allows those of a sale."""
    written = settings.CHECKOUT_INTEGRATION
    default = {**written["PROJECTS"]["default"], "PROJECT_ID": PROJECT}
    settings.CHECKOUT_INTEGRATION = {**written, "PROJECTS": {"default": default}, "DYNAMIC_URLS": True}
    return running_sandbox(settings, profile=profile)


def customer_of(known: dict[str, Any]) -> flows.Customer:
    """Return the customer as the shop gives them."""
    address = known.get("address")
    return flows.Customer(**{**known, "address": address and flows.CustomerAddress(**address)})


def sent(sandbox: CheckoutSandbox, end: str) -> Any:
    """Return the body of the latest request to this path."""
    exchange = max(
        (each for each in sandbox.log.entries() if each.url.endswith(end)), key=lambda each: each.number
    )
    return json.loads(exchange.request, parse_float=Decimal)


def check_order(sandbox: CheckoutSandbox, sale: dict[str, Any], checkout: Checkout) -> None:
    """Check the order at the service, and the row that the shop has after reading it."""
    order = sandbox.ledger.find(checkout.order_id)
    assert order is not None
    usual = {"url_success": "https://usual.example/yes", "url_fail": "https://usual.example/no"}
    assert {name: getattr(order, name) for name in usual} == usual | sale["addresses"]
    assert sandbox.pay(order.id) == "paid"
    flows.refresh_order(Order.objects.get(order_id=order.id))
    row = Order.objects.get(order_id=order.id)
    terms, more = sale["terms"], sale["more"]
    for context in Context:
        paid = sandbox.ledger.find(order.id)
        assert paid is not None
        document = sandbox.documents.order(paid, context)
        assert document["metadata"] == {
            **more.get("metadata", {}),
            "checkout_reference": checkout.reference,
        }
        assert document["description"] == more.get("description", f"Payment by order # {order.id}")
        assert [item["id"] for item in document["items"] or ()] == terms.get("products", [])
        assert document["platform_id"] == terms.get("platform_id", "")
        assert document["currency"] == terms.get("currency", "USD")
        assert document["amount"] == terms.get("amount", document["amount"]) > 0
        said = {name: document["user"][name] for name in sale["customer"]}
        assert said == sale["customer"]
    read = row.snapshot
    assert read.user is not None
    assert (row.order_id, row.checkout) == (order.id, checkout)
    assert (read.description, read.metadata) == (document["description"], document["metadata"])
    assert (row.type, row.amount, row.currency) == (terms["type"], document["amount"], document["currency"])
    assert [item.item_id for item in row.items.all()] == terms.get("products", [])
    assert {name: getattr(read.user, name) for name in sale["customer"] if name != "address"} == {
        name: value for name, value in sale["customer"].items() if name != "address"
    }


@pytest.mark.spec("EP2-03", "EP2-04", "EP2-05", "EP2-06", "EP2-07", "EP2-08", "EP2-09", "EP2-10")
@pytest.mark.spec(
    "EP2-11", "EP2-13", "EP2-15", "EP2-16", "EP2-17", "EP2-18", "SVC-02", "SVC-03", "ORD-05", "SVC-01"
)
@BOTH
@SALE
def test_a_sale_by_an_order(settings: Any, sale: dict[str, Any], profile: str) -> None:
    """Each argument is a parameter of its own, to the letter, and nothing else is sent."""
    with running(settings, profile) as sandbox:
        sandbox.projects.update(
            PROJECT, success_url="https://usual.example/yes", fail_url="https://usual.example/no"
        )
        checkout = flows.create_checkout(
            customer=customer_of(sale["customer"]), **sale["terms"], **sale["more"], **sale["addresses"]
        )
        assert sent(sandbox, "/order") == {
            "project": PROJECT,
            **sale["terms"],
            **sale["more"],
            **sale["addresses"],
            "account": sale["customer"]["external_id"],
            "user": sale["customer"],
            "metadata": {**sale["more"].get("metadata", {}), "checkout_reference": checkout.reference},
        }
        assert checkout.order_id in checkout.payment_form_url
        assert requests.get(checkout.payment_form_url, timeout=10).status_code == 200
        check_order(sandbox, sale, checkout)


def in_token(customer: dict[str, Any]) -> dict[str, Any]:
    """Return a customer in the shape of token creation."""
    values: dict[str, Any] = {
        name: {"value": customer[name]}
        for name in ("name", "email", "phone", "ip", "locale")
        if name in customer
    }
    for name in ("email", "phone"):
        if name in customer:
            values[name]["verified"] = customer[f"{name}_verified"]
    address = {"address": customer["address"]} if "address" in customer else {}
    return {"id": customer["external_id"], **values, **address}


@pytest.mark.spec("EP1-03", "EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10", "EP1-11")
@pytest.mark.spec("EP1-12", "EP1-13", "EP1-14", "EP1-15", "EP1-16", "EP1-17", "EP1-18", "EP1-19", "EP1-20")
@pytest.mark.spec("EP1-21", "EP1-22", "EP1-23", "EP1-24", "EP2-12", "EP6-05", "TOK-01", "TOK-02", "SVC-02")
@pytest.mark.spec("SVC-01", "EP1-01", "EP2-01")
@BOTH
@SALE
def test_a_sale_by_a_token(settings: Any, sale: dict[str, Any], profile: str) -> None:
    """In the token's shape; the order that is made of the token alone has all of it, and its form leads back by it."""
    with running(settings, profile) as sandbox:
        sandbox.projects.update(
            PROJECT, success_url="https://usual.example/yes", fail_url="https://usual.example/no"
        )
        issued = flows.create_token(
            customer=customer_of(sale["customer"]),
            button_caption=sale["caption"],
            is_buy_for_virtual_currency=sale["spent"],
            **sale["terms"],
            **sale["more"],
            **sale["addresses"],
        )
        products = {"products_ids": sale["terms"]["products"]} if "products" in sale["terms"] else {}
        caption = {"button_caption": sale["caption"]} if sale["caption"] else {}
        spent = {} if sale["spent"] is None else {"is_buy_for_virtual_currency": sale["spent"]}
        back = {name.removeprefix("url_"): address for name, address in sale["addresses"].items()}
        assert sent(sandbox, "/tokens") == {
            "user": in_token(sale["customer"]),
            "settings": {
                "project_id": PROJECT,
                **{name: value for name, value in sale["terms"].items() if name != "products"},
                **products,
                **caption,
                **spent,
                **({"return_url": back} if back else {}),
                **sale["more"],
                "metadata": {
                    **sale["more"].get("metadata", {}),
                    "checkout_reference": issued.checkout.reference,
                },
            },
        }
        assert issued.token in issued.payment_form_url == issued.checkout.payment_form_url
        assert sale["customer"]["external_id"] not in issued.token
        assert requests.get(issued.payment_form_url, timeout=10).status_code == 200
        checkout = flows.create_order_from_token(issued)
        assert sent(sandbox, "/order") == {"token": issued.token}
        check_order(sandbox, sale, checkout)
        order = sandbox.ledger.find(checkout.order_id)
        assert order is not None
        assert order.is_buy_for_virtual_currency is bool(sale["spent"])
        assert buttons(checkout) == {order.url_success: sale["caption"] or "OK"}
        refused = flows.create_order_from_token(
            flows.create_token(
                customer=customer_of(sale["customer"]),
                button_caption=sale["caption"],
                **sale["terms"],
                **sale["addresses"],
            )
        )
        sandbox.payments.pay(refused.order_id, Card(number="4000000000000002"))
        assert buttons(refused) == {order.url_fail: sale["caption"] or "OK"}


def buttons(checkout: Checkout) -> dict[str, str]:
    """Return the way back on the form of an order that has ended: its address and its caption."""
    page = requests.get(checkout.payment_form_url, timeout=10).text
    return {
        part.split('"', 1)[0].replace("&amp;", "&"): part.split(">", 1)[1].split("<", 1)[0]
        for part in page.split('href="')[1:]
        if "returnRequested" in part.split(">", 1)[0]
    }


@pytest.mark.spec("EP1-09", "EP2-13")
@pytest.mark.parametrize(
    ("locale", "in_order", "in_token"),
    [
        ("fr", "fr", None),
        ("zh-hans", "zh-Hans-CN", "zh-hans"),
        ("pt_BR", "pt-BR", "pt-BR"),
        ("eo", "eo", None),
    ],
)
def test_a_locale_has_the_form_of_each_request(
    checkout_sandbox: CheckoutSandbox, locale: str, in_order: str, in_token: str | None
) -> None:
    """Language-region in an order, Accept-Language in a token; a name without such a form is left out there."""
    sold: dict[str, Any] = {
        "amount": Decimal(1),
        "currency": "USD",
        "customer": flows.Customer(external_id="c", locale=locale),
    }
    flows.create_checkout(**sold)
    flows.create_token(**sold)
    assert sent(checkout_sandbox, "/order")["user"].get("locale") == in_order
    assert sent(checkout_sandbox, "/tokens")["user"].get("locale", {}).get("value") == in_token


@pytest.mark.spec("EP1-03", "EP1-04", "USR-03")
def test_an_account_of_the_shop_is_the_customer_of_a_token(
    checkout_sandbox: CheckoutSandbox, django_user_model: Any
) -> None:
    """By its primary key, beside what else is known of the customer, whose attributes travel too; a guest is nobody."""
    price: dict[str, Any] = {"amount": Decimal(1), "currency": "USD"}
    accounts = [django_user_model.objects.create(username=name) for name in ("ada", "ben")]
    for account in accounts:
        flows.create_token(user=account, **price)
        assert sent(checkout_sandbox, "/tokens")["user"] == {"id": str(account.pk)}
        flows.create_token(
            user=account, customer=flows.Customer(name="N", metadata={"Guild": "Owl"}), **price
        )
        assert sent(checkout_sandbox, "/tokens")["user"] == {
            "id": str(account.pk),
            "name": {"value": "N"},
            "metadata": {"Guild": "Owl"},
        }
    flows.create_token(**price)
    assert "user" not in sent(checkout_sandbox, "/tokens")
