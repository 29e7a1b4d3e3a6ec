"""The buttons of an order: accept or restore its payment, check it with the service, write a note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.order.money import payment_table
from checkout_integration.admin.order.service_errors import failure_in_words
from checkout_integration.admin.screens import ERASE
from checkout_integration.admin.site import (
    ORDER_STATUSES,
    VERDICTS,
    Button,
    ConfirmForm,
    Refused,
    label_of,
    order_label,
    reason_label,
)
from checkout_integration.flows.ledger import ACCEPTABLE, state_of
from checkout_integration.models import Order
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.policy.verdict import Verdict, VerdictStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def _accept(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        flows.operations.accept_payment(order, staff=staff, reason=reason)
    except ValueError:
        raise Refused(
            _("Only a paid order that is in review, or from before the installation, can be accepted.")
        ) from None
    return _("The payment is accepted; its goods are being granted.")


def _restore(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        change = flows.operations.restore_payment(order, staff=staff, reason=reason)
    except ValueError:
        raise Refused(
            _("Nothing changed: only a payment that was refunded or charged back can be restored.")
        ) from None
    before, after = (
        label_of(ORDER_STATUSES, status).text for status in (change.status_before, change.status_after)
    )
    return _("The payment is restored: %(before)s → %(after)s. Its goods are being granted again.") % {
        "before": before,
        "after": after,
    }


def _check(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    orders = Order.objects.select_related("personal_data").filter(pk=order.pk)
    before = orders.get()
    try:
        found = flows.refresh_order(order)
    except flows.CheckoutError as error:
        raise Refused(
            _("The order could not be fetched from the service. %(why)s") % {"why": failure_in_words(error)}
        ) from None
    if not found:
        return _("The service has no such order. Nothing changed.")
    after = orders.get()
    pairs = zip(_shown(before), _shown(after), strict=True)
    steps = [f"{old} → {new}" for old, new in pairs if old != new]
    # Not by its time of change: a later reading of the same state is a change too.
    if not steps and before.whole_document == after.whole_document:
        return _("Order refreshed from the service. Nothing changed.")
    if not steps:
        return _("Order refreshed from the service. Other fields changed, not its status.")
    return _("Order refreshed from the service: %(steps)s.") % {"steps": ", ".join(steps)}


def _shown(order: Order) -> tuple[str, str]:
    """Return an order's status and verdict in words."""
    verdict, reason = label_of(VERDICTS, order.verdict).text, reason_label(order.verdict_reason)
    return str(order_label(state_of(order)).text), f"{verdict} ({reason})" if reason else str(verdict)


class NoteForm(ConfirmForm):
    """A form with the text of a note."""

    text = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=LONGEST_REASON,
        help_text=gettext_lazy(
            "It is stored in the order's history, with your name. Do not write names, addresses or other personal data of "
            "the customer: everybody who may see the order reads it."
        ),
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60, "autofocus": True}),
    )


def _add_note(order: Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    try:
        flows.operations.add_note(order, staff=staff, text=values["text"])
    except ValueError:
        raise Refused(_("Nothing changed: the customer of this order was erased.")) from None
    return _("The note is in the timeline. Nothing else changed.")


ACCEPT: Final = Button(
    name="accept",
    label=gettext_lazy("Accept this payment"),
    permission="accept_payment",
    question=gettext_lazy(
        "The payment is not for exactly what was sold, or is from before the installation. If you accept it, the goods are "
        "granted as if it were verified."
    ),
    needs_reason=True,
    writes_own_log=True,
    offered=lambda order: order.verdict in ACCEPTABLE and state_of(order).stands,
    act=_accept,
    preview=lambda order: [payment_table(order)],
)
RESTORE: Final = Button(
    name="restore",
    label=gettext_lazy("Restore this payment"),
    permission="restore_payment",
    question=gettext_lazy(
        "Restore a payment whose money has come back, for example because you won the dispute. This overrules what the "
        "service has sent until now. The order is paid again, and its goods are granted again."
    ),
    needs_reason=True,
    danger=True,
    writes_own_log=True,
    # One that is in review was never granted: to restore it would accept it too.
    offered=lambda order: state_of(order).fully_reversed and Verdict(VerdictStatus(order.verdict)).pays,
    act=_restore,
    preview=lambda order: [payment_table(order)],
)
CHECK: Final = Button(
    name="check",
    label=gettext_lazy("Check with the service now"),
    permission="check_order",
    question=gettext_lazy(
        "The order is fetched from the service, and its current state is applied as usual."
    ),
    asks=False,
    offered=lambda order: True,
    act=_check,
)
NOTE: Final = Button(
    name="note",
    label=gettext_lazy("Write a note"),
    permission="add_note",
    question=gettext_lazy("The note is shown in the order's timeline. It changes nothing else."),
    form=NoteForm,
    writes_own_log=True,
    # Erasing empties the notes there are.
    offered=ERASE.offered,
    act=_add_note,
    logged=lambda values: "",
)
