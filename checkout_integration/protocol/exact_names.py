"""Texts that name something: an order, a customer, a state, a currency. They are read to the last character, or not at all.

In a name that was sent with broken bytes, U+FFFD stands for what is not known, and two names would be one.
"""

from __future__ import annotations

from typing import Final

from checkout_integration.protocol.strict_json import PartlyRead

NAMES: Final = frozenset(
    "id event status currency charge_currency external_id transaction recurring_id".split()
)
"""Members that name something, at any depth except in ``metadata``, whose members are the shop's own."""


def unclear_name(document: object, reference_key: str = "") -> str:
    """Return the name of a member that names something and has characters that cannot be read; "" without one.

    ``reference_key`` is the member of ``metadata`` that has our reference of the checkout. Keys are names too: "a key".
    """
    if not isinstance(document, PartlyRead):
        return ""
    if document.unclear_keys:
        return "a key"
    references = {f"metadata.{reference_key}", f"object.metadata.{reference_key}"}
    for path in document.replaced:
        *parents, name = path.split(".")
        if path in references:
            return "metadata"
        if name in NAMES and "metadata" not in parents:
            return name
    return ""


def problem_of(name: str) -> str:
    """Return why a document with this unclear name is not read. It repeats nothing of the document."""
    return f"{name} has characters that cannot be read"
