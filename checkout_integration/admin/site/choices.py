"""Choices of rows on a confirmation page, each with a text of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Model

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def one_of(rows: Sequence[Model], text: Callable[[Any], str], label: StrOrPromise) -> forms.TypedChoiceField:
    """Return a field with a radio button for each row; the row is its value. A single row is chosen already."""
    return forms.TypedChoiceField(
        label=label,
        choices=[(str(row.pk), text(row)) for row in rows],
        coerce=_row_of(rows),
        initial=str(rows[0].pk) if len(rows) == 1 else None,
        widget=forms.RadioSelect,
    )


def some_of(
    rows: Sequence[Model], text: Callable[[Any], str], label: StrOrPromise
) -> forms.TypedMultipleChoiceField:
    """Return a field with a check box for each row; the rows are its value. All of them are chosen already."""
    return forms.TypedMultipleChoiceField(
        label=label,
        choices=[(str(row.pk), text(row)) for row in rows],
        coerce=_row_of(rows),
        initial=[str(row.pk) for row in rows],
        widget=forms.CheckboxSelectMultiple,
    )


def _row_of(rows: Sequence[Model]) -> Callable[[str], Model]:
    rows_by_key = {str(row.pk): row for row in rows}
    return rows_by_key.__getitem__
