"""The page about health, in the place of a list: what was found about each project, and staff's queues.

`templatetags.checkout_health` reads what it shows; the app's page on the admin's index shows the same in short.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _

from checkout_integration.admin.site import ReadOnlyAdmin
from checkout_integration.models import Installation


@admin.register(Installation)
class HealthAdmin(ReadOnlyAdmin):
    """The entry "Health" of the index. It has no list and no page of a row: every project is on its one page."""

    def get_urls(self) -> list[URLPattern]:
        """Return the address of the page, which has the name of a list."""
        (page,) = (url for url in super().get_urls() if str(url.name).endswith("_changelist"))
        return [page]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the viewer may see whether all is well."""
        return self.viewer(request).may("view_health")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the page."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        context = {
            **self.admin_site.each_context(request),
            **(extra_context or {}),
            "opts": self.opts,
            "media": self.media,
            "title": _("Health"),
        }
        return TemplateResponse(request, "admin/checkout_integration/health.html", context)
