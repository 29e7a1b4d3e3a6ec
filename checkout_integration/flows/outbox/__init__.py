"""From messages to receivers: fan out, claim, run, retry, replay, status.

`write_messages` is for the ledger, `fan_out` and `run_due` for whoever runs receivers.
"""

from checkout_integration.flows.outbox.claiming import Worker
from checkout_integration.flows.outbox.messages import (
    fan_out,
    message_key,
    write_messages,
)
from checkout_integration.flows.outbox.running import RunSummary, run_due
from checkout_integration.flows.outbox.status import QueueState, queue_state

__all__ = [
    "QueueState",
    "RunSummary",
    "Worker",
    "fan_out",
    "message_key",
    "queue_state",
    "run_due",
    "write_messages",
]
