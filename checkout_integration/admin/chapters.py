"""An order by the chapters of the specification. Labels are its field names, hence not translated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import hidden, lines, link, moment, visible
from checkout_integration.admin.page import Chapter, Value, chapter
from checkout_integration.models import Order
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.protocol.order import parse_order

CHAPTERS: Final = (
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
_OURS: Final = {each.name for each in dataclasses.fields(Snapshot)}


def chapters_of(order: Order, *, sees_personal_data: bool) -> list[Chapter]:
    """What the service has told, chapter by chapter; personal values are hidden from those who may not see them."""
    whole, public = order.snapshot, parse_order(order.document)
    seen = whole if sees_personal_data else public
    return [chapter(title, _told(whole, seen, names.split())) for title, names in CHAPTERS]


def _told(whole: Any, seen: Any, names: list[str], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name in names:
        value, shown = getattr(whole, name), getattr(seen, name, None)
        label = f"{prefix}{name.replace('_', ' ')}"
        if value in (None, "", {}):
            continue
        if isinstance(value, Snapshot):
            inner = [each.name for each in dataclasses.fields(value) if each.name not in _OURS]
            yield from _told(value, shown, inner, f"{label} · ")
        else:
            yield label, hidden() if shown in (None, "", {}) else shown_value(name, shown)


def shown_value(name: str, value: object) -> Value:
    """A value of a document as it is shown."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return lines([visible(f"{key}: {each}", longest=300) for key, each in value.items()])
    if name.endswith("url"):
        return link(str(value))
    return visible(value)
