"""The sync of a long-running worker: a thread that reads each lane of each project when it is due."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connections

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import TRANSIENT_DATABASE_ERRORS, Unavailable
from checkout_integration.models import SyncRun

logger = logging.getLogger("checkout_integration.sync")

FIRST_LOOK, LOOK_EVERY = 5.0, 30.0
"""Seconds until the thread first looks for lanes that are due, and between two looks."""
LONGEST_END: Final = 10.0
"""Seconds that the end of the worker waits for the page at hand. A pass that is cut off is resumed by the next one."""


class _Stopped(Exception):  # not an error
    """The worker ends: the pass at hand is left to be resumed."""


@contextmanager
def syncing(stopped: threading.Event) -> Iterator[None]:
    """Read the lanes that are due in a thread of its own, until the event is set."""
    thread = threading.Thread(target=_sync_until, args=(stopped,), name="checkout-sync", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(LONGEST_END)


def _sync_until(stopped: threading.Event) -> None:
    pause = FIRST_LOOK
    while not stopped.wait(pause):
        pause = LOOK_EVERY
        try:
            _sync_due(stopped)
        except _Stopped:
            return
        except (Unavailable, *TRANSIENT_DATABASE_ERRORS) as error:
            logger.warning("The database does not respond (%s); the sync looks again.", type(error).__name__)
        except Exception as error:  # noqa: BLE001  # a fault in one pass must not end the sync
            # Without its message, which may have personal data.
            logger.error("A pass of the sync failed (%s); its row says where.", type(error).__name__)
        finally:
            connections.close_all()


def _sync_due(stopped: threading.Event) -> None:
    def stop(run: SyncRun) -> None:
        if stopped.is_set():
            raise _Stopped

    for project in app_settings().projects:
        for lane in flows.sync.lanes_due(project):
            stop(SyncRun())
            try:
                run = flows.sync.sync_transactions(project, lane, progress=stop)
            except flows.sync.LaneTaken as error:
                logger.info("%s", error, extra={"project": project, "lane": lane})
            else:
                if run.state != SyncRun.State.COMPLETE:
                    text = "The sync of %s %s ended as %s: %s"
                    logger.error(text, project, lane, run.state, run.failure, extra=run.log_ids)
