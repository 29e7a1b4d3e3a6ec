"""The creation of a checkout: this shop commits a row, then the service creates the order with its form.

The checkout is committed *before* the service is called, so that a notification which arrives before the response finds it,
and a response that is lost leaves a trace. Order creation is never retried: the service has no idempotency key.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, Unpack

from django.db import Error as DatabaseError
from django.db import connections, transaction

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.checkout.idempotency import SOLD, await_form, earlier_of, key_for, refuse_sold
from checkout_integration.flows.checkout.terms import Account, Terms, sent_metadata
from checkout_integration.flows.database import (
    Unavailable,
    ensure_installed,
    in_transaction,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, Step, identity_here, is_account_blocked, lock_customer
from checkout_integration.flows.sync import client_for
from checkout_integration.hooks import CheckoutArguments, CheckoutTerms
from checkout_integration.models import Checkout
from checkout_integration.policy.erasure import erased_checkout, is_erased
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.creation import (
    Customer,
    OrderRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.order import parse_order

if TYPE_CHECKING:
    from checkout_integration.client import Client

Result = TypeVar("Result")
UNOPENED: Final = (Checkout.Status.NEW, Checkout.Status.UNKNOWN, Checkout.Status.FAILED)
"""Without a response so far; of two tokens for one checkout the first may fail."""


class TransactionOpen(RuntimeError):
    """A transaction is open, so the checkout could not be committed before the call of the service."""


class NotRecorded(CheckoutError):
    """The service created the order or token, but the database did not record it.

    The checkout's row has the status ``unknown`` (``new`` where the database recorded nothing at all) until a notification or
    the sync finds the order. The customer may be sent to the ``payment_form_url`` of ``checkout``, which is in memory only.

    Attributes:
        checkout: the checkout, with the service's response.

    """

    def __init__(self, checkout: Checkout, *, retry_is_safe: bool, outcome_unknown: bool) -> None:
        super().__init__(
            "the service created the order or token, but the database did not record it; the sync will find the order",
            retry_is_safe=retry_is_safe,
            outcome_unknown=outcome_unknown,
        )
        self.checkout = checkout


class CustomerBlocked(CheckoutError):
    """Staff have blocked the customer, or a gift's recipient: nothing was stored, and the service was not called."""


@dataclass(frozen=True, kw_only=True)
class IssuedToken:
    """A payment token for a checkout. The token is for the customer's page: do not log it."""

    checkout: Checkout
    token: str = field(repr=False)
    payment_form_url: str = field(repr=False)  # the token is in it


def create_checkout(*, user: Account | None = None, **arguments: Unpack[CheckoutArguments]) -> Checkout:
    """Store the checkout, create the order at the service (EP2-01), and return the `Checkout`.

    Send the customer to its ``payment_form_url``. docs/selling.md shows each type of checkout. If the same request came just
    before, as by a double click, its checkout is returned: see ``idempotency_key`` and the setting DOUBLE_CLICK_SECONDS.

    Args:
        user: the shop's account; its primary key is sent as the customer's ``external_id``. Not signed in: a guest.
        **arguments: the checkout and the form's return addresses: see `CheckoutArguments` in docs/reference/flows.md.

    Raises:
        CreationError: the checkout breaks a rule of the specification; nothing was stored.
        CheckoutError: the service did not create the order; the row says ``failed``, or ``unknown`` when it may exist.
        NotRecorded: a CheckoutError; the order was created, and the database did not record it.
        NotCreated: a CheckoutError; the same request came before, and its checkout has no form.
        CustomerBlocked: a CheckoutError; staff have blocked the customer, or the recipient of the gift. Nothing was stored,
            and the service was not called.
        TransactionOpen: a transaction is open, so the checkout could not be committed first.
        UnknownAlias: no project of the settings has this alias.
        django.db.Error: the database refused the checkout; nothing was stored, and the service was not called.

    """
    order = arguments.pop("order", "")
    terms = Terms.of(user, arguments)
    checkout = terms.checkout()
    request = terms.order_request(checkout, order)
    terms.check(lambda: build_order_document(request))
    stored = commit_checkout(
        terms.project, checkout, terms.buyer, way=f"order {order}", given=terms.idempotency_key
    )
    if stored is not checkout:
        return await_form(stored, terms.project)
    created = _call(terms.project, checkout, lambda client: client.create_order(request))
    checkout.order_id, checkout.payment_form_url = created.id, created.payment_form_url
    return _recorded(checkout, lambda: record_created(terms.project, checkout, request), again=False)


