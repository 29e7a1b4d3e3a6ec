"""The page about health, in the place of a list: what was found about each project, and staff's queues.

`templatetags.checkout_health` reads what it shows; the app's page on the admin's index shows the same in short.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from checkout_integration.admin.site.read_only import ReportAdmin
from checkout_integration.models import Installation


@admin.register(Installation)
class HealthAdmin(ReportAdmin):
    """The entry "Health" of the index. It has no list and no page of a row: every project is on its one page."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the viewer may see whether all is well."""
        return self.viewer(request).may("view_health")

    @method_decorator(require_safe)
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the page."""
        return self.report(request, "health.html", _("Health"), **(extra_context or {}))
