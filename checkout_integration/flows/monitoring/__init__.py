"""What monitors and staff look at: the health of each project and of the whole, the backlog, and staff's queues.

`assessment` puts the findings together: `webhook` about requests, `not_applied` about stored notifications and removed
aliases, `validation` about user.validate, `reading` about the service, its list and incidents, `receivers` about those that
fail or are unknown and goods that are not granted, `fetching` about goods that game servers fetch, `backlog` about work that
is due. `queues` counts the rows that wait for staff. Everything reads indexes only, and counts to a limit.
"""

from checkout_integration.flows.monitoring.assessment import Health, ProjectMode, health
from checkout_integration.flows.monitoring.backlog import LONGEST_LEFT, WHO_WORKS, QueueState, queue_state
from checkout_integration.flows.monitoring.finding import Finding, Rows, span
from checkout_integration.flows.monitoring.not_applied import contradicting, waiting_of_removed
from checkout_integration.flows.monitoring.queues import StaffQueue, order_queues, staff_queues
from checkout_integration.flows.monitoring.reading import LONGEST_UNSYNCED, WHO_SYNCS
from checkout_integration.flows.monitoring.webhook import count_refused, write_refused
from checkout_integration.policy.severity import Severity
