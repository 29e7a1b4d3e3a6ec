"""Histories of one order at the service, and the notifications and list rows that a shop receives.

The truth is the service's own ledger. The observations have the defects of the field: a time of its own for each delivery
attempt, late retries, objects read again at a retry, rows up to ten minutes stale, clocks three minutes apart, repetitions,
losses. Everything is a function of the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import Event, OrderStatus

BEGIN: Final = datetime(2024, 5, 1, 12, tzinfo=UTC)
RETRY: Final = timedelta(seconds=600)
LAST_ATTEMPT: Final = 288
ORDERS: Final = 10
"""Orders of arrival that `trial` gives of each history."""
STALE: Final = 600.0
SKEW: Final = 180.0
CLEARLY_APART: Final = timedelta(minutes=45)
"""Two happenings further apart than stale rows, skewed clocks and the margin can blur."""

STATUS_OF: Final = {
    "create": OrderStatus.CREATED,
    "pay": OrderStatus.PROCESSED,
    "decline": OrderStatus.REJECTED,
    "cancel": OrderStatus.CANCELED,
    "refund": OrderStatus.REFUNDED,
    "chargeback": OrderStatus.CHARGEBACK,
}
EVENT_OF: Final = {
    "pay": Event.PAYMENT_SUCCESS,
    "decline": Event.PAYMENT_CANCEL,
    "cancel": Event.PAYMENT_CANCEL,
    "refund": Event.PAYMENT_REFUND,
    "chargeback": Event.PAYMENT_CHARGEBACK,
}
SCRIPTS: Final = (
    "",
    "pay",
    "decline",
    "cancel",
    "pay refund",
    "pay chargeback",
    "pay refund chargeback",
    "pay chargeback refund",
    "pay cancel",
    "cancel pay",
    "decline pay",
    "pay cancel refund",
)
CONTRADICTING: Final = ({"pay", "cancel"}, {"pay", "decline"}, {"refund", "chargeback"})


@dataclass(frozen=True)
class Happening:
    """Something that happened to the order at the service."""

    what: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class History:
    """What happened, and the observations of it in the order in which they were sent."""

    happenings: tuple[Happening, ...]
    observations: tuple[Observation, ...] = ()

    def at(self, moment: datetime) -> tuple[Happening, ...]:
        """What had happened by then; the creation always had."""
        return self.happenings[:1] + tuple(each for each in self.happenings[1:] if each.at <= moment)

    @property
    def truth(self) -> OrderStatus:
        """The status in the service's ledger."""
        return STATUS_OF[self.happenings[-1].what]

    @property
    def contradicts_itself(self) -> bool:
        """Whether it has two happenings that no path of the specification combines."""
        words = {each.what for each in self.happenings}
        return any(pair <= words for pair in CONTRADICTING)

    @property
    def possible_ends(self) -> set[OrderStatus]:
        """The truth; more where happenings at about the same time contradict each other.

        A decline becomes a cancel when its message is read again after the payment.
        """
        steps = pairwise(self.happenings[1:])
        if not self.contradicts_itself or all(later.at - step.at > CLEARLY_APART for step, later in steps):
            return {self.truth}
        last = {STATUS_OF[each.what] for each in self.happenings[-2:]}
        return last | ({OrderStatus.CANCELED} if OrderStatus.REJECTED in last else set())


def history(script: str, *minutes: float) -> History:
    """A history whose steps happen so many minutes after the order was made."""
    steps = zip(script.split(), minutes, strict=True)
    happenings = (Happening(what, BEGIN + timedelta(minutes=after)) for what, after in steps)
    return History(happenings=(Happening("create", BEGIN), *happenings))


def document_at(history: History, moment: datetime) -> dict[str, Any]:
    """The Order as the service's ledger has it at a moment."""
    past = {each.what: each.at for each in history.at(moment)}
    status = STATUS_OF[history.at(moment)[-1].what]
    reversed_at = past.get("refund") or past.get("chargeback")
    return {
        "id": "order-1",
        "transaction": "t-1" if "pay" in past else "",
        "status": status.value,
        "created_at": _written(BEGIN),
        "canceled": "cancel" in past,
        "canceled_at": _written(past.get("cancel")),
        "cancellation": {"code": "02", "reason": "Declined"} if {"cancel", "decline"} & past.keys() else None,
        "refunded": reversed_at is not None,
        "refunded_at": _written(reversed_at),
        "refund": {"amount": "9.99", "currency": "USD"} if reversed_at else None,
        "amount": "9.99",
        "currency": "USD",
        "type": "simple",
        "is_production": True,
        "user": {"external_id": "ada", "email": "ada@example.com"},
    }


