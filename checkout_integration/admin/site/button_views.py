"""Screens with buttons: each button has its own permission, a confirmation page, a message, and a row in the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from checkout_integration import dispatch
from checkout_integration.admin.site.buttons import (
    Button,
    ConfirmForm,
    ReasonForm,
    Refused,
    unknown_project,
)
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.admin.site.streaming import sent_in_pieces
from checkout_integration.conf import UnknownAlias
from checkout_integration.views.transactions import outside_transactions


class ButtonAdmin(ReadOnlyAdmin):
    """A screen with buttons on its rows. Flows make the changes, in their own transactions."""

    buttons: Sequence[Button] = ()

    def get_urls(self) -> list[URLPattern]:
        """Return the screen's addresses, and one for each button."""
        addresses = super().get_urls()
        for address in addresses:
            # An action of the list may call the service too.
            if address.name == self._address_name("changelist"):
                address.callback = outside_transactions(address.callback)
        return [*map(self._button_url, self.buttons), *addresses]

    def _button_url(self, button: Button) -> URLPattern:
        # The view may call the service: never inside a transaction of the request.
        view = outside_transactions(self.admin_site.admin_view(partial(self.button_view, button)))
        return path(f"<path:object_id>/{button.name}/", view, name=self._address_name(button.name))

    def _address_name(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _address(self, page: str, row: Model) -> str:
        return reverse(f"admin:{self._address_name(page)}", args=(row.pk,), current_app=self.admin_site.name)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Add the buttons that the viewer may press now, with their addresses."""
        viewer = self.viewer(request)
        offered = [button for button in self.buttons if viewer.may(button.permission) and button.offered(row)]
        return {
            **super().page_context(request, row),
            "buttons": [(button, self._address(button.name, row)) for button in offered],
        }

    def button_view(self, button: Button, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show the confirmation page on GET, and act on POST."""
        if not self.has_view_permission(request) or not self.viewer(request).may(button.permission):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        back = self._address("change", row)
        if not button.offered(row):
            messages.warning(request, _("This cannot be done now: the state has changed."))
            return HttpResponseRedirect(back)
        form_class = button.form or (ReasonForm if button.needs_reason else ConfirmForm)
        form = form_class(request.POST if request.method == "POST" else None, row=row)
        if form.is_valid():
            return self._act(button, request, row, form.cleaned_data) or HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            **self.page_context(request, row),
            "opts": self.opts,
            "media": self.media,
            "button": button,
            "form": form,
            "back": back,
            "tables": button.preview(row) if button.preview else [],
        }
        return TemplateResponse(request, "admin/checkout_integration/confirm.html", context)

    def _act(
        self, button: Button, request: HttpRequest, row: Any, values: dict[str, Any]
    ) -> HttpResponseBase | None:
        """Act, log it, and show a message; return the file where the button gives one."""
        assert isinstance(request.user, AbstractBaseUser)
        reason = values.get("reason", "")
        try:
            result = button.act(row, request.user, values if button.form else reason)
        except Refused as refused:
            messages.error(request, str(refused))
            return None
        except UnknownAlias as error:
            messages.error(request, _("Nothing changed. %(why)s") % {"why": unknown_project(error.args[0])})
            return None
        text = f"{button.label} {button.logged(values) if button.logged else reason}".strip()
        # In the order's own log, where there is an order, so that its timeline shows the act. The timeline leaves out
        # additions: it has what the flow has added to the order's history.
        log = self.log_addition if button.writes_own_log else self.log_change
        log(request, getattr(row, "order", None) or row, text)
        if isinstance(result, StreamingHttpResponse):
            return sent_in_pieces(request, result)
        messages.success(request, str(result))
        dispatch.dispatch_due()
        return None
