"""The sync: passes through the transaction list, and a refresh of one order or checkout.

A pass (`passes`) reads one lane (`lanes`), window by window, from its `watermark`, which only a complete pass moves. Its rows
(`list_rows`) are recorded by the ledger, like those of one order or checkout that is read now, and what differed is reported
(`differences`). `service` makes the client.
"""

from checkout_integration.flows.sync.differences import DriftReport, drift_report
from checkout_integration.flows.sync.lanes import (
    LANES,
    LaneStatus,
    UnknownLane,
    lane_statuses,
    lanes_due,
    unsynced_for,
)
from checkout_integration.flows.sync.list_rows import (
    fetch_newest,
    fetch_orders,
    refresh_checkout,
    refresh_order,
)
from checkout_integration.flows.sync.passes import (
    Progress,
    begin_pass,
    end_pass,
    read_window,
    read_windows,
    sync_transactions,
    windows_left,
)
from checkout_integration.flows.sync.service import client_for, service_client
from checkout_integration.flows.sync.watermark import LaneTaken

__all__ = [
    "DriftReport",
    "LaneStatus",
    "LaneTaken",
    "UnknownLane",
    "begin_pass",
    "drift_report",
    "end_pass",
    "lane_statuses",
    "lanes_due",
    "read_window",
    "service_client",
    "sync_transactions",
    "unsynced_for",
    "windows_left",
]
