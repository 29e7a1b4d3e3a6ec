"""The button that binds an order to a checkout, or to a new one that staff describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.order.money import payment_table
from checkout_integration.admin.screens import verdict_in_words
from checkout_integration.admin.site import Button, ReasonForm, Refused
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.amounts import MONEY_DIGITS, MONEY_PLACES
from checkout_integration.protocol.vocabulary import OrderType

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TYPES: Final = [
    (OrderType.SIMPLE.value, gettext_lazy("simple: an amount")),
    (OrderType.PRODUCT.value, gettext_lazy("products")),
    (OrderType.KEY.value, gettext_lazy("game keys")),
    (OrderType.VIRTUAL_CURRENCY.value, gettext_lazy("virtual currency")),
]


class BindForm(ReasonForm):
    """A form for a checkout by its reference, or for the description of a new one, with a reason."""

    reference = forms.CharField(
        label=gettext_lazy("Checkout reference"),
        max_length=64,
        required=False,
        help_text=gettext_lazy(
            "The reference of a checkout of this project. Leave it empty to describe a new one below."
        ),
    )
    type = forms.ChoiceField(label=gettext_lazy("New checkout: type"), choices=TYPES, required=False)
    amount = forms.DecimalField(
        label=gettext_lazy("New checkout: price"),
        max_digits=MONEY_DIGITS,
        decimal_places=MONEY_PLACES,
        min_value=0,
        required=False,
        help_text=gettext_lazy("The agreed price. Leave it empty if the service sets the price."),
    )
    currency = forms.RegexField(
        r"^[A-Z]{3}$",
        label=gettext_lazy("New checkout: currency"),
        required=False,
        help_text=gettext_lazy("Three capital letters, such as USD."),
    )
    description = forms.CharField(
        label=gettext_lazy("New checkout: subject"),
        max_length=255,
        required=False,
        help_text=gettext_lazy(
            "What was sold, in one line. Do not name the customer: this text remains when the customer is erased."
        ),
    )
    field_order = ("reference", "type", "amount", "currency", "description", "reason")

    def clean(self) -> dict[str, Any]:
        """Refuse a reference together with a description."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        described = values.get("amount") is not None or values.get("currency") or values.get("description")
        if values.get("reference") and described:
            raise forms.ValidationError(_("Give a reference or describe a new checkout, not both."))
        return values


def _bind(order: Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    try:
        change = flows.operations.bind_order(
            order, to=_target(order, values), staff=staff, reason=values["reason"]
        )
    except ValueError as error:
        raise Refused(str(error)) from None
    return _("The order is bound to checkout %(checkout)s. Verdict: %(verdict)s.") % {
        "checkout": change.checkout,
        "verdict": verdict_in_words(change.verdict_after),
    }


def _target(order: Order, values: Mapping[str, Any]) -> Checkout | flows.operations.CheckoutDescription:
    if not values["reference"]:
        names = ("type", "amount", "currency", "description")
        return flows.operations.CheckoutDescription(**{name: values[name] for name in names})
    checkout = Checkout.objects.filter(reference=values["reference"], project=order.project).first()
    if checkout is None:
        raise Refused(_("There is no checkout with this reference in the project of the order."))
    return checkout


BIND: Final = Button(
    name="bind",
    label=gettext_lazy("Bind to a checkout"),
    permission="bind_order",
    question=gettext_lazy(
        "Choose the checkout that this payment is for. If the payment is for exactly that, it is verified and its goods are "
        "granted; if not, it is in review, and you can accept it."
    ),
    form=BindForm,
    writes_own_log=True,
    offered=lambda order: order.checkout_id is None,
    act=_bind,
    preview=lambda order: [payment_table(order)],
)
