"""A button: its texts, its permission, its condition, and its action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.http import StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site.cells import breakable
from checkout_integration.admin.site.values import Value

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """The operation is not possible; the text is shown to the person who pressed the button."""


def unknown_project(alias: str) -> str:
    """Return why nothing can be done with a row whose project is gone from the settings."""
    return _("The project “%(project)s” is not in the settings.") % {"project": alias}


class ConfirmForm(forms.Form):
    """A form without fields: to press the button again is the confirmation. A subclass may offer choices of its ``row``."""

    def __init__(self, *args: Any, row: Any = None, **kwargs: Any) -> None:
        """Remember the row that the button is about."""
        super().__init__(*args, **kwargs)
        self.row = row


class ReasonForm(ConfirmForm):
    """A form with a reason."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=255,
        help_text=_("It is stored, with your name."),
        widget=forms.TextInput(attrs={"size": 60, "autofocus": True}),
    )


@dataclass(frozen=True)
class Table:
    """A short table on a page. Without rows its text for "empty" is shown; without that, nothing."""

    title: StrOrPromise
    columns: Sequence[StrOrPromise]
    rows: Sequence[Sequence[Value]]
    empty: StrOrPromise = ""

    @property
    def labelled_rows(self) -> list[list[tuple[StrOrPromise, Value]]]:
        """Rows whose cells have the label of their column, for a narrow window, where cells stand below each other."""
        return [list(zip(self.columns, map(breakable, row), strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Button:
    """An operation that staff may start on a row.

    Attributes:
        name: a part of its address.
        permission: codename of the permission that it needs.
        question: the text of the confirmation page.
        needs_reason: whether staff must give a reason, which is stored.
        form: a form with more fields; ``act`` then gets all its values in place of the reason.
        asks: whether the page of the row leads to the confirmation first; without that, one click acts, by POST.
        danger: whether it overrules the service or cannot be undone; such a button looks different.
        offered: whether the row's state allows it.
        writes_own_log: whether the flow stores the account and the reason in the order's history, so that its timeline need
            not show the entry of Django's log.
        logged: the text of Django's log beside the label, from the form's values; the reason where it is None.
        act: the action; returns the message to show, or a file to send; or raises `Refused`.
        preview: tables of the changes, shown on the confirmation page; it writes nothing.

    """

    name: str
    label: StrOrPromise
    permission: str
    question: StrOrPromise
    needs_reason: bool = False
    form: type[ConfirmForm] | None = None
    asks: bool = True
    danger: bool = False
    writes_own_log: bool = False
    offered: Callable[[Any], bool]
    act: Callable[[Any, AbstractBaseUser, Any], StrOrPromise | StreamingHttpResponse]
    preview: Callable[[Any], Sequence[Table]] | None = None
    logged: Callable[[Any], str] | None = None
