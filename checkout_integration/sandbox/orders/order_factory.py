"""The factory of orders: a checked purchase becomes a new order with the status created (STA-02)."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import datetime
from decimal import Context, Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import UNITS_KEY, OrderStatus, OrderType
from checkout_integration.sandbox.merchant.catalogue import Product, find_product
from checkout_integration.sandbox.merchant.currencies import round_money, smallest_unit
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.orders.order import NO_USER, Order
from checkout_integration.sandbox.orders.purchase import Purchase
from checkout_integration.sandbox.orders.tax import with_tax
from checkout_integration.sandbox.wire.moments import write_moment

_NAMESPACE: Final = uuid.UUID("6f2b4a1e-4f5c-5a8e-9a55-0c1d2e3f4a5b")
_UNITS: Final = re.compile(r"[1-9][0-9]{0,11}(\.[0-9]{1,4})?", re.ASCII)
_MANY_DIGITS: Final = Context(prec=60)
_COPIED: Final = (
    "user metadata items platform_id virtual_currency_amount is_buy_for_virtual_currency url_success url_fail"
    " button_caption vat_payer company_name agreement_number"
).split()


def new_order(purchase: Purchase, project: SandboxProject, now: datetime) -> Order:
    """Return the new order of a purchase that has passed its checks; nothing is stored yet."""
    kind = OrderType(purchase.type or OrderType.SIMPLE)
    currency = purchase.currency or project.currency
    products = [
        product
        for product_id in purchase.products or ()
        if (product := find_product(project.catalogue, product_id, kind, currency))
    ]
    units, amount = _price(purchase, project, kind, products)
    order_id = str(uuid.uuid4())
    user = _user_of(purchase, project, order_id)
    order = Order(
        id=order_id,
        project_id=project.project_id,
        secret_key=project.secret_key,
        webhook_url=project.webhook_url,
        live=project.live,
        type=kind,
        status=OrderStatus.CREATED,
        created_at=now,
        description=purchase.description or f"Payment by order # {order_id}",
        amount=amount,
        original_amount=amount,
        currency=currency,
        user=user,
        metadata=purchase.metadata or {},
        items=[_item_of(product, now) for product in products] or None,
        platform_id=purchase.platform_id or "" if kind == OrderType.KEY else "",
        virtual_currency_amount=units,
        is_buy_for_virtual_currency=bool(purchase.is_buy_for_virtual_currency),
        url_success=purchase.url_success or project.success_url,
        url_fail=purchase.url_fail or project.fail_url,
        button_caption=purchase.button_caption or "",
        vat_payer=project.vat_payer,
        company_name=project.title,
        agreement_number=project.agreement_number,
        **_charging(project, currency),
    )
    return with_tax(order, (user["address"] or {}).get("country", ""))


def repeat_order(order: Order, project: SandboxProject, now: datetime) -> Order:
    """Return a new order for the same purchase: a new id, the same metadata."""
    fresh = Order(
        id=str(uuid.uuid4()),
        project_id=order.project_id,
        secret_key=project.secret_key,
        webhook_url=project.webhook_url,
        live=project.live,
        type=order.type,
        status=OrderStatus.CREATED,
        created_at=now,
        description=order.description,
        amount=order.original_amount,
        original_amount=order.original_amount,
        currency=order.currency,
        **_charging(project, order.currency),
    )
    fresh = replace(fresh, **{name: getattr(order, name) for name in _COPIED})
    return with_tax(fresh, (order.user.get("address") or {}).get("country", ""))


def _charging(project: SandboxProject, currency: str) -> dict[str, Any]:
    """Return the currency of the charge and its rate if it differs from the order's currency (ORD-39), else nothing."""
    if project.charge_currency in {"", currency}:
        return {}
    return {"charge_currency": project.charge_currency, "charge_rate": project.charge_rate}


def _price(
    purchase: Purchase, project: SandboxProject, kind: OrderType, products: list[Product]
) -> tuple[Decimal, Decimal]:
    """Return units of virtual currency and the price in money."""
    currency = purchase.currency or project.currency
    price = sum((product.price for product in products), Decimal(0))
    if kind == OrderType.SIMPLE:
        return Decimal(0), round_money(purchase.amount or Decimal(0), currency)
    if kind == OrderType.VIRTUAL_CURRENCY:
        return _virtual_currency(purchase, project, products, currency)
    units = _units_for(price, project) if purchase.is_buy_for_virtual_currency else Decimal(0)
    return units, round_money(price, currency)


def _virtual_currency(
    purchase: Purchase, project: SandboxProject, products: list[Product], currency: str
) -> tuple[Decimal, Decimal]:
    """Return units and price: packages have both, `amount` is money (EP2-05), and `metadata` may have a number.

    No parameter of creation counts units. Without any of the three it is one unit, at the smallest amount at least.
    """
    requested = _requested_units(purchase)
    if products:
        price = sum((product.price for product in products), Decimal(0))
        return _packed(products) or requested or _units_for(price, project), round_money(price, currency)
    if purchase.amount is not None:
        return requested or _units_for(purchase.amount, project), round_money(purchase.amount, currency)
    units = requested or Decimal(1)
    price = round_money(units * project.virtual_currency_price, currency)
    return units, max(price, smallest_unit(currency))


def _packed(products: list[Product]) -> Decimal | None:
    """Return the units of the packages, None if one of them has no number."""
    counted = [product.units for product in products if product.units is not None]
    return sum(counted, Decimal(0)) if len(counted) == len(products) else None


def _requested_units(purchase: Purchase) -> Decimal | None:
    text = (purchase.metadata or {}).get(UNITS_KEY, "")
    return Decimal(text) if _UNITS.fullmatch(text) else None


def _units_for(price: Decimal, project: SandboxProject) -> Decimal:
    """Return how many units of virtual currency a price buys; a float, so parts of a unit are possible (ORD-37)."""
    return _MANY_DIGITS.divide(price, project.virtual_currency_price).quantize(
        Decimal("0.01"), context=_MANY_DIGITS
    )


def _user_of(purchase: Purchase, project: SandboxProject, order_id: str) -> dict[str, Any]:
    """Return the order's User: one id for one customer of the merchant; the specification does not say (USR-01, USR-03)."""
    given = {**NO_USER, **(purchase.user or {})}
    given["external_id"] = given["external_id"] or purchase.account or ""
    identity = f"{project.project_id}/{given['external_id'] or order_id}"
    return {**given, "id": uuid.uuid5(_NAMESPACE, identity).hex}


def _item_of(product: Product, now: datetime) -> dict[str, Any]:
    return {
        "id": product.id,
        "object": "product",
        "sku": product.sku or product.id,
        "name": product.name,
        "description": product.description,
        "amount": product.price,
        "currency": product.currency,
        "images": list(product.images),
        "url": product.url,
        "metadata": dict(product.metadata),
        "created_at": write_moment(now),
        "updated_at": write_moment(now),
    }
