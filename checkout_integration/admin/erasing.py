"""The button that erases a customer, on their own page and on the page of each of their orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext_lazy as _

from checkout_integration import flows
from checkout_integration.admin.buttons import Button, Refused
from checkout_integration.models import CheckoutUser, Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def _erase(row: CheckoutUser | Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    whom = {"customer": row} if isinstance(row, CheckoutUser) else {"order": row}
    persons = flows.find_persons(**whom)
    if not persons:
        raise Refused(_("Nothing is kept of this customer."))
    told = [flows.erase(person) for person in persons]
    row.refresh_from_db()  # the log of what staff did names the row: by then without the customer
    orders = sum(each.orders for each in told)
    return _("The customer is erased: %(orders)d orders are kept without them.") % {"orders": orders}


def _is_kept(row: CheckoutUser | Order) -> bool:
    held = row if isinstance(row, CheckoutUser) else getattr(row, "personal_data", None)
    return held is None or held.erased_at is None


ERASE: Final = Button(
    name="erase",
    label=_("Erase the customer"),
    permission="erase_customer",
    question=_(
        "Everything that tells of this customer is erased, here and on all their orders in this project: names, addresses, "
        "ids, and the bodies of notifications. Amounts, statuses and times stay. What the service tells of them later is "
        "kept without them. This cannot be undone."
    ),
    offered=_is_kept,
    act=_erase,
)
