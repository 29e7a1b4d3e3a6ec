"""Whatever else than its evidence adds up to is written into an order's row is found, column by column."""

from __future__ import annotations

from typing import Any, Final

import pytest

from checkout_integration.models import Checkout, CheckoutUser, Order, OrderItem, PersonalData, Transition
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.flows.rebuilt import NOT_SHOWN, WHOLE, different, paid, rebuilt, tear_out, undone
from tests.support.flows.shop import notification
from tests.support.policy.histories import BEGIN

pytestmark = pytest.mark.django_db
SABOTAGED: Final[dict[str, tuple[Any, str]]] = {
    "status": ("chargeback", "processed"),
    "verdict": ("review", "verified"),
    "verdict_reason": ("amount", ""),
    "live": (True, "false"),
    "is_production": (True, "false"),
    "transaction": ("t-2", "t-1"),
    "type": ("product", "simple"),
    "created_at": (BEGIN, "2024-05-02T10:00:00+00:00"),
    "canceled_at": (BEGIN, ""),
    "refunded_at": (BEGIN, ""),
    "country": ("FR", "DE"),
    "receipt_number": ("r-2", "r-1"),
    "recurring_id": ("a-2", "a-1"),
    "amount": ("999.99", "9.99"),
    "currency": ("EUR", "USD"),
    "original_amount": ("1", "9.99"),
    "charge_amount": ("1", "9.99"),
    "charge_currency": ("EUR", "USD"),
    "tax_amount": ("1", "0.5"),
    "tax_currency": ("EUR", "USD"),
    "fee_amount": ("1", "0.3"),
    "fee_currency": ("EUR", "USD"),
    "net_revenue_amount": ("1", "9"),
    "net_revenue_currency": ("EUR", "USD"),
    "refund_amount": ("1", ""),
    "refund_currency": ("EUR", ""),
    "virtual_currency_amount": ("7", "0"),
    "method_type": ("crypto", "card"),
    "tax_rate": ("1", ""),
    "vat_payer": ("shop", "nobody"),
    "utm_source": ("letter", ""),
    "utm_medium": ("letter", ""),
    "utm_campaign": ("letter", ""),
    "referrer_host": ("other.example", "shop.example.com"),
}
OTHERWISE: Final = {"checkout", "user", "document", "facts", "stamps", "conflicts"}
"""Columns of their own tests below."""
NOT_COMPUTED: Final = {"id", "project", "order_id", "recorded_at", "changed_at"}


def test_each_column_is_sabotaged_here() -> None:
    """A column that is added later is tested too."""
    columns = {column.name for column in Order._meta.concrete_fields}
    assert columns == set(SABOTAGED) | OTHERWISE | NOT_COMPUTED


@pytest.mark.parametrize("column", SABOTAGED)
def test_each_sabotaged_column_is_reported(checkout_deliver: Deliver, column: str) -> None:
    """That column and no other, with both values."""
    order = paid(checkout_deliver, **WHOLE)
    assert rebuilt().is_proven
    value, recomputed = SABOTAGED[column]
    Order.objects.filter(pk=order.pk).update(**{column: value})
    stored = {True: "true", BEGIN: BEGIN.isoformat()}.get(value, value)
    assert different() == {column: (stored, recomputed)}


def test_a_checkout_that_was_taken_away_or_exchanged_is_reported(checkout_deliver: Deliver) -> None:
    """Its verdict is judged against the checkout that it names."""
    order, other = paid(checkout_deliver), CheckoutFactory()
    reference = Checkout.objects.get(orders=order).reference
    Order.objects.filter(pk=order.pk).update(checkout=other)
    assert different() == {"checkout": (other.reference, reference)}
    Order.objects.filter(pk=order.pk).update(checkout=None)
    assert different() == {"checkout": ("", reference)}


def test_another_customer_is_reported(checkout_deliver: Deliver) -> None:
    """By the keys of the two."""
    order = paid(checkout_deliver, user__external_id="ada")
    other = CheckoutUser.objects.create(project="default", identity="other")
    Order.objects.filter(pk=order.pk).update(user=other)
    assert different() == {"user": (str(other.pk), str(order.user_id))}


def test_parts_of_json_columns_are_reported(checkout_deliver: Deliver) -> None:
    """By name; the document's values may be personal, so they are not shown."""
    order = paid(checkout_deliver)
    row = Order.objects.filter(pk=order.pk)
    row.update(document={**order.document, "amount": "0.01", "new": 1})
    assert different() == {
        "document.amount": (NOT_SHOWN, NOT_SHOWN),
        "document.new": (NOT_SHOWN, ""),
    }
    slot = order.facts["slots"]["processed/notification"]
    forged = {"refunded/notification": slot, "processed/notification": slot}
    row.update(document=order.document, facts={"slots": forged})
    assert list(different()) == ["facts.slots.refunded/notification"]
    row.update(facts={"slots": {}})
    assert list(different()) == ["facts.slots.processed/notification"]
    at = "2020-01-01T00:00:00.000000Z notification"
    row.update(facts=order.facts, stamps={**order.stamps, at: ["country"]})
    assert list(different()) == ["stamps.country"]
    row.update(stamps=order.stamps, conflicts=["amount"])
    assert different() == {"conflicts.amount": ("true", "")}


def test_a_forged_amount_of_a_refund_is_reported(checkout_deliver: Deliver) -> None:
    """A notification stated another one."""
    order = paid(checkout_deliver)
    refund = {"amount": "1.00", "currency": "USD"}
    checkout_deliver(
        notification("payment.refund", {**order.document, "status": "refunded", "refund": refund})
    )
    assert rebuilt().is_proven
    facts = Order.objects.get().facts
    facts["refunds"]["stated"] = ["9.99", "USD"]
    Order.objects.update(facts=facts)
    assert different() == {"facts.refunds.stated": ('["9.99","USD"]', '["1.00","USD"]')}


def test_personal_data_and_items_are_compared_and_not_shown(checkout_deliver: Deliver) -> None:
    """A terminal is no place for an address or a key."""
    paid(checkout_deliver, **WHOLE, receipt_email="ada@example.com")
    PersonalData.objects.update(document={}, email="eve@example.com", last4="1")
    OrderItem.objects.update(code="OTHER")
    found = different()
    assert {"personal_data.document.receipt_email", "personal_data.email", "personal_data.last4"} <= set(
        found
    )
    assert "items.0.code" in found
    assert {text for pair in found.values() for text in pair} <= {NOT_SHOWN, ""}
    PersonalData.objects.all().delete()
    assert different()["personal_data"] == ("", NOT_SHOWN)


def test_a_missing_link_of_the_history_is_reported(checkout_deliver: Deliver) -> None:
    """The transitions lead from nothing to the status."""
    order = paid(checkout_deliver)
    checkout_deliver(notification("payment.chargeback", order.document))
    assert rebuilt().is_proven
    first, second = Transition.objects.order_by("pk")
    with undone():
        tear_out(second)
        assert different() == {"history": ("processed", "chargeback")}
    with undone():
        tear_out(first)
        assert different() == {"history": ("", "chargeback")}
