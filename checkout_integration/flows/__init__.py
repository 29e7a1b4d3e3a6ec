"""The write paths: the only writer of state and the only caller of the client.

This module has the calls for a shop. The calls for staff, commands and monitors are in `flows.operations`, `flows.sync`,
`flows.outbox` and `flows.privacy`. The ``__init__`` of each room names its public calls; the rest of it is private.
"""

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import operations, outbox, privacy, sync
from checkout_integration.flows.checkout import (
    IssuedToken,
    NotRecorded,
    TransactionOpen,
    acreate_checkout,
    acreate_order_from_token,
    acreate_token,
    create_checkout,
    create_order_from_token,
    create_token,
)
from checkout_integration.flows.operations import DueSummary, arun_due, run_due
from checkout_integration.flows.sync import arefresh_checkout, arefresh_order, refresh_checkout, refresh_order
from checkout_integration.protocol.creation import CreationError, Customer, CustomerAddress

__all__ = [
    "CheckoutError",
    "CreationError",
    "Customer",
    "CustomerAddress",
    "DueSummary",
    "IssuedToken",
    "NotRecorded",
    "TransactionOpen",
    "UnknownAlias",
    "acreate_checkout",
    "acreate_order_from_token",
    "acreate_token",
    "arefresh_checkout",
    "arefresh_order",
    "arun_due",
    "create_checkout",
    "create_order_from_token",
    "create_token",
    "operations",
    "outbox",
    "privacy",
    "refresh_checkout",
    "refresh_order",
    "run_due",
    "sync",
]
