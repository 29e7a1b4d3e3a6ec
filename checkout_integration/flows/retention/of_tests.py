"""Delete test data: test checkouts, test payments, and what belongs to them. See docs/retention.md.

It is the one exception to a history that only grows. A checkout that takes tests and has an order that is no test stays, with
all that belongs to it, and so does a test payment that staff accepted for a checkout that is no test. Hashes of the orders'
ids stay too: a notification or a row of the list about one of them is skipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import (
    PROTECT,
    RESTRICT,
    Exists,
    ManyToOneRel,
    Model,
    OuterRef,
    ProtectedError,
    Q,
    QuerySet,
    RestrictedError,
)
from django.utils.translation import gettext as _

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    in_transaction,
    key_of,
    locked,
    record_staff_act,
    upsert,
)
from checkout_integration.flows.ledger import end_groups
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    Incident,
    ListedRow,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    Refund,
    StaffAct,
    SyncDifference,
    ValidationDecision,
)
from checkout_integration.models.actor import Actor
from checkout_integration.models.order import IS_TEST
from checkout_integration.policy.verdict import VerdictStatus

BATCH: Final = 100
COUNTED_AT_ONCE: Final = 1_000
"""Databases have a limit of values in a statement."""


REAL: Final = Q(is_production=True) | Q(live=True)
"""The condition of orders that are no tests, also where list and notification contradict each other: that money is real."""


def has_test_data() -> bool:
    """Return whether there is a test checkout or a test payment that belongs to none, by their indexes."""
    # Without its checkout and verdict MariaDB, which has no index of tests, would read all orders.
    by_index = Q(checkout=None) | Q(verdict__in=(VerdictStatus.REVIEW, VerdictStatus.ACCEPTED))
    return Checkout.objects.filter(test=True).exists() or Order.objects.filter(by_index, IS_TEST).exists()


def deletable() -> QuerySet[Checkout]:
    """Return the test checkouts without an order that is no test, oldest first."""
    real = Order.primary.filter(REAL, checkout=OuterRef("pk"))
    return Checkout.primary.filter(~Exists(real), test=True).order_by("pk")


def deletable_alone() -> QuerySet[Order]:
    """Return the test payments of no test checkout, oldest first; not those for which a live checkout granted its goods."""
    granted = Grant.primary.filter(order=OuterRef("pk"))
    pays = Checkout.primary.filter(pk=OuterRef("checkout"), paid_order=OuterRef("pk"))
    alone = Q(checkout=None) | Q(~Exists(granted), ~Exists(pays), checkout__test=False)
    return Order.primary.filter(alone, IS_TEST).exclude(REAL).order_by("pk")


class Tests(NamedTuple):
    """Some test data: the keys of test checkouts, and those of payments that belong to none."""

    checkouts: Sequence[int] = ()
    alone: Sequence[int] = ()

    @property
    def orders(self) -> QuerySet[Order]:
        """The orders of both."""
        return Order.primary.filter(Q(checkout__in=self.checkouts) | Q(pk__in=self.alone))

    def still(self) -> Tests:
        """Return those of them that can be deleted now."""
        checkouts = deletable().filter(pk__in=self.checkouts).values_list("pk", flat=True)
        alone = deletable_alone().filter(pk__in=self.alone).values_list("pk", flat=True)
        return Tests(list(checkouts), list(alone))


def _in_parts() -> Iterator[Tests]:
    """Yield all that can be deleted, as many at once as a statement takes."""
    checkouts, alone = (list(rows.values_list("pk", flat=True)) for rows in (deletable(), deletable_alone()))
    for begin in range(0, max(len(checkouts), len(alone)), COUNTED_AT_ONCE):
        end = begin + COUNTED_AT_ONCE
        yield Tests(checkouts[begin:end], alone[begin:end])


def count_undeletable() -> dict[str, int]:
    """Return how many checkouts and orders are marked as tests, and stay."""
    tests, alone = Checkout.objects.filter(test=True), Order.objects.filter(IS_TEST)
    own, of_tests = deletable().values("pk"), deletable_alone().values("pk")
    return {
        "checkouts": tests.exclude(pk__in=own).count(),
        "orders": alone.exclude(checkout__in=own).exclude(pk__in=of_tests).count(),
    }


class Protected(ValueError):
    """Rows of the shop refer to test data, and their foreign keys protect it."""

    def __init__(self, model: type[Model]) -> None:
        text = _(
            "Rows of the shop protect the test data: %(rows)s. Delete them first, or give their foreign key "
            "on_delete=CASCADE."
        )
        super().__init__(text % {"rows": model._meta.verbose_name_plural})


def of_the_shop(tests: Tests) -> dict[type[Model], tuple[QuerySet[Any], bool]]:
    """Return the shop's own rows that refer to these checkouts or their orders, by model; and whether they protect them."""
    found: dict[type[Model], tuple[QuerySet[Any], bool]] = {}
    for of_ours, keys in ((Checkout, tests.checkouts), (Order, tests.orders)):
        relations = [
            each for each in of_ours._meta.get_fields(include_hidden=True) if isinstance(each, ManyToOneRel)
        ]
        for relation in relations:
            model = relation.related_model
            if model._meta.app_label == of_ours._meta.app_label:
                continue
            rows = model._base_manager.filter(**{f"{relation.field.name}__in": keys})
            protects = relation.on_delete in (PROTECT, RESTRICT)
            known, protected = found.get(model, (rows.none(), False))
            found[model] = known | rows, protected or protects
    return found


