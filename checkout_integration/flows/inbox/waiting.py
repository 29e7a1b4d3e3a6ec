"""Stored notifications that are not applied yet: of one checkout, of one body, and the age of the oldest."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db import connections
from django.db.models import Q

from checkout_integration.flows.database import Query, state_database
from checkout_integration.flows.inbox.applying import apply_due
from checkout_integration.flows.inbox.claiming import head_of
from checkout_integration.models import Checkout, Notification
from checkout_integration.policy.log_safety import error_location

logger = logging.getLogger("checkout_integration.applying")


def apply_for(checkouts: Sequence[Checkout]) -> bool:
    """Apply stored notifications for checkouts of one customer, by order id or reference; return whether there were any.

    Checkouts with a notification that is still not applied become ``processing``: another process has it, or our rules
    failed on it. One statement where nothing is stored. Raises nothing: a checkout with a failure is processing.
    """
    waiting = _stored_for(checkouts)
    if not waiting:
        return False
    _apply_if_possible(waiting)
    left = _stored_for(checkouts)
    for checkout in checkouts:
        checkout.processing = any(_is_about(row, checkout) for row in left)
    return True


def apply_for_account(account: object) -> None:
    """Apply stored notifications for an account's unpaid checkouts: they may have orders that are not known yet.

    One statement where nothing is stored. Raises nothing, as `apply_for`. ``account``: primary key of a user of the shop.
    """
    column: Any = Checkout._meta.get_field("user")
    key = column.get_db_prep_value(
        account, connections[state_database()]
    )  # a UUID is a text for some databases
    _apply_if_possible(_OF_BUYER.rows(account=key, payable=[each.value for each in Checkout.PAYABLE]))


# A derived table: MariaDB would execute a plain UNION once for each notification that is due.
_OF_BUYER: Final = Query(
    Notification,
    """own.due_at IS NOT NULL AND own.id IN (SELECT found.id FROM (
        SELECT stored.id FROM {checkouts} checkout JOIN {notifications} stored ON stored.reference = checkout.reference
        WHERE checkout.user_id = {account} AND checkout.status IN {payable} AND stored.project = checkout.project
        UNION ALL
        SELECT stored.id FROM {checkouts} checkout JOIN {notifications} stored ON stored.object_id = checkout.order_id
        WHERE checkout.user_id = {account} AND checkout.status IN {payable} AND stored.project = checkout.project
            AND checkout.order_id <> ''
    ) found)""",
    only=["project", "object_id", "key", "body_hash"],
    checkouts=Checkout,
    notifications=Notification,
)


def _apply_if_possible(waiting: Sequence[Notification]) -> None:
    try:
        apply_orders_of(waiting)
    except Exception as error:  # noqa: BLE001  # for example a busy database: the page is shown all the same
        place, ids = error_location(error), {"project": next((row.project for row in waiting), "")}
        logger.warning("Notifications of a checkout could not be applied: %s", place, extra=ids)


def _stored_for(checkouts: Sequence[Checkout]) -> list[Notification]:
    order_ids = [each.order_id for each in checkouts if each.order_id]
    about = Q(object_id__in=order_ids) | Q(reference__in=[each.reference for each in checkouts])
    rows = Notification.primary.filter(about, due_at__isnull=False)
    projects = {each.project for each in checkouts}
    return list(
        rows.filter(project__in=projects).only("project", "object_id", "reference", "key", "body_hash")
    )


def _is_about(row: Notification, checkout: Checkout) -> bool:
    named = row.reference == checkout.reference or (row.object_id and row.object_id == checkout.order_id)
    return bool(named) and row.project == checkout.project


def apply_orders_of(notifications: Iterable[Notification]) -> None:
    """Apply due notifications of the same orders. It runs no receivers, so the process need not know them."""
    of_each = {(row.project, row.object_id or row.body_hash): row for row in notifications}
    for row in of_each.values():
        apply_due(look=head_of(row))


def still_stored(notification: Notification) -> bool:
    """Return whether this body is not applied yet."""
    own = Notification.primary.filter(key=notification.key, body_hash=notification.body_hash)
    return own.filter(state=Notification.State.STORED).exists()
