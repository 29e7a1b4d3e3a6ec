"""Screens with buttons: each has its own permission, a confirmation page and a message. What they do is an act of staff."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import dispatch, flows
from checkout_integration.admin.site.downloads import sent_in_pieces
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import Text
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.admin.site.values import Table, visible
from checkout_integration.conf import UnknownAlias
from checkout_integration.models import StaffAct
from checkout_integration.views.transactions import outside_transactions

MOST_AT_ONCE: Final = 50
"""The most rows that a button of a list takes: as many as a page lists."""
LONGEST: Final = 20.0
"""Seconds after which such a button begins with no further row; servers mostly end a request after thirty or sixty."""


class Refused(Exception):
    """The operation is not possible; the text is shown to the person who pressed the button, beside a field of the form.

    ``field``: its name; without one, the text stands above the form. ``stops``: it would fail for other rows too, so they are
    left as they are.
    """

    def __init__(self, text: Text, *, field: str | None = None, stops: bool = False) -> None:
        """Remember the text."""
        super().__init__(text)
        self.field, self.stops = field, stops


class ConfirmForm(forms.Form):
    """A form without fields: to press the button again is the confirmation. A subclass may offer choices of its ``row``.

    ``folded``: the names of fields that few need, below ``fold_title``; ``unfolded``: whether they are open all the same.
    """

    folded: Sequence[str] = ()
    fold_title: Text = ""
    unfolded = False

    def __init__(self, *args: Any, row: Any = None, **kwargs: Any) -> None:
        """Remember the row that the button is about."""
        super().__init__(*args, **kwargs)
        self.row = row

    @property
    def parts(self) -> list[tuple[Text, list[forms.BoundField], bool]]:
        """The fields in their sequence: what is folded has a title, and is open where there is a mistake or a value."""
        found: list[tuple[Text, list[forms.BoundField], bool]] = []
        for title, fields in groupby(
            self, key=lambda field: self.fold_title if field.name in self.folded else ""
        ):
            some = list(fields)
            changed = self.is_bound and set(self.changed_data) & {field.name for field in some}
            found.append((title, some, self.unfolded or bool(changed) or any(field.errors for field in some)))
        return found

    def focus_first(self) -> None:
        """Put the cursor into the first field with a mistake, or else into the first one."""
        field = next((field for field in self if field.errors), next(iter(self), None))
        if field is not None and not isinstance(
            field.field.widget, forms.RadioSelect | forms.CheckboxSelectMultiple
        ):
            field.field.widget.attrs["autofocus"] = True


class ReasonForm(ConfirmForm):
    """A form with a reason."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=255,
        help_text=gettext_lazy("It is stored, with your name."),
        widget=forms.TextInput(attrs={"size": 60}),
    )


@dataclass(frozen=True, kw_only=True)
class Button:
    """An operation that staff may start on a row, or on the rows that they select in a list.

    Attributes:
        name: a part of its address; in a list the name of the action.
        permission: codename of the permission that it needs.
        question: the text of the confirmation page.
        form: the fields of the confirmation page; ``act`` gets their values. A list asks for none.
        asks: whether the page of the row leads to the confirmation first; without that, one click acts, by POST.
        danger: whether it overrules the service or cannot be undone; such a button looks different.
        offered: whether the row's state allows it.
        fields: fields that depend on the row, before those of the form.
        chosen: those of the selected rows with which there is something to do.
        operation: of flows; it is called with the row, ``staff`` and the form's values by their names. It returns False or
            None where it was not possible, and ``refused`` is said; or it raises `Refused`.
        done: the message to show of a row and what the operation returned, or a file to send.
        about: what the decision is about, for a viewer: groups of labelled values on the confirmation page of one row.
        effects: what will happen in this case, in sentences on that page.
        instead: the name of another button of the screen that is mostly the better one, where it is offered.
        preview: tables of the changes to these rows, shown on the confirmation page; it writes nothing.

    """

    name: str
    label: Text
    permission: str
    question: Text
    form: type[ConfirmForm] = ConfirmForm
    asks: bool = True
    danger: bool = False
    offered: Callable[[Any], bool] = lambda row: True
    fields: Callable[[Any], Mapping[str, forms.Field]] = lambda row: {}
    chosen: Callable[[Sequence[Any]], Iterable[Any]] = lambda rows: rows
    operation: Callable[..., Any]
    refused: Text = ""
    done: Callable[[Any, Any], Text | StreamingHttpResponse] = lambda row, result: result
    about: Callable[[Any, Viewer], Sequence[Any]] = lambda row, viewer: ()
    effects: Callable[[Any], Sequence[Text]] = lambda row: ()
    instead: str = ""
    preview: Callable[[Sequence[Any]], Sequence[Table]] = lambda rows: ()

    def act(
        self, row: Any, staff: AbstractBaseUser, values: Mapping[str, Any]
    ) -> Text | StreamingHttpResponse:
        """Act on one row; return the message to show, or a file to send. Raises `Refused`."""
        result = self.operation(row, staff=staff, **values)
        if self.refused and (result is None or result is False):
            raise Refused(self.refused)
        return self.done(row, result)


