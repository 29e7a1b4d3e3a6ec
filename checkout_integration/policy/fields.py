"""Merging the documents of one order, field by field, so that the result does not depend on the order of arrival.

Three kinds of field (docs/merge.md):

* fixed: the value with the earliest (time, source, text) stands; another value is a conflict;
* settled: amounts and currencies, which may still change while the form is open (VAT appears), and the type, for which
  creation and orders have different words (ORD-35): a value of a paid order replaces one of an unpaid order, then it stays;
* latest: everything else; ``user`` is merged per key, other objects are replaced whole.

An absent key is no statement, and null, "" or a zero time does not erase a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from checkout_integration.policy.amounts import comparable
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.order_type import creation_word
from checkout_integration.policy.personal import without_card_number
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.values import Document, parse_moment, parse_money

MONEY = frozenset({"amount", "currency", "original_amount", "charge_amount", "charge_currency"})
FIXED = frozenset({"id", "created_at", "is_production", "user.external_id", "live"})
SETTLED = MONEY | {"type"}
COMPARED = FIXED | SETTLED
MOMENTS = frozenset({"created_at", "canceled_at", "refunded_at"})
LIVE = "live"
"""The envelope's ``live`` is merged together with the Order's own fields, under this name."""

MONEY_CONFLICTS = MONEY
"""A conflict in one of these withdraws the verdict."""


class Stamp(NamedTuple):
    """Source and time of the standing value. ``settled``: an amount, a currency or a type, of a paid order."""

    at: str
    source: str
    settled: bool = False


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The document that all observations add up to, a stamp per field, and the fields with conflicting values."""

    values: Mapping[str, Any]
    stamps: Mapping[str, Stamp]
    conflicts: frozenset[str] = frozenset()

    @cached_property
    def document(self) -> Document:
        """The latest known Order object, unknown fields included."""
        document: dict[str, Any] = {}
        for field, value in self.values.items():
            if field == LIVE:
                continue
            if field.startswith("user."):
                document.setdefault("user", {})[field.removeprefix("user.")] = value
            else:
                document[field] = value
        return document

    @property
    def live(self) -> bool | None:
        """The envelope's ``live``, None while only the list was read."""
        return self.values.get(LIVE)


EMPTY = Merged(values={}, stamps={})


def merge(merged: Merged, observation: Observation, *, settled: bool) -> Merged:
    """Return the merge with this observation added. ``settled``: the observation is of a paid (or reversed) order."""
    values, stamps, conflicts = dict(merged.values), dict(merged.stamps), set(merged.conflicts)
    unsettled = Stamp(at=stamp(observation.observed_at), source=observation.source)
    of_settled = unsettled._replace(settled=settled)
    for field, value in _statements(observation):
        new = of_settled if field in SETTLED else unsettled
        if field in values:
            if field in COMPARED and _contradicts(field, values[field], stamps[field], value, new):
                conflicts.add(field)
            if not _stands(field, (value, new), (values[field], stamps[field])):
                continue
        values[field], stamps[field] = value, new
    return Merged(values=values, stamps=stamps, conflicts=frozenset(conflicts))


def from_stored(
    document: Document, live: bool | None, stamps: Mapping[str, Stamp], conflicts: Iterable[str]
) -> Merged:
    """Return the merge that an order's row stores."""
    values = stored_values(document, live)
    return Merged(values=values, stamps=stamps, conflicts=frozenset(conflicts))


def stored_values(document: Document, live: bool | None) -> dict[str, Any]:
    """Return the values of an order's row, by the names that they are merged and stamped under."""
    values = _flat(document)
    if live is not None:
        values[LIVE] = live
    return values


def _statements(observation: Observation) -> Iterable[tuple[str, Any]]:
    stated = [
        (field, value)
        for field, value in _flat(without_card_number(observation.document)).items()
        if not (value is None or value == "" or (field in MOMENTS and _is_no_time(value)))
    ]
    return stated if observation.live is None else [*stated, (LIVE, observation.live)]


