"""Steps whose orders are known."""

from __future__ import annotations

from dataclasses import dataclass

from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.policy.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """A step whose order is known by now: ``position`` is that of the step, of which a page's row may be several."""

    position: int
    order_id: str
    observations: tuple[Observation, ...]
    cause: Cause
