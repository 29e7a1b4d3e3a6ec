"""What can happen to one checkout, as notifications and as rows of the list, for the trial of every order of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from checkout_integration.models import Checkout
from checkout_integration.testing.factories import order_document_for
from checkout_integration.testing.payloads import RefundDocumentFactory
from tests.support.flows.shop import notification

BEGIN: Final = datetime(2024, 5, 2, 12, 0, tzinfo=UTC)
AGREEMENT: Final = {"recurring": True, "recurring_id": "agreement"}
EVENTS: Final = (
    "success",
    "success of try again",
    "refund",
    "chargeback",
    "cancel",
    "first partial refund",
    "second partial refund",
    "renewal",
)


def at(minutes: float) -> datetime:
    """So many minutes into the story."""
    return BEGIN + timedelta(minutes=minutes)


def written(moment: datetime) -> str:
    """A time as the service writes it."""
    return moment.isoformat()


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """One event on its way: as a notification, or as a row of the list that was read at a moment."""

    event: str
    document: Mapping[str, Any] = field(repr=False)
    listed_at: datetime | None = None


class Story:
    """The documents of one checkout: its order, the order of "try again", and a renewal."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    def notified(self, event: str) -> Arrival:
        """The event as its notification says it."""
        name, minutes, document = self._notification(event)
        return Arrival(event=event, document=notification(name, document, at=at(minutes)))

    def listed(self, event: str) -> Arrival:
        """The event as the list shows it: reversals are documents of their own."""
        name, minutes, document = self._notification(event)
        if name in ("payment.refund", "payment.chargeback"):
            document = self._reversal(event, minutes)
        return Arrival(event=event, document=document, listed_at=at(minutes + 60))

    def _notification(self, event: str) -> tuple[str, float, dict[str, Any]]:
        stories: dict[str, tuple[str, float, dict[str, Any]]] = {
            "success": ("payment.success", 1, self._order(**AGREEMENT)),
            "success of try again": ("payment.success", 5, self._again("again", 4)),
            "renewal": ("payment.success", 30, self._again("renewal", 29, **AGREEMENT)),
            "refund": ("payment.refund", 40, self._back("refunded", "9.99", 40)),
            "chargeback": ("payment.chargeback", 50, self._back("chargeback", "9.99", 50)),
            "cancel": ("payment.cancel", 3, self._order(status="canceled", canceled_at=written(at(3)))),
            "first partial refund": ("payment.refund", 20, self._back("refunded", "5.00", 20)),
            "second partial refund": ("payment.refund", 25, self._back("refunded", "9.99", 25)),
        }
        return stories[event]

    def _order(self, **changes: Any) -> dict[str, Any]:
        given = {
            "created_at": written(at(0)),
            "transaction": "tx-first",
            "receipt_number": "R-1",
            **AGREEMENT,
        }
        return order_document_for(self._checkout, **{**given, **changes})

    def _again(self, name: str, minutes: float, **changes: Any) -> dict[str, Any]:
        order_id = f"{self._checkout.order_id}-{name}"
        given = {"id": order_id, "transaction": f"tx-{name}", "created_at": written(at(minutes))}
        return order_document_for(self._checkout, **{**given, **changes})

    def _back(self, status: str, amount: str, minutes: float) -> dict[str, Any]:
        refund = RefundDocumentFactory(amount=Decimal(amount), currency="USD")
        refunded_at = written(at(minutes)) if status == "refunded" else ""
        return self._order(status=status, refunded_at=refunded_at, refund=refund)

    def _reversal(self, event: str, minutes: float) -> dict[str, Any]:
        """A document of its own: of two partial refunds, each says what it gave back itself."""
        status = "chargeback" if event == "chargeback" else "refunded"
        amount = {"first partial refund": "5.00", "second partial refund": "4.99"}.get(event, "9.99")
        order = self._back(status, amount, minutes)
        return {**order, "id": f"{self._checkout.order_id}-{event}", "created_at": written(at(minutes))}
