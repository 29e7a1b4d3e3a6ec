"""The write paths: the only writer of state and the only caller of the client.

This module has the calls for a shop. The calls for staff, commands, monitors and accountants are in `flows.operations`,
`flows.sync`, `flows.outbox`, `flows.privacy`, `flows.retention`, `flows.rebuild` and `flows.accounting`. The ``__init__`` of
each room names its public calls; the rest of it is private.
"""

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import accounting, operations, outbox, privacy, rebuild, retention, sync
from checkout_integration.flows.checkout import (
    IssuedToken,
    NotCreated,
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
from checkout_integration.policy.attribution import Attribution
from checkout_integration.protocol.creation import CreationError, Customer, CustomerAddress

__all__ = [
    "Attribution",
    "CheckoutError",
    "CreationError",
    "Customer",
    "CustomerAddress",
    "DueSummary",
    "IssuedToken",
    "NotCreated",
    "NotRecorded",
    "TransactionOpen",
    "UnknownAlias",
    "accounting",
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
    "rebuild",
    "refresh_checkout",
    "refresh_order",
    "retention",
    "run_due",
    "sync",
]
