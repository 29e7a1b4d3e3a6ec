"""Receivers that are interrupted at their end, as by a lost connection: nothing may be left of their attempt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from checkout_integration.flows.outbox import AT_END, make_due_now
from checkout_integration.models import ReceiverRun

__all__ = [
    "interrupted_receivers",
]


class Interrupted(Exception):
    """The exception that ends an attempt inside `interrupted_receivers`."""


@contextmanager
def interrupted_receivers() -> Iterator[None]:
    """Let each receiver that runs in the block fail after its last line, so that its transaction is rolled back.

    After the block their runs are due again: ``flows.run_due()`` calls the receivers a second time. What was sent in the
    block, such as an e-mail, was sent for goods that nobody has, and is sent twice. The block fails where no receiver ran.
    """
    interrupted: list[int] = []

    def interrupt(run: ReceiverRun) -> None:
        interrupted.append(run.pk)
        raise Interrupted

    AT_END.append(interrupt)
    try:
        yield
    finally:
        AT_END.remove(interrupt)
    assert interrupted, (
        "No receiver came to its end in the block: none is connected, none was due, or each failed by itself."
    )
    make_due_now(ReceiverRun.objects.filter(pk__in=interrupted))
