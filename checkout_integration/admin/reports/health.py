"""The page about health, in the place of a list: what was found about each project, and staff's queues.

`templatetags.checkout_health` reads what it shows; the app's page on the admin's index shows the same in short.
"""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site.read_only import ReportAdmin
from checkout_integration.models import Installation


@admin.register(Installation)
class HealthAdmin(ReportAdmin):
    """The entry "Health" of the index. It has no list and no page of a row: every project is on its one page."""

    title = _("Health")
    template = "health.html"
    view_permission = "view_health"
