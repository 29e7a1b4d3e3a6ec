"""A customer's personal data: find it, export it, erase it.

`person` finds everything that is stored about one customer. `erasing` deletes it and leaves tombstones, which `flows.ledger`
respects.
"""

from checkout_integration.flows.privacy.erasing import Erasure, erase_customer, preview_erasure
from checkout_integration.flows.privacy.person import Person, find_persons

__all__ = [
    "Erasure",
    "Person",
    "erase_customer",
    "find_persons",
    "preview_erasure",
]
