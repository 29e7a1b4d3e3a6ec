"""A refresh from the transaction list: of one order, of the orders of one checkout, or of all that is open of a period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from asgiref.sync import sync_to_async
from django.db.models import Q

from checkout_integration.client import Client
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import state_database
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.sync.lanes import Period
from checkout_integration.flows.sync.list_rows import record_page
from checkout_integration.flows.sync.service import client_for
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.drift import UNPAID
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage

MOST_BY_ID: Final = 50
"""How many open orders and checkouts are read one by one; for more, reading the list takes fewer requests."""


def refresh_order(order: Order) -> bool:
    """Refresh one order from the transaction list; return whether the service knows it.

    Raises ``CheckoutError`` when the call does not succeed.
    """
    project = app_settings().project(order.project)
    return _refresh(project, TransactionFilter(id=order.order_id, projects=[project.project_id]))


def refresh_checkout(checkout: Checkout) -> bool:
    """Refresh the orders of one checkout, which are found by its reference; return whether there is one.

    Raises ``CheckoutError`` when the call does not succeed.
    """
    project = app_settings().project(checkout.project)
    return _refresh(project, TransactionFilter(invoice_id=checkout.reference, projects=[project.project_id]))


async def arefresh_order(order: Order) -> bool:
    """Do what `refresh_order` does, from a coroutine: in a thread, as Django's own asynchronous calls do."""
    return await sync_to_async(refresh_order)(order)


async def arefresh_checkout(checkout: Checkout) -> bool:
    """Do what `refresh_checkout` does, from a coroutine."""
    return await sync_to_async(refresh_checkout)(checkout)


def _refresh(project: Project, query: TransactionFilter) -> bool:
    with client_for(project) as client:
        page = client.list_transactions(query)
    outcomes = record_page(project, page, Cause(source=Source.LIST), skip_unchanged=False)
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return bool(outcomes)


def open_pages(
    project: Project, client: Client, query: TransactionFilter, periods: Sequence[Period]
) -> Iterator[TransactionPage]:
    """Yield the pages that have the orders and checkouts of these periods that are not paid here.

    A few are read by their ids. Of more the periods are read: each order in that of its creation, whenever its checkout was
    recorded. Nothing is read where nothing is open.
    """
    queries = list(islice(_open_queries(project, periods), MOST_BY_ID + 1))
    if len(queries) <= MOST_BY_ID:
        yield from map(client.list_transactions, queries)
        return
    for begin, end in periods:
        yield from client.iter_transaction_pages(replace(query, date_from=begin, date_to=end))


def _open_queries(project: Project, periods: Sequence[Period]) -> Iterator[TransactionFilter]:
    """Yield a query for each checkout that can still be paid, and for each open order without such a checkout."""
    checkouts = Checkout.objects.using(state_database()).filter(
        _during("recorded_at", periods), project=project.alias, status__in=Checkout.PAYABLE
    )
    orders = Order.objects.using(state_database()).filter(
        _during("created_at", periods), project=project.alias, status__in=UNPAID
    )
    projects, few = [project.project_id], MOST_BY_ID + 1
    for reference in checkouts.values_list("reference", flat=True)[:few]:
        yield TransactionFilter(invoice_id=reference, projects=projects)
    for order_id in orders.exclude(checkout__in=checkouts).values_list("order_id", flat=True)[:few]:
        yield TransactionFilter(id=order_id, projects=projects)


def _during(column: str, periods: Sequence[Period]) -> Q:
    during = Q()
    for begin, end in periods:
        ends = {f"{column}__gte": begin, f"{column}__lte": end}
        during |= Q(**{name: moment for name, moment in ends.items() if moment is not None})
    return during