def create_token(
    *,
    user: Account | None = None,
    button_caption: str = "",
    is_buy_for_virtual_currency: bool | None = None,
    **arguments: Unpack[CheckoutTerms],
) -> IssuedToken:
    """Store the checkout and return a payment token (EP1-01) for the client-side object or for order creation.

    The order is made later with the token, and is bound to the checkout by its reference. The same request just after it, as
    by a double click, is issued another token for the same checkout. Exceptions are those of `create_checkout`.

    Args:
        user: the shop's account, as in `create_checkout`.
        button_caption: text of the form's button that leads back, at most 18 characters, OK when empty (EP1-21).
        is_buy_for_virtual_currency: True if the customer pays with virtual currency (EP1-20).
        **arguments: those of `create_checkout` except ``order``.

    """
    terms = Terms.of(user, arguments)
    checkout = terms.checkout()
    build = partial(
        terms.token_request,
        button_caption=button_caption,
        is_buy_for_virtual_currency=is_buy_for_virtual_currency,
    )
    terms.check(lambda: build_token_document(build(checkout)), token=True)
    checkout = commit_checkout(terms.project, checkout, terms.buyer, way="token", given=terms.idempotency_key)
    refuse_sold(checkout)
    issued = _call(terms.project, checkout, lambda client: client.create_token(build(checkout)))
    checkout.payment_form_url = issued.payment_form_url
    _recorded(checkout, lambda: _record_issued(checkout), again=True)
    return IssuedToken(checkout=checkout, token=issued.token, payment_form_url=issued.payment_form_url)


def create_order_from_token(issued: IssuedToken) -> Checkout:
    """Create the order of a token's checkout by the token alone (EP6-05), and return the `Checkout` with its form.

    A checkout that has an order already is returned as it is. Two calls at the very same moment may make an order each, of
    which one can pay the checkout. Raises ``CheckoutError`` as `create_checkout` does.
    """
    checkout = Checkout.primary.get(pk=issued.checkout.pk)
    if checkout.order_id or checkout.status in SOLD:
        return checkout
    project = app_settings().project(checkout.project)
    created = _call(project, checkout, lambda client: client.create_order_from_token(issued.token))
    checkout.order_id, checkout.payment_form_url = created.id, created.payment_form_url
    request = OrderRequest(metadata=sent_metadata(project, checkout))
    return _recorded(checkout, lambda: record_created(project, checkout, request), again=False)


def commit_checkout(
    project: Project, checkout: Checkout, buyer: Customer | None, *, way: str = "", given: str = ""
) -> Checkout:
    """Commit the checkout on its own: in an open transaction it could be rolled back after the customer has paid.

    Return it, or the one that the same request made before (`idempotency`): ``way`` and ``given`` name the request.
    """
    _refuse_open_transaction()
    checkout.identity = identity_here(buyer.external_id if buyer else None)
    if way:
        checkout.idempotency_key = key_for(project, checkout, way, given)
    try:
        ensure_installed(project)
        return with_retries(lambda: _insert(project, checkout, given))
    except Unavailable as error:
        raise error.__cause__ or error from None  # the shop's own matter, such as an account that is gone


def _refuse_open_transaction() -> None:
    """Raise TransactionOpen inside a transaction. A test case's own does not count: Django's durable blocks ignore it."""
    alias = state_database()
    refusal = TransactionOpen(
        "create_checkout and create_token need a transaction of their own, and one is open here. Call them outside of "
        "transaction.atomic(); with ATOMIC_REQUESTS, decorate the view with transaction.non_atomic_requests."
    )
    if connections[alias].in_atomic_block:
        try:
            with transaction.atomic(using=alias, durable=True):
                pass
        except RuntimeError:
            raise refusal from None
    elif not transaction.get_autocommit(using=alias):
        raise refusal


