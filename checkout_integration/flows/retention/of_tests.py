"""Delete test data: test checkouts, their orders, and what belongs to them. See docs/retention.md.

It is the one exception to a history that only grows. A checkout that takes tests and has an order that is no test stays, with
all that belongs to it. Hashes of the orders' ids stay too: a notification or a row of the list about one of them is skipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

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

from checkout_integration.flows.database import (
    key_of,
    locked,
    record_staff_act,
    upsert,
    with_retries,
    write_transaction,
)
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    ListedRow,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    Refund,
    StaffAct,
    SyncDifference,
)
from checkout_integration.models.actor import Actor

BATCH: Final = 100
COUNTED_AT_ONCE: Final = 1_000
"""Databases have a limit of values in a statement."""


def has_test_data() -> bool:
    """Return whether there is a test checkout, by its index."""
    return Checkout.objects.filter(test=True).exists()


def deletable() -> QuerySet[Checkout]:
    """Return the test checkouts without an order that is no test, oldest first."""
    orders = Order.primary.filter(checkout=OuterRef("pk"))
    real = orders.filter(Q(is_production=True) | Q(live=True))  # also where the two contradict each other
    return Checkout.primary.filter(~Exists(real), test=True).order_by("pk")


class Protected(ValueError):
    """Rows of the shop refer to test data, and their foreign keys protect it."""

    def __init__(self, model: type[Model]) -> None:
        text = _(
            "Rows of the shop protect the test data: %(rows)s. Delete them first, or give their foreign key "
            "on_delete=CASCADE."
        )
        super().__init__(text % {"rows": model._meta.verbose_name_plural})


def of_the_shop(checkouts: Sequence[int]) -> dict[type[Model], tuple[QuerySet[Any], bool]]:
    """Return the shop's own rows that refer to these checkouts or their orders, by model; and whether they protect them."""
    found: dict[type[Model], tuple[QuerySet[Any], bool]] = {}
    orders = Order.primary.filter(checkout__in=checkouts)
    for of_ours, keys in ((Checkout, checkouts), (Order, orders)):
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
    checkouts = list(deletable().values_list("pk", flat=True))
    found = {"checkouts": len(checkouts)}
    for begin in range(0, max(len(checkouts), 1), COUNTED_AT_ONCE):
        for name, rows in _rows(checkouts[begin : begin + COUNTED_AT_ONCE]).items():
            found[name] = found.get(name, 0) + rows.count()
        for model, (shops, _protects) in of_the_shop(checkouts[begin : begin + COUNTED_AT_ONCE]).items():
            name = str(model._meta.verbose_name_plural)
            found[name] = found.get(name, 0) + shops.count()
    return found


def refuse_protected() -> None:
    """Raise `Protected` if rows of the shop would stop the deletion half-way: it names them, and what to do."""
    checkouts = list(deletable().values_list("pk", flat=True))
    for begin in range(0, len(checkouts), COUNTED_AT_ONCE):
        for model, (rows, protects) in of_the_shop(checkouts[begin : begin + COUNTED_AT_ONCE]).items():
            if protects and rows.exists():
                raise Protected(model)


def delete_test_data(
    *,
    staff: Actor | None,
    reason: str = "",
    seconds: float = math.inf,
) -> dict[str, int]:
    """Delete all test data, and return how many rows of each kind. Who and why is a `StaffAct`.

    Each batch of checkouts is committed by itself: if this is interrupted, or ``seconds`` are over, the next call continues.
    A receiver that runs is waited for.

    Raises:
        Protected: rows of the shop refer to test data by a foreign key that protects it. What was deleted before stays so.

    """
    refuse_protected()
    deleted, begun = dict[str, int](), time.monotonic()
    try:
        while time.monotonic() - begun < seconds and (
            keys := list(deletable().values_list("pk", flat=True)[:BATCH])
        ):
            for name, count in with_retries(partial(_delete, keys)).items():
                deleted[name] = deleted.get(name, 0) + count
    # By rows that came since the look, or by rows of the shop's own rows.
    except (ProtectedError, RestrictedError) as error:
        rows = error.protected_objects if isinstance(error, ProtectedError) else error.restricted_objects
        raise Protected(type(next(iter(rows)))) from None
    finally:  # what was deleted before is somebody's act, too
        if deleted:
            record_staff_act(StaffAct.Act.DELETE_TESTS, staff, project=None, reason=reason, counts=deleted)
    return deleted


