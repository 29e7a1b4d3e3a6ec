"""Screens whose rows staff look for by the search boxes on the index of the app."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.admin.views.main import SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse

from checkout_integration.admin.site.button_views import ButtonAdmin


class SearchedAdmin(ButtonAdmin):
    """A screen whose address ``find/`` leads from a text to the one row that it finds, else to the list."""

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen, and that of the search."""
        view = self.admin_site.admin_view(self.find_view)
        return [path("find/", view, name=self._address_name("find")), *super().get_urls()]

    def find_view(self, request: HttpRequest) -> HttpResponseBase:
        """Lead to the page of the only row that the text finds, as the list would; else to the list. It changes nothing."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        form = ChangeListSearchForm(request.GET)
        text = form.cleaned_data[SEARCH_VAR].strip() if form.is_valid() else ""
        rows, _duplicates = self.get_search_results(request, self.model._default_manager.all(), text)
        found = list(rows.order_by().only("pk")[:2]) if text else []
        if len(found) == 1:
            return HttpResponseRedirect(self._address("change", found[0]))
        address = reverse(f"admin:{self._address_name('changelist')}", current_app=self.admin_site.name)
        return HttpResponseRedirect(f"{address}?{urlencode({SEARCH_VAR: text})}")
