"""Histories of refunds by chance, through the tables, the pages and the files: every sum says the same."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from html import unescape
from typing import Any, Final
from zipfile import ZipFile

import pytest
from django.db import transaction
from django.test import Client

from checkout_integration.flows import accounting
from checkout_integration.flows.accounting import Mode, MoneyQuery, Period
from checkout_integration.models import Checkout, Grant, Incident, Order, OutboxMessage, Refund
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import notification, record_listed
from tests.support.policy.observations import at
from tests.support.policy.refund_histories import (
    CENTS,
    History,
    RefundEvent,
    Way,
    expected,
    histories,
    money,
)
from tests.support.scale import times

PARTS: Final = times(1, 10)
HISTORIES: Final = times(12, 300, quick_run=4)  # in each part
SEED: Final = 20261126
PERIOD: Final = Period(first=date(2024, 4, 29), last=date(2024, 5, 4))
ADMIN: Final = "/admin/checkout_integration"
Sums = dict[str, int]


class Shop:
    """One checkout, its payment, and what becomes known of it."""

    def __init__(self, deliver: Deliver, history: History) -> None:
        price = list(history.payment.totals)[-1]
        self._deliver, self._payment = deliver, history.payment
        checkout = CheckoutFactory(
            order_id="order-1", expected_amount=money(history.payment.totals[price]), currency=price
        )
        paid = {**history.payment.document, "is_production": False, "type": "simple"}
        self._paid = order_document_for(checkout, **{**paid, "id": "order-1"})
        self._paid.pop("refund", None)

    def pay(self) -> None:
        """Let the success arrive."""
        assert self._deliver(notification(order=self._paid, at=at(1))).status_code == 200

    def take(self, event: RefundEvent) -> None:
        """Let a refund arrive: through the webhook, or in a page of the list."""
        document = {**self._paid, **event.document(self._payment)}
        document |= {name: self._paid[name] for name in ("metadata", "is_production", "type")}
        document["id"] = event.name if event.way is Way.DOCUMENT else "order-1"
        if event.way is not Way.NOTIFIED:
            record_listed([document], at=at(event.minutes + 60))
            return
        sent = notification("payment.refund", document, at=at(event.minutes + 10 * event.attempt), id="same")
        assert self._deliver({**sent, "delivery_try": event.attempt}).status_code == 200


def in_cents(amounts: Sequence[tuple[str, Decimal | None]]) -> Sums:
    """Sums by currency, in cents, without those that are zero."""
    sums: Counter[str] = Counter()
    for currency, amount in amounts:
        if amount is not None:
            assert amount >= 0
            sums[currency] += int(amount * CENTS)
    return dict(+sums)


def of_rows() -> Sums:
    """The rows of refunds."""
    return in_cents(list(Refund.objects.exclude(order=None).values_list("currency", "amount")))


def of_money() -> Sums:
    """`accounting`."""
    found = accounting.money_rows(MoneyQuery(period=PERIOD, mode=Mode.TEST))
    return in_cents([(row.currency, row.sums.refunded) for row in found])


def of_order() -> Sums:
    """The order's one amount, which is also what receivers and customers read."""
    order = Order.objects.get()
    refund = order.refund
    if refund is not None and order.refund_amount is not None:
        assert (refund.amount, refund.currency) == (order.refund_amount, order.refund_currency)
    return in_cents([(order.refund_currency, order.refund_amount)])


def csv_of(client: Client, address: str) -> list[dict[str, str]]:
    """A file of the admin."""
    answer = client.get(f"{ADMIN}/{address}")
    assert answer.status_code == 200, address
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def amount(text: str) -> Decimal | None:
    """A cell of a file."""
    return Decimal(text) if text else None


