"""The return page: its address has a signed, expiring reference, since the form appends nothing."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from enum import StrEnum

from django.core import signing
from django.http import HttpRequest
from django.urls import reverse

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.checkout.claiming import is_claimable
from checkout_integration.flows.inbox import apply_for
from checkout_integration.flows.sync import refresh_checkout
from checkout_integration.models import Checkout, Grant, OutboxMessage, ReceiverRun
from checkout_integration.models.outbox import waited_for
from checkout_integration.policy.log_safety import error_location

logger = logging.getLogger("checkout_integration.returning")

SALT = "checkout_integration.return"
VALID_SECONDS = 7 * 24 * 60 * 60


def signed_reference(reference: str) -> str:
    """Return the signed reference for an address: it identifies the checkout, and cannot be forged."""
    return signing.TimestampSigner(salt=SALT).sign(reference)


def checkout_of(signed: str) -> Checkout | None:
    """Return the checkout of a signed reference; None when it was tampered with, has expired, or names nothing."""
    try:
        reference = signing.TimestampSigner(salt=SALT).unsign(signed, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None
    checkouts = Checkout.primary.select_related("paid_order")
    return checkouts.filter(reference=reference).first()


def brought_up_to_date(checkout: Checkout) -> Checkout:
    """Apply stored notifications for the checkout and return it; its status is ``processing`` where that failed."""
    if not checkout.is_payable or not apply_for([checkout]):
        return checkout
    current = Checkout.primary.select_related("paid_order").get(pk=checkout.pk)
    current.processing = checkout.processing
    return current


def ask_once(checkout: Checkout) -> bool:
    """Ask the service for the orders of an open checkout, once ever: the customer may return before the notification.

    Return True if this call queried the service. If it does not respond, the sync finds the orders.
    """
    waiting = Checkout.primary.filter(pk=checkout.pk, status__in=Checkout.PAYABLE, refreshed_at=None)
    if not waiting.update(refreshed_at=datetime.now(UTC)):  # one of several concurrent requests asks
        return False
    try:
        refresh_checkout(checkout)
    except Exception as error:  # noqa: BLE001  # the page shows the known state all the same, and the sync will ask again
        logger.warning(
            "The order of a returning customer could not be requested from the service: %s",
            error_location(error),
            extra={"project": checkout.project, "order_id": checkout.order_id},
        )
    return True


class Goods(StrEnum):
    """How far the receivers of ``checkout_paid`` are, for the customer who waits for the goods of a paid checkout."""

    NONE = ""
    GRANTING = "granting"
    DELAYED = "delayed"
    GRANTED = "granted"


def goods_of(checkout: Checkout) -> Goods:
    """Return how far the goods of a checkout are. ``delayed``: a receiver has failed, so that somebody has to look into it.

    None where the checkout is not paid, or where no receiver grants anything. What a game server is to fetch is ``granting``
    until it is acknowledged.
    """
    if checkout.status != Checkout.Status.PAID:
        return Goods.NONE
    grants = {"signal": "checkout_paid", "grant__state": Grant.State.OPEN}
    messages = OutboxMessage.primary.filter(checkout=checkout, **grants)
    rows = messages.values_list("state", "runs__state", "runs__attempts", "runs__error")
    reached = {_reached(*row, may_wait=is_claimable(checkout)) for row in rows}
    fetched = Grant.primary.filter(checkout=checkout, state=Grant.State.OPEN, pull=True, acknowledged_at=None)
    if app_settings().goods == "pull" and fetched.exists():
        reached.add(Goods.GRANTING)
    if reached <= {Goods.NONE} and _completed_once(checkout):
        return Goods.GRANTED
    return next(
        (each for each in (Goods.DELAYED, Goods.GRANTING, Goods.GRANTED) if each in reached), Goods.NONE
    )


def _completed_once(checkout: Checkout) -> bool:
    """Return whether a receiver or a game server has granted the goods, as the grant says; the run may have been pruned."""
    grants = Grant.primary.filter(checkout=checkout, state=Grant.State.OPEN)
    return any(grants.values_list("completed", flat=True))


def _reached(
    message: str, run: str | None, attempts: int | None, error: str | None, *, may_wait: bool
) -> Goods:
    """Return how far one receiver is, or the message that has none. ``may_wait``: for a guest, who can claim it."""
    if run is None:
        return Goods.NONE
    if run in (ReceiverRun.State.DONE, ReceiverRun.State.SUPERSEDED):
        return Goods.GRANTED
    if may_wait and waited_for(error or ""):
        return Goods.GRANTING  # the claim makes it due: nobody else can do anything about it
    failed_before = (attempts or 0) - (run == ReceiverRun.State.RUNNING)
    return Goods.DELAYED if run == ReceiverRun.State.FAILED or failed_before > 0 else Goods.GRANTING


def return_addresses(
    project: Project, reference: str, request: HttpRequest | None, *, success: str = "", fail: str = ""
) -> tuple[str | None, str | None]:
    """Return the addresses for success and failure.

    ``success`` and ``fail`` are the shop's own for this checkout (EP2-09, EP2-10, EP1-13); else both are RETURN_URL, else the
    app's own return page on the host of ``request``. ``{reference}`` in an address becomes the signed reference.
    """
    signed = signed_reference(reference)
    own = project.return_url
    if not own and request is not None:
        own = request.build_absolute_uri(reverse("checkout_integration:return", args=[signed]))
    addresses = [(address or own).replace("{reference}", signed) or None for address in (success, fail)]
    return addresses[0], addresses[1]
