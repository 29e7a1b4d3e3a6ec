"""Two transactions that meet under the locks of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from checkout_integration.flows.ledger import batch as locking
from checkout_integration.flows.ledger import recording
from checkout_integration.models import Checkout
from tests.support.flows.concurrency import await_waiting_locks, in_background
from tests.support.flows.shop import ShopHooks


def meeting_at_the_order(
    first: Callable[[], object],
    second: Callable[[], object],
    hooks: type[ShopHooks],
    checkout: Checkout | None,
) -> None:
    """The first, for whom the shop names a checkout, stands under its locks until the second waits for them.

    By monkeypatch, since nothing of the shop's runs under the locks.
    """
    entered, leave = Event(), Event()
    hooks.resolve = staticmethod(lambda order: None if entered.is_set() else checkout)

    def stop(*arguments: Any) -> Any:
        rows = locking.lock(*arguments)
        if not entered.is_set():
            entered.set()
            assert leave.wait(20)
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "lock", stop)
        threads = [in_background(first)]
        assert entered.wait(20)
        try:
            threads.append(in_background(second))
            await_waiting_locks()
        finally:
            leave.set()
            for thread in threads:
                thread.join()
