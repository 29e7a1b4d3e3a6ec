"""A row for each button, in a state in which the button is offered, and what a form of its confirmation sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import uuid4

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.utils import timezone

from checkout_integration.admin.site.buttons import ButtonAdmin
from checkout_integration.models import CheckoutUser, Order, Receiver, ReceiverRun
from tests.support.admin import rows

Offer: TypeAlias = tuple[Model, Mapping[str, Any]]
REASON: Final = {"reason": "request 4711"}


def _customer() -> CheckoutUser:
    return rows.make_customer(f"player-{rows.next_number()}")


def _blocked() -> CheckoutUser:
    customer = _customer()
    CheckoutUser.objects.filter(pk=customer.pk).update(blocked_at=timezone.now())
    return customer


def _linked() -> CheckoutUser:
    customer = _customer()
    CheckoutUser.objects.filter(pk=customer.pk).update(
        linked_at=timezone.now(), account=User.objects.create_user(f"player-{rows.next_number()}")
    )
    return customer


def _order(**columns: Any) -> Order:
    return rows.make_order(**{"user": _customer(), **columns})


def _in_review() -> Offer:
    return _order(verdict="review", verdict_reason="unbound"), REASON


def _to_bind() -> Offer:
    return _in_review()[0], {**REASON, "reference": rows.make_checkout().reference}


def _unknown(**pause: Any) -> ReceiverRun:
    """Make a run of a receiver that no process has had for an hour."""
    seen = timezone.now() - timedelta(hours=1)
    times = {"first_seen": seen, "last_seen": seen}
    Receiver.objects.update_or_create(
        signal="checkout_paid", name="gone", defaults={**times, "retired_at": None, **pause}
    )
    return rows.make_run(_order(), receiver="gone", state="unknown", finished_at=None)


def _failed(make: Callable[..., ReceiverRun], field: str) -> Offer:
    run = make(_order(), state="failed", finished_at=None)
    assert run.order is not None
    return run.order, {**REASON, field: [run.pk]}


def _notified() -> Offer:
    notification = rows.make_waiting_notification()
    return rows.make_order(notification.object_id, user=_customer()), {"notification": notification.pk}


def _account() -> Mapping[str, Any]:
    return {**REASON, "account": User.objects.create_user(f"player-{rows.next_number()}").username}


OFFERED: Final[Mapping[tuple[str, str], Callable[[], Offer]]] = {
    ("order", "accept"): _in_review,
    ("order", "bind"): _to_bind,
    ("order", "check"): lambda: (
        rows.make_order(str(uuid4()), user=_customer()),
        {},
    ),  # the service knows no others
    ("order", "note"): lambda: (_order(), {"text": "the parcel came back"}),
    ("order", "run"): lambda: _failed(rows.make_run, "runs"),
    ("order", "mark-granted"): lambda: _failed(rows.make_granting_run, "run"),
    ("order", "apply"): _notified,
    ("order", "link-account"): lambda: (_order(), _account()),
    ("order", "unlink-account"): lambda: (_order(user=_linked()), REASON),
    ("order", "block"): lambda: (_order(status="chargeback"), REASON),
    ("order", "unblock"): lambda: (_order(user=_blocked()), REASON),
    ("order", "revoke"): lambda: (_order(), REASON),
    ("order", "restore"): lambda: (_order(status="refunded"), REASON),
    ("order", "export"): lambda: (_order(), REASON),
    ("order", "erase"): lambda: (_order(), REASON),
    ("checkout", "undo-claim"): lambda: (rows.make_checkout(claimed_at=rows.NOON), REASON),
    ("checkoutuser", "link-account"): lambda: (_customer(), _account()),
    ("checkoutuser", "unlink-account"): lambda: (_linked(), REASON),
    ("checkoutuser", "block"): lambda: (_customer(), REASON),
    ("checkoutuser", "unblock"): lambda: (_blocked(), REASON),
    ("checkoutuser", "export"): lambda: (_order().user or _customer(), REASON),
    ("checkoutuser", "erase"): lambda: (_order().user or _customer(), REASON),
    ("incident", "resolve"): lambda: (rows.make_incident(_order()), {}),
    ("notification", "apply"): lambda: (rows.make_waiting_notification(), {}),
    ("receiverrun", "run-again"): lambda: (
        rows.make_run(_order(), state="failed", finished_at=None),
        {},
    ),
    ("receiverrun", "retire"): lambda: (_unknown(), {}),
    ("receiverrun", "pause"): lambda: (_unknown(), REASON),
    ("receiverrun", "resume"): lambda: (_unknown(paused_at=timezone.now(), paused_for="a flood"), {}),
}


def buttons() -> list[tuple[str, str]]:
    """Every button of every screen."""
    return [
        (str(model._meta.model_name), button.name)
        for model, screen in admin.site._registry.items()
        if isinstance(screen, ButtonAdmin)
        for button in screen.buttons
    ]
