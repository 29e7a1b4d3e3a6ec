"""The return page: its address has a signed, expiring reference, since the form appends nothing."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from django.core import signing
from django.http import HttpRequest
from django.urls import reverse

from checkout_integration.conf import Project
from checkout_integration.flows.database import state_database
from checkout_integration.flows.inbox import apply_for
from checkout_integration.flows.sync import refresh_checkout
from checkout_integration.models import Checkout
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
    checkouts = Checkout.objects.using(state_database()).select_related("paid_order")
    return checkouts.filter(reference=reference).first()


def brought_up_to_date(checkout: Checkout) -> Checkout:
    """Apply stored notifications for the checkout and return it; its status is ``processing`` where that failed."""
    if not checkout.is_payable or not apply_for([checkout]):
        return checkout
    current = Checkout.objects.using(state_database()).select_related("paid_order").get(pk=checkout.pk)
    current.processing = checkout.processing
    return current


def ask_once(checkout: Checkout) -> bool:
    """Ask the service for the orders of an open checkout, once ever: the customer may return before the notification.

    Return True if this call queried the service. If it does not respond, the sync finds the orders.
    """
    waiting = Checkout.objects.using(state_database()).filter(
        pk=checkout.pk, status__in=Checkout.PAYABLE, refreshed_at=None
    )
    if not waiting.update(refreshed_at=datetime.now(UTC)):  # one of several concurrent requests asks
        return False
    try:
        refresh_checkout(checkout)
    except Exception as error:  # noqa: BLE001  # the page shows the known state all the same, and the sync will ask again
        logger.warning(
            "The order of a returning customer could not be requested from the service: %s",
            error_location(error),
        )
    return True


def return_addresses(
    project: Project, reference: str, request: HttpRequest | None, *, success: str = "", fail: str = ""
) -> tuple[str | None, str | None]:
    """Return the addresses for success and failure; none without DYNAMIC_URLS, since the service would refuse them.

    ``success`` and ``fail`` are the shop's own for this checkout (EP2-09, EP2-10, EP1-13); else both are RETURN_URL, else the
    app's own return page on the host of ``request``. ``{reference}`` in an address becomes the signed reference.
    """
    if not project.dynamic_urls:
        return None, None
    signed = signed_reference(reference)
    own = project.return_url
    if not own and request is not None:
        own = request.build_absolute_uri(reverse("checkout_integration:return", args=[signed]))
    addresses = [(address or own).replace("{reference}", signed) or None for address in (success, fail)]
    return addresses[0], addresses[1]
