"""Faults of the transactions list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from checkout_integration.sandbox.faults.catalogue import FaultKind, FaultPoint
from checkout_integration.sandbox.faults.switchboard import Fault, FaultSwitchboard, Strike
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.store.order_search import Search

Page = tuple[int, list[Order]]
_ALL = 10_000
"""The most rows that are put in disorder."""


class FaultyLedger:
    """The ledger as the list sees it through the fault switchboard."""

    def __init__(self, ledger: Ledger, store: Store, faults: FaultSwitchboard) -> None:
        """Read `ledger`, whose orders are in `store`."""
        self._ledger = ledger
        self._store = store
        self._faults = faults
        self._frozen: Store | None = None
        self._pages: dict[FaultKind, Callable[[Search, Strike], Page]] = {
            FaultKind.SHIFTED_PAGES: self._shifted,
            FaultKind.LYING_COUNT: self._miscounted,
            FaultKind.CAPPED_LIMIT: self._capped,
            FaultKind.NULL_ITEMS: self._without_items,
            FaultKind.UNORDERED_TIES: self._disordered,
            FaultKind.STALE_ROWS: self._stale,
        }
        faults.subscribe(self._prepare)

    def search(self, search: Search) -> Page:
        """Return count and rows, as the fault has them that strikes this request."""
        strike = self._faults.draw(FaultPoint.LIST, "transactions")
        return self._pages[strike.fault.kind](search, strike) if strike else self._ledger.search(search)

    def _prepare(self, faults: list[Fault]) -> None:
        """Copy all orders as they are now, for a list that falls behind."""
        previous, self._frozen = self._frozen, None
        if any(fault.kind is FaultKind.STALE_ROWS for fault in faults):
            self._frozen = self._store.copy()
        if previous is not None:
            previous.close()

    def _shifted(self, search: Search, strike: Strike) -> Page:
        gone = strike.fault.number * (strike.number - 1)
        count, rows = self._ledger.search(replace(search, offset=search.offset + gone))
        return max(0, count - gone), rows

    def _miscounted(self, search: Search, strike: Strike) -> Page:
        return strike.fault.number, self._ledger.search(search)[1]

    def _capped(self, search: Search, strike: Strike) -> Page:
        return self._ledger.search(replace(search, limit=min(search.limit, strike.fault.number)))

    def _without_items(self, search: Search, strike: Strike) -> Page:
        return self._ledger.search(search)[0], []

    def _disordered(self, search: Search, strike: Strike) -> Page:
        count, rows = self._ledger.search(replace(search, limit=_ALL, offset=0))
        mixed: list[Order] = []
        for _, ties in groupby(rows, key=lambda order: order.created_at.replace(microsecond=0)):
            group = list(ties)
            mixed += strike.chance.sample(group, len(group))
        return count, mixed[search.offset : search.offset + search.limit]

    def _stale(self, search: Search, strike: Strike) -> Page:
        return Ledger(self._frozen or self._store).search(search)
