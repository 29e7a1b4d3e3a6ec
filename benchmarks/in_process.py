"""What the steps cost without a server: one thread, this process's own processor time and the database's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from django.core.wsgi import get_wsgi_application

from benchmarks import payments, peer, product
from benchmarks.figures import Effort, timed
from benchmarks.messages import Message, handle
from benchmarks.product import NotMeasured


class InProcess:
    """The site's application in this process, whose work is left to a worker."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._application = get_wsgi_application()

    def insert(self) -> dict[str, float]:
        """Verify and store, through all of Django but its server."""
        return self._measured(payments.of_nothing("/insert/", self._effort.batched))

    def peer(self) -> dict[str, float]:
        """Let dj-stripe handle events."""
        return self._measured(peer.events(self._effort.alone))

    def accept(self) -> dict[str, float]:
        """Let our webhook take payments."""
        product.empty()
        return self._measured(payments.of_new_checkouts(self._effort.batched))

    def apply(self, batch: int) -> dict[str, float]:
        """Apply stored payments, so many at a time."""
        count = self._effort.alone if batch == 1 else max(batch, self._effort.batched)
        self._store(count)
        figures = timed(lambda: product.apply_due(batch), count)
        if product.verified() != count:
            raise RuntimeError(f"{product.verified()} of {count} payments were applied and verified")
        return figures

    def run(self, limit: int) -> dict[str, float]:
        """Run one receiver of each payment, at most so many at a time."""
        count = self._effort.alone if limit == 1 else self._effort.batched
        self._store_applied(count)
        figures = timed(lambda: _until_nothing(lambda: product.run_due(limit)), count)
        if product.completed() != count:
            raise RuntimeError(f"{product.completed()} of {count} receiver runs are done")
        return figures

    def size(self) -> dict[str, float]:
        """Tell how many bytes a payment has in the tables at its end; what they take while they are empty is a part of it."""
        count = self._effort.stored
        self._store_applied(count)
        _until_nothing(lambda: product.run_due(limit=200))
        if product.completed() != count:
            raise RuntimeError(f"{product.completed()} of {count} receiver runs are done")
        return {"bytes": product.room() / count}

    def _store_applied(self, count: int) -> None:
        self._store(count)
        with suppress(NotMeasured):  # they were applied when they were stored
            product.apply_due(batch=100)

    def _store(self, count: int) -> None:
        product.empty()
        self._send(payments.of_new_checkouts(count))

    def _measured(self, messages: Sequence[Message]) -> dict[str, float]:
        return timed(lambda: self._send(messages), len(messages))

    def _send(self, messages: Sequence[Message]) -> None:
        statuses = {handle(self._application, message) for message in messages}
        if statuses != {"200"}:
            raise RuntimeError(f"{messages[0].path} answered {', '.join(sorted(statuses))}")


def _until_nothing(run: Callable[[], int]) -> None:
    while run():
        pass
