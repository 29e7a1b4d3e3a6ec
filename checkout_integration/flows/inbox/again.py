"""Applying a notification that failed or is quarantined, and saying beforehand what would change. See docs/ways-back.md."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    locked,
    read_committed,
    state_database,
)
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.inbox.reading import Reading, read
from checkout_integration.flows.inbox.settling import settle, settled
from checkout_integration.flows.inbox.storing import envelope_columns
from checkout_integration.flows.ledger import NO_ADVICE, Advice, consult_hooks, recording
from checkout_integration.flows.ledger.preview import ChangePreview, changes_of
from checkout_integration.flows.ledger.taking import Batch
from checkout_integration.flows.log_safety import error_location
from checkout_integration.models import Notification

logger = logging.getLogger("checkout_integration.applying")

State = Notification.State
WAITING = (State.STORED, State.FAILED, State.QUARANTINED)
"""States of notifications that staff can apply."""


class NotApplicable(ValueError):
    """The notification cannot be applied now; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Application:
    """What applying a notification does: the state that it ends in, why it is not applied, and what changes.

    Attributes:
        state: applied, test, failed or quarantined.
        reason: why it failed or stays quarantined; "" where it is applied.
        changes: one for each order that is written; empty where it says nothing new.

    """

    state: str
    reason: str = ""
    changes: tuple[ChangePreview, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether it ends well."""
        return self.state in (State.APPLIED, State.TEST)

    @property
    def summary(self) -> str:
        """One line for a log or a terminal."""
        if self.reason:
            return f"{self.state}: {self.reason}"
        return "; ".join(change.summary for change in self.changes) or f"{self.state}: nothing changes"


def waiting_notifications() -> QuerySet[Notification]:
    """Return the notifications that can be applied again, in the order in which they came."""
    rows = Notification.objects.using(state_database())
    return rows.filter(state__in=WAITING, body__isnull=False).order_by("received_at", "pk")


def preview_notification(notification: Notification) -> Application:
    """Return what `apply_notification` would do now, without writing anything.

    The shop's ``Hooks.resolve_checkout`` may be asked, as it would be then.

    Raises:
        NotApplicable: it is applied already, or its body was erased.

    """

    def preview() -> Application:
        advice = _advice(notification)
        with transaction.atomic(using=state_database()):
            read_committed()
            reading = _read(notification, None)
            batch = _compute(reading, advice)
            return _application(reading, changes_of(batch) if batch else ())

    _check_project(notification)
    return _or_failure(notification, preview)


def apply_notification(notification: Notification, *, staff: AbstractBaseUser | None = None) -> Application:
    """Apply a notification that is stored, failed or quarantined, judged by the clock as it is now.

    Its incidents are resolved by it. Where our code fails on it again, it stays failed, with the place.

    Raises:
        NotApplicable: it is applied already, or its body was erased.

    """

    def apply() -> Application:
        advice = _advice(notification)
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            reading = _read(notification, staff)
            _complete(reading)
            changes: tuple[ChangePreview, ...] = ()
            outcome = None
            if batch := _compute(reading, advice):
                changes = changes_of(batch)
                recording.store(batch, advice)
                (outcome,) = batch.outcomes(1)
            settle([settled(reading, outcome)], staff.pk if staff else None)
            return _application(reading, changes)

    _check_project(notification)
    application = _or_failure(notification, apply)
    if application.state == State.FAILED:
        with_retries(lambda: _store_failure(notification, application.reason))
    return application


def _check_project(notification: Notification) -> None:
    if notification.project not in app_settings().projects:
        raise NotApplicable(f"The project {notification.project!r} is not in the settings.")


def _advice(notification: Notification) -> Advice:
    """Return what the shop's hooks say of it, read without a lock."""
    row = Notification.objects.using(state_database()).get(pk=notification.pk)
    step = read(row, datetime.now(UTC)).step if row.body else None
    return consult_hooks(app_settings().project(row.project), [step]) if step else NO_ADVICE


def _read(notification: Notification, staff: AbstractBaseUser | None) -> Reading:
    """Read the row, locked. Raises what our own code raises on it."""
    rows = Notification.objects.using(state_database()).filter(pk=notification.pk, state__in=WAITING)
    row = locked(rows).first()
    if row is None:
        raise NotApplicable("It is applied already.")
    if not row.body:
        raise NotApplicable("Its body was erased, so there is nothing to apply.")
    reading = read(row, datetime.now(UTC), staff)
    if reading.error:
        raise reading.error
    return reading


def _complete(reading: Reading) -> None:
    """Fill in the columns of a notification that could not be read when it came."""
    if reading.document and not reading.row.event:
        key = app_settings().project(reading.row.project).reference_key
        row = Notification.objects.using(state_database()).filter(pk=reading.row.pk)
        row.update(**envelope_columns(reading.document, key))


def _compute(reading: Reading, advice: Advice) -> Batch | None:
    """Return what its step comes to, if it has one. Raises what our rules, or the shop's hooks, raised on it."""
    if reading.step is None:
        return None
    batch = recording.compute(app_settings().project(reading.row.project), [reading.step], advice)
    (outcome,) = batch.outcomes(1)
    if outcome.error is not None:
        raise outcome.error
    return batch


def _application(reading: Reading, changes: tuple[ChangePreview, ...]) -> Application:
    return Application(state=reading.state, reason=reading.reason, changes=changes)


def _or_failure(notification: Notification, work: Callable[[], Application]) -> Application:
    """Return the application; one that failed where our own code, or the shop's, raised something."""
    try:
        return with_retries(work)
    except NotApplicable:
        raise
    except TRANSIENT_DATABASE_ERRORS:
        raise  # not our rules
    except Unavailable as unavailable:
        # An IntegrityError that repeats itself is no race: something breaks a constraint each time.
        if not isinstance(unavailable.__cause__, IntegrityError):
            raise
        return _failed(notification, unavailable.__cause__)
    except Exception as error:  # noqa: BLE001  # whatever our rules or the shop's hooks raise
        return _failed(notification, error)


def _failed(notification: Notification, error: BaseException) -> Application:
    place = error_location(error)
    logger.error("Notification %s could not be applied: %s", notification.key, place)
    return Application(state=State.FAILED, reason=place)


def _store_failure(notification: Notification, place: str) -> None:
    """A transaction of its own, since the one that applied it was rolled back."""
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        rows = Notification.objects.using(state_database()).filter(pk=notification.pk, state__in=WAITING)
        if (row := locked(rows).first()) is not None:
            failed = Reading(row=row, state=State.FAILED, reason=place)
            settle([settled(failed, None)])
