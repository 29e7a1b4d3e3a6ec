"""dj-stripe as a shop sets it up, and the events that it is sent: succeeded charges, the cheapest thing for it to handle."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
import uuid
from typing import Any

from django.apps import apps

from benchmarks.messages import Message
from benchmarks.product import NotMeasured
from benchmarks.stub import ACCOUNT, API_KEY, charge

SECRET = "whsec_benchmarks"
ENDPOINT = uuid.UUID(int=1)
TOLERANCE = 32_000
_numbers = itertools.count()


def set_up() -> None:
    """Store the account, its key and the webhook's endpoint, as dj-stripe's admin would."""
    from djstripe.models import Account, APIKey, WebhookEndpoint

    account, _ = Account.objects.get_or_create(id=ACCOUNT["id"])
    key, _ = APIKey.objects.get_or_create_by_api_key(API_KEY)
    APIKey.objects.filter(pk=key.pk).update(djstripe_owner_account=account)
    WebhookEndpoint.objects.create(
        id="we_benchmarks",
        djstripe_uuid=ENDPOINT,
        secret=SECRET,
        livemode=False,
        enabled_events=["*"],
        url="https://shop.example.com/stripe/",
        djstripe_owner_account=account,
        djstripe_tolerance=TOLERANCE,
        djstripe_validation_method="verify_signature",
    )


def events(count: int) -> list[Message]:
    """Return so many signed events, each of a new charge. Raises NotMeasured where dj-stripe is not installed."""
    if not apps.is_installed("djstripe"):
        raise NotMeasured("dj-stripe is not installed")
    empty()
    return [_signed(_event(number)) for number in itertools.islice(_numbers, count)]


def handled() -> int:
    """Return how many charges dj-stripe has stored."""
    from djstripe.models import Charge

    stored: int = Charge.objects.count()
    return stored


def empty() -> None:
    """Empty the tables that events fill."""
    from djstripe.models import Charge, Event, WebhookEventTrigger

    for model in (WebhookEventTrigger, Event, Charge):
        model.objects.all().delete()


def _event(number: int) -> dict[str, Any]:
    return {
        "id": f"evt_{uuid.uuid4().hex}",
        "object": "event",
        "api_version": "2026-05-27.dahlia",
        "created": 1_700_000_000 + number,
        "data": {"object": charge(f"ch_{number:024d}")},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": "charge.succeeded",
    }


def _signed(event: dict[str, Any]) -> Message:
    body = json.dumps(event).encode()
    now = int(time.time())
    digest = hmac.new(SECRET.encode(), b"%d." % now + body, hashlib.sha256).hexdigest()
    return Message(f"/stripe/webhook/{ENDPOINT}/", "Stripe-Signature", f"t={now},v1={digest}", body)