def choice_of(
    rows: Iterable[Model], text: Callable[[Any], str], label: Text, *, many: bool = False
) -> forms.ChoiceField:
    """Return a field with a radio button or check box for each row, which is its value.

    All boxes are chosen already, and a single row.
    """
    rows_by_key = {str(row.pk): row for row in rows}
    keys = list(rows_by_key)
    kind = forms.TypedMultipleChoiceField if many else forms.TypedChoiceField
    return kind(
        label=label,
        choices=[(key, text(row)) for key, row in rows_by_key.items()],
        coerce=rows_by_key.__getitem__,
        initial=keys if many else keys[0] if len(keys) == 1 else None,
        widget=forms.CheckboxSelectMultiple if many else forms.RadioSelect,
    )


class ButtonAdmin(ReadOnlyAdmin):
    """A screen with buttons on its rows, and on its list. Flows make the changes, in their own transactions."""

    buttons: Sequence[Button] = ()
    list_buttons: Sequence[Button] = ()
    """Buttons for the selected rows of the list: Django's actions, each with the permission of its button."""

    def get_urls(self) -> list[URLPattern]:
        """Return the screen's addresses, and one for each button."""
        addresses = super().get_urls()
        for address in addresses:
            # A button of the list may call the service too.
            if address.name == self.address_name("changelist"):
                address.callback = outside_transactions(address.callback)
        return [*map(self._button_page, self.buttons), *addresses]

    def _button_page(self, button: Button) -> URLPattern:
        route, view = f"<path:object_id>/{button.name}/", partial(self.button_view, button)
        return self.page(route, view, button.name, needs=button.permission, calls_service=True)

    @property
    def actions(self) -> list[Callable[..., Any]]:  # type: ignore[override]  # read-only
        """The buttons of the list as Django's actions."""
        return [_action(button) for button in self.list_buttons]

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        """Return those of them that the viewer may press. ``action_location``: of Django 6.1 or later."""
        where = {} if action_location is None else {"action_location": action_location}
        allowed = {each.name for each in self.list_buttons if self.viewer(request).may(each.permission)}
        offered = super().get_actions(request, **where).items()
        return {name: action for name, action in offered if name in allowed}

    def offered(self, request: HttpRequest, row: Any) -> list[Button]:
        """Return the buttons that the viewer may press now."""
        may = self.viewer(request).may
        return [each for each in self.buttons if may(each.permission) and each.offered(row)]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Add the buttons that the viewer may press now, with their addresses."""
        addresses = [(button, self.address_of(button.name, row)) for button in self.offered(request, row)]
        return {
            **super().page_context(request, row),
            "buttons": [each for each in addresses if not each[0].danger],
            "dangers": [each for each in addresses if each[0].danger],
        }

    def button_view(self, button: Button, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show the confirmation page on GET, and act on POST."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        back = self.address_of("change", row)
        if not button.offered(row):
            said = _(
                "Nothing was done: “%(button)s” is not possible any more. This page shows how things are now."
            )
            messages.warning(request, said % {"button": button.label})
            return HttpResponseRedirect(back)
        form = button.form(request.POST if request.method == "POST" else None, row=row)
        form.fields = {**button.fields(row), **form.fields}
        result = None
        if form.is_valid():
            try:
                result = self.press(button, request, row, form.cleaned_data)
            except Refused as refused:
                if not button.asks:
                    messages.error(request, str(refused))
                    return HttpResponseRedirect(back)
                form.add_error(refused.field, str(refused))
        if result is None:
            return self.question(button, request, row, form, back)
        if isinstance(result, StreamingHttpResponse):
            return sent_in_pieces(request, result)
        messages.success(request, str(result))
        dispatch.dispatch_due()
        return HttpResponseRedirect(back)

    def question(
        self, button: Button, request: HttpRequest, row: Any, form: ConfirmForm, back: str
    ) -> HttpResponseBase:
        """Show what a decision about one row is about and what it would do, with the form, which keeps what was filled in."""
        form.focus_first()
        instead = next((each for each in self.offered(request, row) if each.name == button.instead), None)
        context = {
            **self.page_context(request, row),
            "form": form,
            "about": button.about(row, self.viewer(request)),
            "effects": button.effects(row),
            "instead": instead and (instead.label, self.address_of(instead.name, row)),
        }
        return self.confirmation(button, request, [row], back, **context)

    def confirmation(
        self, button: Button, request: HttpRequest, rows: Sequence[Any], back: str, **context: Any
    ) -> HttpResponseBase:
        """Show the page that says what would be done, and asks; without a title it has the heading for one."""
        context = {
            **self.admin_site.each_context(request),
            "title": context["heading"],
            "form": ConfirmForm(),
            "back": back,
            **context,
            "opts": self.opts,
            "media": self.media,
            "button": button,
            "tables": button.preview(rows),
        }
        return TemplateResponse(request, "admin/checkout_integration/confirm.html", context)

    def press(
        self, button: Button, request: HttpRequest, row: Any, values: Mapping[str, Any]
    ) -> Text | StreamingHttpResponse:
        """Act on a row; return the message or the file. Raises `Refused`."""
        assert isinstance(request.user, AbstractBaseUser)
        try:
            with flows.operations.acting_from(StaffAct.Origin.ADMIN):
                return button.act(row, request.user, values)
        except UnknownAlias as error:
            why = _("The project “%(project)s” is not in the settings.") % {"project": error.args[0]}
            raise Refused(_("Nothing changed. %(why)s") % {"why": why}) from None


def _action(button: Button) -> Callable[..., Any]:
    action = partial(_press_selected, button)
    vars(action).update(__name__=button.name, short_description=button.label)
    return action


def _press_selected(
    button: Button, admin: ButtonAdmin, request: HttpRequest, selected: QuerySet[Any]
) -> HttpResponseBase | None:
    """Show the confirmation page for the selected rows, then act on each."""
    rows = list(selected.order_by("pk")[: MOST_AT_ONCE + 1])
    if len(rows) > MOST_AT_ONCE:
        text = _("Nothing was done: you selected more than %(most)d rows. Select at most %(most)d at once.")
        messages.error(request, text % {"most": MOST_AT_ONCE})
        return None
    rows = list(button.chosen(rows))
    if not rows:
        messages.warning(request, _("Nothing changed: there is nothing to do for the selected rows."))
        return None
    if "confirmed" in request.POST:
        _act_on_each(button, admin, request, rows)
        return None
    heading = _("Selected rows: %(n)d") % {"n": len(rows)}
    hidden = [("action", button.name), ("confirmed", "yes")]
    hidden += [(ACTION_CHECKBOX_NAME, str(row.pk)) for row in rows]
    back = request.get_full_path()
    return admin.confirmation(button, request, rows, back, heading=heading, hidden=hidden)


def _act_on_each(button: Button, admin: ButtonAdmin, request: HttpRequest, rows: Sequence[Any]) -> None:
    """Act on one row after the other, each in its own transaction, until the time is up or the others would fail too.

    What was done is said in any case: a server in front of this one may end a request that lasts too long.
    """
    begun, done = time.monotonic(), 0
    for tried, row in enumerate(rows):
        name = f"{capfirst(admin.opts.verbose_name)} {visible(row)}"
        if tried and time.monotonic() - begun >= LONGEST:
            text = _("The time is up, so the others were left as they were. Select them again.")
            messages.warning(request, text)
            break
        try:
            changed = admin.press(button, request, row, {})
        except Refused as refused:
            messages.error(request, f"{name}: {refused}")
            if refused.stops:
                break
        except DatabaseError as error:
            # Without its message, which may have values of rows.
            text = _("the database failed (%(error)s).") % {"error": type(error).__name__}
            messages.error(request, f"{name}: {text} {_done(done, rows)}")
            return
        else:
            done += 1
            changed = changed or _("Nothing changed.")
            messages.success(request, f"{name}: {changed}")
    if done < len(rows):
        messages.warning(request, _done(done, rows))
    dispatch.dispatch_due()


def _done(done: int, rows: Sequence[Any]) -> str:
    return _("Done: %(done)d of %(all)d.") % {"done": done, "all": len(rows)}
