"""Reading the transaction list: our passes beside dj-stripe's sync, and COPY as the limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection

from benchmarks import goals, peer, product
from benchmarks.figures import Effort
from benchmarks.processes import LIST, STUB, figures_of
from benchmarks.product import NotMeasured
from benchmarks.ratios import Figures
from benchmarks.service import PRODUCTS, reference_of
from benchmarks.vacuum import vacuumed

TENTH = 10


class Series:
    """Readings that follow each other on the same tables; the one that a round measures first lets all of them run.

    With ``once`` later rounds have the same figures.
    """

    def __init__(
        self, names: Sequence[str], read: Callable[[], Sequence[Figures]], *, once: bool = False
    ) -> None:
        self._names, self._read, self._once = names, read, once
        self._ready: dict[str, Figures] = {}

    def measurements(self) -> dict[str, Callable[[], Figures]]:
        """Return a measurement for each of them."""
        return {name: partial(self._figures, name) for name in self._names}

    def _figures(self, name: str) -> Figures:
        if name not in self._ready:
            self._ready = dict(zip(self._names, self._read(), strict=True))
        return self._ready[name] if self._once else self._ready.pop(name)


def measurements(service: str, effort: Effort) -> Mapping[str, Callable[[], Figures]]:
    """Return how each is measured; a long list is read once."""
    few, many = effort.few, effort.many
    series = (
        Series((goals.PEER_FIRST, goals.PEER_AGAIN), partial(_peers, few)),
        Series(goals.PASSES, partial(_ours, service, few)),
        Series((goals.OLD,), partial(_old, service, few)),
        Series((goals.COPY,), partial(_copied, service, few)),
        Series(goals.PASSES_OF_MANY, partial(_ours, service, many), once=True),
        Series((goals.MANY_COPY,), partial(_copied, service, many), once=True),
    )
    return {name: measure for each in series for name, measure in each.measurements().items()}


def _peers(count: int) -> Sequence[Figures]:
    """Let dj-stripe read so many charges, twice. Raises NotMeasured where it is not installed."""
    if not apps.is_installed("djstripe"):
        raise NotMeasured("dj-stripe is not installed")
    peer.empty()
    figures = [_read("peer", count, {STUB: f"{os.environ[STUB]}/{count}"}) for _ in range(2)]
    _expect("stored by dj-stripe", peer.handled(), count)
    return figures


def _ours(service: str, count: int) -> Sequence[Figures]:
    """Read a list of which every notification was lost; read it again; and once more after a tenth was refunded."""
    product.empty()
    product.make_checkouts(map(reference_of, range(count)), PRODUCTS)
    paid, refunded = ({LIST: f"{service}/{count}/{each}"} for each in (0, TENTH))
    first = _read("ours", count, paid)
    _expect("verified", product.verified(), count)
    again = _read("ours", count, paid)
    _expect("changed though the list was not", product.changed_by_the_last_pass(), 0)
    changed = _read("ours", count, refunded)
    _expect("refunded", product.refunded(), len(range(0, count, TENTH)))
    return [first, again, changed]


def _old(service: str, count: int) -> Sequence[Figures]:
    """Read the list of a shop that has just installed the app: no signals are sent."""
    product.empty()
    product.install_now()
    figures = _read("ours", count, {LIST: f"{service}/{count}/0"})
    _expect("historic", product.historic(), count)
    return [figures]


def _copied(service: str, count: int) -> Sequence[Figures]:
    """Copy the same list into a plain table. Raises NotMeasured on other databases than PostgreSQL."""
    from benchmarks.site.models import CopiedOrder

    if connection.vendor != "postgresql":
        raise NotMeasured("COPY is a command of PostgreSQL")
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), [CopiedOrder._meta.db_table]))
    figures = _read("copy", count, {LIST: f"{service}/{count}/0"})
    _expect("copied", CopiedOrder._default_manager.count(), count)
    return [figures]


def _read(who: str, count: int, environment: Mapping[str, str]) -> Figures:
    with vacuumed():
        return figures_of(["benchmarks.reader", who, str(count)], environment)


def _expect(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise RuntimeError(f"{found} orders are {what}; {expected} should be")
