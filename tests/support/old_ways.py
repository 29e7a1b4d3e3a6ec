"""The old ways: each a few lines, as the integration that failed had them."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import requests
from django.contrib.auth.models import Group
from django.db import transaction
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

PAID = "old goods of "
"""Begins the name of a group that stands for granted goods; names of groups are unique, as orders' ids were."""
payment_received = Signal()


def expected_signature(body: bytes, secret: str) -> str:
    """The hash as text."""
    return hashlib.sha256(body + secret.encode()).hexdigest()


def verify_as_text(header: str, body: bytes, secret: str) -> bool:
    """Compare two texts, in constant time (anymail, before CVE-2018-6596: not even that)."""
    return hmac.compare_digest(header.removeprefix("Signature "), expected_signature(body, secret))


def refuse_with_hint(header: str, body: bytes, secret: str) -> HttpResponse | None:
    """Say what was expected, to help with debugging (fob-coinbase 1.1.0)."""
    expected = expected_signature(body, secret)
    if header == f"Signature {expected}":
        return None
    return HttpResponseBadRequest(f"Invalid signature, expected {expected}")


def read_then_verify(body: bytes, content_encoding: str) -> bytes:
    """Unpack before verification (CVE-2026-119036)."""
    return gzip.decompress(body) if content_encoding == "gzip" else body


def handle(document: Mapping[str, Any]) -> HttpResponse:
    """Mark the metadata's checkout as paid, whatever the amount; refuse unknown checkouts."""
    if document["event"] != "payment.success":
        return HttpResponse(status=400)
    Group.objects.get_or_create(name=f"{PAID}{document['object']['metadata'].get('checkout_reference', '')}")
    return HttpResponse()


def handle_if_known(document: Mapping[str, Any]) -> None:
    """Apply notifications of known orders, and drop the rest (Cashier #1201: "updated" before "created")."""
    Group.objects.filter(name=document["object"]["id"]).update(name=f"{PAID}{document['object']['id']}")


def store_unless_there(key: str, meanwhile: Callable[[], None]) -> None:
    """Look, then insert (dj-stripe #1239); `meanwhile` is what another request does between the two."""
    if not Group.objects.filter(name=key).exists():
        meanwhile()
        Group.objects.create(name=key)


def record_failure_and_raise(request: HttpRequest) -> HttpResponse:
    """Keep the failure in the request's own transaction, which is then rolled back (dj-stripe #889)."""
    with transaction.atomic():
        Group.objects.create(name="failure")
        raise ValueError("our own rules failed")


def tell_in_the_request(body: bytes) -> None:
    """Store the payment and send the signal in one transaction (dj-stripe, anymail)."""
    with transaction.atomic():
        Group.objects.create(name="payment")
        payment_received.send(sender=None, body=body)


def newer_than(rows: Iterable[Mapping[str, Any]], watermark: str) -> Sequence[Mapping[str, Any]]:
    """Rows that were created after the newest one seen (PostHog 64417)."""
    return [row for row in rows if row["created_at"] > watermark]


def fetch(url: str, secret: str) -> Any:
    """A GET by the HTTP library as it comes: redirects, .netrc and all."""
    headers = {"X-API-SIGNATURE": secret, "Authorization": "Basic ours"}
    return json.loads(requests.get(url, headers=headers, timeout=10).content)


def cents(amount: float) -> int:
    """An amount in minor units, by float (payfort 81)."""
    return int(amount * 100)


def complete(order: Mapping[str, Any], letters: list[str]) -> None:
    """Fulfil an order that is paid; the return page and the webhook both come here (woocommerce-payments 3520)."""
    if order["status"] == "processed":
        letters.append("Your goods")
