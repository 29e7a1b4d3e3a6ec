"""What is left of a receiver's failure for those who mend it: a line in the log, a row, and a call of the shop's hook."""

from __future__ import annotations

import logging

from checkout_integration.conf import app_settings
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.log_safety import error_location, traceback_of
from checkout_integration.hooks import FailedRun, load_hooks
from checkout_integration.models import FailedAttempt, ReceiverRun

logger = logging.getLogger("checkout_integration.receivers")


def log_failure(run: ReceiverRun, error: BaseException) -> None:
    """Log where a receiver failed; what the exception says only where LOG_EXCEPTION_MESSAGES allows it."""
    text = traceback_of(error, messages=app_settings().log_exception_messages)
    logger.error("Receiver %s failed at attempt %s: %s", run.receiver, run.attempts, text)


def store_failure(run: ReceiverRun, error: BaseException) -> None:
    """Add the attempt to the history of the receiver's run, in the open transaction."""
    FailedAttempt.objects.using(state_database()).create(
        run=run,
        attempt=run.attempts,
        error=type(error).__name__[:255],
        traceback=traceback_of(error),
    )


def report_failure(run: ReceiverRun, error: BaseException, *, given_up: bool) -> None:
    """Call the shop's hook, for its error tracker. A hook that fails itself is logged and changes nothing."""
    try:
        project = run.message.project
        failed_run = FailedRun(
            receiver=run.receiver,
            signal=run.message.signal,
            project=project,
            order_id=run.order.order_id if run.order else "",
            attempt=run.attempts,
            given_up=given_up,
            traceback=traceback_of(error),
        )
        load_hooks(app_settings().project(project).hooks).receiver_failed(failed_run, error)
    except (Exception, SystemExit) as failed:  # noqa: BLE001  # the shop's own code
        logger.error("The hook receiver_failed failed: %s", error_location(failed))
