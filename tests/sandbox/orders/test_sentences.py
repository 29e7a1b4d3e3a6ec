"""Each sentence about an order, over sales that differ.

There are cards, a wallet, a crypto currency, a token, a renewal, a second currency and a refusal. `test_documents` compares
whole documents; here each field has at least two values, and the test says of them what its sentence says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox import Product
from tests.support.sandbox.service import PROJECT, SECRET, Service, running

ADA: dict[str, Any] = {
    "external_id": "ada", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": True, "phone": "+441234567",
    "phone_verified": False, "ip": "192.0.2.7", "locale": "en-GB",
    "address": {"country": "DE", "city": "Berlin", "postal_code": "10115", "state": "DE-BE"},
}  # fmt: skip
BEN: dict[str, Any] = {
    "external_id": "ben", "name": "Ben", "email": "ben@example.com", "email_verified": False, "phone": "+331",
    "phone_verified": True, "ip": "2001:db8::1", "address": {"country": "FR", "city": "Lyon"},
}  # fmt: skip
CID: dict[str, Any] = {
    "id": "cid", "name": {"value": "Cid"}, "email": {"value": "cid@example.com", "verified": True},
    "phone": {"value": "+1555", "verified": True}, "ip": {"value": "198.51.100.9"},
    "address": {"country": "US", "state": "US-CA", "city": "Oakland", "postal_code": "94601"},
}  # fmt: skip
OWL = Product(
    id="owl", sku="OWL-1", name="Owl", description="A grey owl", price=Decimal(5), kind=OrderType.PRODUCT
)
RAVEN = Product(
    id="raven", name="Tin raven", description="It caws", price=Decimal("7.50"), kind=OrderType.PRODUCT
)
QUEST = Product(id="quest", name="Quest", price=Decimal("14.99"), kind=OrderType.KEY)
SIMPLE: dict[str, Any] = {"type": "simple", "amount": 9.99, "currency": "USD"}


@dataclass
class Sale:
    """One sale: the id that creation returned, and the order in its newest notification and in the list."""

    id: str
    notified: dict[str, Any]
    listed: dict[str, Any]

    @property
    def both(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The order in both contexts."""
        return self.notified, self.listed


