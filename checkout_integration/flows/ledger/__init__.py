"""The ledger, the only writer of orders: call the hooks, lock, load, decide, write.

Call `consult_hooks` before anything is locked, then `record` inside a transaction. `recording` is the path. `locking` locks
and loads; `deciding` merges, binds, judges and settles; `steps` has the input and output, `rows` the columns. `reversals`
stores reversals of the list until their order is known. `customers` finds an order's customer, and erased customers.
`staff_decisions` has the decisions of staff, and previews of them.
"""

from checkout_integration.flows.ledger.customers import (
    ErasedMeanwhile,
    account_before_order,
    find_or_create,
    identity_here,
    identity_of,
    is_recorded,
    is_tombstoned,
    link_to_account,
    lock_customer,
    names_erased,
    request_hashes,
    tombstones_of,
)
from checkout_integration.flows.ledger.deciding import Batch, terms_of, terms_of_unbound
from checkout_integration.flows.ledger.locking import named_orders
from checkout_integration.flows.ledger.recording import compute, consult_hooks, record, store
from checkout_integration.flows.ledger.reversals import assign, missed_reversals
from checkout_integration.flows.ledger.rows import GROUPED, columns_of, item_rows, personal_row, state_of
from checkout_integration.flows.ledger.staff_decisions import (
    ACCEPTABLE,
    ChangePreview,
    accepted,
    bound,
    changes_of,
    restored,
)
from checkout_integration.flows.ledger.steps import (
    NO_ADVICE,
    Advice,
    Cause,
    OrderChange,
    Outcome,
    Step,
    log_change,
    verdict_of,
)

__all__ = [
    "ACCEPTABLE",
    "GROUPED",
    "NO_ADVICE",
    "Advice",
    "Batch",
    "Cause",
    "ChangePreview",
    "ErasedMeanwhile",
    "OrderChange",
    "Outcome",
    "Step",
    "accepted",
    "account_before_order",
    "assign",
    "bound",
    "changes_of",
    "columns_of",
    "compute",
    "consult_hooks",
    "find_or_create",
    "identity_here",
    "identity_of",
    "is_recorded",
    "is_tombstoned",
    "item_rows",
    "link_to_account",
    "lock_customer",
    "log_change",
    "missed_reversals",
    "named_orders",
    "names_erased",
    "personal_row",
    "record",
    "request_hashes",
    "restored",
    "state_of",
    "store",
    "terms_of",
    "terms_of_unbound",
    "tombstones_of",
    "verdict_of",
]