def notification(
    history: History,
    happening: Happening,
    *,
    attempt: int = 0,
    reread: bool = False,
    skew: float = 0,
    **change: Any,
) -> Observation:
    """The notification of one happening, at its first attempt or a later one; ``skew`` is in seconds."""
    sent_at = happening.at + attempt * RETRY
    document = document_at(history, sent_at if reread else happening.at)
    return Observation(
        source=Source.NOTIFICATION,
        order=parse_order({**document, **change}),
        event=EVENT_OF[happening.what],
        observed_at=sent_at + timedelta(seconds=skew),
        delivery_try=attempt,
        live=True,
    )


def list_row(
    history: History, read_at: datetime, *, stale: float = 0, skew: float = 0, **change: Any
) -> Observation:
    """The order's row in a response of the list; ``stale`` and ``skew`` are in seconds."""
    document = document_at(history, read_at - timedelta(seconds=stale))
    return Observation(
        source=Source.LIST,
        order=parse_order({**document, **change}),
        observed_at=read_at + timedelta(seconds=skew),
    )


def creation_response() -> Observation:
    """The response to our own call that created the order."""
    return Observation(
        source=Source.CREATION, order=parse_order({"id": "order-1", "amount": "9.99", "currency": "USD"})
    )


def generated(seed: int) -> Iterator[History]:
    """Histories with the field's timing, without end."""
    chance = random.Random(seed)
    while True:
        script = chance.choice(SCRIPTS)
        gaps = (chance.choice([0, 1, 20, 120, 3000, 90000]) * chance.random() for _ in script.split())
        minutes = 1.0
        moments = [minutes := minutes + gap for gap in gaps]
        truth = history(script, *moments)
        yield replace(truth, observations=tuple(_observations(truth, chance)))


def _observations(history: History, chance: random.Random) -> Iterator[Observation]:
    """Each happening has a message at least, or a list row in the end where messages were lost."""
    end = history.happenings[-1].at
    loses = not history.contradicts_itself and chance.random() < 0.3
    if chance.random() < 0.5:
        yield creation_response()
    for happening in history.happenings[1:]:
        if not (loses and chance.random() < 0.5):
            yield from _messages(history, happening, chance)
    for _ in range(chance.randrange(3)):
        read_at = BEGIN + (end - BEGIN) * chance.random() * 1.5
        yield list_row(history, read_at, stale=chance.uniform(0, STALE), skew=_skew(chance))
    if loses:
        read_at = end + timedelta(seconds=STALE) + timedelta(hours=24 * chance.random())
        yield list_row(history, read_at, stale=chance.uniform(0, STALE), skew=_skew(chance))


def _messages(history: History, happening: Happening, chance: random.Random) -> Iterator[Observation]:
    """One attempt or several; an attempt may be repeated because its response was lost."""
    attempts = chance.choice(
        [[0], [0], [0, 0], [0, 1, 2], [1], [chance.randint(1, LAST_ATTEMPT)], [3, LAST_ATTEMPT]]
    )
    for attempt in attempts:
        change = {"status": chance.choice(["created", "", "processed"])} if happening.what == "pay" else {}
        reread = attempt > 0 and chance.random() < 0.2
        yield notification(
            history,
            happening,
            attempt=attempt,
            reread=reread,
            skew=_skew(chance),
            **({} if reread else change),
        )


def trial(seed: int) -> Iterator[tuple[History, list[list[Observation]]]]:
    """Generated histories, each with ten orders of arrival, with some repetitions; without end."""
    chance = random.Random(f"arrivals {seed}")
    for history in generated(seed):
        yield history, [_arrivals(history, chance) for _ in range(ORDERS)]


def _arrivals(history: History, chance: random.Random) -> list[Observation]:
    arrivals = [*history.observations, *(each for each in history.observations if chance.random() < 0.2)]
    chance.shuffle(arrivals)
    return arrivals


def _skew(chance: random.Random) -> float:
    return chance.choice([0, 0, chance.uniform(-SKEW, SKEW)])


def _written(moment: datetime | None) -> str:
    return moment.isoformat().replace("+00:00", "Z") if moment else "0001-01-01T00:00:00Z"
