"""Fields of a row as one viewer sees them: escaped, labelled, linked if the viewer may open it, hidden if not permitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.admin.options import BaseModelAdmin, InlineModelAdmin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from checkout_integration.admin.site.cells import breakable, in_list
from checkout_integration.admin.site.field_names import FIELD_NAMES
from checkout_integration.admin.site.labels import StateLabel, label_of
from checkout_integration.admin.site.values import (
    NOTHING,
    Value,
    badge,
    folded,
    hidden,
    pretty,
    pretty_body,
    shown_value,
)
from checkout_integration.admin.site.viewer import Viewer

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Options = BaseModelAdmin[Any]
else:  # it cannot be subscripted at run time
    Options = BaseModelAdmin


class ReadOnly(Options):
    """The base of screens and of tables on their pages: nothing is added, changed or deleted, and values are shown safely.

    A subclass names fields as usual in ``list_display``, ``fieldsets`` or ``fields``. A method of that name may compute the
    value; it returns text, HTML, a number, a time, a label, a row (which is linked), JSON or bytes (which are folded away).
    """

    headings: Mapping[str, StrOrPromise] = {}
    """Headings of fields whose column name is not clear enough."""
    labels: Mapping[str, Mapping[Any, StateLabel]] = {}
    """Labels of the fields with a state."""
    personal_fields: Sequence[str] = ()
    """Fields for viewers with the permission to see personal data."""
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
            (title, {"fields": viewed(self, viewer, list(map(str, options["fields"])))})
            for title, options in groups
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return all fields."""
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: rows come from the service and from flows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: state is written by flows only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: recorded rows stay."""
        return False


@dataclass(frozen=True, kw_only=True, repr=False)
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
    def short_description(self) -> StrOrPromise:
        """The heading of the column, or the label of the value."""
        heading = self.admin.headings.get(self.name) or FIELD_NAMES.get(self.name)
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
        value = method(row) if callable(method) else getattr(row, self.name)
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
        if isinstance(value, Model) and not self.in_list:
            return self.viewer.link(type(value), value.pk, value)
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


def viewed(
    admin: ReadOnly, viewer: Viewer, names: Sequence[str], *, in_list: bool = False
) -> list[ViewedField]:
    """Return these fields of a screen as one viewer sees them."""
    return [ViewedField(admin=admin, name=name, viewer=viewer, in_list=in_list) for name in names]
