"""Selling something: a sale of this shop is committed, then the service is asked for its form.

The sale is committed *before* the service is called, so that a notification which arrives before the answer finds it, and an
answer that is lost leaves a trace. Order creation is never repeated: there is no idempotency key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from django.db import Error as DatabaseError
from django.db import connections, models, transaction
from django.http import HttpRequest

from checkout_integration.client import Client
from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database.connection import acquire_write_lock, state_database
from checkout_integration.flows.database.retry import Unavailable, with_retries
from checkout_integration.flows.installation import ensure_installed
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.flows.ledger.customers import identity_here, named
from checkout_integration.flows.service import client_for
from checkout_integration.flows.terms import Account, Terms, sent_metadata
from checkout_integration.models import Checkout
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.creation import (
    Customer,
    OrderRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderType

Answer = TypeVar("Answer")


class TransactionOpen(RuntimeError):
    """A sale cannot be committed before the service is called, since a transaction is open."""


class NotRecorded(CheckoutError):
    """The service made what it was asked for, but the database did not take it.

    The sale's row says ``unknown`` (``new`` where the database took nothing at all) until a notification or the sync tells
    of the order. The customer may be sent to the ``payment_form_url`` of ``checkout``, which is there in memory only.

    Attributes:
        checkout: the sale, with what the service answered.

    """

    def __init__(self, checkout: Checkout, *, retry_is_safe: bool, outcome_unknown: bool) -> None:
        super().__init__(
            "the service made the order or token, but the database did not take it; the sync will find the order",
            retry_is_safe=retry_is_safe,
            outcome_unknown=outcome_unknown,
        )
        self.checkout = checkout


@dataclass(frozen=True, kw_only=True)
class IssuedToken:
    """A payment token for a sale. The token is for the customer's page: keep it out of logs."""

    checkout: Checkout
    token: str = field(repr=False)
    payment_form_url: str = field(repr=False)  # the token is in it


def create_checkout(
    *,
    type: str = OrderType.SIMPLE,  # the specification's word
    amount: Decimal | None = None,
    currency: str = "",
    products: Sequence[str] = (),
    virtual_currency_amount: Decimal | int | None = None,
    platform_id: str = "",
    description: str = "",
    metadata: Mapping[str, str] | None = None,
    user: Account | None = None,
    customer: Customer | None = None,
    subject: models.Model | None = None,
    request: HttpRequest | None = None,
    url_success: str = "",
    url_fail: str = "",
    project: str = "default",
    order: str = "",
) -> Checkout:
    """Sell something: store the sale, create the order at the service (EP2-01), and return the `Checkout`.

    Send the customer to its ``payment_form_url``. docs/selling.md shows each sales option.

    Args:
        type: one of key, product, virtual_currency, simple (EP2-15).
        amount: price as a Decimal; sent for simple and for virtual currency without products, and compared with what is paid
            wherever it is given.
        currency: ISO 4217 code of ``amount``.
        products: product identifiers; one for type key, one or more for product, packages for virtual_currency.
        virtual_currency_amount: units that are sold, for type virtual_currency; compared with what the service says was sold.
        platform_id: platform of a key.
        description: shown on the form, at most 255 characters.
        metadata: the shop's own text attributes; the sale's reference is added to them.
        user: the shop's account; its primary key travels as the customer's ``external_id``. Not signed in: a guest.
        customer: more about the customer (name, e-mail, …); its own ``external_id`` wins over that of ``user``.
        subject: the shop's own object that is sold, for instance a basket.
        request: the request at hand, from which return addresses are built where DYNAMIC_URLS is on.
        url_success: where the form leads after success instead, where DYNAMIC_URLS is on; ``{reference}`` becomes the signed
            reference.
        url_fail: the same after failure.
        project: alias of the project in the settings.
        order: identifier of an order that the service has prepared (EP2-14); deployed services give that one back.

    Raises:
        CreationError: the sale breaks a rule of the specification; nothing was stored.
        CheckoutError: the service did not create the order; the row says ``failed``, or ``unknown`` when it may have.
        NotRecorded: a CheckoutError; the order was created, and the database did not take it.
        TransactionOpen: a transaction is open, so the sale could not be committed first.
        UnknownAlias: no project of the settings has this alias.
        django.db.Error: the database did not take the sale; nothing was stored, and the service was not called.

    """
    terms = Terms(
        project=app_settings().project(project),
        type=type,
        amount=amount,
        currency=currency,
        products=products,
        virtual_currency_amount=virtual_currency_amount,
        platform_id=platform_id,
        description=description,
        metadata=metadata,
        user=user,
        customer=customer,
        subject=subject,
        request=request,
        url_success=url_success,
        url_fail=url_fail,
    )
    checkout = terms.checkout()
    asked = terms.order_request(checkout, order)
    terms.check(lambda: build_order_document(asked))
    _commit(terms.project, checkout, terms.buyer)
    created = _call(terms.project, checkout, lambda client: client.create_order(asked))
    checkout.order_id, checkout.payment_form_url = created.id, created.payment_form_url
    return _recorded(checkout, lambda: _record_created(terms.project, checkout, asked), again=False)


