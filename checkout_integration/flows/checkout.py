"""Selling something: a sale of this shop is committed, then the service is asked for its form.

The sale is committed *before* the service is called, so that a notification which arrives before the answer finds it, and an
answer that is lost leaves a trace. Order creation is never repeated: there is no idempotency key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import models, transaction
from django.http import HttpRequest

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.customers import identity_here, named
from checkout_integration.flows.database import state_database, write_first
from checkout_integration.flows.entry import Cause
from checkout_integration.flows.installation import ensure_installed
from checkout_integration.flows.ledger import record
from checkout_integration.flows.repeating import Unavailable, repeated
from checkout_integration.flows.returning import return_addresses
from checkout_integration.flows.service import client_for
from checkout_integration.models import Checkout
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.creation import (
    CreationError,
    Customer,
    OrderRequest,
    TokenRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.creation_rules import price_problems
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderType


class TransactionOpen(RuntimeError):
    """A sale cannot be committed before the service is called, since a transaction is open."""


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
    virtual_currency_amount: Decimal | None = None,
    platform_id: str = "",
    description: str = "",
    metadata: Mapping[str, str] | None = None,
    user: AbstractBaseUser | None = None,
    customer: Customer | None = None,
    subject: models.Model | None = None,
    request: HttpRequest | None = None,
    project: str = "default",
) -> Checkout:
    """Sells something: stores the sale, creates the order at the service (EP2-01), and returns the `Checkout`.

    Send the customer to its ``payment_form_url``.

    Args:
        type: one of key, product, virtual_currency, simple (EP2-15).
        amount: price as a Decimal; sent for simple, and compared with what is paid wherever it is given.
        currency: ISO 4217 code of ``amount``.
        products: product identifiers; one for type key, one or more for product.
        virtual_currency_amount: what is bought, for type virtual_currency.
        platform_id: platform of a key.
        description: shown on the form, at most 255 characters.
        metadata: the shop's own text attributes; the sale's reference is added to them.
        user: the shop's account; its primary key travels as the customer's ``external_id``.
        customer: more about the customer (name, e-mail, …); its own ``external_id`` wins over that of ``user``.
        subject: the shop's own object that is sold, for instance a basket.
        request: the request at hand, from which return addresses are built where DYNAMIC_URLS is on.
        project: alias of the project in the settings.

    Raises:
        CreationError: the sale breaks a rule of the specification; nothing was stored.
        CheckoutError: the service did not create the order; the row says ``failed``, or ``unknown`` when it may have.
        TransactionOpen: a transaction is open, so the sale could not be committed first.

    """
    configured = app_settings().project(project)
    sale = _new_sale(
        configured,
        type=type,
        expected_amount=amount,
        currency=currency,
        products=list(products),
        virtual_currency_amount=virtual_currency_amount,
        platform_id=platform_id,
        description=description,
        metadata=dict(metadata or {}),
        user=user,
        subject=subject,
    )
    buyer = _customer(user, customer)
    order = _order_request(configured, sale, buyer, request)
    _check(sale, lambda: build_order_document(order))
    _commit(configured, sale, buyer)
    try:
        with client_for(configured) as client:
            created = client.create_order(order)
    except CheckoutError as error:
        _record_failure(sale, error)
        raise
    sale.order_id, sale.payment_form_url = created.id, created.payment_form_url
    repeated(lambda: _record_created(configured, sale, order))
    sale.refresh_from_db(using=state_database())
    return sale


def create_token(
    *,
    type: str = OrderType.SIMPLE,  # the specification's word
    amount: Decimal | None = None,
    currency: str = "",
    products: Sequence[str] = (),
    virtual_currency_amount: Decimal | None = None,
    platform_id: str = "",
    description: str = "",
    metadata: Mapping[str, str] | None = None,
    user: AbstractBaseUser | None = None,
    customer: Customer | None = None,
    subject: models.Model | None = None,
    request: HttpRequest | None = None,
    project: str = "default",
    button_caption: str = "",
) -> IssuedToken:
    """Sells something by a payment token (EP1-01), which the client-side object or order creation takes.

    Arguments and exceptions are those of `create_checkout`. The order is made later, by whoever uses the token, and is bound
    to the sale by its reference.
    """
    configured = app_settings().project(project)
    sale = _new_sale(
        configured,
        type=type,
        expected_amount=amount,
        currency=currency,
        products=list(products),
        virtual_currency_amount=virtual_currency_amount,
        platform_id=platform_id,
        description=description,
        metadata=dict(metadata or {}),
        user=user,
        subject=subject,
    )
    buyer = _customer(user, customer)
    wanted = _token_request(configured, sale, buyer, request, button_caption)
    _check(sale, lambda: build_token_document(wanted))
    _commit(configured, sale, buyer)
    try:
        with client_for(configured) as client:
            issued = client.create_token(wanted)
    except CheckoutError as error:
        _record_failure(sale, error)
        raise
    sale.payment_form_url = issued.payment_form_url
    _open(sale)
    sale.refresh_from_db(using=state_database())
    return IssuedToken(checkout=sale, token=issued.token, payment_form_url=issued.payment_form_url)


def create_order_from_token(issued: IssuedToken) -> Checkout:
    """Creates the order of a token's sale by the token alone (EP6-05), and returns the `Checkout` with its form.

    Call it once: every call makes another order. Raises ``CheckoutError`` as `create_checkout` does.
    """
    sale = issued.checkout
    configured = app_settings().project(sale.project)
    try:
        with client_for(configured) as client:
            created = client.create_order_from_token(issued.token)
    except CheckoutError as error:
        _record_failure(sale, error)
        raise
    sale.order_id, sale.payment_form_url = created.id, created.payment_form_url
    request = OrderRequest(metadata=_metadata(configured, sale))
    repeated(lambda: _record_created(configured, sale, request))
    sale.refresh_from_db(using=state_database())
    return sale


def _new_sale(
    project: Project, *, user: AbstractBaseUser | None, subject: models.Model | None, **asked: Any
) -> Checkout:
    account = user.pk if user is not None else None
    sale = Checkout(project=project.alias, test=project.accept_test_payments, user_id=account, **asked)
    if subject is not None:
        sale.subject = subject
    return sale


def _customer(user: AbstractBaseUser | None, customer: Customer | None) -> Customer | None:
    """The customer as the service is told: the account's key is the ``external_id`` unless the shop says another."""
    external_id = str(user.pk) if user is not None and user.pk else None
    if customer is None:
        return Customer(external_id=external_id) if external_id else None
    return customer if customer.external_id else replace(customer, external_id=external_id)


