"""An observation: the statement of one signed notification, list row, creation or staff decision on one order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import Document


class Source(StrEnum):
    """The source of an observation."""

    CREATION = "creation"
    LIST = "list"
    NOTIFICATION = "notification"
    STAFF = "staff"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The settings for the service's clock: ``RETRY_INTERVAL`` and ``LIST_MARGIN``.

    ``retry_interval`` is zero for a service that does not rewrite ``created_at`` at each delivery attempt.
    ``list_margin`` is how old the data of a list row may be when the service sends it.
    """

    retry_interval: timedelta = timedelta(seconds=600)
    list_margin: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One statement about one order.

    ``observed_at`` is the attempt's own ``created_at`` (notification) or the response's ``Date`` (list row); None when the
    service gave no time. ``live`` is None where the source makes no statement on it (a list row). ``reversal`` is the
    reversal document that the observation comes from, where that has an id of its own (`policy.reversal_documents`).
    ``is_order``: it looks like such a document, and is known to be the order itself.
    """

    source: Source
    order: Order = field(repr=False)
    event: str = ""
    observed_at: datetime | None = None
    delivery_try: int = 0
    live: bool | None = None
    reversal: Order | None = field(default=None, repr=False)
    is_order: bool = False

    @property
    def document(self) -> Document:
        """The Order object as it was sent."""
        return self.order.document
