"""The personal part of an order's document, which is stored where one command can erase it.

The list names what is *not* personal; everything else, unknown fields included, counts as personal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from checkout_integration.protocol.values import Document

Public: TypeAlias = Mapping[str, "Public | None"]

WHOLE: Final = None
REFUND: Final[Public] = dict.fromkeys("amount currency reason code receipt_number".split(), WHOLE)
# A receipt opens for everybody who knows its id and the order's: the id is personal as its address is.
# Description and metadata are the shop's own words. `protocol.order` keeps them out of repr() all the same: a shop may have
# written a customer's name there, which is why erasing takes the metadata too (`erasure.lasting`).
PUBLIC: Final[Public] = {
    **dict.fromkeys(
        (
            "id transaction object status description created_at canceled canceled_at cancellation refunded refunded_at "
            "receipt_number agreement_version agreement_accepted notify_sale amount currency tax "
            "net_revenue fee items metadata original_amount country type platform_id virtual_currency_amount "
            "is_buy_for_virtual_currency charge_currency charge_amount vat_payer is_production testing_case form_mode "
            "merchant_info recurring recurring_id"
        ).split(),
        WHOLE,
    ),
    "refund": REFUND,
    "issuer": dict.fromkeys(
        "embedded reference reference_type utm_source utm_medium utm_campaign referrer_host".split(), WHOLE
    ),
    "user": dict.fromkeys(
        "id object external_id email_verified phone_verified notify_new_region".split(), WHOLE
    ),
    "method": {
        **dict.fromkeys(
            (
                "title external_id payment_system_id type handler saved refund_allowed recurring_allowed"
            ).split(),
            WHOLE,
        ),
        "card": dict.fromkeys("brand secure3d".split(), WHOLE),
        "wallet": {"brand": WHOLE},
        "crypto_currency": {"brand": WHOLE},
    },
}


def split(document: Document, public: Public = PUBLIC) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the public and the personal part; `join` puts them together again."""
    open_part: dict[str, Any] = {}
    personal: dict[str, Any] = {}
    for field, value in document.items():
        inner = public.get(field)
        if field in public and (inner is WHOLE or value is None):
            open_part[field] = value
        elif inner is not None and isinstance(value, Mapping):
            open_part[field], hidden = split(value, inner)
            if hidden:
                personal[field] = hidden
        else:  # not in the list, or not of the shape that the list describes
            personal[field] = value
    return open_part, personal


def join(public: Document, personal: Document) -> dict[str, Any]:
    """Return the whole document from its two parts."""
    document = dict(public)
    for field, value in personal.items():
        part = document.get(field)
        both = isinstance(part, Mapping) and isinstance(value, Mapping)
        document[field] = join(part, value) if both else value  # type: ignore[arg-type]
    return document


def without_card_number(document: Document) -> Document:
    """Return the document with no more of a card's number than first6 and last4, and ``masked`` rebuilt from them.

    ``masked`` may carry another truncation of the same number, and two truncations together weaken it (PCI SSC FAQ 1091).
    """
    method = document.get("method")
    card = method.get("card") if isinstance(method, Mapping) else None
    if not isinstance(method, Mapping) or not isinstance(card, Mapping):
        return document
    first6, last4 = str(card.get("first6") or "")[:6], str(card.get("last4") or "")[-4:]
    digits = {"first6": first6, "last4": last4}
    cut = {name: part for name, part in digits.items() if len(str(card.get(name) or "")) > len(part)}
    masked = f"{first6}******{last4}"
    if card.get("masked") and card["masked"] != masked:
        cut["masked"] = masked
    return {**document, "method": {**method, "card": {**card, **cut}}} if cut else document