def create_token(
    *,
    type: str = OrderType.SIMPLE,  # the specification's word
    amount: Decimal | None = None,
    currency: str = "",
    products: Sequence[str] = (),
    virtual_currency_amount: Decimal | int | None = None,
    platform_id: str = "",
    description: str = "",
    metadata: Mapping[str, str] | None = None,
    user: Account | None = None,
    customer: Customer | None = None,
    subject: models.Model | None = None,
    request: HttpRequest | None = None,
    url_success: str = "",
    url_fail: str = "",
    project: str = "default",
    button_caption: str = "",
    is_buy_for_virtual_currency: bool | None = None,
) -> IssuedToken:
    """Sell something by a payment token (EP1-01), which the client-side object or order creation takes.

    The order is made later, by whoever uses the token, and is bound to the sale by its reference. Exceptions and arguments
    are those of `create_checkout`, and two more: ``button_caption`` is the text of the form's button that leads back, at most
    18 characters, OK when empty (EP1-21); ``is_buy_for_virtual_currency`` is True if the customer pays with virtual currency
    (EP1-20).
    """
    terms = Terms(
        project=app_settings().project(project),
        type=type,
        amount=amount,
        currency=currency,
        products=products,
        virtual_currency_amount=virtual_currency_amount,
        platform_id=platform_id,
        description=description,
        metadata=metadata,
        user=user,
        customer=customer,
        subject=subject,
        request=request,
        url_success=url_success,
        url_fail=url_fail,
    )
    checkout = terms.checkout()
    asked = terms.token_request(checkout, button_caption, is_buy_for_virtual_currency)
    terms.check(lambda: build_token_document(asked))
    _commit(terms.project, checkout, terms.buyer)
    issued = _call(terms.project, checkout, lambda client: client.create_token(asked))
    checkout.payment_form_url = issued.payment_form_url
    _recorded(checkout, lambda: with_retries(lambda: _record_issued(checkout)), again=True)
    return IssuedToken(checkout=checkout, token=issued.token, payment_form_url=issued.payment_form_url)


def create_order_from_token(issued: IssuedToken) -> Checkout:
    """Create the order of a token's sale by the token alone (EP6-05), and return the `Checkout` with its form.

    Call it once: every call makes another order. Raises ``CheckoutError`` as `create_checkout` does.
    """
    checkout = issued.checkout
    project = app_settings().project(checkout.project)
    created = _call(project, checkout, lambda client: client.create_order_from_token(issued.token))
    checkout.order_id, checkout.payment_form_url = created.id, created.payment_form_url
    request = OrderRequest(metadata=sent_metadata(project, checkout))
    return _recorded(checkout, lambda: _record_created(project, checkout, request), again=False)


