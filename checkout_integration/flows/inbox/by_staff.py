"""The application of stored notifications by staff, with a preview. See docs/ways-back.md."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from checkout_integration.conf import app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    in_transaction,
    locked,
    own_transaction,
    read_committed,
    record_staff_act,
    refusal_of,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import settle, settled
from checkout_integration.flows.inbox.storing import envelope_columns
from checkout_integration.flows.ledger import (
    NO_ADVICE,
    Advice,
    Batch,
    ChangePreview,
    changes_of,
    consult_hooks,
)
from checkout_integration.models import Notification, Order, StaffAct
from checkout_integration.models.actor import Actor
from checkout_integration.policy.log_safety import error_location

logger = logging.getLogger("checkout_integration.applying")

State = Notification.State
WAITING = (State.STORED, State.FAILED, State.QUARANTINED)
"""States of notifications that are not applied yet."""
REPEATABLE = (*WAITING, State.APPLIED)
"""States of notifications that staff can apply, once more too."""


class NotApplicable(ValueError):
    """The notification cannot be applied now; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Application:
    """The result of applying a notification: its state, the reason if it is not applied, and the changes.

    Attributes:
        state: applied, test, failed or quarantined.
        reason: why it failed or stays quarantined; "" where it is applied.
        changes: one for each order that is written; empty where nothing changes.

    """

    state: str
    reason: str = ""
    changes: tuple[ChangePreview, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether the notification was applied, or was a test."""
        return self.state in (State.APPLIED, State.TEST)

    @property
    def summary(self) -> str:
        """The result in one line, for a log or a terminal."""
        if self.reason:
            return f"{self.state}: {self.reason}"
        return "; ".join(change.summary for change in self.changes) or f"{self.state}: nothing changes"


def waiting_notifications() -> QuerySet[Notification]:
    """Return the notifications that can be applied again, in the order in which they came."""
    rows = Notification.primary.all()
    return rows.filter(state__in=WAITING, body__isnull=False).order_by("received_at", "pk")


def notifications_of(order: Order) -> QuerySet[Notification]:
    """Return the notifications of an order that can be applied, or applied again, newest first."""
    rows = Notification.primary.about_orders(order.project, [order.order_id])
    return rows.filter(state__in=REPEATABLE, body__isnull=False).order_by("-received_at", "-pk")


def preview_notification(notification: Notification, *, again: bool = False) -> Application:
    """Return the result that `apply_notification` would have now, without writing anything.

    The shop's ``Hooks.resolve_checkout`` may be called, as in `apply_notification`. ``again``: also of an applied one.

    Raises:
        NotApplicable: it is applied already, or its body was erased or pruned.

    """

    def preview() -> Application:
        advice = _advice(notification)
        with own_transaction():
            read_committed()
            reading = _read(notification, None, again=again)
            batch = _compute(reading, advice)
            return _application(reading, changes_of(batch) if batch else ())

    return _or_failure(notification, preview)


def apply_notification(
    notification: Notification, *, staff: Actor | None = None, again: bool = False
) -> Application:
    """Apply a notification that is stored, failed or quarantined, judged by the clock as it is now.

    This resolves its incidents. If our code fails on it again, it stays failed, with the place of the error. ``again``: apply
    an applied one too, as after an update of this app. Mostly nothing changes; it stays applied whatever comes of it.

    Raises:
        NotApplicable: it is applied already, or its body was erased or pruned.

    """

    def apply() -> Application:
        advice = _advice(notification)
        with write_transaction():
            reading = _read(notification, staff, again=again)
            if reading.row.state == State.APPLIED and reading.state != State.APPLIED:
                return _application(reading, ())
            _complete(reading)
            changes: tuple[ChangePreview, ...] = ()
            outcome = None
            if batch := _compute(reading, advice):
                changes = changes_of(batch)
                ledger.write(batch)
                (outcome,) = batch.outcomes
            settle([settled(reading, outcome)], staff)
            application = _application(reading, changes)
            if application.applied:
                order = batch.changes[0].row if batch and batch.changes else None
                about: dict[str, Any] = {"notification": reading.row, "order_id": order.pk if order else None}
                record_staff_act(StaffAct.Act.APPLY, staff, project=notification.project, **about)
            return application

    application = _or_failure(notification, apply)
    if application.state == State.FAILED:
        _store_failure(notification, application.reason)
    return application


def _advice(notification: Notification) -> Advice:
    """Return the results of the shop's hooks for it, read without a lock."""
    row = Notification.primary.get(pk=notification.pk)
    step = read(row, datetime.now(UTC)).step if row.body else None
    return consult_hooks(app_settings().project(row.project), [step]) if step else NO_ADVICE


def _read(notification: Notification, staff: Actor | None, *, again: bool) -> Reading:
    """Read the locked row. Raises any error of our own code."""
    states = REPEATABLE if again else WAITING
    rows = Notification.primary.filter(pk=notification.pk, state__in=states)
    row = locked(rows).first()
    if row is None:
        raise NotApplicable(_("It is applied already."))
    if not row.body:
        raise NotApplicable(_("Its body was erased or pruned, so there is nothing to apply."))
    reading = read(row, datetime.now(UTC), staff)
    if reading.error:
        raise reading.error
    return reading


def _complete(reading: Reading) -> None:
    """Fill in the columns of a notification that could not be read when it came."""
    if reading.document and not reading.row.event:
        key = app_settings().project(reading.row.project).reference_key
        row = Notification.primary.filter(pk=reading.row.pk)
        row.update(**envelope_columns(reading.document, key))


def _compute(reading: Reading, advice: Advice) -> Batch | None:
    """Return the outcome of its step, if it has one. Raises any error of our rules or the shop's hooks."""
    if reading.step is None:
        return None
    batch = ledger.compute(app_settings().project(reading.row.project), [reading.step], advice)
    (outcome,) = batch.outcomes
    if outcome.error is not None:
        raise outcome.error
    return batch


def _application(reading: Reading, changes: tuple[ChangePreview, ...]) -> Application:
    return Application(state=reading.state, reason=reading.reason, changes=changes)


def _or_failure(notification: Notification, work: Callable[[], Application]) -> Application:
    """Return the application; a failed one if our own code or the shop's raised an exception."""
    if notification.project not in app_settings().projects:
        raise NotApplicable(
            _("The project “%(project)s” is not in the settings.") % {"project": notification.project}
        )
    try:
        return with_retries(work)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001  # whatever our rules or the shop's hooks raise
        place = error_location(refusal_of(error))
    logger.error(
        "Notification %s could not be applied: %s", notification.key, place, extra=notification.log_ids
    )
    return Application(state=State.FAILED, reason=place)


@in_transaction
def _store_failure(notification: Notification, place: str) -> None:
    """Store the failure in a transaction of its own, since the one that applied it was rolled back."""
    rows = Notification.primary.filter(pk=notification.pk, state__in=WAITING)
    if (row := locked(rows).first()) is not None:
        settle([Reading(row=row, state=State.FAILED, reason=place)])
