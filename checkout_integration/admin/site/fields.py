"""Fields of a row as one viewer sees them: escaped, labelled, linked if the viewer may open it, hidden if not permitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from django.contrib.admin.options import BaseModelAdmin, InlineModelAdmin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.contrib.auth import get_permission_codename
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy

from checkout_integration.admin.site.labels import StateLabel, Text, label_of
from checkout_integration.admin.site.values import (
    NOTHING,
    Value,
    badge,
    breakable,
    folded,
    hidden,
    in_list,
    pretty,
    pretty_body,
    short,
    shown_value,
)


@dataclass(frozen=True)
class Viewer:
    """A member of staff, and the admin site in use (a project may have several)."""

    user: AbstractBaseUser | AnonymousUser
    site_name: str

    def may(self, permission: str) -> bool:
        """Return whether they have a permission of this app, by its codename."""
        return self.has_perm(f"checkout_integration.{permission}")

    def has_perm(self, permission: str) -> bool:
        """Return whether they have a permission of any app."""
        has_permissions = isinstance(self.user, (PermissionsMixin, AnonymousUser))
        return has_permissions and self.user.has_perm(permission)  # type: ignore[union-attr]

    @property
    def sees_personal_data(self) -> bool:
        """Whether e-mail addresses, names, cards and raw bodies are shown to them."""
        return self.may("view_personal_data")

    def personal(self, value: Value) -> Value:
        """Return personal data for those who may see them; for others that they are hidden."""
        return value if self.sees_personal_data else hidden()

    def address(self, model: type[Model], page: str, *args: object) -> str:
        """Return the address of a model's list, ``changelist``, or of the page of its row with a key, ``change``."""
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
        return reverse(name, args=args, current_app=self.site_name)

    def row(self, row: Model | None) -> Value:
        """Return a row's name as a link to its page; "–" for no row."""
        return self.link(type(row), row.pk, row) if row is not None else NOTHING

    def link(self, model: type[Model], primary_key: object, text: object) -> str | SafeString:
        """Return a link to a row's page where they may view it, else its text, which may be HTML; "–" for no row."""
        if primary_key is None:
            return NOTHING
        shown = text if isinstance(text, SafeString) else short(text)
        permission = f"{model._meta.app_label}.{get_permission_codename('view', model._meta)}"
        try:
            address = self.address(model, "change", primary_key)
        except NoReverseMatch:  # the shop's own models may have no page
            return shown
        if not self.has_perm(permission):
            return shown
        return format_html('<a href="{}">{}</a>', address, breakable(shown))


FIELD_NAMES: Final[Mapping[str, Text]] = {
    "account": gettext_lazy("account"),
    "address": gettext_lazy("address"),
    "amount": gettext_lazy("amount"),
    "attempt": gettext_lazy("attempt"),
    "attempts": gettext_lazy("attempts"),
    "blocked": gettext_lazy("blocked"),
    "body": gettext_lazy("body"),
    "by": gettext_lazy("by"),
    "checkout": gettext_lazy("checkout"),
    "code": gettext_lazy("code"),
    "created": gettext_lazy("created"),
    "created_at": gettext_lazy("created"),
    "customer": gettext_lazy("customer"),
    "decided_at": gettext_lazy("decided"),
    "decided_by": gettext_lazy("decided by"),
    "delay": gettext_lazy("delay"),
    "description": gettext_lazy("description"),
    "detail": gettext_lazy("detail"),
    "document": gettext_lazy("document"),
    "document_id": gettext_lazy("id of the document"),
    "due_at": gettext_lazy("due"),
    "due_or_finished": gettext_lazy("due or finished"),
    "email": gettext_lazy("e-mail"),
    "erased_at": gettext_lazy("erased"),
    "event": gettext_lazy("event"),
    "failed_at": gettext_lazy("failed"),
    "failure": gettext_lazy("failure"),
    "finished_at": gettext_lazy("finished"),
    "incident": gettext_lazy("incident"),
    "ip": gettext_lazy("IP address"),
    "kind": gettext_lazy("kind"),
    "lane": gettext_lazy("lane"),
    "live": gettext_lazy("live"),
    "locale": gettext_lazy("language and region"),
    "metadata": gettext_lazy("metadata"),
    "name": gettext_lazy("name"),
    "notification": gettext_lazy("notification"),
    "notify_new_region": gettext_lazy("wants news of new regions"),
    "notify_new_region_email": gettext_lazy("e-mail for news of new regions"),
    "order": gettext_lazy("order"),
    "order_id": gettext_lazy("order id"),
    "ordered_at": gettext_lazy("created"),
    "origin": gettext_lazy("origin"),
    "owned_until": gettext_lazy("owned until"),
    "paid_until": gettext_lazy("paid until"),
    "payment_form": gettext_lazy("payment form"),
    "phone": gettext_lazy("phone"),
    "platform_id": gettext_lazy("platform"),
    "postponed_for": gettext_lazy("postponed, waits for"),
    "postponed_since": gettext_lazy("postponed since"),
    "price": gettext_lazy("price"),
    "product": gettext_lazy("product"),
    "project": gettext_lazy("project"),
    "reason": gettext_lazy("reason"),
    "receipt_number": gettext_lazy("receipt number"),
    "received_at": gettext_lazy("received"),
    "receiver": gettext_lazy("code of the shop"),
    "recorded_at": gettext_lazy("recorded"),
    "reference": gettext_lazy("reference"),
    "refund": gettext_lazy("refund"),
    "refunded_at": gettext_lazy("refunded"),
    "resolved_at": gettext_lazy("resolved"),
    "resolved_by": gettext_lazy("resolved by"),
    "reversed_at": gettext_lazy("refunded"),
    "running_since": gettext_lazy("running since"),
    "signal": gettext_lazy("signal"),
    "started_at": gettext_lazy("started"),
    "state": gettext_lazy("state"),
    "status": gettext_lazy("status"),
    "transaction": gettext_lazy("transaction"),
    "type": gettext_lazy("type"),
    "verdict": gettext_lazy("check"),
    "virtual_currency": gettext_lazy("virtual currency"),
}


