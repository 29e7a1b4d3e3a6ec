"""The things that happen: the only writer of state and the only caller of the client.

What a shop calls stands here; the modules behind it read as tables of contents of their paths.
"""

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows.announcement import (
    awaits_fan_out,
    fan_out,
    newest_announcement,
    run_deliveries,
)
from checkout_integration.flows.applying import (
    Application,
    NotApplicable,
    apply_notification,
    preview_notification,
    waiting_notifications,
)
from checkout_integration.flows.binding import CheckoutDescription, bind_order
from checkout_integration.flows.changes import OrderChange
from checkout_integration.flows.checkout import (
    IssuedToken,
    NotRecorded,
    TransactionOpen,
    create_checkout,
    create_order_from_token,
    create_token,
)
from checkout_integration.flows.erasing import Erasure, erase, survey
from checkout_integration.flows.inbox import WAITING
from checkout_integration.flows.person import Person, find_persons
from checkout_integration.flows.queue import queue_state
from checkout_integration.flows.replaying import replay, run_parked_again
from checkout_integration.flows.service import service_client
from checkout_integration.flows.support import (
    accept_payment,
    mark_granted,
    preview_acceptance,
    refresh_checkout,
    refresh_order,
    resolve_incident,
    restore_payment,
    run_again,
)
from checkout_integration.flows.sync import UnknownLane, sync_transactions
from checkout_integration.protocol.creation import CreationError, Customer, CustomerAddress

__all__ = [
    "WAITING",
    "Application",
    "CheckoutDescription",
    "CheckoutError",
    "CreationError",
    "Customer",
    "CustomerAddress",
    "Erasure",
    "IssuedToken",
    "NotApplicable",
    "NotRecorded",
    "OrderChange",
    "Person",
    "TransactionOpen",
    "UnknownAlias",
    "UnknownLane",
    "accept_payment",
    "apply_notification",
    "awaits_fan_out",
    "bind_order",
    "create_checkout",
    "create_order_from_token",
    "create_token",
    "erase",
    "fan_out",
    "find_persons",
    "mark_granted",
    "newest_announcement",
    "preview_acceptance",
    "preview_notification",
    "queue_state",
    "refresh_checkout",
    "refresh_order",
    "replay",
    "resolve_incident",
    "restore_payment",
    "run_again",
    "run_deliveries",
    "run_parked_again",
    "service_client",
    "survey",
    "sync_transactions",
    "waiting_notifications",
]
