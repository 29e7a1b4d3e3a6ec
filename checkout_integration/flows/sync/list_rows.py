"""Rows of the transaction list, recorded by the ledger if they have changed since they were last read.

`record_page` records the rows of a pass; `refresh_order` and `refresh_checkout` read and record those of one order now, and
`fetch_orders` those of an order that is not here yet, `fetch_newest` those that were made last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import Final, TypeAlias

from django.utils.crypto import salted_hmac

from checkout_integration.client.errors import BadRequest, NotFound, ResponseUnreadable
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.database import (
    KEY_LENGTH,
    end_incidents,
    in_halves,
    in_transaction,
    key_about_order,
    key_of,
    open_incidents,
    upsert,
    write_transaction,
)
from checkout_integration.flows.ledger import Cause, Outcome, Step, log_change
from checkout_integration.flows.sync import differences
from checkout_integration.flows.sync.service import client_for
from checkout_integration.flows.sync.watermark import LaneTaken
from checkout_integration.models import Checkout, Incident, ListedRow, Order, SyncDifference
from checkout_integration.policy.log_safety import error_location
from checkout_integration.policy.modes import is_testing_case
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import MOST_AHEAD
from checkout_integration.policy.state import RULES_VERSION
from checkout_integration.protocol.exact_names import problem_of, unclear_name
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage, TransactionRow
from checkout_integration.protocol.responses import MalformedResponse

logger = logging.getLogger("checkout_integration.sync")
KeyAndHash: TypeAlias = tuple[str, str]
ReadRow: TypeAlias = tuple[Step, ListedRow]
"""A row to record: its step, and its hash, which is stored when the step is committed."""
SHORTEST_CALL: Final = 0.1
"""Seconds that the last calls of a question have at least; the client takes no time-out of zero."""
NEWEST: Final = timedelta(days=1)
MOST_NEWEST: Final = 100
NOT_APPLIED: Final = "not_applied"


def read_at(page: TransactionPage) -> datetime | None:
    """Return the service's time of a page, at most a little ahead of ours: a wrong time must not outrank all later ones."""
    return min(page.date, datetime.now(UTC) + MOST_AHEAD) if page.date else None


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page in progress: what its rows are recorded for and under which condition. ``now`` is the service's time of it."""

    project: Project
    cause: Cause
    guard: Callable[[], None]
    now: datetime


