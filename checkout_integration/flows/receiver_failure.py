"""What is left of a receiver's failure for those who mend it: a line in the log, a row, and a call of the shop's hook."""

from __future__ import annotations

import logging

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import state_database
from checkout_integration.flows.failure import place_of, traceback_of
from checkout_integration.hooks import FailedRun, load_hooks
from checkout_integration.models import Delivery, FailedAttempt

logger = logging.getLogger("checkout_integration.receivers")


def log_failure(delivery: Delivery, error: BaseException) -> None:
    """Log where a receiver failed; what the exception says only where LOG_EXCEPTION_MESSAGES allows it."""
    text = traceback_of(error, messages=app_settings().log_exception_messages)
    logger.error("Receiver %s failed at attempt %s: %s", delivery.receiver, delivery.attempts, text)


def store_failure(delivery: Delivery, error: BaseException) -> None:
    """Add the attempt to the history of the receiver's run, in the open transaction."""
    FailedAttempt.objects.using(state_database()).create(
        delivery=delivery,
        attempt=delivery.attempts,
        error=type(error).__name__[:255],
        traceback=traceback_of(error),
    )


def report_failure(delivery: Delivery, error: BaseException, *, given_up: bool) -> None:
    """Call the shop's hook, for its error tracker. A hook that fails itself is logged and changes nothing."""
    try:
        project = delivery.announcement.project
        run = FailedRun(
            receiver=delivery.receiver,
            signal=delivery.announcement.signal,
            project=project,
            order_id=delivery.order.order_id if delivery.order else "",
            attempt=delivery.attempts,
            given_up=given_up,
            traceback=traceback_of(error),
        )
        load_hooks(app_settings().project(project).hooks).receiver_failed(run, error)
    except (Exception, SystemExit) as failed:  # noqa: BLE001  # the shop's own code
        logger.error("The hook receiver_failed failed: %s", place_of(failed))
