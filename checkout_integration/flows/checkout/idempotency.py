"""The same request twice, as by a double click: one checkout.

A request that may come twice has an idempotency key: one that the shop gives, else a hash of the customer and of what is
sold. The column is unique, so that of two requests at once the database refuses one, which then finds the other's checkout.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import Project
from checkout_integration.flows.database import key_of, state_database
from checkout_integration.models import Checkout
from checkout_integration.protocol.creation_values import CreationError

PAUSE: Final = 0.05
Status = Checkout.Status
SOLD: Final = (Status.REVIEW, Status.PAID, Status.REVERSED)


class NotCreated(CheckoutError):
    """The same request came before: its checkout is paid, or has no form, since the call lasts too long or has failed."""


def key_for(project: Project, checkout: Checkout, way: str, given: str) -> str | None:
    """Return the key of a request; None for a guest's without a key, and where DOUBLE_CLICK_SECONDS is 0.

    ``way`` says what is requested: a token and an order of the same things are two requests. Keys that the shop gives are
    each customer's own.
    """
    if given:
        return key_of("given", project.alias, *_customer(checkout), way, given)
    if not checkout.identity or not project.double_click_seconds:
        return None
    return key_of("request", project.alias, *_customer(checkout), way, *_terms(checkout))


def earlier_of(project: Project, checkout: Checkout, given: str) -> Checkout | None:
    """Return the checkout that the same request made before; None if there is none, or it is no longer the same purchase.

    Then its key is free for the new one. Called in the transaction that inserts the new one, before any other lock.
    Raises ``CreationError`` if the shop's key stands for other terms.
    """
    rows = Checkout.primary.filter(idempotency_key=checkout.idempotency_key)
    earlier = rows.first() if checkout.idempotency_key else None
    if earlier is None:
        return None
    if given and _terms(earlier) != _terms(checkout):
        raise CreationError(
            [("idempotency_key", "belongs to a checkout of other terms; use a key of its own")]
        )
    if _is_same_purchase(project, earlier, given):
        return earlier
    # RACE: two requests find the same failed one, and both free its key. The second waits here for the first one's commit,
    # frees nothing, and meets the new row at the unique key when it inserts: it is retried, and finds that row.
    rows.filter(pk=earlier.pk).update(idempotency_key=None)
    return None


def await_form(checkout: Checkout, project: Project) -> Checkout:
    """Return the checkout once the request that made it has its form. Not in a transaction, which would see no change.

    Raises `NotCreated` when that request has failed, or does not end within TIMEOUT.
    """
    ends_at = time.monotonic() + project.timeout
    while _waits_for_form(checkout) and time.monotonic() < ends_at:
        time.sleep(PAUSE)  # the customer waits for one call of the service, as whoever clicks once does
        checkout.refresh_from_db(using=state_database())
    if _waits_for_form(checkout) or checkout.status in (Status.FAILED, Status.UNKNOWN):
        known = checkout.status == Status.FAILED
        raise NotCreated(
            f"the same request came before, and its checkout is {checkout.status}: {checkout.failure or 'no response yet'}",
            retry_is_safe=known,
            outcome_unknown=not known,
        )
    return checkout


def refuse_sold(checkout: Checkout) -> None:
    """Raise `NotCreated` for a checkout that has a payment: another form for it would let the customer pay twice."""
    if checkout.status in SOLD:
        raise NotCreated(
            f"the same request came before, and its checkout is {checkout.status}",
            retry_is_safe=False,
            outcome_unknown=False,
        )


def _customer(checkout: Checkout) -> tuple[str, str]:
    """Return who buys: as the service knows them, and the account. Accounts may share the first, such as a company's."""
    return checkout.identity, str(checkout.user_id or "")


def _waits_for_form(checkout: Checkout) -> bool:
    """Return whether its request has no response yet. The sync or a notification may open it before that."""
    opened_without = checkout.status == Status.OPEN and not checkout.payment_form_url
    return checkout.status == Status.NEW or opened_without


def _terms(checkout: Checkout) -> tuple[str, ...]:
    """Return what is sold as texts, as the row says it or will say it."""
    amounts = (checkout.expected_amount, checkout.virtual_currency_amount)
    return (
        checkout.type,
        *("" if amount is None else f"{amount.normalize():f}" for amount in amounts),
        checkout.currency,
        json.dumps(list(checkout.products)),
        checkout.platform_id,
        checkout.description,
        json.dumps(dict(checkout.metadata), sort_keys=True),
        str(checkout.subject_type_id or ""),
        str(checkout.subject_id or ""),
        str(checkout.recipient_id or ""),
        str(checkout.lasts_days or ""),
        str(checkout.grace_days or ""),
    )


def _is_same_purchase(project: Project, earlier: Checkout, given: str) -> bool:
    """Return whether the request is repeated by it. A checkout that failed or was cancelled is never.

    A key of the shop stands for one purchase for good. Without one, the customer may buy the same again: once the first is
    paid, or after DOUBLE_CLICK_SECONDS.
    """
    age = datetime.now(UTC) - earlier.recorded_at
    if _waits_for_form(earlier):  # after that time, its process has died, or its response was lost
        return age < max(project.double_click_delta, timedelta(seconds=project.timeout))
    if given:
        return earlier.status in (Status.OPEN, *SOLD)
    return earlier.status == Status.OPEN and age < project.double_click_delta
