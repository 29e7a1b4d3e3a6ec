"""Recording observations through the ledger, without a door."""

from __future__ import annotations

from collections.abc import Sequence

from checkout_integration.conf import Project
from checkout_integration.flows import ledger
from checkout_integration.flows.database.transactions import with_retries
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.flows.ledger.batch import OrderChange
from checkout_integration.policy.observation import Observation


def record(project: Project, observations: Sequence[Observation], cause: Cause) -> list[OrderChange]:
    """Record observations as one page or one notification; return an entry for each order, and raise what failed."""
    steps = [Step(observation=observation, cause=cause) for observation in observations]
    advice = ledger.consult_hooks(project, steps)
    outcomes = with_retries(lambda: ledger.record(project, steps, advice))
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return list({outcome.change.order_id: outcome.change for outcome in outcomes if outcome.change}.values())
