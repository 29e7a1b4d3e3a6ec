"""The only writer of orders: lock, load, merge, write."""

from checkout_integration.flows.ledger.entry import Cause
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice, Outcome, Step, consult_hooks, record

__all__ = ["NO_ADVICE", "Advice", "Cause", "Outcome", "Step", "consult_hooks", "record"]
