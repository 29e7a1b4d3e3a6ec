"""The fields of an order, grouped as in the specification. Labels are its field names, so they are not translated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

from django.utils.translation import gettext_lazy

from checkout_integration.admin.order.layout import FieldGroup, field_group
from checkout_integration.admin.site import Value, hidden, shown_value
from checkout_integration.models import Order
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.protocol.order import parse_order

FIELD_GROUPS: Final = (
    (
        gettext_lazy("Order"),
        (
            "id transaction status type description platform_id country created_at canceled canceled_at cancellation "
            "refunded refunded_at is_production testing_case form_mode recurring recurring_id"
        ),
    ),
    (
        gettext_lazy("Money"),
        (
            "amount currency original_amount charge_amount charge_currency vat_payer tax fee net_revenue "
            "virtual_currency_amount is_buy_for_virtual_currency"
        ),
    ),
    (gettext_lazy("Refund"), "refund"),
    (gettext_lazy("Customer"), "user billing_address"),
    (gettext_lazy("Payment method"), "method"),
    (
        gettext_lazy("Receipt and agreement"),
        (
            "receipt_number receipt_id receipt_url receipt_email receipt_phone agreement_version agreement_accepted "
            "notify_sale notify_sale_email"
        ),
    ),
    (gettext_lazy("Origin"), "issuer merchant_info metadata"),
)
_NOT_SPECIFIED: Final = {field.name for field in dataclasses.fields(Snapshot)}


def field_groups_of(order: Order, *, sees_personal_data: bool) -> list[FieldGroup]:
    """Return the fields that the service sent; personal values are hidden from those who may not see them."""
    whole, public = order.snapshot, parse_order(order.document)
    seen = whole if sees_personal_data else public
    return [
        dataclasses.replace(field_group(title, _fields(whole, seen, names.split())), specified=True)
        for title, names in FIELD_GROUPS
    ]


def _fields(whole: Any, seen: Any, names: list[str], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name in names:
        value, shown = getattr(whole, name), getattr(seen, name, None)
        label = f"{prefix}{name.replace('_', ' ')}"
        if value in (None, "", {}):
            continue
        if isinstance(value, Snapshot):
            inner = [field.name for field in dataclasses.fields(value) if field.name not in _NOT_SPECIFIED]
            yield from _fields(value, shown, inner, f"{label} · ")
        else:
            yield label, hidden() if shown in (None, "", {}) else shown_value(name, shown)
