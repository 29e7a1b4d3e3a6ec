"""The write paths: the only writer of state and the only caller of the client.

This module has the calls for a shop. The calls for staff, commands, monitors and accountants are in `flows.operations`,
`flows.sync`, `flows.outbox`, `flows.privacy`, `flows.retention` and `flows.accounting`. The ``__init__`` of
each room names its public calls; the rest of it is private.
"""

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import accounting, operations, outbox, privacy, retention, sync
from checkout_integration.flows.checkout import (
    CustomerBlocked,
    IssuedToken,
    NotCreated,
    NotRecorded,
    TransactionOpen,
    checkout_of,
    claim,
    create_checkout,
    create_order_from_token,
    create_token,
    is_claimable,
)
from checkout_integration.flows.ledger import account_of
from checkout_integration.flows.operations import run_due
from checkout_integration.flows.outbox import DueSummary
from checkout_integration.flows.sync import refresh_checkout, refresh_order
from checkout_integration.policy.attribution import Attribution
from checkout_integration.protocol.creation import Customer, CustomerAddress
from checkout_integration.protocol.creation_values import CreationError

__all__ = [
    "Attribution",
    "CheckoutError",
    "CreationError",
    "Customer",
    "CustomerAddress",
    "CustomerBlocked",
    "DueSummary",
    "IssuedToken",
    "NotCreated",
    "NotRecorded",
    "TransactionOpen",
    "UnknownAlias",
    "account_of",
    "accounting",
    "checkout_of",
    "claim",
    "create_checkout",
    "create_order_from_token",
    "create_token",
    "is_claimable",
    "operations",
    "outbox",
    "privacy",
    "refresh_checkout",
    "refresh_order",
    "retention",
    "run_due",
    "sync",
]
