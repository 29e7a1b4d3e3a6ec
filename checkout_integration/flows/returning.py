"""Where the customer comes back to: an address with a signed, expiring reference, since the form appends nothing."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from django.core import signing
from django.http import HttpRequest
from django.urls import reverse

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.inbox import apply_for
from checkout_integration.flows.log_safety import error_location
from checkout_integration.flows.support import refresh_checkout
from checkout_integration.models import Checkout

logger = logging.getLogger("checkout_integration.returning")

SALT = "checkout_integration.return"
VALID_SECONDS = 7 * 24 * 60 * 60


def signed_reference(reference: str) -> str:
    """A reference that can stand in an address: it says which sale it is, and nobody can make one up."""
    return signing.TimestampSigner(salt=SALT).sign(reference)


def checkout_of(signed: str) -> Checkout | None:
    """The sale of a signed reference; None when it was tampered with, has expired, or names nothing."""
    try:
        reference = signing.TimestampSigner(salt=SALT).unsign(signed, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None
    checkouts = Checkout.objects.using(state_database()).select_related("paid_order")
    return checkouts.filter(reference=reference).first()


def brought_up_to_date(checkout: Checkout) -> Checkout:
    """Return the sale after what is stored for it was applied; it says ``processing`` where that could not be done."""
    if not checkout.is_payable or not apply_for([checkout]):
        return checkout
    current = Checkout.objects.using(state_database()).select_related("paid_order").get(pk=checkout.pk)
    current.processing = checkout.processing
    return current


def ask_once(checkout: Checkout) -> bool:
    """Asks the service for the orders of an open sale, once ever: the customer may be back before the notification.

    True when it was asked now. A service that does not answer is left to the sync.
    """
    waiting = Checkout.objects.using(state_database()).filter(
        pk=checkout.pk, status__in=Checkout.PAYABLE, asked_at=None
    )
    if not waiting.update(asked_at=datetime.now(UTC)):  # of many requests one asks
        return False
    try:
        refresh_checkout(checkout)
    except Exception as error:  # noqa: BLE001  # the page tells what is known all the same, and the sync goes on asking
        logger.warning(
            "The service could not be asked for a returning customer's order: %s", error_location(error)
        )
    return True


def return_addresses(
    project: Project, reference: str, request: HttpRequest | None, *, success: str = "", fail: str = ""
) -> tuple[str | None, str | None]:
    """Return the addresses for success and failure; none unless DYNAMIC_URLS is on, since the service refuses them then.

    ``success`` and ``fail`` are the shop's own for this sale (EP2-09, EP2-10, EP1-13); else both are RETURN_URL, else the
    app's own return page as seen from the request at hand. ``{reference}`` in an address becomes the signed reference.
    """
    if not project.dynamic_urls:
        return None, None
    signed = signed_reference(reference)
    own = project.return_url
    if not own and request is not None:
        own = request.build_absolute_uri(reverse("checkout_integration:return", args=[signed]))
    addresses = [(address or own).replace("{reference}", signed) or None for address in (success, fail)]
    return addresses[0], addresses[1]
