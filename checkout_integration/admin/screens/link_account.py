"""The button that links a customer to an account of the shop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.site import Button, ReasonForm, Refused, Table, short, visible
from checkout_integration.models import CheckoutUser, Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class LinkForm(ReasonForm):
    """A form with the login name of an account, and a reason."""

    account = forms.CharField(
        label=gettext_lazy("Account"),
        max_length=255,
        help_text=gettext_lazy("The full login name of the account."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("account", "reason")

    def clean_account(self) -> AbstractBaseUser:
        """Return the account of this name."""
        accounts = get_user_model()
        name = {accounts.USERNAME_FIELD: self.cleaned_data["account"]}
        account: AbstractBaseUser | None = accounts._default_manager.filter(**name).first()
        if account is None:
            raise forms.ValidationError(_("There is no account with this name."))
        return account


def _customer(row: CheckoutUser | Order) -> CheckoutUser | None:
    return row if isinstance(row, CheckoutUser) else row.user


def _is_linkable(row: CheckoutUser | Order) -> bool:
    customer = _customer(row)
    return customer is not None and customer.erased_at is None


def _link(row: CheckoutUser | Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    customer, account = _customer(row), values["account"]
    if customer is None:
        raise Refused(_("Nothing changed: the order has no customer."))
    before = customer.account
    if not flows.operations.link_account(customer, account):
        raise Refused(_("Nothing changed: the customer is linked to this account already, or was erased."))
    names = {"account": short(account), "before": short(before)}
    if before is None:
        return _("The customer is linked to the account %(account)s.") % names
    return _("The customer is linked to the account %(account)s. It was %(before)s.") % names


def _now(row: CheckoutUser | Order) -> list[Table]:
    customer = _customer(row)
    assert customer is not None  # it is offered where there is one
    columns = [_("id in this shop"), _("id at the service"), _("account now")]
    cells = [short(customer.external_id), short(customer.user_id), short(customer.account or _("none"))]
    return [Table(_("The customer"), columns, [cells])]


LINK: Final = Button(
    name="link-account",
    label=gettext_lazy("Link to an account"),
    permission="link_account",
    question=gettext_lazy(
        "The customer is linked to an account of this shop, which replaces the previous one. Orders and checkouts stay as "
        "they are: the account still sees only what was bought through its own checkouts."
    ),
    form=LinkForm,
    offered=_is_linkable,
    act=_link,
    preview=_now,
    # By its key: the name may be an e-mail address.
    logged=lambda values: visible(f"{values['account'].pk}: {values['reason']}"),
)
