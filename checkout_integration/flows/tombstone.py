"""How an erased customer is known again without being remembered (A.47)."""

from __future__ import annotations

import re
from typing import Final

from django.conf import settings
from django.utils.crypto import salted_hmac

from checkout_integration.flows.database import key_of, state_database
from checkout_integration.models import CheckoutUser, PersonalData
from checkout_integration.protocol import strict_json

SALT: Final = "checkout_integration.erased"
IDS: Final = re.compile(rb'"(id|external_id)"\s*:\s*("(?:[^"\\]|\\.){1,255}")')
MOST_IDS: Final = 100


def tombstones_of(identity: str) -> list[str]:
    """What stands in the place of an erased customer's identity: a keyed hash of it.

    Whoever holds the tables but not Django's SECRET_KEY cannot try out which ids it may have been. The keys of
    SECRET_KEY_FALLBACKS are tried too: a tombstone holds for as long as its key is listed.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS] if identity else []
    return [salted_hmac(SALT, identity, secret=key, algorithm="sha256").hexdigest() for key in keys]


def names_erased(project: str, body: bytes) -> bool:
    """Whether a body names an erased customer or order, read by its ids alone: it may be one that our rules refuse."""
    ids = [(kind.decode(), _text(told)) for kind, told in IDS.findall(body)[:MOST_IDS]]
    alias = state_database()
    orders = PersonalData.objects.using(alias).filter(order__project=project, erased_at__isnull=False)
    if orders.filter(order__order_id__in={told for _, told in ids}).exists():
        return True
    identities = {key_of("external" if kind == "external_id" else "user", told) for kind, told in ids}
    tombstones = [each for identity in sorted(identities) for each in tombstones_of(identity)]
    erased = CheckoutUser.objects.using(alias).filter(erased_at__isnull=False)
    return erased.filter(project=project, identity__in=tombstones).exists()


def _text(quoted: bytes) -> str:
    """A text as the loader gives it, hence as it was stored."""
    try:
        return str(strict_json.loads(quoted))
    except strict_json.StrictJsonError:
        return ""
