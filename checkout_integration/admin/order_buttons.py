"""What staff may do with an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext_lazy as _

from checkout_integration import flows
from checkout_integration.admin.buttons import Button, Refused
from checkout_integration.flows.ledger.deciding import ACCEPTABLE
from checkout_integration.flows.ledger.rows import state_of
from checkout_integration.models import Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def _accept(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        flows.accept_payment(order, staff=staff, reason=reason)
    except ValueError:
        raise Refused(
            _("Only a paid order that is in review, or from before the installation, can be accepted.")
        ) from None
    return _("The payment is accepted; its goods are being granted.")


def _check(order: Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        found = flows.refresh_order(order)
    except flows.CheckoutError as error:
        raise Refused(_("The service did not tell: %(why)s") % {"why": error}) from None
    return (
        _("The service told of the order as it is now.")
        if found
        else _("The service does not know this order.")
    )


ACCEPT: Final = Button(
    name="accept",
    label=_("Accept this payment"),
    permission="accept_payment",
    question=_(
        "The payment does not pay for exactly what was sold, or is from before the installation. If you accept it, the goods "
        "are granted as if it were verified."
    ),
    needs_reason=True,
    keeps_own_row=True,
    offered=lambda order: order.verdict in ACCEPTABLE and state_of(order).stands,
    act=_accept,
)
CHECK: Final = Button(
    name="check",
    label=_("Check with the service now"),
    permission="check_order",
    question=_("The service is asked for this order, and what it tells is applied as usual."),
    offered=lambda order: True,
    act=_check,
)
