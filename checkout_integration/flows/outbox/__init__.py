"""The outbox: from messages to receivers. Claim, run, retry, replay.

`receivers` remembers which receivers any process has connected. `messages` stores a message for each signal, with a run for
each of its receivers. `claiming` finds due runs and gives them to a process, `exclusivity` lets one receiver at a time run
for an order or checkout, and `running` calls the receiver. `retrying` plans the next attempt of a failed run, or gives it up.
`undoing` decides whether a run has something to do. `replay` makes runs of past events for a receiver that was connected
later. ``__all__`` is for staff, commands and monitors; the other names are for other rooms.
"""

from checkout_integration.flows.outbox.claiming import GRACE as GRACE
from checkout_integration.flows.outbox.claiming import MOST_RUNNING as MOST_RUNNING
from checkout_integration.flows.outbox.claiming import Worker
from checkout_integration.flows.outbox.claiming import left_behind_before as left_behind_before
from checkout_integration.flows.outbox.exclusivity import UNFINISHED as UNFINISHED
from checkout_integration.flows.outbox.exclusivity import finish as finish
from checkout_integration.flows.outbox.exclusivity import lines_of as lines_of
from checkout_integration.flows.outbox.messages import life_cycle_message as life_cycle_message
from checkout_integration.flows.outbox.messages import without_common as without_common
from checkout_integration.flows.outbox.messages import write_messages as write_messages
from checkout_integration.flows.outbox.receivers import ABSENT_AFTER as ABSENT_AFTER
from checkout_integration.flows.outbox.receivers import Remembered as Remembered
from checkout_integration.flows.outbox.receivers import connected_here as connected_here
from checkout_integration.flows.outbox.receivers import is_absent as is_absent
from checkout_integration.flows.outbox.receivers import known_names as known_names
from checkout_integration.flows.outbox.receivers import pause_receiver as pause_receiver
from checkout_integration.flows.outbox.receivers import read_receivers as read_receivers
from checkout_integration.flows.outbox.receivers import receivers_of as receivers_of
from checkout_integration.flows.outbox.receivers import record_own as record_own
from checkout_integration.flows.outbox.receivers import resume_receiver as resume_receiver
from checkout_integration.flows.outbox.receivers import retire_receiver as retire_receiver
from checkout_integration.flows.outbox.receivers import rows_named as rows_named
from checkout_integration.flows.outbox.receivers import rows_of as rows_of
from checkout_integration.flows.outbox.replay import (
    ReplaySelection,
    UnknownReceiver,
    connected_receivers,
    count_undelivered,
    failed_runs,
    replay_events,
    retry_failed_runs,
)
from checkout_integration.flows.outbox.replay import make_all_due as make_all_due
from checkout_integration.flows.outbox.replay import make_due_again as make_due_again
from checkout_integration.flows.outbox.replay import make_due_now as make_due_now
from checkout_integration.flows.outbox.replay import make_postponed_due as make_postponed_due
from checkout_integration.flows.outbox.retrying import next_try as next_try
from checkout_integration.flows.outbox.running import AT_END as AT_END
from checkout_integration.flows.outbox.running import DueSummary as DueSummary
from checkout_integration.flows.outbox.running import run_due
from checkout_integration.flows.outbox.undoing import GAME_SERVER as GAME_SERVER
from checkout_integration.flows.outbox.undoing import complete_by_staff as complete_by_staff
from checkout_integration.flows.outbox.undoing import is_abandoned as is_abandoned
from checkout_integration.flows.outbox.undoing import remember as remember

__all__ = [
    "ReplaySelection",
    "UnknownReceiver",
    "Worker",
    "connected_receivers",
    "count_undelivered",
    "failed_runs",
    "replay_events",
    "retry_failed_runs",
    "run_due",
]
