"""Failed attempts of receivers: where in the shop's code they failed, for staff who may see it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.display import moment, visible
from checkout_integration.admin.page import Table, Value
from checkout_integration.admin.viewer import Viewer
from checkout_integration.models import Delivery, FailedAttempt

PERMISSION = "view_failedattempt"
NEWEST = 20


def failures_of_run(run: Delivery, viewer: Viewer) -> Table:
    """Return the history of one receiver's failures, newest first; empty without the permission."""
    return _table(run.failed_attempts.all(), viewer)


def failures_of_order(deliveries: list[Delivery], viewer: Viewer) -> Table:
    """Return the newest failures of an order's receivers; no statement where none failed."""
    failed = [delivery.pk for delivery in deliveries if delivery.error]
    return _table(FailedAttempt.objects.filter(delivery__in=failed), viewer)


def _table(attempts: QuerySet[FailedAttempt], viewer: Viewer) -> Table:
    title = _("Failures of receivers")
    if not viewer.may(PERMISSION):
        return Table(title, [], [])
    newest = attempts.select_related("delivery").order_by("-pk")[:NEWEST]
    rows: list[list[Value]] = [
        [
            moment(attempt.failed_at),
            viewer.link(Delivery, attempt.delivery_id, attempt.delivery.receiver),
            str(attempt.attempt),
            _folded(attempt.traceback),
        ]
        for attempt in newest
    ]
    return Table(title, [_("when"), _("receiver"), _("attempt"), _("where")], rows)


def _folded(text: str) -> Value:
    """Return the first line, which names the shop's own code, and all of them folded away."""
    first = visible(text.partition("\n")[0], longest=300)
    return format_html(
        '<details><summary>{}</summary><pre tabindex="0">{}</pre></details>', first, visible(text, 20_000)
    )
