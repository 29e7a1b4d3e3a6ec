"""The only writer of orders: lock, load, merge, write.

`consult_hooks` before anything is locked, then `record` inside a transaction.
"""

from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.flows.ledger.consulting import consult_hooks
from checkout_integration.flows.ledger.recording import record
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice, Outcome, Step

__all__ = ["NO_ADVICE", "Advice", "Cause", "Outcome", "Step", "consult_hooks", "record"]