def _is_no_time(value: Any) -> bool:
    """Return whether the value is one of the zero times, which say nothing as null and "" do."""
    try:
        return parse_moment(value) is None
    except ValueError:
        return False


def _flat(document: Document) -> dict[str, Any]:
    """Return the top-level fields, and those of ``user`` one by one; a ``user`` that is no object is no statement.

    A top-level field of the service's that is called ``live`` or ``user.…`` is not one of ours.
    """
    flat: dict[str, Any] = {}
    for field, value in document.items():
        if field == "user":
            user = value if isinstance(value, Mapping) else {}
            flat |= {f"user.{name}": each for name, each in user.items()}
        elif field != LIVE and not field.startswith("user."):
            flat[field] = value
    return flat


def _stands(field: str, new: tuple[Any, Stamp], old: tuple[Any, Stamp]) -> bool:
    """Return whether the new value replaces the old one: a choice by a total order, so independent of arrival."""
    if field not in COMPARED:
        return _precedes(old, new)
    if field in FIXED:
        return _precedes(new, old)
    settled, was_settled = new[1].settled, old[1].settled
    if settled != was_settled:
        return settled
    return _precedes(new, old) if settled else _precedes(old, new)


def _precedes(one: tuple[Any, Stamp], other: tuple[Any, Stamp]) -> bool:
    """Return whether one value precedes the other: by time, source and text, in this order."""
    (value, by), (against, its) = one, other
    if by.at != its.at:
        return by.at < its.at
    if by.source != its.source:
        return by.source < its.source
    return strict_json.dumps(_as_stored(value)) < strict_json.dumps(_as_stored(against))


def _as_stored(value: Any) -> Any:
    """Return the value as every database gives it back: PostgreSQL sorts keys in its own way, and knows no negative zero."""
    if isinstance(value, Mapping):
        return {name: _as_stored(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_as_stored(each) for each in value]
    return abs(value) if isinstance(value, Decimal) and not value else value


def _contradicts(field: str, old: Any, old_stamp: Stamp, new: Any, new_stamp: Stamp) -> bool:
    if field in SETTLED and not (old_stamp.settled and new_stamp.settled):
        return False
    return bool(_comparable(field, old) != _comparable(field, new))


def _comparable(field: str, value: Any) -> Any:
    """Return the value as the specification means it: 100 is 100.0, and an Order's ``products`` is the type ``product``."""
    try:
        if field.endswith("amount"):
            amount = parse_money(value)
            return amount if amount is None else comparable(amount)
        if field == "created_at":
            return parse_moment(value)
    except ValueError:
        return value
    return creation_word(value) if field == "type" else value


def stamps_to_json(stamps: Mapping[str, Stamp]) -> dict[str, Any]:
    """Return stamps as JSON, for the order's row: the fields of each, under "time source" or "time source settled".

    The most frequent stamp has the key "" and no fields: it belongs to all fields that no other one names, mostly to those of
    one notification.
    """
    names: dict[str, list[str]] = {}
    for name in sorted(stamps):
        names.setdefault(_text_of(stamps[name]), []).append(name)
    if not names:
        return {}
    commonest = max(names, key=lambda text: (len(names[text]), text))
    return {"": commonest} | {text: fields for text, fields in names.items() if text != commonest}


def stamps_from_json(stored: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Stamp]:
    """Return the stamps of these fields of an order's row; `stamps_to_json` made them."""
    texts = dict.fromkeys(fields, stored[""]) if "" in stored else {}
    for text, names in stored.items():
        if text:
            texts |= dict.fromkeys([name for name in names if name in texts], text)
    known = {text: _stamp_of(text) for text in {*texts.values()}}
    return {name: known[text] for name, text in texts.items()}


def _text_of(stamp: Stamp) -> str:
    return f"{stamp.at} {stamp.source}{' settled' if stamp.settled else ''}"


def _stamp_of(text: str) -> Stamp:
    at, source, *settled = text.split(" ")
    return Stamp(at=at, source=source, settled=bool(settled))
