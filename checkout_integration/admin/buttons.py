"""What a button is: its words, its permission, when it is offered, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.page import Table

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """A button could not do its work; the text is shown to the person who pressed it."""


class ConfirmForm(forms.Form):
    """Asks for nothing: pressing the button again is the answer."""


class ReasonForm(ConfirmForm):
    """Asks why."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=255,
        help_text=_("It is kept in the order's history, with your name."),
        widget=forms.TextInput(attrs={"size": 60, "autofocus": True}),
    )


@dataclass(frozen=True, kw_only=True)
class Button:
    """Something that staff may do with a row.

    Attributes:
        name: part of its address.
        permission: codename of the permission that it needs.
        question: what the confirmation page says will happen.
        needs_reason: whether the person must say why; the reason is kept.
        form: what else the person is asked; ``act`` then gets all answers in the reason's place.
        offered: whether the row's state allows it.
        keeps_own_row: whether what it calls keeps who did it and why, so that the audit log need not.
        act: does it and returns the message to show; raises `Refused` when it cannot.
        preview: tables of what would change, shown on the confirmation page; it writes nothing.

    """

    name: str
    label: StrOrPromise
    permission: str
    question: StrOrPromise
    needs_reason: bool = False
    form: type[ReasonForm] | None = None
    keeps_own_row: bool = False
    offered: Callable[[Any], bool]
    act: Callable[[Any, AbstractBaseUser, Any], StrOrPromise]
    preview: Callable[[Any], Sequence[Table]] | None = None
