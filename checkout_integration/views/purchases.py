"""A customer's own purchases, as a page of the shop: what they bought, what they gave, and what they were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import Q, QuerySet
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.generic import ListView, View
from django.views.generic.list import MultipleObjectMixin

from checkout_integration.display import csp_nonce, form_link, linkable
from checkout_integration.flows.inbox import apply_for
from checkout_integration.models import Checkout
from checkout_integration.views.returning import heading_of, page_of_subject, price_of, title_of
from checkout_integration.views.transactions import outside_transactions

GIVEN: Final = (Checkout.Status.PAID, Checkout.Status.REVERSED)
"""A gift is its recipient's business once it was paid."""
ENDED: Final = (Checkout.Status.CANCELLED, Checkout.Status.FAILED)


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """A line of the page. Texts are in the customer's language, and "" where there is nothing to say.

    Attributes:
        title: what was bought.
        state: how it stands, in a word or two.
        gift: ``given`` to somebody else, ``received`` from somebody else, or "".
        recipient: who got it, as `PurchasesMixin.get_recipient_name` names them.
        price: amount and currency; the buyer's alone, as is the receipt.
        receipt_url: where the receipt is.
        receipt_number: its number.
        codes: activation codes of what the account owns.
        until: until when it is paid, where it was sold for some days; "" for what lasts for ever.
        form_url: the hosted form, while it can be paid.
        again_url: where the same can be bought again, once it was cancelled.

    """

    checkout: Checkout
    title: str
    state: str
    gift: str = ""
    recipient: str = ""
    price: str = ""
    receipt_url: str = ""
    receipt_number: str = ""
    codes: Sequence[str] = ()
    until: str = ""
    form_url: str = ""
    again_url: str = ""


@method_decorator((never_cache, outside_transactions), name="dispatch")
class PurchasesMixin(LoginRequiredMixin, MultipleObjectMixin, View):  # type: ignore[type-arg]  # cannot be subscripted at run time
    """The purchases of the account that is logged in, the newest first: ``class Mine(PurchasesMixin, ListView)``.

    The template gets ``purchases``, a list of `Purchase`, with Django's own ``page_obj`` and ``is_paginated``. The number of
    statements does not depend on the number of purchases.
    """

    paginate_by = 20
    base_template = "checkout_integration/page.html"
    """The template that ``checkout_integration/purchases.html`` extends; it has the blocks ``title`` and ``content``."""

    def get_title(self, checkout: Checkout) -> str:
        """Return what was bought: the description, else the name that the service gives it, else the products."""
        return title_of(checkout)

    def get_recipient_name(self, checkout: Checkout) -> str:
        """Return who got the buyer's gift. Default: "", since a login name may be an address that they do not know."""
        return ""

    def get_again_url(self, checkout: Checkout) -> str:
        """Return where the same can be bought again; the page of the subject, if it has one. "" offers nothing."""
        return page_of_subject(checkout)

    def get_queryset(self) -> QuerySet[Checkout]:
        """Return the account's own rows, with all that is shown."""
        account = self.request.user.pk
        mine = Q(user=account) | Q(recipient=account, status__in=GIVEN)
        rows = Checkout.objects.filter(mine).order_by("-recorded_at", "-pk").defer("metadata")
        shown = rows.select_related("recipient", "paid_order__personal_data")
        return shown.prefetch_related("subject", "paid_order__items")

    def get_purchase(self, checkout: Checkout) -> Purchase:
        """Return the line of a checkout."""
        account, order = self.request.user.pk, checkout.paid_order
        is_owner, is_buyer = checkout.owner_id == account, checkout.user_id == account
        shown: dict[str, Any] = {"state": heading_of(checkout, order)}
        if checkout.gift and is_owner:
            paid = checkout.status == Checkout.Status.PAID
            shown = {"state": gettext("Yours") if paid else gettext("Taken back"), "gift": "received"}
        elif checkout.gift:
            shown |= {"gift": "given", "recipient": self.get_recipient_name(checkout)}
        if is_buyer:
            shown |= {
                "price": price_of(checkout),
                "receipt_url": linkable(order.receipt_url) if order else "",
                "receipt_number": order.receipt_number if order else "",
                "form_url": form_link(checkout),
                "again_url": self.get_again_url(checkout) if checkout.status in ENDED else "",
            }
        if checkout.paid_until is not None and checkout.status == Checkout.Status.PAID:
            shown["until"] = date_format(localtime(checkout.paid_until), "DATE_FORMAT")
            if checkout.has_ended:
                shown["state"] = gettext("Ended")
        if is_owner and order and checkout.status == Checkout.Status.PAID:
            shown["codes"] = [item.code for item in order.items.all() if item.code]
        return Purchase(checkout=checkout, title=self.get_title(checkout), **shown)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the content of the page."""
        context = super().get_context_data(**kwargs)
        purchases = [self.get_purchase(each) for each in self._up_to_date(list(context["object_list"]))]
        nonce = csp_nonce(self.request)
        return {**context, "purchases": purchases, "base_template": self.base_template, "csp_nonce": nonce}

    def _up_to_date(self, checkouts: list[Checkout]) -> list[Checkout]:
        """Apply stored notifications for the checkouts, and return them as they are then."""
        if not checkouts or not apply_for(checkouts):
            return checkouts
        processing = {checkout.pk for checkout in checkouts if checkout.processing}
        rows = list(self.get_queryset().filter(pk__in=[checkout.pk for checkout in checkouts]))
        for checkout in rows:
            checkout.processing = checkout.pk in processing
        return rows


class PurchasesPage(PurchasesMixin, ListView):  # type: ignore[type-arg]
    """The page as it is: ``PurchasesPage.as_view(base_template="shop/base.html")`` has the shop's own look."""

    template_name = "checkout_integration/purchases.html"
