"""The sync: passes through the transaction list, and a refresh of one order or checkout.

A pass (`passes`) reads one lane (`lanes`), window by window (`windows`), from its `watermark`, which only a complete pass
moves. Its rows (`list_rows`) are recorded by the ledger. `refreshing` reads one order or checkout now, in the same way.
`service` makes the client.
"""

from checkout_integration.flows.sync.differences import DriftReport, drift_report
from checkout_integration.flows.sync.lanes import LANES as LANES
from checkout_integration.flows.sync.lanes import (
    LaneStatus,
    UnknownLane,
    lane_statuses,
    lanes_due,
    unsynced_for,
)
from checkout_integration.flows.sync.passes import (
    begin_pass,
    end_pass,
    read_window,
    sync_transactions,
    windows_left,
)
from checkout_integration.flows.sync.passes import read_windows as read_windows
from checkout_integration.flows.sync.refreshing import (
    arefresh_checkout,
    arefresh_order,
    refresh_checkout,
    refresh_order,
)
from checkout_integration.flows.sync.service import client_for as client_for
from checkout_integration.flows.sync.service import service_client
from checkout_integration.flows.sync.watermark import LaneTaken
from checkout_integration.flows.sync.windows import Progress as Progress

__all__ = [
    "DriftReport",
    "LaneStatus",
    "LaneTaken",
    "UnknownLane",
    "arefresh_checkout",
    "arefresh_order",
    "begin_pass",
    "drift_report",
    "end_pass",
    "lane_statuses",
    "lanes_due",
    "read_window",
    "refresh_checkout",
    "refresh_order",
    "service_client",
    "sync_transactions",
    "unsynced_for",
    "windows_left",
]
