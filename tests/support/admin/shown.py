"""Sales as staff see them: on the page of the order and of its customer, in the file of orders and in the evidence."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zipfile import ZipFile

from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Order
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import Order as Document
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from tests.support.admin.screens import page_address
from tests.support.customer import PRIVACY_REQUEST
from tests.support.protocol.sales import EVENTS, sale

SCREEN: Final = "/admin/checkout_integration/order/"
ADDRESS: Final = ("country", "city", "postal_code", "state")
_WORDS: Final = (
    "id transaction status type description platform_id country created_at canceled canceled_at cancellation.code "
    "cancellation.reason refunded refunded_at is_production form_mode recurring recurring_id amount currency "
    "original_amount charge_amount charge_currency vat_payer tax.type tax.rate tax.amount tax.currency fee.amount "
    "fee.currency net_revenue.amount net_revenue.currency virtual_currency_amount is_buy_for_virtual_currency "
    "refund.amount refund.currency refund.reason refund.code refund.receipt_number refund.receipt_url user.id "
    "user.external_id user.name user.email user.email_verified user.phone user.phone_verified user.ip user.locale "
    "user.address.country user.address.city user.address.postal_code user.address.state user.metadata "
    "user.notify_new_region user.notify_new_region_email billing_address.country billing_address.state "
    "billing_address.zip method.title method.external_id method.payment_system_id method.type method.handler "
    "method.saved method.card.first6 method.card.last4 method.card.expiry_month "
    "method.card.expiry_year method.card.brand method.card.fingerprint method.card.secure3d method.wallet.brand "
    "method.wallet.account method.crypto_currency.brand method.crypto_currency.address method.refund_allowed "
    "method.recurring_allowed receipt_number receipt_id receipt_url receipt_email receipt_phone agreement_version "
    "agreement_accepted notify_sale notify_sale_email issuer.url issuer.embedded issuer.reference "
    "issuer.reference_type issuer.utm_source issuer.utm_medium issuer.utm_campaign issuer.referrer_host "
    "merchant_info.company_name merchant_info.agreement_number metadata"
)
_COLUMNS: Final = (
    "transaction is_production created_at refunded_at canceled_at country amount currency charge_amount charge_currency "
    "type vat_payer receipt_number recurring_id"
)
WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "page": {path: path.replace(".", " · ").replace("_", " ") for path in _WORDS.split()},
    "items": {
        "items.0.name": "Name",
        "items.0.sku": "SKU",
        "items.0.platform": "Platform",
        "items.0.code": "Activation code",
    },
    "document": {
        path: path
        for path in (
            *("object", "user.object", "items.0.id", "items.0.description", "items.0.images"),
            *("items.0.metadata", "items.1.id", "testing_case"),
        )
    },
    "customer": {
        "user.id": "id at the service",
        "user.external_id": "id in this shop",
        "user.name": "name",
        "user.email": "e-mail",
        "user.phone": "phone",
        "user.ip": "IP address",
        "user.locale": "language and region",
        "user.metadata": "metadata",
        "user.notify_new_region": "wants news of new regions",
        "user.notify_new_region_email": "e-mail for news of new regions",
        **{f"user.address.{name}": name for name in ADDRESS},
    },
    "file": {
        **{path: path for path in _COLUMNS.split()},
        "id": "order_id",
        "method.type": "method_type",
        "method.card.last4": "personal_data__last4",
        "user.external_id": "user__external_id",
        **{f"tax.{name}": f"tax_{name}" for name in ("amount", "currency", "rate")},
        **{
            f"{part}.{name}": f"{part}_{name}"
            for part in ("fee", "net_revenue", "refund")
            for name in ("amount", "currency")
        },
    },
    "evidence": {
        "transaction": "transaction",
        "id": "order id",
        "receipt_number": "receipt number",
        "description": "description",
        "user.name": "name",
        "user.email": "e-mail",
        "receipt_email": "e-mail of the receipt",
        "user.phone": "phone",
        "user.external_id": "customer's id in the shop",
        "user.ip": "IP address",
        "country": "country of the payment",
        "user.address.country": "country of the customer",
        "user.address.city": "city of the customer",
        "billing_address.country": "country of the bill",
        "billing_address.state": "state of the bill",
        "billing_address.zip": "zip of the bill",
        "method.title": "payment method",
        "method.card.brand": "card brand",
        "method.card.first6": "card, first six digits",
        "method.card.last4": "card, last four digits",
        "method.wallet.account": "wallet account",
        "agreement_version": "version of the accepted agreement",
    },
}
"""For each place that shows a sale: the fields of an Order in it, each with the label under which it stands."""
_seen: dict[str, dict[str, dict[str, str]]] = {}


def shown(name: str, client: Client, deliver: Deliver) -> dict[str, dict[str, str]]:
    """What each of the places says of a sale, by label; read once, since it is the same for each field."""
    if name not in _seen:
        _seen[name] = _read(name, client, deliver)
    return _seen[name]


_exported: dict[str, Document] = {}


def exported(name: str, deliver: Deliver) -> Document:
    """A sale as the export of its customer has it; read once, since it is the same for each field."""
    if name not in _exported:
        document = sale(name)
        deliver(order=document, event=EVENTS.get(name, Event.PAYMENT_SUCCESS))
        persons = flows.privacy.find_persons(order_id=document["id"])
        pieces = flows.privacy.export_customer(persons, PRIVACY_REQUEST)
        exported_document: Any = strict_json.loads("".join(pieces).encode())
        (project,) = exported_document["projects"]
        (order,) = project["orders"]
        _exported[name] = parse_order(order["document"])
    return _exported[name]


def is_shown_as(text: str | None, value: Any) -> bool:
    """Whether a text says a value: exact digits, moments to the second, and nothing for what the service did not state."""
    if value in (None, "", (), {}):
        return text in (None, "", "–", "[]", "{}")
    if text is None:
        return False
    if isinstance(value, Decimal):
        # A zero without a currency is no amount.
        return Decimal(text.replace(",", "")) == value if text else not value
    if isinstance(value, datetime):
        return datetime.fromisoformat(text) == value.replace(microsecond=0)
    words = {True: "yes", False: "no"}
    return text == (words[value] if isinstance(value, bool) else _lines(value))


def _read(name: str, client: Client, deliver: Deliver) -> dict[str, dict[str, str]]:
    document = sale(name)
    assert deliver(order=document, event=EVENTS.get(name, Event.PAYMENT_SUCCESS)).status_code == 200
    order = Order.objects.get(order_id=document["id"])
    page = client.get(page_address("order", order)).content.decode()
    customer = client.get(page_address("checkoutuser", order.user)).content.decode()
    (row,) = _rows(b"".join(client.get(f"{SCREEN}csv/", {"q": order.order_id}).streaming_content))  # type: ignore[attr-defined]
    evidence = client.get(page_address("order", order).replace("/change/", "/evidence/"))
    with ZipFile(io.BytesIO(b"".join(evidence.streaming_content))) as pack:  # type: ignore[attr-defined]
        details = {each["detail"]: each["value"] for each in _rows(pack.read("annex/details.csv"))}
    document = json.loads(text_of("<pre" + page.rpartition("<pre")[2]), parse_float=Decimal)
    about_customer = labelled(customer)
    about_customer["Metadata"] = _lines(json.loads(about_customer["Metadata"].replace("–", "null")))
    texts = {
        "page": labelled(page, 'translate="no"'),
        "items": _first_item(page),
        "document": {path: _lines(_inside(document, path)) for path in WAYS["document"]},
        "customer": about_customer | dict(zip(ADDRESS, about_customer["Address"].split(", "), strict=False)),
        "file": row,
        "evidence": details,
    }
    return {
        way: {path: _by_label(texts[way], label) for path, label in fields.items()}
        for way, fields in WAYS.items()
    }


def _rows(content: bytes) -> list[dict[str, str]]:
    lines = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    # An apostrophe stands before what a spreadsheet would compute.
    return [{label: value.removeprefix("'") for label, value in line.items()} for line in lines]


def _by_label(texts: Mapping[str, str], label: str) -> str:
    return texts.get(label, "") or texts.get(f"{label[:1].upper()}{label[1:]}", "")


def labelled(page: str, mark: str = "") -> dict[str, str]:
    """The values of a page by their labels."""
    found = re.findall(rf"<dt[^>]*{mark}[^>]*>(.*?)</dt>\s*<dd[^>]*>(.*?)</dd>", page, re.DOTALL)
    return {label: text_of(value) for label, value in found}


def _first_item(page: str) -> dict[str, str]:
    table = page.partition(">Items</h2>")[2].partition("</tr></tbody>")[0]
    line = table.partition("<tbody>")[2].partition("</tr>")[0]
    return {
        label: text_of(cell)
        for label, cell in re.findall(r'<td data-label="([^"]+)">(.*?)</td>', line, re.DOTALL)
    }


def text_of(value: str) -> str:
    """The text of HTML: a moment as its attribute has it, a field to be copied as its value, JSON without its summary."""
    if found := re.search(r'<time datetime="([^"]+)"|<input type="text" readonly value="([^"]*)"', value):
        return html.unescape(found[1] or found[2])
    inner = value.partition("<pre")[2].partition(">")[2].partition("</pre>")[0] if "<pre" in value else value
    inner = inner.partition("</pre>")[0] if "</pre>" in inner else inner
    return html.unescape(re.sub("<[^>]+>", "", inner.replace("<br>", "\n"))).strip()


def _inside(document: Any, path: str) -> Any:
    for step in path.split("."):
        members = dict(enumerate(document)) if isinstance(document, list) else document or {}
        document = members.get(int(step) if step.isdigit() else step)
    return document


def _lines(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {part}" for key, part in value.items())
    return "\n".join(value) if isinstance(value, (list, tuple)) else str(value or "")
