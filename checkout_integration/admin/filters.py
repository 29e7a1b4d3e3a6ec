"""Filters of the lists: fixed choices, no counts, no queries of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.words import Word
from checkout_integration.conf import app_settings
from checkout_integration.flows.outbox.lines import UNFINISHED
from checkout_integration.models import ReceiverRun

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Choices = Mapping[str, tuple[StrOrPromise, Callable[[], Q]]]


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose choices are conditions: ``choices_of`` gives (code, (words, condition))."""

    @classmethod
    def choices_of(cls) -> Choices:
        """The choices, by the code that stands in the address."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, StrOrPromise]]:
        """Codes and words."""
        return [(code, words) for code, (words, _condition) in self.choices_of().items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the choice; all of them for none, or for a code that is none of ours."""
        _words, condition = self.choices_of().get(self.value() or "", ("", Q))
        return queryset.filter(condition())


def words_filter(field: str, heading: StrOrPromise, words: Mapping[str, Word]) -> type[ChoiceFilter]:
    """A filter by a column of codes that have words."""

    class WordsFilter(ChoiceFilter):
        title = heading
        parameter_name = field

        @classmethod
        def choices_of(cls) -> Choices:
            return {code: (word.text, _equal(field, code)) for code, word in words.items()}

    return WordsFilter


def flag_filter(field: str, heading: StrOrPromise, yes: StrOrPromise, no: StrOrPromise) -> type[ChoiceFilter]:
    """A filter by a boolean column."""

    class FlagFilter(ChoiceFilter):
        title = heading
        parameter_name = field

        @classmethod
        def choices_of(cls) -> Choices:
            return {"yes": (yes, _equal(field, True)), "no": (no, _equal(field, False))}

    return FlagFilter


def empty_filter(
    field: str, heading: StrOrPromise, empty: StrOrPromise, told: StrOrPromise
) -> type[ChoiceFilter]:
    """A filter by whether a column is null."""

    class EmptyFilter(ChoiceFilter):
        title = heading
        parameter_name = f"{field}_known"

        @classmethod
        def choices_of(cls) -> Choices:
            return {
                "no": (empty, _equal(f"{field}__isnull", True)),
                "yes": (told, _equal(f"{field}__isnull", False)),
            }

    return EmptyFilter


def _equal(field: str, value: object) -> Callable[[], Q]:
    return lambda: Q(**{field: value})


class ProjectFilter(ChoiceFilter):
    """By project; absent where the settings name one only."""

    title = _("project")
    parameter_name = "project"

    @classmethod
    def choices_of(cls) -> Choices:
        """The aliases of the settings."""
        aliases = app_settings().projects
        return {alias: (alias, _equal("project", alias)) for alias in aliases} if len(aliases) > 1 else {}


class ModeFilter(ChoiceFilter):
    """By test or live."""

    title = _("mode")
    parameter_name = "mode"

    @classmethod
    def choices_of(cls) -> Choices:
        """As `words.mode_of` tells them."""
        test = Q(is_production=False) | Q(live=False)
        return {
            "live": (_("live"), lambda: Q(is_production=True) & (Q(live=True) | Q(live__isnull=True))),
            "test": (_("test"), lambda: test),
        }


class ReceiversFilter(ChoiceFilter):
    """By what became of the order's receivers."""

    title = _("receivers")
    parameter_name = "receivers"

    @classmethod
    def choices_of(cls) -> Choices:
        """Receiver runs that wait, fail, or were given up."""
        return {
            "waiting": (
                _("waiting or running"),
                _delivered(state__in=UNFINISHED),
            ),
            "failing": (
                _("failing, tried again later"),
                _delivered(state=ReceiverRun.State.DUE, attempts__gt=0),
            ),
            "failed": (_("failed: given up"), _delivered(state=ReceiverRun.State.FAILED)),
        }


def _delivered(**condition: Any) -> Callable[[], Q]:
    """Orders with such a run: found by the state's index, which few rows carry."""
    return lambda: Q(pk__in=_orders_of(condition))


def _orders_of(condition: dict[str, Any]) -> QuerySet[ReceiverRun, Any]:
    runs = ReceiverRun.objects.filter(**condition, message__order__isnull=False)
    return runs.values("message__order")
