"""Screens with buttons: each button has its own permission, a page that asks again, a message, and a row in the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from checkout_integration import dispatch
from checkout_integration.admin.buttons import Button, ConfirmForm, ReasonForm, Refused
from checkout_integration.admin.screen import Screen
from checkout_integration.views.transactions import outside_transactions


class ButtonScreen(Screen):
    """A screen whose rows have buttons. What they change is changed by flows, which own their transactions."""

    buttons: Sequence[Button] = ()

    def get_urls(self) -> list[URLPattern]:
        """The screen's addresses, and one for each button."""
        return [*map(self._button_url, self.buttons), *super().get_urls()]

    def _button_url(self, button: Button) -> URLPattern:
        # The view may call the service: never inside a transaction of the request.
        view = outside_transactions(self.admin_site.admin_view(partial(self.press, button)))
        return path(f"<path:object_id>/{button.name}/", view, name=self._address_name(button.name))

    def _address_name(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _address(self, page: str, row: Model) -> str:
        return reverse(f"admin:{self._address_name(page)}", args=(row.pk,), current_app=self.admin_site.name)

    def context(self, request: HttpRequest, row: Model) -> dict[str, Any]:
        """Adds the buttons that the viewer may press now, with their addresses."""
        viewer = self.viewer(request)
        offered = [each for each in self.buttons if viewer.may(each.permission) and each.offered(row)]
        return {
            **super().context(request, row),
            "buttons": [(each, self._address(each.name, row)) for each in offered],
        }

    def press(self, button: Button, request: HttpRequest, object_id: str) -> HttpResponse:
        """The button's address: asks on GET, acts on POST."""
        row = self.find(request, object_id)
        if not self.viewer(request).may(button.permission):
            raise PermissionDenied
        if row is None:
            return self.not_found(request, object_id)
        back = self._address("change", row)
        if not button.offered(row):
            messages.warning(request, _("This cannot be done now: the state has changed."))
            return HttpResponseRedirect(back)
        form_class = button.form or (ReasonForm if button.needs_reason else ConfirmForm)
        form = form_class(request.POST if request.method == "POST" else None)
        if form.is_valid():
            self._act(button, request, row, form.cleaned_data)
            return HttpResponseRedirect(back)
        tables = button.preview(row) if button.preview else []
        context = {
            "button": button,
            "form": form,
            "back": back,
            "tables": tables,
            **self.context(request, row),
        }
        return TemplateResponse(request, "admin/checkout_integration/confirm.html", context)

    def _act(self, button: Button, request: HttpRequest, row: Any, answers: dict[str, Any]) -> None:
        assert isinstance(request.user, AbstractBaseUser)
        reason = answers.get("reason", "")
        try:
            told = button.act(row, request.user, answers if button.form else reason)
        except Refused as refused:
            messages.error(request, str(refused))
            return
        if not button.keeps_own_row:
            self._keep(request, row, f"{button.label} {reason}".strip())
        messages.success(request, str(told))
        dispatch.hand_over()

    def _keep(self, request: HttpRequest, row: Any, act: str) -> None:
        """In the order's own log, where there is an order, so that its timeline shows the act."""
        self.log_change(request, getattr(row, "order", None) or row, act)
