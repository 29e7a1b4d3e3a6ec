"""Payments as the service reports them: signed notifications of about 3 kB, each of a checkout that waits for it."""

from __future__ import annotations

import functools
import itertools
import uuid
from collections.abc import Iterable

from benchmarks.messages import Message
from benchmarks.product import SECRET, WEBHOOK
from benchmarks.service import PRODUCTS, items
from checkout_integration.conf import app_settings
from checkout_integration.models import Checkout
from checkout_integration.models.checkout import new_reference
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.signature import sign
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.testing.payloads import NotificationDocumentFactory

NOTIFICATION, ORDER, REFERENCE, CUSTOMER = b"@notification@", b"@order@", b"@reference@", b"@customer@"
_customers = itertools.count()


def of_new_checkouts(count: int) -> list[Message]:
    """Make so many checkouts, and return the payments for them."""
    checkouts = Checkout.objects.bulk_create(
        Checkout(
            project="default", type=OrderType.PRODUCT, products=list(PRODUCTS), status=Checkout.Status.OPEN
        )
        for _ in range(count)
    )
    return signed(WEBHOOK, (checkout.reference for checkout in checkouts))


def of_nothing(path: str, count: int) -> list[Message]:
    """Return so many payments for a view that stores them and looks no further."""
    return signed(path, (new_reference() for _ in range(count)))


def forged(count: int) -> list[Message]:
    """Return so many payments that nobody has signed."""
    return [message._replace(signature="Signature " + "0" * 64) for message in of_nothing(WEBHOOK, count)]


def signed(path: str, references: Iterable[str]) -> list[Message]:
    """Return a payment for each reference: a new order of a new customer."""
    secret = Secret(SECRET)
    bodies = map(_body, references)
    return [Message(path, "Authorization", f"Signature {sign(body, secret)}", body) for body in bodies]


def _body(reference: str) -> bytes:
    return (
        _template()
        .replace(NOTIFICATION, uuid.uuid4().hex.encode())
        .replace(ORDER, str(uuid.uuid4()).encode())
        .replace(REFERENCE, reference.encode())
        .replace(CUSTOMER, b"player-%d" % next(_customers))
    )


@functools.cache
def _template() -> bytes:
    reference_key = app_settings().project().reference_key
    document = NotificationDocumentFactory(
        id=NOTIFICATION.decode(),
        object__id=ORDER.decode(),
        object__transaction=ORDER.decode(),
        object__type=OrderType.PRODUCT,
        object__items=items(),
        object__is_production=True,
        object__user__id=CUSTOMER.decode(),
        object__user__external_id=CUSTOMER.decode(),
        object__metadata={reference_key: REFERENCE.decode(), "campaign": "autumn", "cart": ORDER.decode()},
    )
    return strict_json.dumps(document).encode()
