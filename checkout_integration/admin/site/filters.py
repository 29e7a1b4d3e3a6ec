"""Filters of the lists: fixed choices, no counts, no queries of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site.field_names import FIELD_NAMES
from checkout_integration.admin.site.labels import StateLabel
from checkout_integration.conf import app_settings
from checkout_integration.models.attribution import FILTERED as ATTRIBUTION_FILTERED

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Choices: TypeAlias = "Mapping[str, tuple[StrOrPromise, Q]]"
"""The label and the condition of each choice, by its code in the address."""


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose choices are conditions."""

    choices_of: Callable[[], Choices]
    least_choices = 1
    """With fewer choices it is shown only while it is used."""

    def has_output(self) -> bool:
        """Return whether the filter is shown, and applied."""
        return bool(self.value()) or len(self.lookup_choices) >= self.least_choices

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, StrOrPromise]]:
        """Return codes and labels."""
        return [(code, label) for code, (label, _condition) in type(self).choices_of().items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the choice. Raises ``IncorrectLookupParameters`` for an unknown code: all rows would mislead."""
        code = self.value()
        if not code:
            return queryset
        try:
            _label, condition = type(self).choices_of()[code]
        except KeyError:
            raise IncorrectLookupParameters from None
        return queryset.filter(condition)


def choice_filter(
    parameter: str, heading: StrOrPromise, choices_of: Callable[[], Choices], **attributes: Any
) -> type[ChoiceFilter]:
    """Return a filter by conditions; they are made anew for each request."""
    attributes |= {"title": heading, "parameter_name": parameter, "choices_of": staticmethod(choices_of)}
    return type("ChoiceFilter", (ChoiceFilter,), attributes)


class TextFilter(admin.SimpleListFilter):
    """A filter by a text that staff type: the rows that have it, exactly, in one of some columns. Each needs an index."""

    template = "admin/checkout_integration/text_filter.html"
    columns: tuple[str, ...]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, StrOrPromise]]:
        """Return the one choice, without which Django does not show the filter."""
        return [("", self.title or "")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the content of the form: the text, and the list's other parameters."""
        others = {**changelist.get_filters_params(), SEARCH_VAR: [changelist.query]}
        yield {
            "parameter": self.parameter_name,
            "value": self.value() or "",
            "others": [
                (name, value)
                for name, values in others.items()
                for value in (values if isinstance(values, list) else [values])
                if name != self.parameter_name and value
            ],
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with the text. Raises ``IncorrectLookupParameters`` for one that no database looks for."""
        text = (self.value() or "").strip()
        if "\0" in text:
            raise IncorrectLookupParameters
        # An OR over one table, and no union of look-ups, which would collect every row of a common text.
        condition = Q(*((column, text) for column in self.columns), _connector=Q.OR)
        return queryset.filter(condition) if text else queryset


def text_filter(parameter: str, heading: StrOrPromise, *columns: str) -> type[TextFilter]:
    """Return a filter by a typed text, looked up in indexed columns."""
    attributes = {"title": heading, "parameter_name": parameter, "columns": columns}
    return type("TextFilter", (TextFilter,), attributes)


def label_filter(field: str, heading: StrOrPromise, labels: Mapping[str, StateLabel]) -> type[ChoiceFilter]:
    """Return a filter by a column of states."""
    choices = {code: (label.text, Q((field, code))) for code, label in labels.items()}
    return choice_filter(field, heading, lambda: choices)


def flag_filter(field: str, heading: StrOrPromise, yes: StrOrPromise, no: StrOrPromise) -> type[ChoiceFilter]:
    """Return a filter by a boolean column."""
    return choice_filter(
        field, heading, lambda: {"yes": (yes, Q((field, True))), "no": (no, Q((field, False)))}
    )


def empty_filter(
    field: str, heading: StrOrPromise, empty: StrOrPromise, filled: StrOrPromise
) -> type[ChoiceFilter]:
    """Return a filter by whether a column is null."""
    is_null = f"{field}__isnull"
    choices = {"no": (empty, Q((is_null, True))), "yes": (filled, Q((is_null, False)))}
    return choice_filter(f"{field}_known", heading, lambda: choices)


class DateFilter(admin.DateFieldListFilter):
    """Django's filter by a date, under the name that the column has in a list."""

    def __init__(self, field: Any, *args: Any, **kwargs: Any) -> None:
        """Take the name of the column."""
        super().__init__(field, *args, **kwargs)
        self.title = str(FIELD_NAMES[field.name])


def _projects() -> Choices:
    aliases = app_settings().projects
    return {alias: (alias, Q(project=alias)) for alias in aliases}


ProjectFilter = choice_filter("project", _("project"), _projects, least_choices=2)
"""The filter by project; it is not offered if the settings have only one."""

OriginFilter = text_filter("origin", _("origin (source, campaign or host)"), *ATTRIBUTION_FILTERED)
"""The filter by where customers came from."""