def order(service: Service, **parameters: Any) -> str:
    """Create an order with its customer, a minute after the one before."""
    service.advance(60)
    headers = {"X-API-SIGNATURE": SECRET}
    answer = service.post("/api/v1/order", {"project": PROJECT, **parameters}, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def sell(service: Service) -> dict[str, str]:
    """Make the sales; return the order's id of each."""
    sold = {
        "unpaid": order(service, **SIMPLE, user=ADA),
        "card": order(service, **SIMPLE, user=ADA, metadata={"basket": "7"}),
    }
    service.advance(60)
    service.act(
        sold["card"],
        "pay",
        billing_country="DE",
        receipt_email="ada@example.com",
        notify_sale=True,
        saved=True,
    )
    sold["wallet"] = order(service, type="product", products=["owl", "raven"], user=BEN)
    service.act(sold["wallet"], "pay", wallet="ben-1", receipt_email="ben@example.com")
    sold["crypto"] = order(service, type="simple", amount=500, currency="JPY", account="guest-7")
    service.act(sold["crypto"], "pay", crypto_currency="bc1q")
    settings = {**SIMPLE, "amount": 4, "description": "By token", "metadata": {"from": "a token"}}
    token = service.token(settings, CID).json()["token"]
    service.advance(60)
    sold["token"] = service.post("/api/v1/order", {"token": token}).json()["id"]
    service.act(sold["token"], "pay", card="5555555555554444")
    service.sandbox.projects.update(
        PROJECT, title="Owl Games", agreement_number="OG-2", charge_currency="CHF", charge_rate=Decimal("0.9")
    )
    sold["abroad"] = order(service, **{**SIMPLE, "amount": 20}, user=ADA)
    service.act(sold["abroad"], "pay", recurring=True)
    service.advance(60)
    sold["renewal"] = service.act(sold["abroad"], "renew").json()["id"]
    sold["refused"] = order(service, **SIMPLE)
    service.act(sold["refused"], "pay", card="4000000000000002")
    sold["canceled"] = order(service, **SIMPLE)
    service.act(sold["canceled"], "cancel")
    for name, reason in (("refunded", "Wrong platform"), ("again", "Too dear"), ("same", "Wrong platform")):
        sold[name] = order(service, type="key", products=["quest"], platform_id="gog")
        service.act(sold[name], "pay")
        service.act(sold[name], "refund", reason=reason)
    sold["charged back"] = order(service, **SIMPLE)
    service.act(sold["charged back"], "pay")
    service.act(sold["charged back"], "chargeback")
    sold["both"] = order(service, **SIMPLE, user={"external_id": "dan"}, account="dan@home")
    service.act(sold["both"], "pay")
    sold["marked"] = order(
        service, **SIMPLE, metadata={"gift": "", "to": " Ben ", "note": "a\nb"}, description=" A\n\n hat "
    )
    service.act(sold["marked"], "pay")
    return sold


@pytest.fixture(scope="module", params=["field", "spec"])
def profile(request: pytest.FixtureRequest) -> str:
    """Each behaviour."""
    return str(request.param)


@pytest.fixture(scope="module")
def sales(profile: str) -> Iterator[dict[str, Sale]]:
    """The sales by name; none of the tests changes anything."""
    with running(
        profile=profile,
        vat_payer="buyer",
        catalogue=(OWL, RAVEN, QUEST),
        title="Starlight",
        agreement_number="ST-1",
    ) as service:
        sold = sell(service)
        listed = {
            item["id"]: item
            for item in json.loads(service.listed(("limit", "100")).content, parse_float=Decimal)["items"]
        }
        notified = {
            each.document["object"]["id"]: each.document["object"] for each in service.receiver.received
        }
        yield {
            name: Sale(id=id, notified=notified.get(id, listed[id]), listed=listed[id])
            for name, id in sold.items()
        }


def of(sales: dict[str, Sale], *names: str) -> list[dict[str, Any]]:
    """Return these sales' orders, each in both contexts."""
    return [document for name in names for document in sales[name].both]


PAID = ("card", "wallet", "crypto", "token", "abroad", "renewal", "refunded", "again", "same")
NOT_PAID = ("unpaid", "refused", "canceled")


@pytest.mark.spec("ORD-01")
def test_an_order_keeps_the_id_that_creation_returned(sales: dict[str, Sale]) -> None:
    """In every context and status; no two orders share one."""
    assert all(document["id"] == sale.id for sale in sales.values() for document in sale.both)
    assert len({sale.id for sale in sales.values()}) == len(sales)


@pytest.mark.spec("ORD-02")
def test_a_payment_has_the_transaction_of_its_issuer(sales: dict[str, Sale]) -> None:
    """Each payment its own, which is not the order's id; without a payment there is none."""
    transactions = [{document["transaction"] for document in sales[name].both} for name in (*PAID, "refused")]
    assert all(len(each) == 1 for each in transactions)
    assert len(set[str]().union(*transactions)) == len(transactions)
    assert not set[str]().union(*transactions) & ({"", *(sale.id for sale in sales.values())})
    assert {document["transaction"] for document in of(sales, "unpaid", "canceled")} == {""}


@pytest.mark.spec("ORD-04", "STA-01")
@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("unpaid", "created", marks=pytest.mark.spec("STA-02")),
        pytest.param("card", "processed", marks=pytest.mark.spec("STA-03")),
        pytest.param("renewal", "processed", marks=pytest.mark.spec("STA-03")),
        pytest.param("refused", "rejected", marks=pytest.mark.spec("STA-05")),
        pytest.param("canceled", "canceled", marks=pytest.mark.spec("STA-04")),
        pytest.param("refunded", "refunded", marks=pytest.mark.spec("STA-06")),
        pytest.param("charged back", "chargeback", marks=pytest.mark.spec("STA-07")),
    ],
)
def test_an_order_says_its_status(sales: dict[str, Sale], profile: str, name: str, status: str) -> None:
    """In both contexts; but payment.success of deployed services still says created."""
    success = profile == "field" and status == "processed"
    assert sales[name].notified["status"] == ("created" if success else status)
    assert sales[name].listed["status"] == status


