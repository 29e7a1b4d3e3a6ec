"""The product's waits, shortened from outside, so that what a kill leaves behind is taken up within the trial."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Final

from checkout_integration.signals import RetryPlan
from tests.stress.chaos.names import GRACE_SECONDS, RETRY_SECONDS

GRACE: Final = ("checkout_integration.flows.outbox.claiming", "GRACE")
BACK_OFF: Final = ("checkout_integration.flows.outbox.retrying", "BACK_OFF")
PLAN: Final = ("checkout_integration.signals.durable", "USUAL")
LOOK: Final = ("checkout_integration.flows.operations.abandoned", "LOOK_EVERY")


def shorten() -> None:
    """Shorten the grace of a process that died, the waits after a failure, and those between looks for who left."""
    _replace(LOOK, 0.5)
    _replace(GRACE, timedelta(seconds=GRACE_SECONDS))
    waits = (timedelta(seconds=RETRY_SECONDS),) * 9
    _replace(BACK_OFF, waits)
    _replace(PLAN, RetryPlan(waits=waits))


def _replace(place: tuple[str, str], value: object) -> None:
    module, name = import_module(place[0]), place[1]
    if type(getattr(module, name)) is not type(value):
        raise TypeError(f"{place[0]}.{name} is no longer a {type(value).__name__}")
    setattr(module, name, value)
