"""Passes over the service's transaction list."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import badge, moment, short, visible
from checkout_integration.admin.filters import ProjectFilter, words_filter
from checkout_integration.admin.page import Page, Value, chapter
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import SYNC_RUN, word
from checkout_integration.models import SyncRun


@admin.register(SyncRun)
class SyncRunScreen(Screen):
    """What was read, how much of it changed something, and what failed."""

    list_display = ("started", "lane_name", "state_words", "read", "changed_orders", "failure_words")
    list_filter = (
        words_filter("state", gettext_lazy("state"), SYNC_RUN),
        ProjectFilter,
        ("started_at", admin.DateFieldListFilter),
    )
    when_empty = gettext_lazy(
        "No sync yet. Run “python manage.py checkout_sync”, or let Celery's beat run it every five minutes."
    )

    def page(self, viewer: Viewer, row: SyncRun) -> Page:
        """The run's page."""
        return Page(
            badges=[badge(word(SYNC_RUN, row.state))],
            chapters=[
                chapter(
                    _("Run"),
                    [
                        (_("project"), visible(row.project)),
                        (_("lane"), visible(row.lane)),
                        (_("started"), moment(row.started_at)),
                        (_("finished"), moment(row.finished_at)),
                        (_("orders created from"), moment(row.window_from)),
                        (_("orders created until"), moment(row.window_to)),
                        (_("pages read"), str(row.pages)),
                        (_("rows read"), str(row.rows)),
                        (_("orders changed"), str(row.changed)),
                        (_("failure"), visible(row.failure)),
                    ],
                )
            ],
        )

    @admin.display(description=gettext_lazy("started"), ordering="pk")
    def started(self, row: SyncRun) -> Value:
        """When it began."""
        return moment(row.started_at)

    @admin.display(description=gettext_lazy("lane"))
    def lane_name(self, row: SyncRun) -> str:
        """Which part of the list it reads."""
        return short(row.lane)

    @admin.display(description=gettext_lazy("state"))
    def state_words(self, row: SyncRun) -> Value:
        """How far it came."""
        return badge(word(SYNC_RUN, row.state))

    @admin.display(description=gettext_lazy("rows read"))
    def read(self, row: SyncRun) -> str:
        """Rows of the list."""
        return str(row.rows)

    @admin.display(description=gettext_lazy("orders changed"))
    def changed_orders(self, row: SyncRun) -> str:
        """Orders whose status or verdict changed."""
        return str(row.changed)

    @admin.display(description=gettext_lazy("failure"))
    def failure_words(self, row: SyncRun) -> str:
        """Why it ended early."""
        return short(row.failure)