@pytest.mark.spec("ORD-06")
def test_an_order_has_the_time_of_its_creation(sales: dict[str, Sale]) -> None:
    """In ISO 8601; not that of its payment, nor of the token that it was made with."""
    times = {name: {document["created_at"] for document in sale.both} for name, sale in sales.items()}
    assert times["unpaid"] == {"2026-03-04T12:01:00Z"}
    assert times["card"] == {"2026-03-04T12:02:00Z"}
    assert times["wallet"] == {"2026-03-04T12:04:00Z"}
    assert times["token"] == {"2026-03-04T12:06:00Z"}
    assert times["renewal"] == {"2026-03-04T12:08:00Z"}


@pytest.mark.spec("ORD-10", "ORD-31")
def test_only_a_refunded_order_says_so(sales: dict[str, Sale], profile: str) -> None:
    """With its refund; deployed services say it of a chargeback too, in the notification."""
    for name in ("refunded", "again"):
        assert all(document["refunded"] is True for document in sales[name].both)
        assert {document["refund"]["amount"] for document in sales[name].both} == {Decimal("13.49")}
        assert {document["refund"]["currency"] for document in sales[name].both} == {"CHF"}
    for document in of(sales, "card", "wallet", "crypto", "token", "abroad", "renewal", *NOT_PAID):
        assert (document["refunded"], document["refund"]) == (False, None)
    charged_back = sales["charged back"]
    assert charged_back.notified["refunded"] is (profile == "field")
    assert charged_back.listed["refunded"] is False
    assert (charged_back.notified["refund"] is None) is (profile == "spec")


@pytest.mark.spec("ORD-17", "ORD-18")
def test_the_agreement_is_accepted_with_the_payment(sales: dict[str, Sale]) -> None:
    """Whoever presses Pay accepts it, whatever becomes of the payment; before, there is no version."""
    accepted = {
        (each["agreement_accepted"], each["agreement_version"]) for each in of(sales, *PAID, "refused")
    }
    assert accepted == {(True, "1.0")}
    open_ones = {
        (each["agreement_accepted"], each["agreement_version"]) for each in of(sales, "unpaid", "canceled")
    }
    assert open_ones == {(False, "")}


@pytest.mark.spec("ORD-24", "USR-03", "EP1-04")
@pytest.mark.parametrize(
    ("name", "external_id"),
    [
        ("card", "ada"),
        ("wallet", "ben"),
        ("crypto", "guest-7"),
        ("token", "cid"),
        ("renewal", "ada"),
        ("refused", ""),
        ("both", "dan"),
    ],
)
def test_the_customer_is_that_of_the_order(sales: dict[str, Sale], name: str, external_id: str) -> None:
    """By the order's user before its account, by the account alone, by the token, or by the first order of the agreement."""
    assert [document["user"]["external_id"] for document in sales[name].both] == [external_id] * 2


@pytest.mark.spec("ORD-27", "ORD-28")
@pytest.mark.parametrize(
    ("name", "net", "fee", "currency"),
    [
        ("card", "9.4", "0.59", "USD"),
        ("crypto", "475", "25", "JPY"),
        ("token", "3.78", "0.22", "USD"),
        ("abroad", "18.81", "1.19", "USD"),
        ("renewal", "18.81", "1.19", "USD"),
        ("refunded", "14.24", "0.75", "USD"),
        ("charged back", "9.49", "0.5", "USD"),
    ],
)
def test_the_merchant_gets_the_price_without_tax_and_fee(
    sales: dict[str, Sale], name: str, net: str, fee: str, currency: str
) -> None:
    """A twentieth of the total is the fee. Both are in the merchant's currency, although the card is charged in another."""
    documents = [document for document in sales[name].both if "fee" in document]
    assert documents
    for document in documents:
        assert document["net_revenue"] == {"amount": Decimal(net), "currency": currency}
        assert document["fee"] == {"amount": Decimal(fee), "currency": currency}


@pytest.mark.spec("ORD-45")
def test_an_order_names_the_merchant(sales: dict[str, Sale]) -> None:
    """As the merchant was called when the order was created."""
    for name in ("card", "token"):
        assert [each["merchant_info"] for each in sales[name].both] == [
            {"company_name": "Starlight", "agreement_number": "ST-1"}
        ] * 2
    for name in ("abroad", "renewal", "refunded"):
        assert [each["merchant_info"] for each in sales[name].both] == [
            {"company_name": "Owl Games", "agreement_number": "OG-2"}
        ] * 2


