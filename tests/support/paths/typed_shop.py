"""What a shop's own code looks at, for a type checker to say what it sees; and receivers that no signal can call.

These are texts: they are written into a project of a shop, and never run.
"""

from __future__ import annotations

from typing import Final

LOOKS: Final = """
from decimal import Decimal
from typing import Unpack

from asgiref.sync import sync_to_async

from checkout_integration import __version__, display, errors, flows
from checkout_integration.flows import sync
from checkout_integration.hooks import Hooks
from checkout_integration.models import Checkout, CheckoutUser, Grant, Notification, Order, ReceiverRun
from checkout_integration.protocol.order import Order as Document
from checkout_integration.protocol.user import User
from checkout_integration.signals import (
    ChangeArguments,
    GrantArguments,
    NotificationFailedArguments,
    PaymentArguments,
    ReceiverGivenUpArguments,
    ReviewArguments,
    SyncFailedArguments,
    ValidationArguments,
    checkout_paid,
    checkout_reversed,
    notification_failed,
)


def grant(**kwargs: Unpack[GrantArguments]) -> None:
    reveal_type(kwargs["grant"])
    reveal_type(kwargs["order"])
    reveal_type(kwargs["checkout"])
    reveal_type(kwargs["refund"])
    reveal_type(kwargs["transition"])
    reveal_type(kwargs["verdict"])
    reveal_type(kwargs["previous_status"])
    reveal_type(kwargs["live"])
    reveal_type(kwargs["partial"])
    reveal_type(kwargs["renewal"])
    reveal_type(kwargs["source"])
    reveal_type(kwargs["attempt"])
    reveal_type(kwargs["idempotency_key"])
    reveal_type(kwargs["sender"])
    reveal_type(kwargs["signal"].name)


@checkout_paid.receiver()
def give(checkout: Checkout | None, **kwargs: object) -> str:
    return "given"


@checkout_reversed.receiver(undoes=give, when="attempted")
async def take(order: Order, **kwargs: object) -> int:
    return 1


async def as_in_a_test(order: Order) -> None:
    reveal_type(give(None))
    reveal_type(await take(order))


def others(
    paid: PaymentArguments, review: ReviewArguments, change: ChangeArguments, decided: ValidationArguments
) -> None:
    reveal_type(paid["transition"])
    reveal_type(review["reason"])
    reveal_type(change["transition"])
    reveal_type(decided["decision"])
    reveal_type(decided["approved"])


@notification_failed.receiver()
def alert(state: str, order_id: str, **kwargs: object) -> None: ...


def life_cycle(
    failed: NotificationFailedArguments, given_up: ReceiverGivenUpArguments, sync: SyncFailedArguments
) -> None:
    reveal_type(failed["notification"])
    reveal_type(failed["state"])
    reveal_type(failed["project"])
    reveal_type(given_up["run"])
    reveal_type(given_up["receiver"])
    reveal_type(sync["sync_run"])
    reveal_type(sync["first"])
    reveal_type(sync["source"])


def rows(order: Order, checkout: Checkout, grant: Grant, run: ReceiverRun, user: CheckoutUser) -> None:
    reveal_type(order.order_id)
    reveal_type(order.status)
    reveal_type(order.verdict)
    reveal_type(order.amount)
    reveal_type(order.currency)
    reveal_type(order.created_at)
    reveal_type(order.checkout)
    reveal_type(order.user)
    reveal_type(order.refund)
    reveal_type(order.method)
    reveal_type(order.snapshot)
    reveal_type(order.receipt_url)
    reveal_type(order.items.first())
    reveal_type(Order.objects.get())
    reveal_type(Order.objects.paid().first())
    reveal_type(Order.objects.refunded().count())
    reveal_type(checkout.reference)
    reveal_type(checkout.status)
    reveal_type(checkout.type)
    reveal_type(checkout.expected_amount)
    reveal_type(checkout.products)
    reveal_type(checkout.metadata)
    reveal_type(checkout.payment_form_url)
    reveal_type(checkout.paid_order)
    reveal_type(checkout.paid_at)
    reveal_type(checkout.price)
    reveal_type(checkout.is_payable)
    reveal_type(checkout.orders.first())
    reveal_type(grant.key)
    reveal_type(grant.order)
    reveal_type(run.state)
    reveal_type(run.message)
    reveal_type(user.email)
    reveal_type(user.external_id)
    reveal_type(Notification.objects.get().body)


def calls(order: Order, checkout: Checkout, hooks: Hooks, document: Document, user: User) -> None:
    reveal_type(__version__)
    reveal_type(flows.create_checkout(amount=Decimal(1), currency="EUR", type="simple"))
    issued = flows.create_token(type="product", products=["hat"])
    reveal_type(issued.token)
    reveal_type(issued.checkout)
    reveal_type(flows.create_order_from_token(issued))
    reveal_type(flows.refresh_order(order))
    reveal_type(flows.refresh_checkout(checkout))
    reveal_type(flows.run_due().failed)
    reveal_type(hooks.validate_user(user))
    reveal_type(hooks.validators())
    reveal_type(hooks.find_user(user))
    reveal_type(hooks.resolve_checkout(document))
    reveal_type(document.amount)
    reveal_type(document.items)
    reveal_type(user.external_id)
    reveal_type(display.form_link(checkout))
    with sync.service_client() as client:
        reveal_type(client.list_page("/api/v1/orders").has_more)


async def sell_from_a_coroutine(checkout: Checkout) -> None:
    reveal_type(await sync_to_async(flows.create_checkout)(amount=Decimal(1), currency="EUR", type="simple"))
    reveal_type(await sync_to_async(flows.refresh_checkout)(checkout))


def failures(error: errors.CheckoutError, answered: errors.ErrorResponse, broken: errors.CreationError) -> None:
    reveal_type(error.retry_is_safe)
    reveal_type(error.outcome_unknown)
    reveal_type(answered.status)
    reveal_type(answered.error.code)
    reveal_type(broken.problems)
"""

WRONG: Final = """
from decimal import Decimal
from typing import Any

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, Transition
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    notification_failed,
    order_changed,
    payment_review,
    receiver_given_up,
    sync_failed,
    user_validated,
)


def not_every_checkout(checkout: Checkout, **kwargs: Any) -> None: ...
def no_such_argument(ordr: Order, **kwargs: Any) -> None: ...
def another_type(order: int, **kwargs: Any) -> None: ...
def without_kwargs(order: Order) -> None: ...
def positional(order: Order, /, **kwargs: Any) -> None: ...


checkout_paid.connect(not_every_checkout)  # wrong
checkout_paid.connect(no_such_argument)  # wrong
checkout_reversed.connect(another_type)  # wrong
payment_review.connect(without_kwargs)  # wrong
order_changed.connect(positional)  # wrong


@checkout_paid.receiver()  # wrong
def grant(checkout: Checkout, **kwargs: Any) -> None: ...


@checkout_reversed.receiver(undoes="shop.grant")  # wrong
async def revoke(grant: None, **kwargs: Any) -> None: ...


@user_validated.receiver()  # wrong
def decided(order: Order, **kwargs: Any) -> None: ...


def about_an_order(order: Order, **kwargs: Any) -> None: ...
def lane_as_a_number(lane: int, **kwargs: Any) -> None: ...


notification_failed.connect(about_an_order)  # wrong
sync_failed.connect(lane_as_a_number)  # wrong


@receiver_given_up.receiver()  # wrong
def given_up(run: int, **kwargs: Any) -> None: ...


flows.create_checkout(amount=Decimal(1), currency="EUR", type="subscription")  # wrong
"""
