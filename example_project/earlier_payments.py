"""The earlier sales as the service knows them: orders that were paid, declined, refunded or charged back at their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from checkout_integration.sandbox import Card, Sandbox, SandboxProject, VirtualClock, Wallet
from example_project.earlier_sales import End, Sale

_PAYS = frozenset(End) - {End.ABANDONED, End.DECLINED}


@dataclass(frozen=True)
class _Act:
    at: datetime
    do: Callable[[], object]


def write(
    project: SandboxProject, state: Path, profile: str, sales: Iterable[Sale], until: datetime, address: str
) -> None:
    """Write the orders of the sales into a new state file of the sandbox; its clock ends at ``until``.

    ``address``: of the service, which receipts begin with.
    """
    made = _Orders(project, state, profile, sales)
    made.sandbox.public_url = address
    with closing(made.sandbox) as sandbox, sandbox.store.transaction():
        for act in sorted(made.acts(), key=lambda act: act.at):
            sandbox.clock.advance((act.at - sandbox.clock.now()).total_seconds())
            act.do()
        sandbox.clock.advance((until - sandbox.clock.now()).total_seconds())
        sandbox.clock.set_running(True)


class _Orders:
    """A sandbox whose clock stands still between two acts."""

    def __init__(self, project: SandboxProject, state: Path, profile: str, sales: Iterable[Sale]) -> None:
        self._project, self._sales = project, list(sales)
        first = min(sale.sold_at for sale in self._sales)
        clock = VirtualClock(first, running=False)
        self.sandbox = Sandbox([project], state=state, profile=profile, clock=clock)
        self._ids: dict[str, str] = {}

    def acts(self) -> Iterator[_Act]:
        """Yield what happens to each order: created, then paid or declined, then refunded or charged back."""
        for sale in self._sales:
            yield _Act(sale.sold_at, partial(self._create, sale))
            if sale.end in _PAYS:
                yield _Act(sale.sold_at + timedelta(minutes=1), partial(self._pay, sale))
            yield _Act(sale.ended_at, partial(self._end, sale))

    def _create(self, sale: Sale) -> None:
        order = self.sandbox.creation.create_order(self._document(sale), self._project.secret_key)
        self._ids[sale.reference] = order.id

    def _document(self, sale: Sale) -> dict[str, Any]:
        player = sale.player
        document: dict[str, Any] = {
            "project": self._project.project_id,
            "type": sale.kind,
            "description": sale.described(sale.slug),
            "user": {"email": player.email} | ({} if player.is_guest else {"external_id": str(player.key)}),
        }
        if sale.end is not End.WITHOUT_CHECKOUT:
            document["metadata"] = {"checkout_reference": sale.reference}
        if sale.kind != "simple":
            return {**document, "products": [sale.slug]}
        amount = Decimal(1) if sale.end is End.UNDERPAID else sale.price
        return {**document, "amount": amount, "currency": sale.currency}

    def _pay(self, sale: Sale) -> None:
        order_id = self._ids[sale.reference]
        method = Wallet(account=sale.player.username) if sale.player.number % 4 == 0 else Card()
        email = sale.player.email
        self.sandbox.payments.pay(
            order_id, method, approved=True, receipt_email=email, billing_country=sale.country
        )
        self._answered(order_id)

    def _end(self, sale: Sale) -> None:
        order_id, payments = self._ids[sale.reference], self.sandbox.payments
        if sale.end is End.DECLINED:
            payments.decline(order_id)
        elif sale.end is End.REFUNDED:
            payments.refund(order_id, reason="The customer changed their mind")
        elif sale.end is End.REFUNDED_IN_PART:
            payments.refund(order_id, amount=Decimal(1), reason="A discount after the sale")
        elif sale.end is End.CHARGED_BACK:
            payments.chargeback(order_id)
        self._answered(order_id)

    def _answered(self, order_id: str) -> None:
        """Let the notifications be those of then: they are not sent today."""
        for notification in self.sandbox.outbox.of_order(order_id):
            self.sandbox.outbox.settle(notification, "delivered", 200)