@pytest.mark.spec("ORD-48")
def test_each_context_has_its_fields(sales: dict[str, Sale], profile: str) -> None:
    """The list has no `user.id`; both have the fields of money and recurrence, of which deployed services list two less."""
    fields = {
        *(
            "net_revenue",
            "fee",
            "recurring",
            "recurring_id",
            "is_production",
            "testing_case",
            "form_mode",
            "merchant_info",
        ),
        *("charge_currency", "charge_amount"),
    }
    shares = {"net_revenue", "fee"}
    for name, sale in sales.items():
        assert "id" not in sale.listed["user"]
        assert fields - set(sale.listed) == (shares if profile == "field" else set())
        if name != "unpaid":
            assert sale.notified["user"]["id"]
            assert fields <= set(sale.notified)


@pytest.mark.spec(
    "USR-04",
    "USR-05",
    "USR-06",
    "USR-07",
    "USR-08",
    "USR-09",
    "EP1-05",
    "EP1-06",
    "EP1-07",
    "EP1-08",
    "EP2-13",
)
@pytest.mark.parametrize(
    ("name", "customer"),
    [
        ("card", ("Ada Lovelace", "ada@example.com", True, "+441234567", False, "192.0.2.7")),
        ("renewal", ("Ada Lovelace", "ada@example.com", True, "+441234567", False, "192.0.2.7")),
        ("wallet", ("Ben", "ben@example.com", False, "+331", True, "2001:db8::1")),
        ("token", ("Cid", "cid@example.com", True, "+1555", True, "198.51.100.9")),
        ("crypto", ("", "", False, "", False, "")),
    ],
)
def test_the_customer_is_sent_as_given(
    sales: dict[str, Sale], name: str, customer: tuple[object, ...]
) -> None:
    """Name, e-mail, phone and address of the network; what was not given is empty."""
    names = ("name", "email", "email_verified", "phone", "phone_verified", "ip")
    for document in sales[name].both:
        assert tuple(document["user"][each] for each in names) == customer


@pytest.mark.spec("USR-11", "EP1-10")
def test_the_address_of_the_customer_is_sent_as_given(sales: dict[str, Sale], profile: str) -> None:
    """By the specification with all four members, "" where nothing was given; deployed services leave those out."""
    whole = {"country": "US", "city": "Oakland", "postal_code": "94601", "state": "US-CA"}
    assert [each["user"]["address"] for each in sales["token"].both] == [whole] * 2
    assert [each["user"]["address"] for each in sales["card"].both] == [ADA["address"]] * 2
    part = {"country": "FR", "city": "Lyon"}
    empty = dict.fromkeys(whole, "")
    for name, given in (("wallet", part), ("refused", {})):
        expected: object = {**empty, **given} if profile == "spec" else given or None
        assert [each["user"]["address"] for each in sales[name].both] == [expected] * 2


METHODS = [("card", "Bank card", "bankcard"), ("wallet", "Wallet", "wallet"), ("crypto", "Crypto currency", "crypto"),
           ("token", "Bank card", "bankcard"), ("refused", "Bank card", "bankcard"),
           ("abroad", "Bank card", "bankcard"), ("renewal", "Bank card", "bankcard")]  # fmt: skip


@pytest.mark.spec("MTH-01", "MTH-02", "MTH-03")
@pytest.mark.parametrize(("name", "title", "handler"), METHODS)
def test_the_method_has_its_name(sales: dict[str, Sale], name: str, title: str, handler: str) -> None:
    """For people, and for programs."""
    for document in sales[name].both:
        method = document["method"]
        assert (method["title"], method["payment_system_id"]) == (title, f"sandbox-{handler}")
        assert method["external_id"] == handler.upper()


@pytest.mark.spec("MTH-05")
@pytest.mark.parametrize(("name", "title", "handler"), METHODS)
def test_the_list_says_who_handled_the_payment(
    sales: dict[str, Sale], profile: str, name: str, title: str, handler: str
) -> None:
    """Each method has its own; deployed services say it in notifications too."""
    assert sales[name].listed["method"]["handler"] == f"sandbox_{handler}", title
    assert sales[name].notified["method"].get("handler") == (
        f"sandbox_{handler}" if profile == "field" else None
    )


