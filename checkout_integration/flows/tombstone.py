"""How an erased customer is known again without being remembered (A.47)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.utils.crypto import salted_hmac

from checkout_integration.flows.database.connection import KEY_LENGTH, key_of, state_database
from checkout_integration.models import CheckoutUser, PersonalData
from checkout_integration.protocol import strict_json

SALT: Final = "checkout_integration.erased"
REQUEST_SALT: Final = "checkout_integration.request"
IDS: Final = re.compile(rb'"(id|external_id)"\s*:\s*("(?:[^"\\]|\\.){1,255}")')
MOST_IDS: Final = 100


def tombstones_of(identity: str) -> list[str]:
    """What stands in the place of an erased customer's identity: a keyed hash of it.

    Whoever holds the tables but not Django's SECRET_KEY cannot try out which ids it may have been. The keys of
    SECRET_KEY_FALLBACKS are tried too: a tombstone holds for as long as its key is listed.
    """
    return [each[:KEY_LENGTH] for each in _keyed_hashes(SALT, identity)] if identity else []


def request_hashes(key: str, body: bytes) -> list[str]:
    """Return by which a request to user.validate is known again: a keyed hash of the notification's key and the body.

    The first one is stored; the others are those of the keys in SECRET_KEY_FALLBACKS. Not a plain hash: a body holds personal
    data, and after erasing nobody should be able to try out what it may have been.
    """
    return _keyed_hashes(REQUEST_SALT, f"{key}:{hashlib.sha256(body).hexdigest()}")


def _keyed_hashes(salt: str, text: str) -> list[str]:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [salted_hmac(salt, text, secret=key, algorithm="sha256").hexdigest() for key in keys]


def names_erased(project: str, bodies: Sequence[bytes]) -> list[bool]:
    """Return for each body whether it names an erased customer or order, by its ids alone: our rules may refuse it.

    Two statements, whatever the number of bodies.
    """
    ids = [[(kind.decode(), _text(told)) for kind, told in IDS.findall(body)[:MOST_IDS]] for body in bodies]
    alias = state_database()
    orders = PersonalData.objects.using(alias).filter(order__project=project, erased_at__isnull=False)
    order_ids = {told for each in ids for _, told in each}
    erased = set(orders.filter(order__order_id__in=order_ids).values_list("order__order_id", flat=True))
    tombstones = {
        (kind, told): tombstones_of(key_of("external" if kind == "external_id" else "user", told))
        for each in ids
        for kind, told in each
    }
    customers = CheckoutUser.objects.using(alias).filter(project=project, erased_at__isnull=False)
    wanted = {tombstone for hashes in tombstones.values() for tombstone in hashes}
    standing = set(customers.filter(identity__in=wanted).values_list("identity", flat=True))
    gone = {named for named, hashes in tombstones.items() if not standing.isdisjoint(hashes)}
    return [any(named in gone or named[1] in erased for named in each) for each in ids]


def _text(quoted: bytes) -> str:
    """A text as the loader gives it, hence as it was stored."""
    try:
        return str(strict_json.loads(quoted))
    except strict_json.StrictJsonError:
        return ""
