"""``manage.py checkout_apply``: apply notifications that are not applied yet, or show the changes that this would make."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q, QuerySet

from checkout_integration import flows
from checkout_integration.management.database_command import StaffCommand, Step, require_project, step_of
from checkout_integration.management.options import filled
from checkout_integration.models import Notification
from checkout_integration.models.actor import Actor


class Command(StaffCommand):
    """Exit codes: 0 all notifications are applied, 1 some are not, 2 usage, such as an unknown id."""

    help = (
        "Applies notifications that are stored and not applied yet: those that no process has reached; those that failed, "
        "once the code or the hook is fixed; and quarantined ones, judged by the current time. Select notifications by "
        "--state, --notification, or both."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which notifications, and whether to change anything."""
        parser.add_argument(
            "--state",
            choices=[str(state) for state in flows.operations.WAITING],
            action="append",
            help="all in this state; may be repeated",
        )
        parser.add_argument(
            "--notification",
            type=filled,
            action="append",
            metavar="ID",
            help="the notification's id, or its key in the admin; may be repeated",
        )
        parser.add_argument("--project", type=filled, help="alias of a project; all projects when not given")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply the notifications one by one, oldest first, each in a transaction of its own."""
        staff = None if options["dry_run"] else self.acting(options)
        rows = list(_selected(options).defer("body"))
        steps = [_step(row, staff) for row in self.counted(rows, "notifications")]
        self.end_with(steps, "notifications", "applied", options)


def _selected(options: dict[str, Any]) -> QuerySet[Notification]:
    project, states, ids = options["project"], options["state"], options["notification"]
    require_project(project)
    if not states and not ids:
        raise CommandError("Select notifications by --state, --notification, or both.", returncode=2)
    rows = flows.operations.waiting_notifications()
    if project is not None:
        rows = rows.filter(project=project)
    if states:
        rows = rows.filter(state__in=states)
    for notification_id in ids or ():
        if not rows.filter(Q(notification_id=notification_id) | Q(key=notification_id)).exists():
            raise CommandError(f"No notification {notification_id!r} is waiting to be applied.", returncode=2)
    return rows.filter(Q(notification_id__in=ids) | Q(key__in=ids)) if ids else rows


def _step(row: Notification, staff: Actor | None) -> Step:
    """Apply a notification, or only preview it where nobody acts."""
    began, name = time.monotonic(), row.notification_id or row.key
    try:
        if staff is None:
            applied = flows.operations.preview_notification(row)
        else:
            applied = flows.operations.apply_notification(row, staff=staff)
    except flows.operations.NotApplicable as error:
        return step_of(name, began, str(error), ok=False, key=row.key, state=str(row.state), changes=[])
    changes = [change.as_json for change in applied.changes]
    more = {"key": row.key, "state": str(applied.state), "changes": changes}
    return step_of(name, began, applied.summary, ok=applied.applied, **more)
