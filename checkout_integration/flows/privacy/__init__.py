"""A customer's personal data: find it, export it, erase it.

`person` finds everything that is stored about one customer. `exporting` writes it as JSON. `erasing` deletes it and leaves
tombstones, which `flows.ledger` respects, and records who did either, and why.
"""

from checkout_integration.flows.privacy.erasing import (
    Erasure,
    PrivacyRequest,
    erase_customer,
    preview_erasure,
)
from checkout_integration.flows.privacy.exporting import export_customer
from checkout_integration.flows.privacy.person import Person, find_persons
from checkout_integration.flows.privacy.person import tombstones_named as tombstones_named

__all__ = [
    "Erasure",
    "Person",
    "PrivacyRequest",
    "erase_customer",
    "export_customer",
    "find_persons",
    "preview_erasure",
]
