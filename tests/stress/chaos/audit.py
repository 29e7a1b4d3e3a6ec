"""Comparison of the shop's tables with the notifications sent: nothing lost, nothing twice, nothing undone.

Pure: `Found` is what was read from the shop's tables (`tests.stress.chaos.reading`), the rest is the truth. Independent of
the product's rules.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.stress.chaos.names import BULK, SANDBOX
from tests.stress.chaos.stories import Counts, Message, Served, Story

SHOWN = 5
"""Examples that a difference is shown with."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Content of the shop's tables: keys, statuses, outbox messages and runs in their own words."""

    notifications: Mapping[str, str] = field(default_factory=dict)
    """State of each notification, by its key."""
    orders: Mapping[str, str] = field(default_factory=dict)
    checkouts: Mapping[str, str] = field(default_factory=dict)
    incidents: frozenset[str] = frozenset()
    """Orders with at least one incident."""
    outbox_messages: Sequence[tuple[str, str, str]] = ()
    """Idempotency key, signal, order."""
    runs: Sequence[tuple[str, str, str, str]] = ()
    """Idempotency key, signal, order, state."""
    unheard: int = 0
    """Outbox messages that were handed to nobody yet."""
    effects: Sequence[tuple[str, str, str]] = ()
    """Idempotency key, signal, order of each committed run of a receiver."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One way in which the shop differs from the truth."""

    what: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.what}: {self.count} ({', '.join(self.examples)})"


def compare(
    stories: Iterable[Story], acknowledged: Iterable[Message], served: Sequence[Served], found: Found
) -> list[Difference]:
    """Return every difference; an empty list means that the shop holds the truth."""
    expected = list(stories)
    by_what: dict[str, list[str]] = defaultdict(list)
    for what, example in (
        *_notifications(acknowledged, served, found),
        *_orders(expected, served, found),
        *_outbox(found),
        *_effects(expected, served, found),
    ):
        by_what[what].append(example)
    return [
        Difference(what=what, count=len(examples), examples=tuple(examples[:SHOWN]))
        for what, examples in by_what.items()
    ]


Finding = tuple[str, str]


def key_of(project: str, notification_id: str, event: str, order_id: str) -> str:
    """Return the key under which the shop is to keep a notification."""
    text = f"{project}\x1f{notification_id}\x1f{event}\x1f{order_id}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _notifications(
    acknowledged: Iterable[Message], served: Sequence[Served], found: Found
) -> Iterator[Finding]:
    keys = {key_of(BULK, each.id, each.event, each.order_id): each.order_id for each in acknowledged}
    for each in served:
        keys |= {
            key_of(SANDBOX, id_, event, each.order_id): each.order_id for id_, event, _ in each.notifications
        }
    for key, order_id in keys.items():
        if key not in found.notifications:
            yield "acknowledged but not stored", order_id
        elif found.notifications[key] in {"failed", "quarantined"}:
            yield f"stored as {found.notifications[key]}", order_id
    for key in found.notifications.keys() - keys.keys():
        yield "stored but never acknowledged", key


def _orders(stories: Sequence[Story], served: Sequence[Served], found: Found) -> Iterator[Finding]:
    statuses = {each.order_id: each.status for each in served if each.status != "created"}
    for story in stories:
        statuses |= story.expected.status
        has_incident = any(order_id in found.incidents for order_id in story.expected.status)
        if story.expected.incident and not has_incident:
            yield "contradiction without an incident", _named(story)
        if has_incident and not story.expected.incident:
            yield "incident without a contradiction", _named(story)
        if story.expected.checkout and found.checkouts.get(story.reference) != story.expected.checkout:
            yield f"checkout is {found.checkouts.get(story.reference)}", _named(story)
    for order_id, status in statuses.items():
        if order_id not in found.orders:
            yield "order is missing", order_id
        elif found.orders[order_id] != status:
            yield f"order is {found.orders[order_id]} where the service says {status}", order_id
    for order_id in found.orders.keys() - statuses.keys():
        yield "order that the service does not know", order_id


def _outbox(found: Found) -> Iterator[Finding]:
    for key, count in Counter(key for key, _, _ in found.outbox_messages).items():
        if count > 1:
            yield "announced twice under one key", key
    for key, signal, order_id, state in found.runs:
        if state not in {"done", "superseded"}:
            yield f"run left {state}", f"{signal} of {order_id}"
        if state == "superseded" and signal not in {
            "checkout_paid",
            "checkout_reversed",
            "checkout_abandoned",
        }:
            yield "wrong signal superseded", f"{signal} {key}"
    if found.unheard:
        yield "outbox_messages left undone", str(found.unheard)


def _effects(stories: Sequence[Story], served: Sequence[Served], found: Found) -> Iterator[Finding]:
    done = Counter(key for key, _, _ in found.effects)
    for key, signal, order_id, state in found.runs:
        if done[key] > 1:
            yield "effect twice", f"{signal} of {order_id}"
        if state == "done" and not done[key]:
            yield "delivered without effect", f"{signal} of {order_id}"
        if state != "done" and done[key]:
            yield "effect of what is not done", f"{signal} of {order_id}"
    announced = {key for key, _, _ in found.outbox_messages}
    for key, signal, order_id in found.effects:
        if key not in announced:
            yield "effect of what was never announced", f"{signal} of {order_id}"
    yield from _settled(stories, served, found)


def _settled(stories: Sequence[Story], served: Sequence[Served], found: Found) -> Iterator[Finding]:
    """Compare what receivers were run for, or excused from by a reversal, with what each story permits."""
    counts: dict[str, Counts] = defaultdict(Counter)
    excused = {(signal, order_id) for _, signal, order_id, state in found.runs if state == "superseded"}
    for signal, order_id in [each[1:] for each in found.effects] + sorted(excused):
        counts[order_id][signal] = counts[order_id].get(signal, 0) + 1
    superseded = {order_id for _, order_id in excused}
    for story in stories:
        orders = {message.order_id for message in story.messages}
        total = sum((Counter(counts[each]) for each in orders), Counter[str]())
        if dict(total) not in story.expected.announced:
            yield f"wrong effects of a story {story.kind}", f"{_named(story)} {dict(total)}"
        if superseded & orders and not story.expected.reversed:
            yield "goods withheld without a reversal", _named(story)
        granted, revoked = (
            sum(signal == name and order_id in orders for _, signal, order_id in found.effects)
            for name in ("checkout_paid", "checkout_reversed")
        )
        if story.expected.reversed and granted != revoked:
            yield "goods that a reversal left", f"{_named(story)} granted {granted}, revoked {revoked}"
    for each in served:
        if dict(counts[each.order_id]) not in _permitted(each.status):
            yield f"wrong effects of an order {each.status}", f"{each.order_id} {dict(counts[each.order_id])}"


def _permitted(status: str) -> list[Counts]:
    """Return the permitted signals of an order of the sandbox; its notifications may arrive in any order."""
    granted, reminded = {"checkout_paid": 1}, {"checkout_abandoned": 1}
    if status == "created":
        return [reminded]
    found: list[Counts] = [{}]
    if status == "processed":
        found = [granted]
    if status in {"refunded", "chargeback"}:
        fact = {"payment_refund" if status == "refunded" else "payment_chargeback": 1}
        found = [fact, {**fact, **granted, "checkout_reversed": 1}]
    return [*found, *({**each, **reminded} for each in found)]


def _named(story: Story) -> str:
    return f"{story.kind} {story.messages[0].order_id}"