def assert_pages_and_files_agree(client: Client, sums: Sums) -> None:
    """The files of Money, of refunds and of orders, and the evidence, as a page and in rows."""
    query = f"first={PERIOD.first}&last={PERIOD.last}&mode=test"
    file = csv_of(client, f"money/csv/?{query}")
    assert in_cents([(row["currency"], amount(row["refunded"])) for row in file]) == sums
    file = csv_of(client, "refund/csv/")
    assert (
        in_cents([(row["currency"], amount(row["amount"])) for row in file if row["order__order_id"]]) == sums
    )
    (row,) = csv_of(client, "order/csv/")
    assert in_cents([(row["refund_currency"], amount(row["refund_amount"]))]) == of_order()
    answer = client.get(f"{ADMIN}/order/{Order.objects.get().pk}/evidence/")
    pack = ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]
    summary = unescape(pack.read("summary.html").decode())
    refunded = " ".join(re.findall(r"<dt>Refunded</dt><dd>([^<]*)", summary))
    for text in (refunded, unescape(client.get(f"{ADMIN}/money/?{query}").content.decode())):
        for currency, cents in sums.items():
            assert f"{money(cents):.2f}" in text and currency in text, (currency, cents)


def assert_agrees(history: History, seen: Sequence[RefundEvent], before: Sums) -> Sums:
    """Rows, order and Money say what the events add up to; goods and questions follow; return the sums."""
    truth = expected(history.payment, seen)
    assert of_rows() == of_money() == truth.sums, (history, seen)
    shown = of_order()
    assert shown.items() <= truth.sums.items() and bool(shown) == bool(truth.sums)
    assert all(truth.sums[currency] >= cents for currency, cents in before.items())
    assert Checkout.objects.get().status == ("reversed" if truth.full else "paid")
    kinds = {code if code == "refund_exceeded" else f"review:{code}" for code in truth.questions}
    opened = Incident.objects.filter(resolved_at=None).values_list("kind", flat=True)
    assert set(opened) == kinds
    # Nothing is revoked without a word.
    closed = Grant.objects.filter(state=Grant.State.CLOSED).count()
    assert OutboxMessage.objects.filter(signal="checkout_reversed").count() == closed
    reviews = OutboxMessage.objects.filter(signal="payment_review").values_list("arguments", flat=True)
    assert {f"review:{each['reason']}" for each in reviews} >= kinds - {"refund_exceeded"}
    return truth.sums


def end_of(
    deliver: Deliver, history: History, success_at: int, client: Client | None = None
) -> tuple[Any, ...]:
    """Return the end of all arrivals; with a client, look at the sums after each of them, and at the pages."""
    with transaction.atomic():
        shop, sums, seen = Shop(deliver, history), Sums(), list[RefundEvent]()
        for place, event in enumerate((*history.events, None)):
            if place == success_at:
                shop.pay()
            if event is not None:
                shop.take(event)
                seen.append(event)
            if seen and (client or event is None) and Order.objects.exists():
                sums = assert_agrees(history, seen, sums)
        if client is not None:
            assert_pages_and_files_agree(client, sums)
        (order,) = Order.objects.values_list(
            *("status", "verdict", "refund_amount", "refund_currency", "checkout__status")
        )
        ended = (
            order,
            sorted(Refund.objects.values_list("document_id", "amount", "currency", "refunded_at")),
            sorted(Incident.objects.filter(resolved_at=None).values_list("kind", flat=True)),
            Grant.objects.filter(state=Grant.State.OPEN).count(),
        )
        transaction.set_rollback(True)
    return ended


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("part", range(PARTS))
def test_every_sum_says_the_same_in_any_order_of_arrival(
    checkout_deliver: Deliver, admin_client: Client, part: int
) -> None:
    """Rows, order, Money, files and evidence; nothing is revoked without a word, and no sum falls."""
    source = random.Random(SEED + part)
    for history in histories(HISTORIES, SEED + part):
        count = len(history.events)
        one = end_of(checkout_deliver, history, source.randint(0, count), admin_client)
        other = end_of(checkout_deliver, history.shuffled(source), 0)
        assert one == other, history
