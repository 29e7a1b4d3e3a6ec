"""Orders computed anew from their evidence, batch by batch, and compared with their rows. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db import DatabaseError
from django.db.models import QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import locked, state_database, with_retries, write_transaction
from checkout_integration.flows.rebuild.comparing import NOT_SHOWN, FieldDifference, differences_of
from checkout_integration.flows.rebuild.evidence import Evidence, Gap, evidence_of
from checkout_integration.models import Order

Result = TypeVar("Result")
BATCH: Final = 200
RELATED: Final = ("checkout", "user", "personal_data", "items")
UNREADABLE: Final = FieldDifference(field="row", stored=NOT_SHOWN, recomputed="a row that can be read")


@dataclass(frozen=True, kw_only=True)
class RebuiltOrder:
    """An order that was computed anew.

    Attributes:
        project: the alias of its project.
        order_id: the service's id.
        differences: what its row has otherwise; empty if the row is what its evidence adds up to.
        gaps: what is missing of the evidence; with any, equal means only that nothing contradicts the row.

    """

    project: str
    order_id: str
    differences: tuple[FieldDifference, ...] = ()
    gaps: frozenset[Gap] = field(default_factory=frozenset)

    @property
    def is_proven(self) -> bool:
        """Whether the whole evidence is there, and the row is what it adds up to."""
        return not (self.differences or self.gaps)


def rebuild_orders(
    project: str = "default",
    *,
    order_ids: Collection[str] = (),
    date_from: datetime | None = None,
    date_to: datetime | None = None,
) -> Iterator[RebuiltOrder]:
    """Compute the orders of a project anew, and yield each, equal or not. Nothing is written.

    An order is computed from its stored notifications, and from what its row says of the list, its creation and decisions
    of staff. Two hundred orders are in memory at a time.

    Args:
        project: alias of the project.
        order_ids: only these; all without.
        date_from: only orders created then or later.
        date_to: only orders created then or earlier.

    Raises:
        UnknownAlias: the settings do not have the project.

    """
    configured = app_settings().project(project)
    orders = Order.objects.using(state_database()).filter(project=configured.alias)
    chosen: dict[str, Any] = {"created_at__gte": date_from, "created_at__lte": date_to}
    orders = orders.filter(**{name: value for name, value in chosen.items() if value is not None})
    if order_ids:
        orders = orders.filter(order_id__in=list(order_ids))
    for keys in _batches(orders):
        yield from _rebuilt(configured, keys)


def _batches(orders: QuerySet[Order]) -> Iterator[list[int]]:
    """Yield the keys of the orders, oldest first. Orders that are recorded meanwhile have greater keys, or are left out."""
    last = 0
    while keys := list(orders.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        yield keys
        last = keys[-1]


def _rebuilt(project: Project, keys: Sequence[int]) -> list[RebuiltOrder]:
    """Compare a batch.

    RACE: rows and notifications are read by several statements, and a notification may be applied in between. So what
    differs is looked at again under the locks of the orders, which its process has while it applies.
    """
    rows = Order.objects.using(state_database()).order_by("pk")
    found = with_retries(lambda: _compared(project, rows.filter(pk__in=keys)))
    if doubtful := [key for key, order in found.items() if order.differences]:
        found |= with_retries(lambda: _compared_locked(project, rows.filter(pk__in=doubtful)))
    return list(found.values())


def _compared_locked(project: Project, rows: QuerySet[Order]) -> dict[int, RebuiltOrder]:
    with write_transaction():
        return _compared(project, locked(rows))


def _compared(project: Project, rows: QuerySet[Order]) -> dict[int, RebuiltOrder]:
    orders = list(rows.prefetch_related(*RELATED))
    found = {
        row.pk: RebuiltOrder(project=row.project, order_id=row.order_id, differences=(UNREADABLE,))
        for row in orders
    }
    for evidence in _evidence(project, orders):
        differences = _readable(differences_of, project, evidence)
        if differences is not None:
            row, gaps = evidence.row, frozenset(evidence.gaps)
            found[row.pk] = RebuiltOrder(
                project=row.project, order_id=row.order_id, differences=differences, gaps=gaps
            )
    return found


def _evidence(project: Project, rows: Sequence[Order]) -> list[Evidence]:
    """Return the evidence of the orders whose rows can be read; one that cannot costs itself, not its batch."""
    together = _readable(evidence_of, project, rows)
    if together is not None:
        return together
    return [each for row in rows for each in _readable(evidence_of, project, [row]) or []]


def _readable(work: Callable[..., Result], *arguments: Any) -> Result | None:
    """Return the result; None where a row is not one that this app has written."""
    try:
        return work(*arguments)
    except DatabaseError:
        raise
    except Exception:  # noqa: BLE001  # whatever somebody has written into the row
        return None
