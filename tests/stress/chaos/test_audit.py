"""The audit can fail: each kind of damage to the shop's tables is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.stress.chaos.audit import Found, compare, key_of
from tests.stress.chaos.names import BULK, SANDBOX
from tests.stress.chaos.stories import Author, Message, Served, Story

Sample = tuple[list[Story], list[Message], list[Served]]
SERVED = Served(
    order_id="served", status="refunded", notifications=(("n-1", "payment.success", "delivered"),)
)
LEFT = Served(order_id="left", status="created", notifications=())


def sample() -> Sample:
    """A paid checkout, a refunded one, one contradiction, and a refunded order of the sandbox."""
    author = Author(1)
    kinds, stories = ["paid", "refunded", "late_cancel"], list[Story]()
    for story in author.stories(author.references(500)):
        in_order = len(story.expected.announced) == 1 and "checkout_paid" in story.expected.announced[0]
        if kinds and story.kind == kinds[0] and in_order:
            stories.append(story)
            kinds.pop(0)
    assert not kinds
    return stories, [message for story in stories for message in story.messages], [SERVED, LEFT]


def truth(stories: list[Story], messages: list[Message]) -> Found:
    """The tables of a shop without mistakes."""
    rows: list[tuple[str, str, str]] = [
        ("served/payment_refund", "payment_refund", "served"),
        ("left/checkout_abandoned", "checkout_abandoned", "left"),
    ]
    for story in stories:
        (order_id,) = story.expected.status
        rows += [(f"{order_id}/{signal}", signal, order_id) for signal in story.expected.announced[0]]
    keys = [key_of(BULK, each.id, each.event, each.order_id) for each in messages]
    keys.append(key_of(SANDBOX, "n-1", "payment.success", "served"))
    return Found(
        notifications=dict.fromkeys(keys, "applied"),
        orders={k: v for story in stories for k, v in story.expected.status.items()} | {"served": "refunded"},
        checkouts={story.reference: story.expected.checkout for story in stories},
        incidents=frozenset(k for story in stories if story.expected.incident for k in story.expected.status),
        outbox_messages=rows,
        runs=[(*row, "done") for row in rows],
        effects=rows,
    )


def test_truth_has_no_difference() -> None:
    """Nothing is found where nothing is wrong."""
    stories, messages, served = sample()
    assert compare(stories, messages, served, truth(stories, messages)) == []


def test_success_overtaken_by_its_refund_may_be_superseded() -> None:
    """Goods that were not granted, because the refund was known before the receiver ran, are not missing."""
    stories, messages, served = sample()
    right = truth(stories, messages)
    (order_id,) = stories[1].expected.status
    goods = {f"{order_id}/checkout_paid", f"{order_id}/checkout_reversed"}
    found = replace(
        right,
        runs=[(*row[:3], "superseded" if row[0] in goods else "done") for row in right.runs],
        effects=[row for row in right.effects if row[0] not in goods],
    )
    assert compare(stories, messages, served, found) == []


def test_goods_that_a_reversal_left_are_found() -> None:
    """They were granted, and nothing revoked them."""
    stories, messages, served = sample()
    right = truth(stories, messages)
    (order_id,) = stories[1].expected.status
    key = f"{order_id}/checkout_reversed"
    found = replace(
        right,
        runs=[(*row[:3], "superseded" if row[0] == key else "done") for row in right.runs],
        effects=[row for row in right.effects if row[0] != key],
    )
    assert "goods that a reversal left" in {each.what for each in compare(stories, messages, served, found)}


def first(mapping: Any) -> dict[str, Any]:
    """The mapping without its first entry."""
    return dict(list(mapping.items())[1:])


DAMAGES: dict[str, Callable[[Found], Found]] = {
    "acknowledged but not stored": lambda f: replace(f, notifications=first(f.notifications)),
    "stored as failed": lambda f: replace(f, notifications=dict.fromkeys(f.notifications, "failed")),
    "stored but never acknowledged": lambda f: replace(f, notifications={**f.notifications, "x": "applied"}),
    "order is missing": lambda f: replace(f, orders=first(f.orders)),
    "order is created where the service says processed": lambda f: replace(
        f, orders=dict.fromkeys(f.orders, "created")
    ),
    "order that the service does not know": lambda f: replace(f, orders={**f.orders, "x": "processed"}),
    "checkout is open": lambda f: replace(f, checkouts=dict.fromkeys(f.checkouts, "open")),
    "contradiction without an incident": lambda f: replace(f, incidents=frozenset()),
    "incident without a contradiction": lambda f: replace(f, incidents=frozenset(f.orders)),
    "announced twice under one key": lambda f: replace(
        f, outbox_messages=[*f.outbox_messages, f.outbox_messages[0]]
    ),
    "run left running": lambda f: replace(f, runs=[*f.runs[1:], (*f.runs[0][:3], "running")]),
    "wrong signal superseded": lambda f: replace(f, runs=[(*row[:3], "superseded") for row in f.runs]),
    "outbox_messages left undone": lambda f: replace(f, unheard=1),
    "effect twice": lambda f: replace(f, effects=[*f.effects, f.effects[0]]),
    "delivered without effect": lambda f: replace(f, effects=f.effects[1:]),
    "effect of what is not done": lambda f: replace(f, runs=[*f.runs[1:], (*f.runs[0][:3], "running")]),
    "effect of what was never announced": lambda f: replace(
        f, effects=[*f.effects, ("x", "payment_cancel", "served")]
    ),
    "wrong effects of a story paid": lambda f: replace(f, outbox_messages=[], runs=[], effects=[]),
    "wrong effects of an order created": lambda f: replace(
        f, effects=[row for row in f.effects if row[2] != "left"]
    ),
    "wrong effects of an order refunded": lambda f: replace(f, effects=[]),
    "goods withheld without a reversal": lambda f: replace(
        f, runs=[(*row[:3], "superseded") for row in f.runs], effects=[]
    ),
}


@pytest.mark.parametrize("named", DAMAGES)
def test_damage_is_named(named: str) -> None:
    """Each damage is found under its own name."""
    stories, messages, served = sample()
    found = DAMAGES[named](truth(stories, messages))
    assert named in [each.what for each in compare(stories, messages, served, found)]
