"""The button of an order that applies one of its stored notifications again, after a preview of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.screens import application_in_words, preview_tables
from checkout_integration.admin.site import (
    NOTIFICATION_STATES,
    Button,
    ConfirmForm,
    Refused,
    Table,
    label_of,
    one_of,
    visible,
)
from checkout_integration.models import Notification, Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NEWEST: Final = 10
"""Notifications that the page previews and offers."""


class NotificationForm(ConfirmForm):
    """A form with the newest notifications of the order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the notifications that can be applied."""
        super().__init__(*args, **kwargs)
        self.fields["notification"] = one_of(_newest(self.row), _text, _("Notification"))


def _text(row: Notification) -> str:
    return f"{visible(str(row))}: {label_of(NOTIFICATION_STATES, row.state).text}"


def _newest(order: Order) -> list[Notification]:
    return list(flows.operations.notifications_of(order).defer("body")[:NEWEST])


def _apply(order: Order, staff: AbstractBaseUser, values: Mapping[str, Any]) -> StrOrPromise:
    try:
        application = flows.operations.apply_notification(values["notification"], staff=staff, again=True)
    except flows.operations.NotApplicable as error:
        raise Refused(_("Nothing changed. %(why)s") % {"why": error}) from None
    if not application.applied:
        why = application_in_words(application)
        raise Refused(_("Nothing changed: it could not be applied. %(why)s") % {"why": why})
    if not application.changes:
        return _("Applied. Nothing changed.")
    return _("Applied. %(what)s") % {"what": application_in_words(application)}


def _preview(order: Order) -> list[Table]:
    return preview_tables(_newest(order))


APPLY_AGAIN: Final = Button(
    name="apply",
    label=gettext_lazy("Apply a notification again"),
    permission="apply_notification",
    question=gettext_lazy(
        "The notification is applied as if it had just arrived, at the current time. The table shows what each notification "
        "would change by itself. Most were applied before and change nothing. No goods are granted twice."
    ),
    form=NotificationForm,
    offered=lambda order: flows.operations.notifications_of(order).exists(),
    act=_apply,
    preview=_preview,
    logged=lambda values: visible(str(values["notification"])),
)