def count_test_data() -> dict[str, int]:
    """Return how many rows `delete_test_data` would delete now, by what they are; the shop's by the name of their model."""
    found = {"checkouts": deletable().count()}
    for tests in _in_parts():
        for name, rows in _rows(tests).items():
            found[name] = found.get(name, 0) + rows.count()
        for model, (shops, _protects) in of_the_shop(tests).items():
            name = str(model._meta.verbose_name_plural)
            found[name] = found.get(name, 0) + shops.count()
    return found


def refuse_protected() -> None:
    """Raise `Protected` if rows of the shop would stop the deletion half-way: it names them, and what to do."""
    for tests in _in_parts():
        for model, (rows, protects) in of_the_shop(tests).items():
            if protects and rows.exists():
                raise Protected(model)


def delete_test_data(
    *,
    staff: Actor | None,
    reason: str = "",
    seconds: float = math.inf,
) -> dict[str, int]:
    """Delete all test data, and return how many rows of each kind. Who and why is a `StaffAct`.

    Each batch is committed by itself: if this is interrupted, or ``seconds`` are over, the next call continues.
    A receiver that runs is waited for.

    Raises:
        Protected: rows of the shop refer to test data by a foreign key that protects it. What was deleted before stays so.

    """
    refuse_protected()
    deleted, begun = dict[str, int](), time.monotonic()
    try:
        while time.monotonic() - begun < seconds and any(tests := _next()):
            for name, count in _delete(tests).items():
                deleted[name] = deleted.get(name, 0) + count
    # By rows that came since the look, or by rows of the shop's own rows.
    except (ProtectedError, RestrictedError) as error:
        rows = error.protected_objects if isinstance(error, ProtectedError) else error.restricted_objects
        raise Protected(type(next(iter(rows)))) from None
    finally:  # what was deleted before is somebody's act, too
        if deleted:
            record_staff_act(StaffAct.Act.DELETE_TESTS, staff, project=None, reason=reason, counts=deleted)
    return deleted


def _next() -> Tests:
    checkouts = list(deletable().values_list("pk", flat=True)[:BATCH])
    alone = () if checkouts else list(deletable_alone().values_list("pk", flat=True)[:BATCH])
    return Tests(checkouts, alone)


