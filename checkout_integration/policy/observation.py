"""One piece of news about one order: a signed notification, a row of the transaction list, or our own creation of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import Document


class Source(StrEnum):
    """Where an observation comes from."""

    CREATION = "creation"
    LIST = "list"
    NOTIFICATION = "notification"
    STAFF = "staff"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How the service's clock is to be read: settings ``RETRY_INTERVAL`` and ``LIST_MARGIN``.

    ``retry_interval`` is zero for a service that does not rewrite ``created_at`` at each delivery attempt.
    ``list_margin`` is how old a list row may be when it is answered.
    """

    retry_interval: timedelta = timedelta(seconds=600)
    list_margin: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """News of one order.

    ``observed_at`` is the attempt's own ``created_at`` (notification) or the answer's ``Date`` (list row); None when the
    service gave no time. ``live`` is None where the source makes no statement on it (a list row). ``reversal`` is the
    reversal document that says it of the order, where that has an id of its own (`policy.reversal`).
    """

    source: Source
    order: Order = field(repr=False)
    event: str = ""
    observed_at: datetime | None = None
    delivery_try: int = 0
    live: bool | None = None
    reversal: Order | None = field(default=None, repr=False)

    @property
    def document(self) -> Document:
        """The Order object as it was sent."""
        return self.order.document


def stamp(moment: datetime | None) -> str:
    """A moment as text that sorts by time and fits JSON; "" (sorts first) for no time.

    Aware datetimes in UTC only: ``protocol.values.parse_moment`` makes no others.
    """
    # Not strftime, whose %Y writes the year 999 with three digits on some systems: it would sort behind 2024.
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z" if moment else ""
