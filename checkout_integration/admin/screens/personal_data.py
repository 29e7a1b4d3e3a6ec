"""The buttons that export and erase a customer: what is stored about them is counted first, and a reason is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import flows
from checkout_integration.admin.site import Button, ConfirmForm, Refused, Table
from checkout_integration.flows.privacy import Person, PrivacyRequest
from checkout_integration.models import CheckoutUser, Order, PrivacyAct

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class RequestForm(ConfirmForm):
    """A form with the reason of an act on personal data."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=255,
        help_text=gettext_lazy(
            "For example the number of the customer's request. It is stored for good, with your name: write no personal data "
            "of the customer."
        ),
        widget=forms.TextInput(attrs={"size": 60, "autofocus": True}),
    )


def _persons(row: CheckoutUser | Order) -> list[Person]:
    persons = flows.privacy.find_persons(
        **({"customer": row} if isinstance(row, CheckoutUser) else {"order": row})
    )
    if not persons:
        raise Refused(_("There is no data of this customer."))
    return persons


def _request(staff: AbstractBaseUser, values: Mapping[str, Any]) -> PrivacyRequest:
    return PrivacyRequest(reason=values["reason"], staff=staff, origin=PrivacyAct.Origin.ADMIN)


def _erase(row: CheckoutUser | Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    request = _request(staff, values)
    erasures = [flows.privacy.erase_customer(person, request) for person in _persons(row)]
    row.refresh_from_db()  # the log of what staff did names the row: by then without the customer
    orders = sum(erasure.orders for erasure in erasures)
    notifications = sum(erasure.notifications for erasure in erasures)
    sentences = (
        _("The customer is erased."),
        ngettext(
            "%(n)d order remains without personal data.",
            "%(n)d orders remain without personal data.",
            orders,
        )
        % {"n": orders},
        ngettext(
            "The body of %(n)d notification is gone.",
            "The bodies of %(n)d notifications are gone.",
            notifications,
        )
        % {"n": notifications},
    )
    return " ".join(sentences)


def _export(
    row: CheckoutUser | Order, staff: AbstractBaseUser, values: Mapping[str, Any]
) -> StreamingHttpResponse:
    pieces = flows.privacy.export_customer(_persons(row), _request(staff, values))
    # Not named after the customer: browsers show and keep names of files.
    name = f"customer-{row.pk}.json" if isinstance(row, CheckoutUser) else f"customer-of-order-{row.pk}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(pieces, content_type="application/json", headers=headers)


def _counted(row: CheckoutUser | Order) -> list[Table]:
    """Return how many rows have data of the customer, by indexed look-ups alone."""
    columns = [
        *(_("project"), _("customers"), _("orders"), _("checkouts")),
        *(_("notifications"), _("decisions")),
    ]
    cells = []
    for person in flows.privacy.find_persons(
        **({"customer": row} if isinstance(row, CheckoutUser) else {"order": row})
    ):
        found = flows.privacy.preview_erasure(person, reads_bodies=False)
        counts = (found.customers, found.orders, found.checkouts, found.notifications, found.decisions)
        cells.append([person.project, *map(str, counts)])
    return [Table(_("Rows with data of this customer"), columns, cells, empty=_("None."))]


def _is_erasable(row: CheckoutUser | Order) -> bool:
    personal = row if isinstance(row, CheckoutUser) else getattr(row, "personal_data", None)
    return personal is None or personal.erased_at is None


ERASE: Final = Button(
    name="erase",
    label=gettext_lazy("Erase the customer"),
    permission="erase_customer",
    question=gettext_lazy(
        "All personal data of this customer is deleted, here and on all their orders in this project: names, addresses, ids, "
        "and the bodies of notifications, also of those that could not be read. Amounts, statuses and times stay. "
        "Notifications that arrive later are stored without the customer's data. This cannot be undone."
    ),
    danger=True,
    form=RequestForm,
    offered=_is_erasable,
    act=_erase,
    preview=_counted,
    logged=lambda values: str(values["reason"]),
)
EXPORT: Final = Button(
    name="export",
    label=gettext_lazy("Export the customer's data"),
    permission="export_customer",
    question=gettext_lazy(
        "Everything that is stored about this customer in this project, as a JSON file: orders, checkouts, notifications as "
        "they came, decisions, notes. Nothing is changed. The export is recorded with your name."
    ),
    form=RequestForm,
    offered=_is_erasable,
    act=_export,
    preview=_counted,
    logged=lambda values: str(values["reason"]),
)