def _rows(tests: Tests) -> dict[str, QuerySet[Any]]:
    """Return what belongs to these tests, in the sequence in which it can be deleted."""
    orders, checkouts = tests.orders, tests.checkouts
    about = differences = Q(pk__in=[])
    sold = Checkout.primary.filter(pk__in=checkouts)
    # Ids are those of a project: another one may have the same for sales that are no tests.
    for project in {row.project for rows in (sold, orders) for row in rows.only("project")}:
        ids = list(orders.filter(project=project).values_list("order_id", flat=True))
        references = list(sold.filter(project=project).values_list("reference", flat=True))
        about |= Q(project=project) & (Q(object_id__in=ids) | Q(reference__in=references))
        differences |= Q(project=project, order_id__in=ids)
    messages = OutboxMessage.primary.filter(Q(order__in=orders) | Q(checkout__in=checkouts))
    notifications = Notification.primary.filter(about).exclude(event="user.validate")
    return {
        "receiver_runs": ReceiverRun.primary.filter(message__in=messages),
        "signals": messages,
        "grants": Grant.primary.filter(Q(order__in=orders) | Q(checkout__in=checkouts)),
        "refunds": Refund.primary.filter(order__in=orders),
        "incidents": Incident.primary.filter(notification__in=notifications),
        "notifications": notifications,
        "differences": SyncDifference.primary.filter(differences),
        "orders": orders,
    }


@in_transaction
def _delete(tests: Tests) -> dict[str, int]:
    """Delete some tests with all that belongs to them.

    Locked as everywhere: runs, then orders, then checkouts. Under a checkout's lock no order is bound to it.

    RACE: an observation of one of the orders has read that it is known, and waits for its lock. It then finds neither the
    order nor a row of its own, and is retried (`ledger.batch.lock`): the retry sees the hash, which is committed with this.
    """
    list(locked(_rows(tests)["receiver_runs"]).order_by("pk"))
    list(locked(tests.orders).order_by("pk"))
    list(locked(Checkout.primary.filter(pk__in=tests.checkouts)).order_by("pk"))
    tests = tests.still()
    rows, checkouts = _rows(tests), Checkout.primary.filter(pk__in=tests.checkouts)
    orders = list(rows["orders"].values_list("project", "order_id", "transaction", "user"))
    identities = set(checkouts.values_list("project", "identity"))
    refunds = list(rows["refunds"].values_list("project", "document_id"))
    names = {(project, order_id) for project, order_id, *_ in orders} | set(refunds)
    gone = {key_of(project, name) for project, name in names if name}
    gone |= {key_of(project, "transaction", text) for project, _id, text, _user in orders if text}
    marks = [ListedRow(key=key, row_hash=ListedRow.DELETED) for key in sorted(gone)]
    upsert(marks, "key", update=("row_hash",))
    checkouts.update(paid_order=None)
    counts = {"checkouts": len(tests.checkouts)}
    for model, (shops, _protects) in of_the_shop(tests).items():  # they go with what they refer to
        counts[str(model._meta.verbose_name_plural)] = shops.count()
    for name, own in rows.items():
        counts[name] = own.count()
        own.delete()
    checkouts.delete()
    for project in {project for project, *_rest in orders}:
        if project in app_settings().projects:
            end_groups(app_settings().project(project))
    for name, count in _delete_customers({user for *_rest, user in orders if user}, identities).items():
        counts[name] = counts.get(name, 0) + count
    return counts


def _delete_customers(keys: set[int], identities: set[tuple[str, str]]) -> dict[str, int]:
    """Delete those of these customers of whom nothing else is known, and about whom staff have decided nothing.

    A decision on a user.validate that says that it is a test goes with its customer.
    """
    own = Q(pk__in=keys)
    for project in {project for project, _identity in identities}:
        own |= Q(
            project=project, identity__in=[name for alias, name in identities if name and alias == project]
        )
    rows = CheckoutUser.primary.filter(own, erased_at=None, blocked_at=None, linked_at=None)
    known = Checkout.primary.filter(project=OuterRef("project"), identity=OuterRef("identity"))
    decisions = ValidationDecision.primary.filter(user=OuterRef("pk"))
    real = decisions.filter(Q(notification=None) | ~Q(notification__live=False))
    nobody = rows.filter(~Exists(known), ~Exists(real), orders=None, staff_acts=None)
    found = list(nobody.values_list("pk", flat=True))
    tested = ValidationDecision.primary.filter(user__in=found)
    about = list(tested.values_list("notification", flat=True))
    tested.delete()
    notifications, _models = Notification.primary.filter(pk__in=about).delete()
    CheckoutUser.primary.filter(pk__in=found).delete()
    return {"customers": len(found), "notifications": notifications}
