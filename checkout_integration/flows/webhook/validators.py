"""The call of the shop's validators, within ``VALIDATE_BUDGET``: may a customer pay? See docs/validation.md."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Final, TypeVar

from django.db import connections

from checkout_integration.conf import Project
from checkout_integration.hooks import Hooks, Refusal, Validator, load_hooks
from checkout_integration.models import ValidationDecision
from checkout_integration.policy.log_safety import error_location
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.validation")

Result = TypeVar("Result")
DecidedBy = ValidationDecision.DecidedBy

MOST_AT_ONCE: Final = 32
"""How many validators run at the same time in one process. One that exceeds its budget occupies its place until it ends, so
the number of threads is limited even if validators hang."""
NOT_CHECKED: Final = "The customer could not be checked."
OUT_OF_TIME: Final = "The customer could not be checked in time."
_places = threading.BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The decision: approved if there is no refusal. ``failure`` is the place where a validator failed."""

    refusal: Refusal | None = field(default=None, repr=False)
    decided_by: str = DecidedBy.SHOP
    failure: str = ""


class OutOfTime(Exception):
    """Work that did not end within its budget; it may still be running."""


def ask_validators(project: Project, user: User, *, spent: float) -> Outcome:
    """Return the validators' outcome, or that of ``VALIDATE_WHEN_LATE`` if the budget is exceeded.

    Args:
        project: the project with the hooks and settings.
        user: the customer.
        spent: seconds of the budget that have passed since the request arrived.

    """
    try:
        return run_within(project.validate_budget - spent, lambda: _ask_in_turn(project, user))
    except OutOfTime:
        logger.error(
            "The validators have not answered within VALIDATE_BUDGET (%s s), so VALIDATE_WHEN_LATE decided: %s.",
            project.validate_budget,
            project.validate_when_late,
            extra={"project": project.alias},
        )
    refusal = None if project.validate_when_late == "approve" else Refusal(message=OUT_OF_TIME)
    return Outcome(refusal=refusal, decided_by=DecidedBy.TIMEOUT)


def _ask_in_turn(project: Project, user: User) -> Outcome:
    """Call the validators in turn until one refuses. An exception, any result but True, and an empty list refuse."""
    try:
        validators = _validators(load_hooks(project.hooks))
        for validator in validators:
            answer = validator(user)
            if answer is not True:
                return Outcome(refusal=answer if isinstance(answer, Refusal) else Refusal())
    except Exception as error:  # noqa: BLE001  # whatever the hook raises, the customer is refused
        place = error_location(error)
        ids = {"project": project.alias}
        logger.error("A validator failed, so the customer is refused: %s", place, extra=ids)
        return Outcome(refusal=Refusal(message=NOT_CHECKED), decided_by=DecidedBy.FAILURE, failure=place)
    return Outcome(refusal=None if validators else Refusal(message=NOT_CHECKED))


def _validators(hooks: Hooks) -> list[Validator]:
    return list(hooks.validators())


def run_within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return the result of ``work``. Wait no longer than so many seconds, if it can be left running.

    Raises:
        OutOfTime: it continues in its thread and its result is ignored; or it was not begun, since all places are taken.

    """
    if not _can_be_left_running():
        return work()
    deadline = time.monotonic() + seconds
    if not _places.acquire(timeout=max(seconds, 0)):
        raise OutOfTime
    done: Future[Result] = Future()

    def run() -> None:
        """Note the result once the connections are closed; the caller who waits raises what the work has raised."""
        try:
            try:
                result = work()
            finally:
                connections.close_all()
                _places.release()
        except BaseException as error:  # noqa: BLE001  # raised by the caller
            done.set_exception(error)
        else:
            done.set_result(result)

    # A daemon thread: if it hangs, the process can end all the same.
    thread = threading.Thread(target=run, name="checkout-validator", daemon=True)
    try:
        thread.start()
    except BaseException:
        _places.release()
        raise
    if not wait([done], timeout=max(deadline - time.monotonic(), 0)).done:
        raise OutOfTime
    return done.result()


def _can_be_left_running() -> bool:
    """Return whether another thread, with connections of its own, sees the same data.

    It does not see what an open transaction of this thread has written, as in tests, nor an SQLite database in memory.
    """
    return not any(
        connection.in_atomic_block or (connection.vendor == "sqlite" and connection.is_in_memory_db())  # type: ignore[attr-defined]
        for connection in connections.all()
    )
