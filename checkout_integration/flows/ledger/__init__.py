"""The ledger, the only writer of orders: call the hooks, lock, load, decide, write.

Call `consult_hooks` before anything is locked (`consulting`), then `record` inside a transaction. `recording` is the path,
and makes the rows. `batch` has the steps and what became of them, and locks and loads; `deciding` merges, binds, judges and
settles; `incidents` are what staff look at. `reversals` stores reversals of the list until their order is known. `customers`
finds an order's customer, and erased customers. `staff_decisions` has the decisions of staff, and previews of them.
"""

from checkout_integration.flows.ledger.batch import (
    NO_ADVICE,
    Advice,
    Batch,
    Cause,
    OrderChange,
    Outcome,
    Step,
    log_change,
    named_orders,
)
from checkout_integration.flows.ledger.consulting import consult_hooks
from checkout_integration.flows.ledger.customers import (
    ErasedMeanwhile,
    account_before_order,
    account_by_hook,
    account_key,
    account_of,
    bought_as_guest,
    find_or_create,
    identity_here,
    identity_of,
    is_account_blocked,
    is_blocked,
    is_recorded,
    is_tombstoned,
    learn_id,
    link_to_account,
    lock_customer,
    names_erased,
    request_hashes,
    tombstones_of,
)
from checkout_integration.flows.ledger.deciding import terms_of
from checkout_integration.flows.ledger.incidents import end_groups
from checkout_integration.flows.ledger.recording import PERSONAL_FIELDS, columns_of, compute, record, write
from checkout_integration.flows.ledger.reversals import (
    assign,
    missed_reversals,
)
from checkout_integration.flows.ledger.staff_decisions import (
    ACCEPTABLE,
    ChangePreview,
    accepted,
    bound,
    changes_of,
    restored,
    revoked,
)
from checkout_integration.models.order import state_of
