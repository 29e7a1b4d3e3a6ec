"""Texts that cannot be read to the last character, and the places of an order where they may stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from checkout_integration.protocol import strict_json

KINDS: Final[Mapping[str, bytes]] = {
    "cut": b"\xf0\x9f",
    "lone byte": b"\x80",
    "overlong": b"\xc0\xaf",
    "overlong NUL": b"\xc0\x80",
    "surrogate": b"\xed\xa0\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "latin-1": "é".encode("latin-1"),
    "NUL": b"\x00",
    "escaped NUL": rb"\u0000",
    "escaped half of a pair": rb"\ud83d",
}
"""What a text may have in the place of a character."""

FREE: Final = (
    "description",
    "user.name",
    "user.metadata.guild",
    "method.title",
    "items.0.name",
    "metadata.note",
    "cancellation.reason",
    "from_the_future",
)
"""Places of an order that nothing is found or decided by."""

NAMES: Final = (
    "id",
    "status",
    "currency",
    "charge_currency",
    "transaction",
    "recurring_id",
    "user.id",
    "user.external_id",
    "metadata.checkout_reference",
    "refund.currency",
    "items.0.id",
)
"""Places of an order that name something."""

MARK: Final = "place-of-the-broken-text"


def placed(document: Mapping[str, Any], place: str, text: str = MARK) -> dict[str, Any]:
    """The document with this text, which begins as its own one does, at a dotted path."""
    changed: Any = deepcopy(dict(document))
    *parents, name = place.split(".")
    at = changed
    for parent in parents:
        if isinstance(at, list):
            at = at[int(parent)]
            continue
        at[parent] = at.get(parent) or ([{}] if parent == "items" else {})
        at = at[parent]
    at[name] = f"{at.get(name) or ''}{text}"
    made: dict[str, Any] = changed
    return made


def with_key(document: Mapping[str, Any], place: str, key: str = MARK) -> dict[str, Any]:
    """The document with one more key in the object at a path; "" is the document itself."""
    changed: Any = deepcopy(dict(document))
    at = changed
    for parent in place.split(".") if place else []:
        at = at.setdefault(parent, {})
    at[key] = "text"
    made: dict[str, Any] = changed
    return made


def broken(document: Mapping[str, Any], content: bytes) -> bytes:
    """The JSON of a document with these bytes in place of the mark."""
    body = strict_json.dumps(document).encode()
    assert body.count(MARK.encode()) == 1
    return body.replace(MARK.encode(), content)


def in_json(text: str) -> bytes:
    """A text as JSON without its quotes, half pairs as escapes."""
    return json.dumps(text).encode()[1:-1]
