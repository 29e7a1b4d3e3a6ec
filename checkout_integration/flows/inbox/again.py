"""Applying a notification that failed or is quarantined, and saying beforehand what would change. See docs/ways-back.md."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    locked,
    read_committed,
    state_database,
)
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.inbox import store as inbox
from checkout_integration.flows.inbox.reading import (
    PAYMENT_EVENTS,
    observation_of,
    quarantine_reason,
    read_notification,
)
from checkout_integration.flows.inbox.store import WAITING
from checkout_integration.flows.ledger import Cause, Step, consult_hooks, recording
from checkout_integration.flows.ledger.changes import OrderChange, changes_of
from checkout_integration.flows.log_safety import error_location
from checkout_integration.models import Notification
from checkout_integration.policy.observation import Source
from checkout_integration.protocol import notification as documents
from checkout_integration.protocol.strict_json import StrictJsonError
from checkout_integration.protocol.vocabulary import Event

logger = logging.getLogger("checkout_integration.applying")

State = Notification.State


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
    changes: tuple[OrderChange, ...] = ()

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
    return rows.filter(state__in=WAITING, body__isnull=False).order_by("received_at", "key")


def preview_notification(notification: Notification) -> Application:
    """Return what `apply_notification` would do now, without writing anything.

    The shop's ``Hooks.resolve_checkout`` may be asked, as it would be then.

    Raises:
        NotApplicable: it is applied already, or its body was erased.

    """
    project = _project_of(notification)

    def preview() -> Application:
        with transaction.atomic(using=state_database()):
            read_committed()
            row = _waiting(notification.key)
            return _applied(project, row, staff=None, writes=False)

    return _or_failure(notification, preview)


def apply_notification(notification: Notification, *, staff: AbstractBaseUser | None = None) -> Application:
    """Apply a notification that failed or is quarantined, judged by the clock as it is now.

    Its incidents are resolved by it. Where our code fails on it again, it stays failed, with the place.

    Raises:
        NotApplicable: it is applied already, or its body was erased.

    """
    project = _project_of(notification)

    def apply() -> Application:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            row = _waiting(notification.key)
            application = _applied(project, row, staff=staff, writes=True)
            _store(row, application, staff)
            return application

    application = _or_failure(notification, apply)
    if application.state == State.FAILED:
        with_retries(lambda: _store_failure(notification, application.reason))
    return application


def _project_of(notification: Notification) -> Project:
    project = app_settings().projects.get(notification.project)
    if project is None:
        raise NotApplicable(f"The project {notification.project!r} is not in the settings.")
    return project


def _waiting(key: str) -> Notification:
    rows = Notification.objects.using(state_database()).filter(pk=key, state__in=WAITING)
    row = locked(rows).first()
    if row is None:
        raise NotApplicable("It is applied already.")
    if not row.body:
        raise NotApplicable("Its body was erased, so there is nothing to apply.")
    return row


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


def _applied(
    project: Project, row: Notification, *, staff: AbstractBaseUser | None, writes: bool
) -> Application:
    try:
        document = read_notification(bytes(row.body or b""))
    except (StrictJsonError, documents.MalformedNotification) as error:
        return Application(
            state=State.QUARANTINED, reason=str(error)
        )  # ours: it names the rule, never the content
    if writes and not row.event:  # it could not be read when it came
        Notification.objects.using(state_database()).filter(key=row.key).update(
            **inbox.envelope_columns(document)
        )
    order = document.order()
    if reason := quarantine_reason(document, order, datetime.now(UTC)):
        return Application(state=State.QUARANTINED, reason=reason)
    if document.event == Event.USER_VALIDATE:
        return Application(state=State.QUARANTINED, reason="user.validate is answered in the request only")
    if order.testing_case:
        return Application(state=State.TEST)
    if document.event not in PAYMENT_EVENTS:
        return Application(state=State.APPLIED)
    cause = Cause(source=Source.NOTIFICATION, notification=row, staff=staff)
    steps = [Step(observations=(observation_of(document, order),), cause=cause)]
    advice = consult_hooks(project, steps)
    batch = recording.compute(project, steps, advice)
    (outcome,) = batch.outcomes(1)
    if outcome.error is not None:
        raise outcome.error
    changes = changes_of(batch)
    if writes:
        recording.store(batch, advice)
        if batch.outcomes(1)[0].erased:
            inbox.drop_body(row)
    return Application(state=State.APPLIED, changes=changes)


def _store(row: Notification, application: Application, staff: AbstractBaseUser | None) -> None:
    rows = Notification.objects.using(state_database()).filter(key=row.key)
    rows.update(state=application.state, failure=application.reason)
    if application.applied:
        inbox.resolve_incidents(row, staff.pk if staff else None)


def _store_failure(notification: Notification, place: str) -> None:
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        row = Notification.objects.using(state_database()).get(key=notification.key)
        if row.state in WAITING:
            inbox.mark_failed(row, place)