@pytest.mark.spec("ITM-01", "ITM-02", "ITM-03", "ITM-04", "RFD-07")
def test_items_are_the_products_that_were_named(sales: dict[str, Sale]) -> None:
    """By their identifiers, in their sequence; a product without a stock keeping unit has its identifier as one."""
    names = ("id", "sku", "name", "description")
    for document in sales["wallet"].both:
        assert [tuple(item[each] for each in names) for item in document["items"]] == [
            ("owl", "OWL-1", "Owl", "A grey owl"),
            ("raven", "raven", "Tin raven", "It caws"),
        ]
    for document in sales["refunded"].both:
        assert [tuple(item[each] for each in names) for item in document["items"]] == [
            ("quest", "quest", "Quest", "")
        ]


@pytest.mark.spec("ITM-07", "ITM-08")
def test_each_key_has_a_code_of_its_own(sales: dict[str, Sale], profile: str) -> None:
    """That stays when the order is refunded, in both contexts, beside the platform of the purchase."""
    platform = "platform_id" if profile == "field" else "platform"
    codes = []
    for name in ("refunded", "again", "same"):
        items = [document["items"][0] for document in sales[name].both]
        assert {item[platform] for item in items} == {"gog"}
        codes += [*{item["code"] for item in items}]
    assert len(set(codes)) == len(codes) == 3 and "" not in codes


@pytest.mark.spec("RFD-04")
def test_the_code_of_a_refund_is_that_of_its_reason(sales: dict[str, Sale], profile: str) -> None:
    """One reason has one code, another has another; deployed services have none."""
    codes = {
        name: {each["refund"]["code"] for each in sales[name].both} for name in ("refunded", "again", "same")
    }
    if profile == "field":
        assert all(each == {""} for each in codes.values())
    else:
        assert codes["refunded"] == codes["same"] != codes["again"]
        assert all(len(each) == 1 and "" not in each for each in codes.values())


@pytest.mark.spec("RFD-05", "ORD-14")
def test_a_refund_has_a_receipt_of_its_own(sales: dict[str, Sale], profile: str) -> None:
    """With another number than the payment's; deployed services have no numbers."""
    numbers = [sales[name].notified["refund"]["receipt_number"] for name in ("refunded", "again", "same")]
    paid = [sales[name].notified["receipt_number"] for name in ("refunded", "again", "same")]
    if profile == "field":
        assert {*numbers, *paid} == {""}
    else:
        assert len({*numbers, *paid}) == 6 and "" not in {*numbers, *paid}
        assert [sales[name].listed["receipt_number"] for name in ("refunded", "again", "same")] == paid
        assert {sales[name].notified["receipt_number"] for name in ("unpaid", "canceled")} == {""}


@pytest.mark.spec("STA-05", "STA-04", "ORD-07")
def test_a_refused_payment_is_rejected_and_not_canceled(sales: dict[str, Sale]) -> None:
    """A customer cancels, a payment system rejects."""
    shown = {
        name: {(each["status"], each["canceled"]) for each in sales[name].both}
        for name in ("refused", "canceled")
    }
    assert shown == {"refused": {("rejected", False)}, "canceled": {("canceled", True)}}


@pytest.mark.spec("ORD-03")
def test_an_order_is_an_order(sales: dict[str, Sale]) -> None:
    """In every status and context."""
    assert {document["object"] for sale in sales.values() for document in sale.both} == {"order"}


@pytest.mark.spec("ORD-12", "ORD-19", "ORD-20")
@pytest.mark.parametrize(
    ("name", "email", "agreed"),
    [("card", "ada@example.com", True), ("wallet", "ben@example.com", False), ("crypto", "", False)],
)
def test_the_receipt_and_offers_go_where_the_customer_said(
    sales: dict[str, Sale], name: str, email: str, agreed: bool
) -> None:
    """An address for the receipt is no consent to offers."""
    for document in sales[name].both:
        assert (document["receipt_email"], document["notify_sale"]) == (email, agreed)
        assert document["notify_sale_email"] == (email if agreed else "")


@pytest.mark.spec("ORD-15", "ORD-16", "RFD-06")
def test_each_payment_has_a_receipt_of_its_own(sales: dict[str, Sale]) -> None:
    """With an identifier that stands in its address; an unpaid order has none."""
    receipts = {
        name: (sales[name].notified["receipt_id"], sales[name].notified["receipt_url"]) for name in PAID
    }
    assert all(number and number in address for number, address in receipts.values())
    assert len(set(receipts.values())) == len(PAID)
    for document in of(sales, *NOT_PAID):
        assert (document["receipt_id"], document["receipt_url"]) == ("", "")


