"""Stories of orders at the service, and the right outcomes in the shop: made from a seed, independent of our rules.

A story is one checkout (or a stranger's order): its events a day apart, so that clocks do not matter, the order in which
its notifications arrive, and all outcomes that are right for that. Nothing here imports the product.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.stress.chaos.names import REFERENCE_KEY

RETRY: Final = timedelta(seconds=600)
REPEATED: Final = 0.1
"""Part of the messages that are delivered once more at the same time, and part that come again later."""
AMOUNT, CURRENCY = "9.99", "USD"
SUCCESS, REFUND, CHARGEBACK, CANCEL = (
    "payment.success",
    "payment.refund",
    "payment.chargeback",
    "payment.cancel",
)
STATUS_AFTER: Final = {SUCCESS: "processed", REFUND: "refunded", CHARGEBACK: "chargeback", CANCEL: "canceled"}
Counts = dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Message:
    """One notification of one event of one order, the same for all delivery attempts."""

    order_id: str
    event: str
    happened_at: datetime
    document: dict[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        """The notification's id: the same at each attempt, as seen in the field."""
        return hashlib.sha256(f"{self.order_id}{self.event}".encode()).hexdigest()

    def body(self, attempt: int) -> bytes:
        """Return the bytes of an attempt; the service writes the attempt's own time into it."""
        return json.dumps(
            {
                "id": self.id,
                "type": "notification",
                "event": self.event,
                "live": True,
                "created_at": _written(self.happened_at + attempt * RETRY),
                "expires_at": "",
                "delivery_try": attempt,
                "object": self.document,
            }
        ).encode()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """All that may be true of a story in the end; `announced` has one entry per permitted combination of counts."""

    status: dict[str, str]
    announced: tuple[Counts, ...]
    incident: bool = False
    reversed: bool = False
    checkout: str = ""


@dataclass(frozen=True, kw_only=True)
class Story:
    """One history: the messages arrive wave after wave; within a wave at the same time."""

    kind: str
    reference: str
    waves: tuple[tuple[tuple[Message, int], ...], ...]
    expected: Expected

    @property
    def messages(self) -> list[Message]:
        """Each message once."""
        return list({message.id: message for wave in self.waves for message, _ in wave}.values())


@dataclass(frozen=True, kw_only=True)
class Served:
    """An order as the service's own ledger has it in the end."""

    order_id: str
    status: str
    notifications: tuple[tuple[str, str, str], ...]
    """Of each: its id, its event, and whether it was delivered."""


