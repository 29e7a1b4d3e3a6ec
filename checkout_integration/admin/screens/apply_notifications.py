"""The application of waiting notifications: of one by a button, of several by an action of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import dispatch, flows
from checkout_integration.admin.screens.changes import application_in_words, change_cells, without_changes
from checkout_integration.admin.site import (
    NOTHING,
    NOTIFICATION_STATES,
    Button,
    ButtonAdmin,
    ConfirmForm,
    Refused,
    Table,
    label_of,
    visible,
)
from checkout_integration.models import Notification

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


MOST_AT_ONCE: Final = 100
"""Notifications that one page previews and applies; `manage.py checkout_apply` knows no limit."""


def preview_tables(rows: Sequence[Notification]) -> list[Table]:
    """Return the changes that each of these notifications would make now, if it alone were applied."""
    lines = [line for row in rows for line in _preview(row)]
    columns = [
        _("notification"),
        _("becomes"),
        _("order"),
        _("verdict"),
        _("checkout"),
        _("signals"),
        _("incidents"),
    ]
    return [Table(_("What would change"), columns, lines)]


def _preview(row: Notification) -> list[list[Any]]:
    name = visible(str(row))
    try:
        application = flows.operations.preview_notification(row, again=True)
    except flows.operations.NotApplicable as error:
        return [[name, str(error), *[NOTHING] * 5]]
    if not application.changes:
        return [[name, without_changes(application), *[NOTHING] * 5]]
    state = str(label_of(NOTIFICATION_STATES, application.state).text)
    return [[name, state, *change_cells(change)] for change in application.changes]


def _apply(row: Notification, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    try:
        application = flows.operations.apply_notification(row, staff=staff)
    except flows.operations.NotApplicable as error:
        raise Refused(str(error)) from None
    if not application.applied:
        raise Refused(_("It could not be applied. %(why)s") % {"why": application_in_words(application)})
    return _("Applied. %(what)s") % {"what": application_in_words(application)}


APPLY: Final = Button(
    name="apply",
    label=gettext_lazy("Apply this notification"),
    permission="apply_notification",
    question=gettext_lazy(
        "The notification is applied as if it had just arrived, at the current time. This resolves its incident."
    ),
    offered=lambda row: row.state in flows.operations.WAITING and bool(row.body),
    act=_apply,
    preview=lambda row: preview_tables([row]),
)


def apply_selected(
    admin: ButtonAdmin, request: HttpRequest, selected: QuerySet[Notification]
) -> HttpResponse | None:
    """Show a preview, then apply the selected notifications, oldest first: an action of the list."""
    rows = list(flows.operations.waiting_notifications().filter(pk__in=selected.values("pk"))[:MOST_AT_ONCE])
    if not rows:
        messages.warning(request, _("None of the selected notifications is waiting to be applied."))
        return None
    if "confirmed" not in request.POST:
        return _confirm(admin, request, rows)
    assert isinstance(request.user, AbstractBaseUser)
    applied = 0
    for row in rows:
        try:
            _apply(row, request.user, "")
        except Refused as refused:
            messages.error(request, f"{visible(str(row))}: {refused}")
        else:
            applied += 1
            admin.log_change(request, row, str(APPLY.label))
    if applied:
        text = ngettext("%(n)d notification was applied.", "%(n)d notifications were applied.", applied)
        messages.success(request, text % {"n": applied})
        dispatch.dispatch_due()
    return None


def _confirm(admin: ButtonAdmin, request: HttpRequest, rows: Sequence[Notification]) -> HttpResponse:
    hidden = [("action", "apply_selected"), ("confirmed", "yes")]
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": APPLY_SELECTED,
        "heading": APPLY_SELECTED,
        "media": admin.media,
        "button": {"label": APPLY_SELECTED, "question": APPLY.question},
        "form": ConfirmForm(),
        "back": request.path,
        "tables": preview_tables(rows),
        "hidden": hidden + [(ACTION_CHECKBOX_NAME, str(row.pk)) for row in rows],
    }
    return TemplateResponse(request, "admin/checkout_integration/confirm.html", context)


APPLY_SELECTED: Final = gettext_lazy("Apply the selected notifications")
apply_selected.short_description = APPLY_SELECTED  # type: ignore[attr-defined]
apply_selected.allowed_permissions = ("apply",)  # type: ignore[attr-defined]