def _commit(project: Project, checkout: Checkout, buyer: Customer | None) -> None:
    """Commit the sale, on its own: inside an open transaction it could vanish after the customer has paid."""
    _refuse_open_transaction()
    checkout.identity = identity_here(buyer.external_id if buyer else None)
    try:
        ensure_installed(project)
        with_retries(lambda: _insert(project, checkout))
    except Unavailable as error:
        raise error.__cause__ or error from None  # the shop's own matter, such as an account that is gone


def _refuse_open_transaction() -> None:
    """Ask the connection; a test case's own transaction does not count, which Django knows when a durable block begins."""
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


def _insert(project: Project, checkout: Checkout) -> None:
    checkout.pk = None  # set by an attempt that was rolled back
    with transaction.atomic(using=state_database(), durable=True):
        acquire_write_lock()
        known = named(project, checkout.identity)
        if known is not None and known.erased_at:
            checkout.metadata, checkout.identity, checkout.erased_at = {}, "", known.erased_at
        checkout.save(using=state_database(), force_insert=True)


def _call(project: Project, checkout: Checkout, call: Callable[[Client], Answer]) -> Answer:
    """Return the service's answer; where there is none, the row says so."""
    try:
        with client_for(project) as client:
            return call(client)
    except CheckoutError as error:
        _mark(
            checkout, Checkout.Status.UNKNOWN if error.outcome_unknown else Checkout.Status.FAILED, str(error)
        )
        raise
    except Exception as error:
        # A secret's source that fails, or a fault of our own: nobody knows how far the request came.
        _mark(checkout, Checkout.Status.UNKNOWN, type(error).__name__)
        raise


def _recorded(checkout: Checkout, work: Callable[[], None], *, again: bool) -> Checkout:
    """Record what the service answered and return the row as it is then; ``again``: the call does no harm twice."""
    try:
        work()
        checkout.refresh_from_db(using=state_database())
    except Exception as error:
        _mark(checkout, Checkout.Status.UNKNOWN, type(error).__name__)
        if not isinstance(error, DatabaseError):  # what `repeated` raises is one, too
            raise
        raise NotRecorded(checkout, retry_is_safe=again, outcome_unknown=not again) from error
    return checkout


def _mark(checkout: Checkout, status: Checkout.Status, failure: str) -> None:
    """Say on a new row why it has no form; of ``unknown`` ones the sync finds the order by its reference.

    Where the database is away the row stays new, which the sync and notifications take for the same.
    """
    still_new = Checkout.objects.using(state_database()).filter(pk=checkout.pk, status=Checkout.Status.NEW)
    with suppress(DatabaseError):
        still_new.update(status=status, failure=failure[:255])


def _record_created(project: Project, sale: Checkout, request: OrderRequest) -> None:
    """Record the order's id and form, and the order itself as the ledger's first observation of it."""
    asked = {"amount": request.amount, "currency": request.currency, "description": request.description}
    document = {"id": sale.order_id, "type": sale.type, "metadata": dict(request.metadata or {}), **asked}
    if request.user and request.user.external_id:
        document["user"] = {"external_id": request.user.external_id}
    creation = Observation(source=Source.CREATION, order=parse_order(document))
    step = Step(observations=(creation,), cause=Cause(source=Source.CREATION))
    advice = ledger.consult_hooks(project, [step])

    def record() -> None:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            (outcome,) = ledger.record(project, [step], advice)
            if outcome.error is not None:
                raise outcome.error
            _open(sale)  # after the order, which is locked first

    with_retries(record)


def _record_issued(checkout: Checkout) -> None:
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        _open(checkout)


def _open(sale: Checkout) -> None:
    """Open the sale, unless a notification that came before the answer has moved it on."""
    held = Checkout.objects.using(state_database()).filter(pk=sale.pk)
    held.update(order_id=sale.order_id, payment_form_url=sale.payment_form_url)
    held.filter(status__in=(Checkout.Status.NEW, Checkout.Status.UNKNOWN)).update(status=Checkout.Status.OPEN)
