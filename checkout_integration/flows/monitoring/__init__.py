"""What monitors and staff look at: the health of each project and of the whole, the backlog, and staff's queues.

`assessment` puts the findings together: `steps` about work that is due, `incoming` about notifications, `reading` about the
transaction list and incidents. `backlog` reads the queue of work, `refusals` counts refused requests, `queues` counts the
rows that wait for staff. Everything reads indexes only, and counts to a limit.
"""

from checkout_integration.flows.monitoring.assessment import Health, ProjectMode, health
from checkout_integration.flows.monitoring.backlog import QueueState, queue_state
from checkout_integration.flows.monitoring.finding import Finding, Severity, span
from checkout_integration.flows.monitoring.queues import StaffQueue, order_queues, staff_queues
from checkout_integration.flows.monitoring.reading import LONGEST_UNSYNCED, WHO_SYNCS
from checkout_integration.flows.monitoring.refusals import count_refused
from checkout_integration.flows.monitoring.steps import LONGEST_LEFT, WHO_WORKS

__all__ = [
    "LONGEST_LEFT",
    "LONGEST_UNSYNCED",
    "WHO_SYNCS",
    "WHO_WORKS",
    "Finding",
    "Health",
    "ProjectMode",
    "QueueState",
    "Severity",
    "StaffQueue",
    "count_refused",
    "health",
    "order_queues",
    "queue_state",
    "span",
    "staff_queues",
]