def group(title: Text | None, names: str) -> tuple[Text | None, Any]:
    """Return a group of fields for ``fieldsets``, from their names with spaces between."""
    return title, {"fields": names.split()}


class ReadOnly(BaseModelAdmin):  # type: ignore[type-arg]  # it cannot be subscripted at run time
    """The base of screens and of tables on their pages: nothing is added, changed or deleted, and values are shown safely.

    A subclass names fields as usual in ``list_display``, ``fieldsets`` or ``fields``, those of a related row with two
    underscores. A method of that name may compute the value; it returns text, HTML, a number, a time, a label, a row (which
    is linked), JSON or bytes (which are folded away).
    """

    headings: Mapping[str, Text] = {}
    """Headings of fields that have another one here than on other screens."""
    labels: Mapping[str, Mapping[Any, StateLabel]] = {}
    """Labels of the fields with a state."""
    personal_fields: Sequence[str] = ()
    """Fields for viewers with the permission to see personal data."""
    linked: Sequence[str] = ()
    """Columns of the list whose rows are linked, as those of a page are."""
    explains_states = True
    """Whether a page explains a state in a sentence."""
    sortable: Mapping[str, str] = {}
    """Columns by which staff may sort the list, each with its indexed column."""

    def viewer(self, request: HttpRequest) -> Viewer:
        """Return the viewer of the request."""
        return Viewer(request.user, self.admin_site.name)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the groups of fields, as this viewer sees them."""
        viewer, groups = self.viewer(request), self.fieldsets or [(None, {"fields": self.fields or ()})]
        return [
            (title, {"fields": [ViewedField(self, str(name), viewer) for name in options["fields"]]})
            for title, options in groups
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return all fields."""
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: rows come from the service and from flows. State is written by flows only, and recorded rows stay."""
        return False

    has_change_permission = has_add_permission
    has_delete_permission = has_add_permission


@dataclass(frozen=True, repr=False)
class ViewedField:
    """A field of a row as one viewer sees it. Django calls it where it would read a field by its name.

    Attributes:
        admin: the screen; it may have a method of this name, a heading, labels of states, and say that the field is personal.
        in_list: whether it is a cell of a list, where values are cut and rows are not linked.

    """

    admin: ReadOnly
    name: str
    viewer: Viewer
    in_list: bool = False

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def short_description(self) -> Text:
        """The heading of the column, or the label of the value."""
        heading = self.admin.headings.get(self.name) or FIELD_NAMES.get(self.name.rpartition("__")[2])
        return heading or str(label_for_field(self.name, self.admin.model, self.admin))

    @property
    def admin_order_field(self) -> str | None:
        """The column by which the list can be sorted; None for most, which have no index."""
        return self.admin.sortable.get(self.name)

    def __call__(self, row: Model) -> Value:
        """Return the value of a row as HTML, or as text that is still to be escaped."""
        value = self._value(row)
        if not self.in_list:
            return value
        # On a phone, where cells stand below each other, each says what it is.
        return format_html('<span class="ci-name">{}: </span>{}', capfirst(self.short_description), value)

    def _value(self, row: Model) -> Value:
        method = getattr(self.admin, self.name, None)
        value: Any = reduce(getattr, self.name.split("__"), row) if not callable(method) else method(row)
        if self.name in self.admin.labels:
            value = label_of(self.admin.labels[self.name], value)
        if value is None or value in ("", {}, []):
            return NOTHING
        if self.name in self.admin.personal_fields and not self.viewer.sees_personal_data:
            return hidden()
        return self._html(value)

    def _html(self, value: Any) -> Value:
        if isinstance(value, StateLabel):
            return self._badge(value)
        if isinstance(value, Model) and (not self.in_list or self.name in self.admin.linked):
            return self.viewer.link(type(value), value.pk, in_list(value) if self.in_list else value)
        if isinstance(value, SafeString):
            return value
        if isinstance(value, Model) or (isinstance(value, str) and self.in_list):
            return in_list(value)
        shown = _folded(value) or shown_value(self.name, value)
        return breakable(shown) if isinstance(self.admin, InlineModelAdmin) else shown

    def _badge(self, label: StateLabel) -> Value:
        if self.in_list or not self.admin.explains_states or not label.meaning:
            return badge(label)
        return format_html('{} <span class="ci-meaning">{}</span>', badge(label), label.meaning)


def _folded(value: Any) -> Value:
    """Return a document or a body folded away; "" for any other value."""
    if isinstance(value, (bytes, memoryview)):
        return folded(pretty_body(value))
    return folded(pretty(value)) if isinstance(value, (Mapping, list)) else ""