def _check(sale: Checkout, build: Callable[[], object]) -> None:
    """Refuses a sale before anything is stored, with all problems. A price that is not sent decides what is paid, too."""
    problems = [] if sale.type == OrderType.SIMPLE else price_problems(sale.expected_amount, sale.currency)
    try:
        build()
    except CreationError as error:
        problems = [*error.problems, *problems]
    if problems:
        raise CreationError(problems)


def _order_request(
    project: Project, sale: Checkout, customer: Customer | None, request: HttpRequest | None
) -> OrderRequest:
    success, fail = return_addresses(project, sale.reference, request)
    priced_here = sale.type == OrderType.SIMPLE
    return OrderRequest(
        project=project.project_id,
        type=sale.type,
        amount=sale.expected_amount if priced_here else None,
        currency=(sale.currency or None) if priced_here else None,
        products=sale.products or None,
        platform_id=sale.platform_id or None,
        description=sale.description or None,
        metadata=_metadata(project, sale),
        account=customer.external_id if customer else None,
        user=customer,
        url_success=success,
        url_fail=fail,
    )


def _token_request(
    project: Project,
    sale: Checkout,
    customer: Customer | None,
    request: HttpRequest | None,
    button_caption: str,
) -> TokenRequest:
    success, fail = return_addresses(project, sale.reference, request)
    priced_here = sale.type == OrderType.SIMPLE
    return TokenRequest(
        project_id=project.project_id,
        type=sale.type,
        amount=sale.expected_amount if priced_here else None,
        currency=(sale.currency or None) if priced_here else None,
        products_ids=sale.products or None,
        platform_id=sale.platform_id or None,
        description=sale.description or None,
        metadata=_metadata(project, sale),
        user=customer,
        button_caption=button_caption or None,
        return_url_success=success,
        return_url_fail=fail,
    )


def _metadata(project: Project, sale: Checkout) -> dict[str, str]:
    return {**sale.metadata, project.reference_key: sale.reference}


def _commit(project: Project, sale: Checkout, buyer: Customer | None) -> None:
    """Commits the sale, on its own: inside an open transaction it could vanish after the customer has paid."""
    sale.identity = identity_here(buyer.external_id if buyer else None)
    try:
        repeated(lambda: _insert(project, sale))
    except Unavailable as error:
        raise error.__cause__ or error from None  # the shop's own matter, such as an account that is gone
    except RuntimeError as error:
        raise TransactionOpen(
            "create_checkout needs a transaction of its own, and one is open here. Call it outside of transaction.atomic(); "
            "with ATOMIC_REQUESTS, decorate the view with transaction.non_atomic_requests."
        ) from error
    ensure_installed(project)


def _insert(project: Project, sale: Checkout) -> None:
    sale.pk = None  # which a try that was rolled back may have given away
    with transaction.atomic(using=state_database(), durable=True):
        write_first()
        known = named(project, sale.identity)
        if known is not None and known.erased_at:
            sale.metadata, sale.identity, sale.erased_at = {}, "", known.erased_at
        sale.save(using=state_database(), force_insert=True)


def _record_failure(sale: Checkout, error: CheckoutError) -> None:
    """``unknown`` when the order may exist all the same: the sync finds it by its reference."""
    status = Checkout.Status.UNKNOWN if error.outcome_unknown else Checkout.Status.FAILED
    still_new = Checkout.objects.using(state_database()).filter(pk=sale.pk, status=Checkout.Status.NEW)
    still_new.update(status=status, failure=str(error)[:255])


def _record_created(project: Project, sale: Checkout, request: OrderRequest) -> None:
    """The order's id and form, and the order itself as the ledger's first news of it."""
    asked = {"amount": request.amount, "currency": request.currency, "description": request.description}
    document = {"id": sale.order_id, "type": sale.type, "metadata": dict(request.metadata or {}), **asked}
    if request.user and request.user.external_id:
        document["user"] = {"external_id": request.user.external_id}
    with transaction.atomic(using=state_database()):
        write_first()
        news = Observation(source=Source.CREATION, order=parse_order(document))
        record(project, [news], Cause(source=Source.CREATION))
        _open(sale)  # after the order, which is locked first


def _open(sale: Checkout) -> None:
    """Opens the sale, unless a notification that came before the answer has moved it on."""
    held = Checkout.objects.using(state_database()).filter(pk=sale.pk)
    held.update(order_id=sale.order_id, payment_form_url=sale.payment_form_url)
    held.filter(status__in=(Checkout.Status.NEW, Checkout.Status.UNKNOWN)).update(status=Checkout.Status.OPEN)
