"""The buttons of an order: accept its payment, check it with the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext_lazy as _

from checkout_integration import flows
from checkout_integration.admin.site import (
    Button,
    Refused,
)
from checkout_integration.flows.ledger import ACCEPTABLE, state_of
from checkout_integration.models import Order

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


def _check(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        refreshed = flows.refresh_order(order)
    except flows.CheckoutError as error:
        raise Refused(_("The service could not be reached: %(why)s") % {"why": error}) from None
    return _("Order refreshed from the service.") if refreshed else _("The service has no such order.")


ACCEPT: Final = Button(
    name="accept",
    label=_("Accept this payment"),
    permission="accept_payment",
    question=_(
        "The payment is not for exactly what was sold, or is from before the installation. If you accept it, the goods are "
        "granted as if it were verified."
    ),
    needs_reason=True,
    writes_own_log=True,
    offered=lambda order: order.verdict in ACCEPTABLE and state_of(order).stands,
    act=_accept,
)
CHECK: Final = Button(
    name="check",
    label=_("Check with the service now"),
    permission="check_order",
    question=_("The order is fetched from the service, and its current state is applied as usual."),
    offered=lambda order: True,
    act=_check,
)
