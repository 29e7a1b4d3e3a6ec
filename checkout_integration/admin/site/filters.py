"""Filters of the lists: fixed choices, no counts, no queries of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final, TypeAlias

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.timezone import localtime, make_aware
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from checkout_integration.admin.site.fields import FIELD_NAMES
from checkout_integration.admin.site.labels import StateLabel, Text
from checkout_integration.admin.site.values import short
from checkout_integration.conf import app_settings
from checkout_integration.flows.accounting import Mode

Choices: TypeAlias = "Mapping[str, tuple[Text, Q]]"
"""The label and the condition of each choice, by its code in the address."""


TEMPLATE: Final = "admin/checkout_integration/filter.html"
"""Titles are words that stand alone: Django's "By …" would need another form of each, in each language."""


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose choices are conditions."""

    template = TEMPLATE
    choices_of: Callable[[], Choices]
    least_choices = 1
    """With fewer choices it is shown only while it is used."""

    @classmethod
    def expected_parameters(cls) -> list[str | None]:
        """Return the parameter; the list asks before there is a filter, too."""
        return [cls.parameter_name]

    def has_output(self) -> bool:
        """Return whether the filter is shown, and applied."""
        return bool(self.value()) or len(self.lookup_choices) >= self.least_choices

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Text]]:
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
    parameter: str, heading: Text, choices: Choices | Callable[[], Choices], **attributes: Any
) -> type[ChoiceFilter]:
    """Return a filter by conditions; those of a function are made anew for each request."""
    choices_of = choices if callable(choices) else lambda: choices
    attributes |= {"title": heading, "parameter_name": parameter, "choices_of": staticmethod(choices_of)}
    return type("ChoiceFilter", (ChoiceFilter,), attributes)


class TextFilter(admin.SimpleListFilter):
    """A filter by what staff type into a form: one text or several, each by a condition of its own; rows meet all of them."""

    template = "admin/checkout_integration/form_filter.html"
    inputs: Sequence[tuple[str, Text, str, Callable[[str], Q]]]
    """Of each its parameter, label, kind, and the condition of what was typed; the first has the filter's own parameter."""
    problem: Text = ""
    """What is wrong with what was typed."""

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any
    ) -> None:
        """Take all parameters of the form."""
        super().__init__(request, params, model, model_admin)
        for name, *_rest in self.inputs:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]

    @classmethod
    def expected_parameters(cls) -> list[str | None]:
        """Return the parameters of the form."""
        return [name for name, *_rest in cls.inputs]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Text]]:
        """Return the one choice, without which Django does not show the filter."""
        return [("", self.title or "")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the content of the form: its inputs, and the list's other parameters."""
        own = [name for name, *_rest in self.inputs]
        others = {**changelist.get_filters_params(), SEARCH_VAR: [changelist.query]}
        typed = [str(self.used_parameters.get(name) or "") for name in own]
        yield {
            "inputs": [(*each[:3], text) for each, text in zip(self.inputs, typed, strict=True)],
            "value": " – ".join(filter(None, typed)),
            "others": [
                (name, value)
                for name, values in others.items()
                for value in (values if isinstance(values, list) else [values])
                if name not in own and value
            ],
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with the texts; none where a text cannot be one of this kind, which the page says.

        Raises ``IncorrectLookupParameters`` for a text that no database looks for.
        """
        try:
            for name, _label, _kind, condition in self.inputs:
                text = str(self.used_parameters.get(name) or "").strip()
                if "\0" in text:
                    raise IncorrectLookupParameters
                if text:
                    queryset = queryset.filter(condition(text))
        except ValidationError as wrong:
            self.problem = wrong.message
            return queryset.none()
        return queryset


def text_filter(heading: Text, *inputs: tuple[str, Text, str, Callable[[str], Q]]) -> type[TextFilter]:
    """Return a filter by a form with these inputs."""
    attributes = {"title": heading, "parameter_name": inputs[0][0], "inputs": inputs}
    return type("TextFilter", (TextFilter,), attributes)


def of_currency(column: str) -> Callable[[str], Q]:
    """Return the condition of a currency as people write its code; it raises ``ValidationError`` for what is none."""

    def condition(text: str) -> Q:
        if not text.isalpha():
            raise ValidationError(
                _("“%(text)s” is no currency: write a code such as EUR.") % {"text": short(text)}
            )
        return Q((column, text.upper()))

    return condition


def midnight(day: date) -> datetime:
    """Return when a day begins in the zone of the page."""
    begins = datetime.combine(day, time())
    return make_aware(begins) if settings.USE_TZ else begins


def _midnight_after(text: str, days: int) -> datetime:
    """Return when a day begins, or so many days later. Raises ``IncorrectLookupParameters`` for what is no day."""
    try:
        return midnight(date.fromisoformat(text) + timedelta(days=days))
    except (ValueError, OverflowError):
        raise IncorrectLookupParameters from None


def days_filter(column: str) -> type[TextFilter]:
    """Return a filter by a range of days of a column, in the zone of the page; both of them belong to it."""
    return text_filter(
        _("days"),
        (
            "from_day",
            pgettext_lazy("days", "from"),
            "date",
            lambda day: Q((f"{column}__gte", _midnight_after(day, 0))),
        ),
        ("to_day", _("to"), "date", lambda day: Q((f"{column}__lt", _midnight_after(day, 1)))),
    )


def label_filter(field: str, heading: Text, labels: Mapping[str, StateLabel]) -> type[ChoiceFilter]:
    """Return a filter by a column of states."""
    choices = {code: (label.text, Q((field, code))) for code, label in labels.items()}
    return choice_filter(field, heading, choices)


def flag_filter(field: str, heading: Text, yes: Text, no: Text) -> type[ChoiceFilter]:
    """Return a filter by a boolean column."""
    return choice_filter(field, heading, {"yes": (yes, Q((field, True))), "no": (no, Q((field, False)))})


def empty_filter(field: str, heading: Text, empty: Text, filled: Text) -> type[ChoiceFilter]:
    """Return a filter by whether a column is null."""
    is_null = f"{field}__isnull"
    choices = {"no": (empty, Q((is_null, True))), "yes": (filled, Q((is_null, False)))}
    return choice_filter(f"{field}_known", heading, choices)


def mode_filter(of: Callable[[Q], Q] = lambda mode: mode) -> type[ChoiceFilter]:
    """Return a filter by test and live, by the rule of `mode_label`, from the condition of their orders."""
    choices = {
        Mode.LIVE.value: (_("live"), of(Mode.LIVE.condition())),
        Mode.TEST.value: (_("test"), of(Mode.TEST.condition())),
    }
    return choice_filter("mode", _("mode"), choices)


class DateFilter(admin.DateFieldListFilter):
    """Django's filter by a date, under the name that the column has in a list. Seven days are seven: today and six more."""

    template = TEMPLATE

    def __init__(
        self, field: Any, request: Any, params: Any, model: Any, model_admin: Any, field_path: Any
    ) -> None:
        """Take the name of the column."""
        super().__init__(field, request, params, model, model_admin, field_path)
        self.title = str(model_admin.headings.get(field.name) or FIELD_NAMES[field.name])
        today = localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        (name, days), since = self.links[2], str(today - timedelta(days=6))
        seven: Any = (name, {**days, self.lookup_kwarg_since: since})
        self.links = (*self.links[:2], seven, *self.links[3:])


def _projects() -> Choices:
    aliases = app_settings().projects
    return {alias: (alias, Q(project=alias)) for alias in aliases}


ProjectFilter = choice_filter("project", _("project"), _projects, least_choices=2)
"""The filter by project; it is not offered if the settings have only one."""
