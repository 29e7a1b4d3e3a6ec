"""The drift report: what differed between the transaction list and this shop, found while a pass records the list.

`recorded` compares the rows that a page recorded, `unrecorded` those that it did not; `store` writes what they found, in the
page's transaction. `drift_report` reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, Final, NamedTuple

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When

from checkout_integration.conf import Project
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    insert_missing,
    key_of,
    write_transaction,
)
from checkout_integration.flows.ledger import OrderChange, Outcome, Step
from checkout_integration.models import Order, Refund, SyncDifference, SyncRun
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.drift import (
    UNREADABLE,
    Difference,
    DifferenceKind,
    differences,
    text_of_state,
)
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.state import NOTHING
from checkout_integration.policy.totals import ListedWindow, Totals, compared
from checkout_integration.protocol.listing import TransactionPage
from checkout_integration.protocol.order import Order as Document
from checkout_integration.protocol.vocabulary import OrderStatus

MOST: Final = 10_000
"""How many differences of one pass are listed."""
CHUNK: Final = 500


def recorded(
    project: Project, steps: Sequence[Step], outcomes: Sequence[Outcome], now: datetime
) -> list[SyncDifference]:
    """Return what differed before these rows were recorded, and whether it still does. Nothing is read.

    ``now`` is the service's time of their page. Orders from before the installation are left out when they are first seen.
    """
    rows: dict[int, list[Document]] = {}
    changes: dict[int, OrderChange] = {}
    for step, outcome in zip(steps, outcomes, strict=True):
        if outcome.change is not None:
            changes[id(outcome.change)] = outcome.change
            rows.setdefault(id(outcome.change), []).append(step.observation.order)
    since = stamp(now - project.list_delta)
    return [
        _row(project.alias, change.order_id, each)
        for key, change in changes.items()
        if not (change.is_new and change.silent)
        for each in differences(
            change.order_id, None if change.is_new else change.before, change.after, rows[key], since
        )
    ]


def unrecorded(project: Project, steps: Sequence[Step], now: datetime) -> list[SyncDifference]:
    """Return what differs between the orders here and rows that were not recorded. Nothing is locked or written."""
    rows: dict[str, list[Document]] = defaultdict(list)
    for step, known in zip(steps, ledger.assign(project, steps), strict=True):
        rows[(known or step).order_id].append(step.observation.order)
    states = {row.order_id: ledger.state_of(row) for row in ledger.named_orders(project, list(rows))}
    since = stamp(now - project.list_delta)
    return [
        _row(project.alias, order_id, replace(each, healed=False))
        for order_id, documents in rows.items()
        for each in differences(
            order_id, states.get(order_id), states.get(order_id, NOTHING), documents, since
        )
    ]


def unreadable(project: Project, order_id: str) -> SyncDifference:
    """Return the difference of a row that cannot be read."""
    unknown = Difference(kind=DifferenceKind.UNKNOWN, here="", there=UNREADABLE, healed=False)
    return _row(project.alias, order_id, unknown)


def _row(project: str, order_id: str, difference: Difference) -> SyncDifference:
    here, there = as_column_text(difference.here, 128), as_column_text(difference.there, 128)
    waits = (project, difference.kind, order_id, here, there)
    key = None if difference.healed else key_of("difference", *waits)
    return SyncDifference(
        project=project,
        kind=difference.kind.value,
        order_id=as_column_text(order_id),
        here=here,
        there=there,
        state=SyncDifference.State.HEALED if difference.healed else SyncDifference.State.WAITING,
        waiting_key=key,
        found_at=datetime.now(UTC),
    )


def store(run: SyncRun, order_ids: Iterable[str], found: Sequence[SyncDifference]) -> None:
    """Write what was found about these orders. In the transaction of their page, so that it is found once.

    Earlier differences of these orders that were not found again are healed. One that still waits stays as it was.
    """
    again = [each.waiting_key for each in found if each.waiting_key]
    if ids := sorted({as_column_text(each) for each in order_ids}):
        waiting = SyncDifference.primary.filter(
            project=run.project, order_id__in=ids, waiting_key__isnull=False
        )
        _heal(waiting.exclude(waiting_key__in=again))
    if found:
        for each in found:
            each.run = run
        insert_missing(found[: max(MOST - _of(run).count(), 0)], "waiting_key")


def _of(run: SyncRun) -> QuerySet[SyncDifference]:
    return SyncDifference.primary.filter(run=run)


# At the end of a window: the orders here that the list did not give, and the totals of both sides.


def compare_window(run: SyncRun, listed: ListedWindow, guard: Callable[[], None]) -> list[dict[str, Any]]:
    """Store which orders here the list did not give in a window, and return the totals of both sides.

    Once, at the end of a complete window without a filter by status. There are totals only if ``listed`` has counted them.
    """
    missing, totals = compared_window(run, listed)
    waiting = _waiting(run.project).filter(kind=DifferenceKind.MISSING_THERE)[:MOST]
    given = [each.pk for each in waiting if each.order_id in listed.ids]
    if missing or given:
        with write_transaction():
            store(run, [], missing)
            _heal(SyncDifference.primary.filter(pk__in=given))
            guard()
    return totals


def compared_window(run: SyncRun, listed: ListedWindow) -> tuple[list[SyncDifference], list[dict[str, Any]]]:
    """Return the orders here that the list did not give, and the totals of both sides. Nothing is written."""
    if listed.begin is None:
        return [], []
    orders = Order.primary.filter(
        project=run.project, created_at__gte=listed.begin, created_at__lte=listed.end
    )
    missing = list(islice(_missing_there(orders, listed), MOST))
    if listed.latest is None:
        return missing, []
    _count_reversed(run, listed)
    return missing, compared(listed.there, _totals_of(orders, listed.latest))


def _missing_there(orders: QuerySet[Order], listed: ListedWindow) -> Iterator[SyncDifference]:
    """Yield the orders that the list did not give.

    It may leave out an order that nobody has paid, and may lag behind one that has just changed.
    """
    just_now = datetime.now(UTC) - listed.margin
    old = orders.exclude(status=OrderStatus.CREATED).filter(changed_at__lt=just_now)
    begin, last = listed.begin, 0
    # Chunk by chunk: some drivers read whole results into memory.
    while chunk := list(
        old.filter(Q(created_at__gt=begin) | Q(created_at=begin, pk__gt=last), created_at__gte=begin)
        .order_by("created_at", "pk")
        .values_list("created_at", "pk", "order_id")[: CHUNK * 10]
    ):
        begin, last = chunk[-1][0], chunk[-1][1]
        ids = [order_id for _, _, order_id in chunk if order_id not in listed.ids]
        for row in old.filter(order_id__in=ids).select_related("personal_data") if ids else ():
            here = text_of_state(ledger.state_of(row))
            missing = Difference(kind=DifferenceKind.MISSING_THERE, here=here, there="", healed=False)
            yield _row(row.project, row.order_id, missing)


def _totals_of(orders: QuerySet[Order], latest: datetime) -> Totals:
    """Return the totals here; an order whose reversal is a row of its own is counted as paid, as the list shows it."""
    documented = Refund.objects.exclude(document_id="").exclude(order=None).values("order")
    paid = When(status__in=REVERSALS, pk__in=documented, then=Value(OrderStatus.PROCESSED.value))
    groups = (
        orders.filter(created_at__lte=latest)
        .values("currency", shown=Case(paid, default=F("status")))
        .annotate(count=Count("pk"), known=Count("amount"), sum=Sum("amount"))
    )
    totals = Totals()
    for group in groups.order_by():
        amount = None if group["sum"] is None else Decimal(str(group["sum"]))
        unknown = group["count"] - group["known"]
        totals.add(group["currency"], group["shown"], amount, group["count"], unknown)
    return totals


def add_page(run: SyncRun, listed: ListedWindow, page: TransactionPage) -> None:
    """Add a page to what the list gave in a window, after it was recorded. Its rows are not parsed."""
    listed.add(page.rows)
    if len(listed.reversed) >= CHUNK:
        _count_reversed(run, listed)


def _count_reversed(run: SyncRun, listed: ListedWindow) -> None:
    """Count the reversed orders. A reversal that is a row of its own is no order, even if its order is not known yet."""
    documents = _documents_of(run.project, [order_id for order_id, *_ in listed.reversed])
    for order_id, currency, status, amount in listed.reversed:
        if order_id not in documents.own | documents.waiting:
            shown = OrderStatus.PROCESSED if order_id in documents.owners else status
            listed.there.add(currency, shown, amount)
    listed.reversed.clear()


def _heal(rows: QuerySet[SyncDifference]) -> None:
    rows.update(state=SyncDifference.State.HEALED, waiting_key=None)


def look_again(run: SyncRun) -> None:
    """Heal what waits in the project of a pass and is gone by now. At the end of a complete pass.

    A notification or a member of staff may have removed it, or a later page explained it.
    """
    waiting = _waiting(run.project).filter(kind__in=(DifferenceKind.MISSING_HERE, DifferenceKind.STATUS))
    found = list(waiting.order_by("pk")[:MOST])
    for begin in range(0, len(found), CHUNK):
        _look_again_at(run.project, found[begin : begin + CHUNK])


def _look_again_at(project: str, waiting: Sequence[SyncDifference]) -> None:
    ids = {each.order_id for each in waiting}
    orders = Order.primary.filter(project=project, order_id__in=ids)
    status_of = dict(orders.values_list("order_id", "status"))
    documents = _documents_of(project, ids)
    gone, explained = [], []
    for each in waiting:
        status = status_of.get(each.order_id)
        if each.kind == DifferenceKind.MISSING_HERE:
            gone += [each.pk] if status or each.order_id in documents.own else []
        elif status == each.there.partition(" ")[0]:
            gone.append(each.pk)
        elif status in REVERSALS and each.order_id in documents.owners:
            explained.append(each.pk)
    _heal(SyncDifference.primary.filter(pk__in=gone))
    # It never was one: the service leaves the order's row as it was, and shows its reversal as a row of its own.
    SyncDifference.primary.filter(pk__in=explained).delete()


class Documents(NamedTuple):
    """Of some ids those of reversal documents with a known order, those that wait for it, and those of such orders."""

    own: set[str]
    waiting: set[str]
    owners: set[str]


def _documents_of(project: str, ids: Iterable[str]) -> Documents:
    refunds = Refund.primary.exclude(document_id="")
    keys = [key_of("document", project, each) for each in ids]
    found = dict(refunds.filter(key__in=keys).values_list("document_id", "order"))
    own = {document_id for document_id, order in found.items() if order}
    owners = refunds.filter(order__project=project, order__order_id__in=ids)
    return Documents(own, set(found) - own, set(owners.values_list("order__order_id", flat=True)))


def _waiting(project: str) -> QuerySet[SyncDifference]:
    rows = SyncDifference.primary.all()
    return rows.filter(project=project, state=SyncDifference.State.WAITING)


# The report.


@dataclass(frozen=True, kw_only=True)
class DriftReport:
    """What a pass found to differ between the transaction list and this shop, before it recorded the list.

    Attributes:
        run: the pass; of a dry run it is not saved.
        differences: what this pass found, each with its state now. After 10,000 of them no more are listed.
        earlier: what earlier passes of the project found and still waits.

    """

    run: SyncRun
    differences: Sequence[SyncDifference]
    earlier: Sequence[SyncDifference] = ()

    @property
    def totals_agree(self) -> bool:
        """Whether count and sum are equal here and there, in each currency and status; they are compared in lane ``all``."""
        return all(line["here"] == line["there"] for line in self.run.totals)

    @property
    def waiting(self) -> list[SyncDifference]:
        """The differences that no pass has removed: somebody should look at them."""
        return [each for each in (*self.earlier, *self.differences) if each.waiting_key]

    @property
    def counts(self) -> dict[str, int]:
        """How many differences of each kind this pass found; only kinds that there are."""
        kinds = [each.kind for each in self.differences]
        return {kind.value: kinds.count(kind) for kind in DifferenceKind if kind in kinds}

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON: lists, texts, numbers and null."""
        return {
            "run": self.run.pk,
            "project": self.run.project,
            "lane": self.run.lane,
            "state": str(self.run.state),
            "counts": self.counts,
            "waiting": len(self.waiting),
            "totals_agree": self.totals_agree,
            "totals": self.run.totals,
            "differences": [_as_json(each) for each in self.differences],
            "earlier": [_as_json(each) for each in self.earlier],
        }


def _as_json(difference: SyncDifference) -> Mapping[str, str]:
    names = ("kind", "order_id", "here", "there", "state")
    return {name: str(getattr(difference, name)) for name in names} | {
        "found_at": difference.found_at.isoformat()
    }


def drift_report(run: SyncRun) -> DriftReport:
    """Return what this pass found to differ, and what still waits from earlier passes of its project."""
    if run._state.adding:
        return DriftReport(run=run, differences=run.compared)
    return DriftReport(
        run=run,
        differences=list(_of(run).order_by("pk")),
        earlier=list(_waiting(run.project).exclude(run=run).order_by("pk")[:MOST]),
    )
