"""Asking the shop's validators whether a customer may pay, within ``VALIDATE_BUDGET``. See docs/validation.md."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from django.db import connections

from checkout_integration.conf import Project
from checkout_integration.flows.log_safety import error_location
from checkout_integration.hooks import Hooks, Refusal, Validator, load_hooks
from checkout_integration.models import ValidationDecision
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.validation")

Result = TypeVar("Result")
DecidedBy = ValidationDecision.DecidedBy

MOST_AT_ONCE: Final = 32
"""Validators that run at once in one process. Those that outlast their budget keep their place until they end, so that
validators that hang do not leave behind threads without bound."""
NOT_CHECKED: Final = "The customer could not be checked."
OUT_OF_TIME: Final = "The customer could not be checked in time."
_places = threading.BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was decided: approved when there is no refusal. ``failure`` is where a validator failed."""

    refusal: Refusal | None = field(default=None, repr=False)
    decided_by: str = DecidedBy.SHOP
    failure: str = ""


class OutOfTime(Exception):
    """The work has not ended within its budget; it may still be running."""


def ask_validators(project: Project, user: User, *, spent: float) -> Outcome:
    """Return the validators' outcome, or that of ``VALIDATE_WHEN_LATE`` once the budget has run out.

    Args:
        project: whose hooks and settings decide.
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
        )
    refusal = None if project.validate_when_late == "approve" else Refusal(message=OUT_OF_TIME)
    return Outcome(refusal=refusal, decided_by=DecidedBy.TIMEOUT)


def _ask_in_turn(project: Project, user: User) -> Outcome:
    """The first refusal stands. An exception refuses, and so do any answer but True and a list without validators."""
    try:
        validators = _validators(load_hooks(project.hooks))
        for validator in validators:
            answer = validator(user)
            if answer is not True:
                return Outcome(refusal=answer if isinstance(answer, Refusal) else Refusal())
    except Exception as error:  # noqa: BLE001  # whatever the hook raises, the customer is refused
        place = error_location(error)
        logger.error("A validator failed, so the customer is refused: %s", place)
        return Outcome(refusal=Refusal(message=NOT_CHECKED), decided_by=DecidedBy.FAILURE, failure=place)
    return Outcome(refusal=None if validators else Refusal(message=NOT_CHECKED))


def _validators(hooks: Hooks) -> list[Validator]:
    return list(hooks.validators())


def run_within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return the result of ``work``; where it can be left running, wait for it no longer than so many seconds.

    Raises:
        OutOfTime: it goes on in its thread, whose result is dropped; or it was not begun, since all places are taken.

    """
    if not _can_be_left_running():
        return work()
    deadline = time.monotonic() + seconds
    if not _places.acquire(timeout=max(seconds, 0)):
        raise OutOfTime
    run = _Run(work)
    # A daemon: one that hangs does not keep the process from ending.
    thread = threading.Thread(target=run, name="checkout-validator", daemon=True)
    try:
        thread.start()
    except BaseException:
        _places.release()
        raise
    if not run.ended.wait(max(deadline - time.monotonic(), 0)):
        raise OutOfTime
    return run.result()


def _can_be_left_running() -> bool:
    """Whether a thread sees the same data: it has connections of its own.

    They show nothing of what an open transaction of this thread has written, as in tests, nor of an SQLite database in
    memory.
    """
    return not any(
        connection.in_atomic_block or (connection.vendor == "sqlite" and connection.is_in_memory_db())  # type: ignore[attr-defined]
        for connection in connections.all()
    )


class _Run(Generic[Result]):
    """Work in a thread; ``ended`` is set when its result is there, and its connections are closed."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        self.ended = threading.Event()

    def __call__(self) -> None:
        """Do the work; whatever it raises belongs to whoever waits."""
        try:
            self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001  # raised again by `result`
            self._errors.append(error)
        finally:
            connections.close_all()
            _places.release()
            self.ended.set()

    def result(self) -> Result:
        """Return the result, or raise what the work raised."""
        for error in self._errors:
            raise error
        return self._results[0]