def _insert(project: Project, checkout: Checkout, given: str) -> Checkout:
    checkout.pk = None  # set by an attempt that was rolled back
    with write_transaction(durable=True):
        earlier = earlier_of(project, checkout, given)  # locks a checkout, if any: before the customer
        if earlier is not None:
            return earlier
        known = lock_customer(project, checkout.identity)
        if known is not None and known.blocked_at is not None:
            raise CustomerBlocked("staff have blocked the customer; nothing was stored or sent")
        if known is not None and is_erased(known):
            # Nothing is stored about a customer who was erased, although the same account buys again.
            for name, value in {**erased_checkout(), "erased_at": known.erased_at}.items():
                setattr(checkout, name, value)
        if checkout.recipient_id is not None and is_account_blocked(project, checkout.recipient_id):
            raise CustomerBlocked("staff have blocked the recipient of the gift; nothing was stored or sent")
        # RACE: a double click sends the same request twice, and neither sees the other's row yet. Both insert under the same
        # key: the second waits for the first one's commit, is refused and retried, and then finds the checkout that the
        # other made.
        checkout.save(using=state_database(), force_insert=True)
    return checkout


def _call(project: Project, checkout: Checkout, call: Callable[[Client], Result]) -> Result:
    """Return the service's response; record on the row when there is none."""
    try:
        with client_for(project) as client:
            return call(client)
    except CheckoutError as error:
        _mark(
            checkout, Checkout.Status.UNKNOWN if error.outcome_unknown else Checkout.Status.FAILED, str(error)
        )
        raise
    except Exception as error:
        # A secret's source failed, or our own code: the request may have been sent.
        _mark(checkout, Checkout.Status.UNKNOWN, type(error).__name__)
        raise


def _recorded(checkout: Checkout, work: Callable[[], None], *, again: bool) -> Checkout:
    """Record the service's response and return the row afterwards; ``again``: the call can be repeated safely."""
    try:
        work()
        checkout.refresh_from_db(using=state_database())
    except Exception as error:
        _mark(checkout, Checkout.Status.UNKNOWN, type(error).__name__)
        if not isinstance(error, DatabaseError):  # the error of `with_retries` is one, too
            raise
        raise NotRecorded(checkout, retry_is_safe=again, outcome_unknown=not again) from error
    return checkout


def _mark(checkout: Checkout, status: Checkout.Status, failure: str) -> None:
    """Record on a new row why it has no form; the sync finds the order of an ``unknown`` one by its reference.

    If the database is unreachable the row stays new, which the sync and notifications treat alike.
    """
    still_new = Checkout.primary.filter(pk=checkout.pk, status=Checkout.Status.NEW)
    with suppress(DatabaseError):
        still_new.update(status=status, failure=failure[:255])


def record_created(project: Project, checkout: Checkout, request: OrderRequest) -> None:
    """Record the order's id and form, and the order itself as the ledger's first observation of it."""
    terms = {"amount": request.amount, "currency": request.currency, "description": request.description}
    document = {
        "id": checkout.order_id,
        "type": checkout.type,
        "metadata": dict(request.metadata or {}),
        **terms,
    }
    if request.user and request.user.external_id:
        document["user"] = {"external_id": request.user.external_id}
    creation = Observation(source=Source.CREATION, order=parse_order(document))
    step = Step(observation=creation, cause=Cause(source=Source.CREATION))
    advice = ledger.consult_hooks(project, [step])

    @in_transaction
    def record() -> None:
        (outcome,) = ledger.record(project, [step], advice)
        if outcome.error is not None:
            raise outcome.error
        _open(checkout)  # after the order, which is locked first

    record()


@in_transaction
def _record_issued(checkout: Checkout) -> None:
    rows = Checkout.primary.filter(pk=checkout.pk)
    rows.filter(order_id="").update(payment_form_url=checkout.payment_form_url)
    rows.filter(status__in=UNOPENED).update(status=Checkout.Status.OPEN)


def _open(checkout: Checkout) -> None:
    """Open the checkout, unless a notification before the response has changed its status."""
    rows = Checkout.primary.filter(pk=checkout.pk)
    rows.update(order_id=checkout.order_id, payment_form_url=checkout.payment_form_url)
    rows.filter(status__in=UNOPENED).update(status=Checkout.Status.OPEN)