def _rows(checkouts: Sequence[int]) -> dict[str, QuerySet[Any]]:
    """Return what belongs to these checkouts, in the sequence in which it can be deleted."""
    orders = Order.primary.filter(checkout__in=checkouts)
    about = differences = Q(pk__in=[])
    # Ids are those of a project: another one may have the same for sales that are no tests.
    for project in set(Checkout.primary.filter(pk__in=checkouts).values_list("project", flat=True)):
        ids = list(orders.filter(project=project).values_list("order_id", flat=True))
        sold = Checkout.primary.filter(pk__in=checkouts, project=project)
        references = list(sold.values_list("reference", flat=True))
        about |= Q(project=project) & (Q(object_id__in=ids) | Q(reference__in=references))
        differences |= Q(project=project, order_id__in=ids)
    messages = OutboxMessage.primary.filter(Q(order__in=orders) | Q(checkout__in=checkouts))
    return {
        "receiver_runs": ReceiverRun.primary.filter(message__in=messages),
        "signals": messages,
        "grants": Grant.primary.filter(Q(order__in=orders) | Q(checkout__in=checkouts)),
        "refunds": Refund.primary.filter(order__in=orders),
        "notifications": Notification.primary.filter(about).exclude(event="user.validate"),
        "differences": SyncDifference.primary.filter(differences),
        "orders": orders,
    }


def _delete(keys: Sequence[int]) -> dict[str, int]:
    """Delete some checkouts with all that belongs to them.

    Locked as everywhere: runs, then orders, then checkouts. Under a checkout's lock no order is bound to it.

    RACE: an observation of one of the orders has read that it is known, and waits for its lock. It then finds neither the
    order nor a row of its own, and is retried (`ledger.batch.lock`): the retry sees the hash, which is committed with this.
    """
    with write_transaction():
        list(locked(_rows(keys)["receiver_runs"]).order_by("pk"))
        list(locked(Order.primary.filter(checkout__in=keys)).order_by("pk"))
        list(locked(Checkout.primary.filter(pk__in=keys)).order_by("pk"))
        some = list(deletable().filter(pk__in=keys).values_list("pk", flat=True))
        rows = _rows(some)
        orders = list(rows["orders"].values_list("project", "order_id", "transaction", "user"))
        refunds = list(rows["refunds"].values_list("project", "document_id"))
        names = {(project, order_id) for project, order_id, *_ in orders} | set(refunds)
        gone = {key_of(project, name) for project, name in names if name}
        gone |= {key_of(project, "transaction", text) for project, _id, text, _user in orders if text}
        marks = [ListedRow(key=key, row_hash=ListedRow.DELETED) for key in sorted(gone)]
        upsert(marks, "key", update=("row_hash",))
        Checkout.primary.filter(pk__in=some).update(paid_order=None)
        counts = {"checkouts": len(some)}
        for model, (shops, _protects) in of_the_shop(some).items():  # they go with what they refer to
            counts[str(model._meta.verbose_name_plural)] = shops.count()
        for name, own in rows.items():
            counts[name] = own.count()
            own.delete()
        Checkout.primary.filter(pk__in=some).delete()
        counts["customers"] = _delete_customers({user for *_, user in orders if user})
    return counts


def _delete_customers(keys: set[int]) -> int:
    """Delete those of these customers of whom nothing else is known, and about whom staff have decided nothing."""
    rows = CheckoutUser.primary.filter(pk__in=keys, erased_at=None, blocked_at=None, linked_at=None)
    known = Checkout.primary.filter(project=OuterRef("project"), identity=OuterRef("identity"))
    nobody = rows.filter(~Exists(known), orders=None, decisions=None, staff_acts=None)
    found = list(nobody.values_list("pk", flat=True))
    CheckoutUser.primary.filter(pk__in=found).delete()
    return len(found)