def record_page(
    project: Project,
    page: TransactionPage,
    cause: Cause,
    *,
    skip_unchanged: bool = True,
    guard: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Record the rows of a page in one transaction, and return an outcome for each that was read or cannot be read.

    A row that our rules or the database refuse opens an incident; the others are recorded. What the database refuses is found
    by recording halves. ``guard`` is called last in each transaction, so that what it locks is free for other workers
    meanwhile; an exception of it rolls the transaction back.
    """
    about = Page(project=project, cause=cause, guard=guard, now=read_at(page) or datetime.now(UTC))
    listed = _listed(project, page.rows)
    known = _known(listed)
    changed = [
        (row, now)
        for row, now in zip(page.rows, listed, strict=True)
        if (now[0], ListedRow.DELETED) not in known and not (skip_unchanged and now in known)
    ]
    rows, unread = _read(about, changed, page)
    for order_id, error in unread.items():
        _open_incident(about.project, order_id, error)
    outcomes = _recorded(about, rows)
    _store_unrecorded(about, rows, outcomes, list(unread))
    return outcomes + [Outcome(error=error) for error in unread.values()]


def record_missed(project: Project, cause: Cause, guard: Callable[[], None], *, read_whole: bool) -> None:
    """Record again the reversals that wait although their orders are known, wait too, or are they (`missed_reversals`).

    Two windows are often read at once, and a refund may stand in the one and its payment in the other.
    """
    about = Page(project=project, cause=cause, guard=guard, now=datetime.now(UTC))
    # With an empty hash: a reversal that waits has no personal data, so the next pass reads its row again.
    rows = [
        (
            Step(observation=each, cause=cause),
            ListedRow(key=key_of(project.alias, each.order.id), row_hash=""),
        )
        for each in ledger.missed_reversals(project, read_whole=read_whole)
    ]
    _recorded(about, rows)


def _recorded(about: Page, rows: Sequence[ReadRow]) -> list[Outcome]:
    """Return an outcome for each row; one with an error opens an incident."""
    if not rows:
        return []
    outcomes = in_halves(
        rows, partial(_record, about), lambda row, error: [Outcome(error=error)], unless=LaneTaken
    )
    for change in {id(outcome.change): outcome.change for outcome in outcomes if outcome.change}.values():
        if change.changed:
            log_change(change)
    for (step, _), outcome in zip(rows, outcomes, strict=True):
        if outcome.error is not None:
            _open_incident(about.project, step.order_id, outcome.error)
    return outcomes


def compare_page(project: Project, page: TransactionPage) -> list[SyncDifference]:
    """Return what differs between the rows of a page and the orders here. Nothing is written."""
    cause, now = Cause(source=Source.LIST), read_at(page) or datetime.now(UTC)
    about = Page(project=project, cause=cause, guard=lambda: None, now=now)
    listed = _listed(project, page.rows)
    known = _known(listed)
    left = [
        each for each in zip(page.rows, listed, strict=True) if (each[1][0], ListedRow.DELETED) not in known
    ]
    rows, unread = _read(about, left, page)
    found = [differences.unreadable(project, order_id) for order_id in unread]
    return found + differences.unrecorded(project, [step for step, _ in rows], now)


def _listed(project: Project, rows: Sequence[TransactionRow]) -> list[KeyAndHash]:
    """Return key and hash of each row's bytes; keyed, so without Django's SECRET_KEY nobody can test guesses of them."""
    key = salted_hmac(f"checkout_integration.listed_row.{RULES_VERSION}", "", algorithm="sha256").digest()
    return [
        (
            key_of(project.alias, row.id),
            blake2b(row.content, key=key, digest_size=KEY_LENGTH // 2).hexdigest(),
        )
        for row in rows
    ]


def _known(listed: Sequence[KeyAndHash]) -> set[KeyAndHash]:
    """Return the keys and hashes that were stored when these rows were last read."""
    return set(ListedRow.primary.filter(key__in={key for key, _ in listed}).values_list("key", "row_hash"))


def _read(
    about: Page, changed: Sequence[tuple[TransactionRow, KeyAndHash]], page: TransactionPage
) -> tuple[list[ReadRow], dict[str, MalformedResponse]]:
    """Return the rows to record, and the ids of those that cannot be read, each with the reason."""
    rows: list[ReadRow] = []
    unread: dict[str, MalformedResponse] = {}
    for row, (key, row_hash) in changed:
        try:
            step = _step_of(page, row, about.cause, about.project.reference_key)
        except MalformedResponse as error:
            unread[row.id] = error
        else:
            rows += [(step, ListedRow(key=key, row_hash=row_hash))] if step else []
    return rows, unread


def _step_of(page: TransactionPage, row: TransactionRow, cause: Cause, reference_key: str) -> Step | None:
    """Return the step of a row; None for a test of the webhook, or a row without an id. Raises MalformedResponse."""
    order = row.order
    if name := unclear_name(order.document, reference_key):
        raise MalformedResponse(problem_of(name))
    if not order.id or is_testing_case(order.document):
        return None
    observation = Observation(source=Source.LIST, order=order, observed_at=read_at(page))
    return Step(observation=observation, cause=cause)


def _record(about: Page, rows: Sequence[ReadRow]) -> list[Outcome]:
    """Record rows in one transaction, together with their hashes, and with what differed before."""
    steps = [step for step, _ in rows]
    advice = ledger.consult_hooks(about.project, steps)

    @in_transaction
    def record() -> list[Outcome]:
        outcomes = ledger.record(about.project, steps, advice)
        # A row without a change has failed, or waits for its order: its hash is not stored, so each pass reads it again.
        done = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome.change is not None]
        upsert(list({listed.key: listed for _, listed in done}.values()), "key", update=("row_hash",))
        ids = [step.order_id for step, _ in done]
        end_incidents({key_about_order(about.project.alias, order_id, NOT_APPLIED) for order_id in ids})
        if about.cause.sync_run is not None:
            found = differences.recorded(about.project, steps, outcomes, about.now)
            differences.store(about.cause.sync_run, ids, found)
        about.guard()
        return outcomes

    return record()


def _store_unrecorded(
    about: Page, rows: Sequence[ReadRow], outcomes: Sequence[Outcome], unread: Sequence[str]
) -> None:
    """Store what differs in the rows that were not recorded: they failed, wait for their orders, or cannot be read."""
    run = about.cause.sync_run
    left = [step for (step, _), outcome in zip(rows, outcomes, strict=True) if outcome.change is None]
    if run is None or not (left or unread):
        return
    found = differences.unrecorded(about.project, left, about.now) if left else []
    found += [differences.unreadable(about.project, order_id) for order_id in unread]
    with write_transaction():
        differences.store(run, [*unread, *(step.order_id for step in left)], found)
        about.guard()


def _open_incident(project: Project, order_id: str, error: Exception) -> None:
    ids = {"project": project.alias, "order_id": order_id}
    logger.error("Order %r of the list could not be recorded: %s", order_id, error_location(error), extra=ids)
    incident = Incident(
        key=key_about_order(project.alias, order_id, NOT_APPLIED),
        kind=NOT_APPLIED,
        project=project.alias,
        # Of a row that cannot be read the text says which of our rules it breaks, and repeats nothing of it.
        detail=f"{error if isinstance(error, MalformedResponse) else type(error).__name__} at order {order_id}",
    )
    open_incidents([incident])


def fetch_orders(text: str, *, seconds: float) -> bool:
    """Read the orders that the service has under this text now, and record them; return whether there is any.

    By the service's id of an order, the reference of a checkout, or the customer's id in this shop, project after project.
    ``seconds`` is the time for all of it: somebody waits. Raises ``CheckoutError`` when a call does not succeed.
    """
    ends_at = monotonic() + seconds
    for project in app_settings().projects.values():
        own = TransactionFilter(projects=[project.project_id])
        queries = [replace(own, id=text), replace(own, account=text)]
        if project.list_invoice_id:
            queries.insert(1, replace(own, invoice_id=text))
        for query in queries:
            left = max(ends_at - monotonic(), SHORTEST_CALL)
            try:
                found = _refresh(replace(project, timeout=min(project.timeout, left)), query)
            except (BadRequest, NotFound):  # a text that is no id of the service may be something else
                continue
            if found:
                return True
    return False


def fetch_newest(*, seconds: float) -> None:
    """Read the newest orders of the last day from each project's list, and record them: at most `MOST_NEWEST` of each.

    For a text that the service knows nothing of, such as an e-mail address. ``seconds`` and errors as of `fetch_orders`.
    """
    ends_at, since = monotonic() + seconds, datetime.now(UTC) - NEWEST
    for project in app_settings().projects.values():
        query = TransactionFilter(projects=[project.project_id], date_from=since, limit=MOST_NEWEST)
        for _page in range(2):  # the oldest come first: the number of rows says where the newest are
            left = max(ends_at - monotonic(), SHORTEST_CALL)
            with client_for(replace(project, timeout=min(project.timeout, left))) as client:
                page = client.list_transactions(query)
            more = (page.count or 0) - MOST_NEWEST
            if more <= 0 or query.offset:
                break
            query = replace(query, offset=more)
        _record_fetched(project, page)


def refresh_order(order: Order, *, seconds: float | None = None) -> bool:
    """Refresh one order from the transaction list; return whether the service knows it.

    ``seconds``: the time for it, where that is less than TIMEOUT. Raises ``CheckoutError`` when the call does not succeed.
    """
    project = app_settings().project(order.project)
    if seconds is not None:
        project = replace(project, timeout=min(project.timeout, seconds))
    return _refresh(project, TransactionFilter(id=order.order_id, projects=[project.project_id]))


def refresh_checkout(checkout: Checkout) -> bool:
    """Refresh the orders of one checkout, found by its reference, else its own; return whether there is one.

    Raises ``CheckoutError`` when the call does not succeed.
    """
    project = app_settings().project(checkout.project)
    projects, by_reference = [project.project_id], bool(project.list_invoice_id)
    if by_reference and _refresh(
        project, TransactionFilter(invoice_id=checkout.reference, projects=projects)
    ):
        return True
    if not checkout.order_id or not _refresh(
        project, TransactionFilter(id=checkout.order_id, projects=projects)
    ):
        return False
    if by_reference:
        # EP3-09 does not say what `invoice_id` is compared with.
        logger.warning(
            "The transaction list found an order by its id, and not by the checkout's reference as invoice_id. If this is "
            'always so, set LIST_INVOICE_ID to "".',
            extra={"project": project.alias, "order_id": checkout.order_id},
        )
    return True


def _refresh(project: Project, query: TransactionFilter) -> bool:
    with client_for(project) as client:
        page = client.list_transactions(query)
    return _record_fetched(project, page)


def _record_fetched(project: Project, page: TransactionPage) -> bool:
    outcomes = record_page(project, page, Cause(source=Source.LIST), skip_unchanged=False)
    for outcome in outcomes:
        if isinstance(outcome.error, MalformedResponse):
            raise ResponseUnreadable(str(outcome.error), retry_is_safe=True)
        if outcome.error is not None:
            raise outcome.error
    return bool(outcomes)