class Author:
    """Makes stories from a seed, without end."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._begin = datetime.now(UTC) - timedelta(days=20)

    def references(self, count: int) -> list[str]:
        """Return the references of checkouts that stories will be about."""
        return [self._name() for _ in range(count)]

    def stories(self, references: Sequence[str]) -> Iterator[Story]:
        """Yield a story for each checkout."""
        kinds, weights = list(_OFTEN), list(_OFTEN.values())
        for reference in references:
            yield self._story(self._chance.choices(kinds, weights)[0], reference)

    def plain(self, reference: str) -> Story:
        """Return the plainest story: paid, one notification."""
        return self._history("paid", reference, _HISTORIES["paid"])

    def _story(self, kind: str, reference: str) -> Story:
        if kind in _HISTORIES:
            return self._history(kind, reference, _HISTORIES[kind])
        if kind == "twice":
            return self._twice(reference)
        event, change = _ODD[kind]
        message = self._message(reference, event, **change)
        if kind in _WITHOUT_ORDER:
            return self._complete(kind, reference, [[message]], Expected(status={}, announced=({},)))
        # Paid, but not for a checkout of this shop as it was agreed: a person has to look.
        expected = Expected(
            status={message.order_id: "processed"}, announced=({"payment_review": 1},), incident=True
        )
        return self._complete(kind, reference, [[message]], expected)

    def _history(self, kind: str, reference: str, events: Sequence[str]) -> Story:
        order_id = self._name()
        messages = [
            self._message(reference, event, order_id=order_id, days=days) for days, event in enumerate(events)
        ]
        arrival = self._chance.choice(["in_order", "in_order", "reversed", "racing"])
        waves = {
            "in_order": [[each] for each in messages],
            "reversed": [[each] for each in reversed(messages)],
            "racing": [messages],
        }[arrival]
        expected = _one_checkout(order_id, events, arrival if len(messages) > 1 else "in_order")
        return self._complete(kind, reference, waves, expected)

    def _twice(self, reference: str) -> Story:
        """Paid on the form and, by "try again", once more: one of the two pays the checkout."""
        first, second = self._message(reference, SUCCESS), self._message(reference, SUCCESS)
        expected = Expected(
            status={first.order_id: "processed", second.order_id: "processed"},
            announced=({"checkout_paid": 1, "payment_review": 1},),
            incident=True,
            checkout="paid",
        )
        return self._complete("twice", reference, [[first, second]], expected)

    def _complete(
        self, kind: str, reference: str, waves: Sequence[Sequence[Message]], expected: Expected
    ) -> Story:
        """Add repetitions: at the same time as the first delivery, or with the next wave."""
        sent: list[list[tuple[Message, int]]] = [[] for _ in range(len(waves) + 1)]
        for number, wave in enumerate(waves):
            for message in wave:
                sent[number].append((message, 0))
                if self._chance.random() < REPEATED:
                    sent[number].append((message, self._chance.randint(0, 3)))
                if self._chance.random() < REPEATED:
                    sent[number + 1].append((message, self._chance.randint(1, 200)))
        filled = tuple(tuple(wave) for wave in sent if wave)
        return Story(kind=kind, reference=reference, waves=filled, expected=expected)

    def _message(
        self, reference: str, event: str, *, order_id: str = "", days: int = 0, **change: Any
    ) -> Message:
        happened_at = self._begin + timedelta(days=days)
        order_id = order_id or self._name()
        document = _order(order_id, reference, event, self._begin, happened_at) | change
        return Message(order_id=order_id, event=event, happened_at=happened_at, document=document)

    def _name(self) -> str:
        return f"{self._chance.getrandbits(128):032x}"


_OFTEN: Final = {
    "paid": 30,
    "canceled": 8,
    "refunded": 24,
    "charged_back": 14,
    "late_cancel": 6,
    "double_loss": 6,
    "underpaid": 2,
    "stranger": 2,
    "twice": 4,
    "test": 2,
    "unknown": 2,
}
_ODD: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "underpaid": (SUCCESS, {"amount": "0.01", "original_amount": "0.01"}),
    "stranger": (SUCCESS, {"metadata": {}}),
    "test": (SUCCESS, {"testing_case": "correct_payment"}),
    "unknown": ("payment.wonder", {}),
}
_WITHOUT_ORDER: Final = ("test", "unknown")
_HISTORIES: Final = {
    "paid": (SUCCESS,),
    "canceled": (CANCEL,),
    "refunded": (SUCCESS, REFUND),
    "charged_back": (SUCCESS, CHARGEBACK),
    "late_cancel": (SUCCESS, CANCEL),
    "double_loss": (SUCCESS, REFUND, CHARGEBACK),
}


def _one_checkout(order_id: str, events: Sequence[str], arrival: str) -> Expected:
    """Return what is right for one order of one checkout with this order of arrival.

    A grant is opened for a payment that was not known to be reversed when it became known, and closed once. A cancellation
    beside a payment takes nothing away.
    """
    facts = {each.replace(".", "_"): 1 for each in events if each != SUCCESS}
    reversals = sum(each in {REFUND, CHARGEBACK} for each in events)
    contradicts = CANCEL in events[1:] or reversals > 1
    if contradicts:
        facts["payment_review"] = 1
    opened = {"in_order": [True], "reversed": [False], "racing": [True, False]}[
        arrival if reversals else "in_order"
    ]
    combinations = [facts]
    if SUCCESS in events:
        goods = {"checkout_paid": 1, "checkout_reversed": 1} if reversals else {"checkout_paid": 1}
        combinations = [{**facts, **goods} if each else facts for each in opened]
    paid = "paid" if SUCCESS in events else "cancelled"
    return Expected(
        status={order_id: STATUS_AFTER[events[-1]]},
        announced=tuple(combinations),
        incident=contradicts,
        reversed=reversals > 0,
        checkout="reversed" if reversals else paid,
    )


def _order(
    order_id: str, reference: str, event: str, created_at: datetime, happened_at: datetime
) -> dict[str, Any]:
    reversed_ = event in {REFUND, CHARGEBACK}
    at = _written(happened_at)
    money = {"amount": AMOUNT, "currency": CURRENCY}
    return {
        "id": order_id,
        "object": "order",
        "transaction": f"t-{order_id}",
        "status": STATUS_AFTER.get(event, "created"),
        "created_at": _written(created_at),
        "canceled": event == CANCEL,
        "canceled_at": at if event == CANCEL else "",
        "refunded": reversed_,
        "refunded_at": at if reversed_ else "",
        "refund": money if reversed_ else None,
        **money,
        "original_amount": AMOUNT,
        "type": "simple",
        "is_production": True,
        "testing_case": "",
        "vat_payer": "nobody",
        "user": {"object": "user", "external_id": f"player-{order_id[:2]}", "email": "player@example.com"},
        "metadata": {REFERENCE_KEY: reference},
    }


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
