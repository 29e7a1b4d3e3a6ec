"""Rows that are hard to show: long ids, names and addresses, large amounts, many items, long texts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    FailedAttempt,
    Incident,
    Notification,
    Order,
    OrderItem,
    PersonalData,
    ReceiverRun,
    Refund,
    StaffAct,
    SyncRun,
    Transition,
    ValidationDecision,
)

UUID = "0198f3a2-7c4e-7b1d-9a55-2f6c8e1d"
LONGEST = 255
EMAIL = "maximiliana.konstantinopolitanskaya-oberhuber@customers.of.the.northern.region.example.com"
NAME = "Maximiliana Konstantinopolitanskaya-Oberhuber von und zu Lindenschmidt-Wasserburg"
PRODUCT = "Lanternfall: The Complete Collector's Edition with the Expansion “Counterrevolutionaries”"
RECEIVER = "shop_of_the_game.fulfilment.receivers.grant_the_goods_of_the_order_to_the_player"
ERROR = "shop_of_the_game.errors.InventoryServiceTemporarilyUnavailableError"
SENTENCE = "The service of the inventory did not respond within its deadline of thirty seconds, "
TRACEBACK = "\n".join(
    f'File "/srv/mysite/shop_of_the_game/fulfilment/receivers_{n}.py", line {n}, in grant_the_goods'
    for n in range(30)
)
AMOUNT = Decimal("123456789.99")


def harden() -> None:
    """Make every row there is as hard to show as it may become; every third id is as long as its column."""
    for order in Order.objects.order_by("pk"):
        _harden_order(order, _long_id(order.pk))
    for customer in CheckoutUser.objects.all():
        names = {"external_id": f"player-{_long_id(customer.pk)}"[:LONGEST], "user_id": _long_id(customer.pk)}
        CheckoutUser.objects.filter(pk=customer.pk).update(**names)
    for run in ReceiverRun.objects.all():
        ReceiverRun.objects.filter(pk=run.pk).update(receiver=f"{RECEIVER}_{run.pk}", error=ERROR)
        FailedAttempt.objects.create(run=run, attempt=1, error=ERROR, traceback=TRACEBACK)
    long_text = (SENTENCE * 3)[:LONGEST]
    origin = {"utm_source": "newsletter-of-the-northern-region", "utm_campaign": "x" * LONGEST}
    Checkout.objects.update(
        description=PRODUCT, failure=long_text, metadata={"note": SENTENCE, "x" * 60: "y" * 200}, **origin
    )
    Checkout.objects.exclude(payment_form_url="").update(
        payment_form_url=f"https://service.example/form/?token={'0123456789abcdef' * 30}"
    )
    Notification.objects.exclude(failure="").update(failure=f"{ERROR} in check (shop/hooks.py:12)")
    Incident.objects.update(detail=SENTENCE * 5)
    Refund.objects.update(reason=SENTENCE * 3, code="x" * 200, transaction="t" * LONGEST, amount=AMOUNT)
    for order in Order.objects.all():  # what has been written of an order is never changed
        state = {"from_status": order.status, "to_status": order.status, "source": "staff"}
        Transition.objects.create(order=order, act="note", reason=SENTENCE * 11, **state)
    SyncRun.objects.update(failure=long_text, rows=123_456_789, pages=1_234_567, changed=12_345_678)
    StaffAct.objects.update(reason=long_text)
    ValidationDecision.objects.update(
        external_id="player-" + "0" * 200,
        code="NOT_ALLOWED_IN_THIS_COUNTRY_FOR_NOW",
        reason=long_text,
        failure=ERROR,
    )


def _long_id(number: int) -> str:
    whole = f"{UUID}{number:04}"
    return whole if number % 3 else (f"{whole}-{'x' * LONGEST}")[:LONGEST]


def _harden_order(order: Order, order_id: str) -> None:
    Notification.objects.filter(object_id=order.order_id).update(object_id=order_id)
    document = {**order.document, "id": order_id, "description": PRODUCT, "metadata": {"x" * 60: "y" * 200}}
    personal: dict[str, Any] = {"user": {"name": NAME, "email": EMAIL, "address": {"city": NAME}}}
    Order.objects.filter(pk=order.pk).update(
        order_id=order_id,
        transaction=f"transaction-{order_id}"[:LONGEST],
        receipt_number=f"R-{order_id}"[:LONGEST],
        document=document,
        product=PRODUCT,
        amount=AMOUNT,
        utm_source="newsletter-of-the-northern-region",
        utm_campaign="x" * LONGEST,
    )
    PersonalData.objects.filter(order=order).update(email=EMAIL, document=personal)
    first = order.items.count()
    OrderItem.objects.bulk_create(
        OrderItem(
            order=order,
            position=first + n,
            name=f"{PRODUCT}, part {n}",
            sku=f"lanternfall-complete-edition-{n}",
            code="-".join(["ABCDE"] * 12),
            platform="playstation-network",
        )
        for n in range(25)
    )
