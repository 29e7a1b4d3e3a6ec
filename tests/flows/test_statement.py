"""Statements that are composed once say what the queryset says, for any values, in any thread."""

from __future__ import annotations

import gc
import weakref
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models import QuerySet
from django.db.transaction import TransactionManagementError

from checkout_integration.flows.database.statement import ask
from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.flows.threads import at_work

pytestmark = pytest.mark.django_db

AWKWARD = ["plain", "100 %", "%s", "a'b", 'a"b', "a\\b", "--", "ключ", "😀"]


def named(*, references: list[str]) -> QuerySet[Checkout]:
    """A list of values."""
    return Checkout.objects.filter(reference__in=references).order_by("reference")


def of_project(*, project: str, reference: str) -> QuerySet[Checkout]:
    """Two values, and a join."""
    return Checkout.objects.filter(project=project, reference=reference).select_related("paid_order")


def since(*, moment: datetime) -> QuerySet[Checkout, tuple[str, datetime | None]]:
    """A moment; and rows that are no models."""
    return Checkout.objects.filter(paid_at__gte=moment).values_list("reference", "paid_at")


def test_values_are_never_taken_for_sql() -> None:
    """Each finds its own row, and lists of any length their rows."""
    rows = {each: CheckoutFactory(reference=each) for each in AWKWARD}
    for each in AWKWARD:
        assert ask(named, references=[each]) == [rows[each]]
    for count in range(len(AWKWARD) + 1):
        assert set(ask(named, references=AWKWARD[:count])) == {rows[each] for each in AWKWARD[:count]}


def test_rows_are_whole() -> None:
    """Columns are converted as ever, and what is joined is there without another statement."""
    paid = OrderFactory(checkout=CheckoutFactory(reference="paid")).checkout
    (row,) = ask(of_project, project=paid.project, reference="paid")
    (same,) = of_project(project=paid.project, reference="paid")
    assert row.__dict__.keys() == same.__dict__.keys()
    assert (row, row.expected_amount, row.paid_at) == (same, same.expected_amount, same.paid_at)
    assert row._state.fields_cache.keys() == same._state.fields_cache.keys()


def test_one_composition_serves_all_values() -> None:
    """The function is called once for lists of about one length."""
    lengths = []

    def counted(*, references: list[str]) -> QuerySet[Checkout]:
        lengths.append(len(references))
        return named(references=references)

    for count in (1, 1, 2, 0, 2, 3, 4, 5, 8, 7):
        assert not ask(counted, references=[str(number) for number in range(count)])
    assert lengths == [1, 2, 0, 4, 8]


def test_moments_are_compared_as_moments() -> None:
    """To the microsecond, in whatever zone they are told."""
    moment = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    CheckoutFactory(reference="a", paid_at=moment)
    told = [moment, moment.astimezone(timezone(timedelta(hours=-5))), moment + timedelta(microseconds=1)]
    assert [ask(since, moment=each) for each in told] == [[("a", moment)], [("a", moment)], []]


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_over_its_own_connection() -> None:
    """What one thread has composed serves the others."""
    CheckoutFactory(reference="a")
    found: list[list[Checkout]] = []

    def work() -> None:
        found.extend(ask(named, references=["a"]) for _ in range(20))

    with at_work(4, work):
        work()
    assert [[each.reference for each in rows] for rows in found] == [["a"]] * 100


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_connection_ends_with_the_thread_that_composed() -> None:
    """What is kept does not hold on to it."""
    wrappers: list[weakref.ref[Any]] = []

    def composed_here(*, references: list[str]) -> QuerySet[Checkout]:
        return named(references=references)

    def work() -> None:
        ask(composed_here, references=["a"])
        wrappers.append(weakref.ref(connections["default"]))

    with at_work(1, work):
        pass
    gc.collect()
    assert [wrapper() for wrapper in wrappers] == [None]


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_locks_are_refused_outside_of_a_transaction() -> None:
    """Each time, as by Django: they would last for the statement only."""

    def locked(*, references: list[str]) -> QuerySet[Checkout]:
        return named(references=references).select_for_update()

    with transaction.atomic():
        ask(locked, references=["a"])
    with pytest.raises(TransactionManagementError):
        ask(locked, references=["a"])
