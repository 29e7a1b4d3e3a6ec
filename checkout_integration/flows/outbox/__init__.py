"""From messages to receivers: fan out, claim, run, retry, replay, status.

`write_messages` is for the ledger, `fan_out` and `run_due` for whoever runs receivers.
"""

from checkout_integration.flows.outbox.claiming import Worker
from checkout_integration.flows.outbox.messages import (
    awaits_fan_out,
    fan_out,
    message_key,
    newest_message,
    write_messages,
)
from checkout_integration.flows.outbox.running import RunSummary, run_due
from checkout_integration.flows.outbox.status import QueueState, queue_state

__all__ = [
    "QueueState",
    "RunSummary",
    "Worker",
    "awaits_fan_out",
    "fan_out",
    "message_key",
    "newest_message",
    "queue_state",
    "run_due",
    "write_messages",
]
