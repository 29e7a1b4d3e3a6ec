"""Failed attempts of receivers: where in the shop's code they failed, for staff who may see it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.translation import gettext as _

from checkout_integration.admin.display import moment, visible
from checkout_integration.admin.page import Table, Value
from checkout_integration.admin.viewer import Viewer
from checkout_integration.models import FailedAttempt, ReceiverRun

PERMISSION = "view_failedattempt"
NEWEST = 20


def failures_of_run(run: ReceiverRun, viewer: Viewer) -> Table:
    """Return the history of one receiver's failures, newest first; empty without the permission."""
    return _table(run.failed_attempts.all(), viewer)


def failures_of_order(runs: list[ReceiverRun], viewer: Viewer) -> Table:
    """Return the newest failures of an order's receivers; no statement where none failed."""
    failed = [run.pk for run in runs if run.error]
    return _table(FailedAttempt.objects.filter(run__in=failed), viewer)


def _table(attempts: QuerySet[FailedAttempt], viewer: Viewer) -> Table:
    title = _("Failures of receivers")
    if not viewer.may(PERMISSION):
        return Table(title, [], [])
    newest = attempts.select_related("run").order_by("-pk")[:NEWEST]
    rows: list[list[Value]] = [
        [
            moment(attempt.failed_at),
            viewer.link(ReceiverRun, attempt.run_id, attempt.run.receiver),
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
