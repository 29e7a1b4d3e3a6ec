"""What is stored and not applied yet: of one checkout, of one body, and since when the oldest has been left."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.inbox.applying import apply_due
from checkout_integration.flows.inbox.claim import due
from checkout_integration.flows.log_safety import error_location
from checkout_integration.models import Checkout, Notification

logger = logging.getLogger("checkout_integration.applying")


def apply_for(checkouts: Sequence[Checkout]) -> bool:
    """Apply what is stored for checkouts of the same buyer, by order id or reference; return whether there was anything.

    Those of which something is not applied even then become ``processing``: another process has it in hand, or our rules
    failed on it. One statement where nothing is stored. Raises nothing: what cannot be applied now is processing.
    """
    waiting = _stored_for(checkouts)
    if not waiting:
        return False
    try:
        apply_due(among=Q(pk__in=[row.pk for row in waiting]))
    except Exception as error:  # noqa: BLE001  # such as a database that is busy: the page is shown all the same
        logger.warning("Notifications of a checkout could not be applied: %s", error_location(error))
    left = _stored_for(checkouts)
    for checkout in checkouts:
        checkout.processing = any(_is_about(row, checkout) for row in left)
    return True


def _stored_for(checkouts: Sequence[Checkout]) -> list[Notification]:
    order_ids = [each.order_id for each in checkouts if each.order_id]
    about = Q(object_id__in=order_ids) | Q(reference__in=[each.reference for each in checkouts])
    rows = Notification.objects.using(state_database()).filter(about, due_at__isnull=False)
    projects = {each.project for each in checkouts}
    return list(rows.filter(project__in=projects).only("project", "object_id", "reference"))


def _is_about(row: Notification, checkout: Checkout) -> bool:
    named = row.reference == checkout.reference or (row.object_id and row.object_id == checkout.order_id)
    return bool(named) and row.project == checkout.project


def apply_stored(notification: Notification) -> frozenset[int]:
    """Apply a notification that was just stored, for a process that knows the receivers; return its orders."""
    among = Q(key=notification.key, body_hash=notification.body_hash)
    return apply_due(1, 1, among=among, fan_out=True).orders


def still_stored(notification: Notification) -> bool:
    """Return whether nobody has applied this body yet."""
    rows = Notification.objects.using(state_database())
    rows = rows.filter(key=notification.key, body_hash=notification.body_hash)
    return rows.filter(state=Notification.State.STORED).exists()


def oldest_due() -> datetime | None:
    """Return since when the oldest notification that could be applied has been left; None where there is none."""
    return due().values_list("due_at", flat=True).first()