@pytest.mark.spec("ORD-23", "ORD-22", "ORD-39", "ORD-40")
@pytest.mark.parametrize(
    ("name", "amount", "currency", "charge", "charged_in"),
    [
        ("card", "11.89", "USD", "11.89", "USD"),
        ("crypto", "500", "JPY", "500", "JPY"),
        ("token", "4.32", "USD", "4.32", "USD"),
        ("abroad", "23.8", "USD", "21.42", "CHF"),
    ],
)
def test_an_order_and_its_charge_have_currencies_of_their_own(
    sales: dict[str, Sale], name: str, amount: str, currency: str, charge: str, charged_in: str
) -> None:
    """The total with taxes, and what the card pays of it."""
    for document in sales[name].both:
        assert (document["amount"], document["currency"]) == (Decimal(amount), currency)
        assert (document["charge_amount"], document["charge_currency"]) == (Decimal(charge), charged_in)


@pytest.mark.spec("ORD-30", "ORD-35")
def test_only_products_are_items(sales: dict[str, Sale]) -> None:
    """Null where an amount was sold."""
    assert [len(document["items"]) for document in of(sales, "wallet", "refunded")] == [2, 2, 1, 1]
    assert {document["items"] for document in of(sales, "card", "crypto", "token", "refused", "unpaid")} == {
        None
    }


@pytest.mark.spec("ORD-32", "ORD-05")
@pytest.mark.parametrize(
    ("name", "metadata", "description"),
    [
        ("card", {"basket": "7"}, ""),
        ("token", {"from": "a token"}, "By token"),
        ("crypto", {}, ""),
        ("marked", {"gift": "", "to": " Ben ", "note": "a\nb"}, " A\n\n hat "),
    ],
)
def test_attributes_and_description_are_those_of_creation(
    sales: dict[str, Sale], profile: str, name: str, metadata: dict[str, str], description: str
) -> None:
    """Of the order or of its token, to the letter; a description is generated where none was sent."""
    empty: dict[str, str] | None = None if profile == "field" else {}
    for document in sales[name].both:
        assert document["metadata"] == (metadata or empty)
        assert document["description"] == (description or f"Payment by order # {sales[name].id}")


@pytest.mark.spec("USR-01", "USR-02")
def test_a_customer_has_one_id_at_the_service(sales: dict[str, Sale], profile: str) -> None:
    """In all their orders; another customer has another, and each guest a new one."""
    ids = {name: sale.notified["user"].get("id") for name, sale in sales.items() if name != "unpaid"}
    assert ids["card"] == ids["abroad"] == ids["renewal"]
    assert len({ids[name] for name in ("card", "wallet", "crypto", "token", "refused", "canceled")}) == 6
    kinds = {sale.notified["user"].get("object") for sale in sales.values()}
    assert kinds == ({"user"} if profile == "spec" else {None})


@pytest.mark.spec("MTH-04", "MTH-06", "MTH-07", "MTH-08", "MTH-09", "MTH-10")
@pytest.mark.parametrize(
    ("name", "kind", "filled", "values", "saved", "refund_allowed"),
    [
        ("card", "BANKCARD", "card", {"last4": "4242", "brand": "VISA"}, True, True),
        ("token", "BANKCARD", "card", {"last4": "4444", "brand": "MASTERCARD"}, False, True),
        ("wallet", "WALLET", "wallet", {"brand": "Sandbox Wallet", "account": "ben-1"}, False, True),
        ("crypto", "CRYPTO", "crypto_currency", {"brand": "Bitcoin", "address": "bc1q"}, False, False),
        ("refused", "BANKCARD", "card", {"last4": "0002", "brand": "VISA"}, False, True),
    ],
)
def test_the_method_is_the_one_that_was_used(
    sales: dict[str, Sale],
    name: str,
    kind: str,
    filled: str,
    values: dict[str, str],
    saved: bool,
    refund_allowed: bool,
) -> None:
    """Its own part is filled, the others are null."""
    for document in sales[name].both:
        method = document["method"]
        assert (method["type"], method["saved"], method["refund_allowed"]) == (kind, saved, refund_allowed)
        assert {part for part in ("card", "wallet", "crypto_currency") if method[part] is not None} == {
            filled
        }
        assert values.items() <= method[filled].items()
