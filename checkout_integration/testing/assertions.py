"""Assertions for a shop's tests. Each reads its rows again, and says how they are when it fails."""

from __future__ import annotations

from collections.abc import Collection

from django.http import HttpResponse

from checkout_integration.models import Checkout, Grant, Order, OutboxMessage, ReceiverRun
from checkout_integration.policy.verdict import VerdictStatus

__all__ = [
    "assert_acknowledged",
    "assert_granted",
    "assert_in_review",
    "assert_not_granted",
    "assert_revoked",
]


def assert_granted(checkout: Checkout) -> None:
    """Assert that the checkout is paid, and that every receiver of ``checkout_paid`` has run for what pays for it now."""
    checkout.refresh_from_db()
    assert checkout.status == Checkout.Status.PAID, f"The checkout is {checkout.status}; {_orders(checkout)}."
    _assert_ran("checkout_paid", checkout, grant__state=Grant.State.OPEN)


def assert_not_granted(checkout: Checkout) -> None:
    """Assert that no receiver of ``checkout_paid`` has run for the checkout, and that none will."""
    checkout.refresh_from_db()
    runs = ReceiverRun.objects.filter(message__checkout=checkout, message__signal="checkout_paid")
    ran = runs.exclude(state=ReceiverRun.State.SUPERSEDED).count()
    assert checkout.status != Checkout.Status.PAID, f"The checkout is paid; {_orders(checkout)}."
    assert not ran, f"{ran} receivers of checkout_paid have run, or will."


def assert_revoked(checkout: Checkout) -> None:
    """Assert that the checkout is reversed, and that every receiver of ``checkout_reversed`` ran or had nothing to undo."""
    checkout.refresh_from_db()
    assert checkout.status == Checkout.Status.REVERSED, (
        f"The checkout is {checkout.status}; {_orders(checkout)}."
    )
    _assert_ran("checkout_reversed", checkout, ended=(ReceiverRun.State.SUPERSEDED,))


def assert_in_review(order: Order, reason: str = "") -> None:
    """Assert that the payment is in review, for this reason where one is given, so that no goods were granted for it."""
    order.refresh_from_db()
    assert order.verdict == VerdictStatus.REVIEW, f"The verdict is {order.verdict} {order.verdict_reason}."
    assert order.verdict_reason == (reason or order.verdict_reason), (
        f"The reason is {order.verdict_reason!r}, not {reason!r}."
    )


def assert_acknowledged(response: HttpResponse) -> None:
    """Assert that the webhook's response acknowledges: 200 and not one byte (EP5-02)."""
    assert response.status_code == 200, f"The answer is {response.status_code}: {response.content!r}."
    assert response.content == b"", f"The answer has a body: {response.content!r}."


def _assert_ran(signal: str, checkout: Checkout, ended: Collection[str] = (), **condition: object) -> None:
    outbox_messages = OutboxMessage.objects.filter(signal=signal, checkout=checkout, **condition)
    assert outbox_messages, f"{signal} was not announced for the checkout."
    for message in outbox_messages:
        waiting = message.runs.exclude(state__in=(ReceiverRun.State.DONE, *ended))
        left = [f"{run.receiver}: {run.state} {run.postponed_for or run.error}".strip() for run in waiting]
        assert not left, f"Not done: {', '.join(left)}."


def _orders(checkout: Checkout) -> str:
    orders = [
        f"{order.order_id} is {order.status}, {order.verdict} {order.verdict_reason}".strip()
        for order in checkout.orders.all()
    ]
    return "; ".join(orders) or "no order is bound to it"
