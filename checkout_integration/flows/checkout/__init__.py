"""The creation of checkouts and tokens, and the customer's return page.

A checkout is one value (`terms`), committed before the service is called (`creating`), once for each request
(`idempotency`); `return_page` signs and checks the form's return address, and brings the checkout up to date there.
`claiming` gives a guest's purchase to an account, and `owning` is what game servers ask and say.
"""

from checkout_integration.flows.checkout.claiming import claim, is_claimable
from checkout_integration.flows.checkout.creating import (
    CustomerBlocked,
    IssuedToken,
    NotRecorded,
    TransactionOpen,
    create_checkout,
    create_order_from_token,
    create_token,
)
from checkout_integration.flows.checkout.idempotency import NotCreated
from checkout_integration.flows.checkout.owning import (
    AlreadyClosed,
    acknowledge,
    owned_by_id,
    waiting_grants,
)
from checkout_integration.flows.checkout.return_page import (
    VALID_SECONDS,
    Goods,
    ask_once,
    brought_up_to_date,
    checkout_of,
    goods_of,
    signed_reference,
)
