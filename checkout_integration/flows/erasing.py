"""Erasing a customer: what tells of them goes, the accounting record stays, and a tombstone keeps it so (A.47).

Kept are ids of orders and transactions, amounts, statuses, times, items, the description, and links to the shop's own
accounts, which end with the account. The customer's ids are personal too: many shops use an address as ``external_id``. In
their place stands a keyed hash, by which later news of the customer is recognised and stored without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.apps import apps
from django.db import models, transaction
from django.db.models import Q, QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    locked,
    state_database,
)
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.flows.database.statements import insert_or_lock, upsert
from checkout_integration.flows.inbox import apply_due
from checkout_integration.flows.ledger.customers import ErasedMeanwhile, any_erased
from checkout_integration.flows.ledger.rows import columns_of, state_of
from checkout_integration.flows.person import Person
from checkout_integration.flows.tombstone import tombstones_of
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    PersonalData,
    Refund,
    Transition,
)
from checkout_integration.policy.erasure import without_customer
from checkout_integration.policy.personal import lasting, split

ORDERS_AT_ONCE: Final = 100


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """How many rows tell of a customer."""

    customers: int
    orders: int
    checkouts: int
    notifications: int
    decisions: int


def survey(person: Person) -> Erasure:
    """What erasing would take something out of."""
    told = person.notifications.values_list("pk", flat=True)
    asked = person.questions.values_list("pk", flat=True)
    return Erasure(
        customers=person.customers.count(),
        orders=person.orders.count(),
        checkouts=person.checkouts.count(),
        notifications=len({*told, *asked, *person.unread}),
        decisions=person.decisions.count(),
    )


def erase(person: Person) -> Erasure:
    """Erases a customer, and keeps them erased. It may be interrupted and run again; what is erased already stays so.

    Tombstones and sales are committed first: whatever comes from then on is stored without the customer, and what was
    stored just before is found by the steps after.
    """
    project = app_settings().project(person.project)
    found = survey(person)  # and remembers what can only be found as long as addresses are known
    with_retries(lambda: _make_rows(project, person))
    met = with_retries(lambda: _leave_tombstones(person))
    if Order.objects.using(state_database()).filter(user__in=met - person.users).exists():
        person = replace(person, users=person.users | met)  # with orders that nobody could find before
        found = survey(person)
    _apply_stored(person)
    checkouts = list(person.checkouts.order_by("pk").values_list("pk", flat=True))
    with_retries(lambda: _erase_sales(checkouts))
    orders = list(person.orders.order_by("pk").values_list("pk", flat=True))
    for begin in range(0, len(orders), ORDERS_AT_ONCE):
        some = orders[begin : begin + ORDERS_AT_ONCE]
        with_retries(lambda some=some: _erase_orders(project, some))  # type: ignore[misc]
        with_retries(lambda some=some: _erase_bodies(project, some))  # type: ignore[misc]
    with_retries(lambda: _erase_questions(person))
    _erase_log({Order: orders, CheckoutUser: list(person.users), Checkout: checkouts})
    return found


def _make_rows(project: Project, person: Person) -> None:
    """A row under each identity that news of the customer may come with, so that there is one to be locked.

    News that is just inserting it is waited for. Committed before it becomes a tombstone, so that news which comes in between
    finds it. Raises ``IntegrityError`` when another erasing has made one a tombstone meanwhile.
    """
    rows = CheckoutUser.objects.using(state_database()).filter(project=person.project)
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        missing = [
            CheckoutUser(project=person.project, identity=identity)
            for identity in person.identities
            if not rows.filter(identity__in=tombstones_of(identity)).exists()
        ]
        insert_or_lock(missing, "project", "identity")
        # An erasing that was waited for has freed the identity, and left its tombstone beside the new row.
        if any_erased(project, [each for row in missing for each in tombstones_of(row.identity)]):
            raise ErasedMeanwhile


def _leave_tombstones(person: Person) -> frozenset[int]:
    """Turns the rows of all identities of the customer into tombstones; returns which."""
    users = CheckoutUser.objects.using(state_database()).filter(project=person.project, erased_at=None)
    theirs = users.filter(Q(pk__in=person.users) | Q(identity__in=person.identities))
    erased: dict[str, Any] = {"external_id": "", "user_id": "", "account": None, "validated": {}}
    erased["erased_at"] = datetime.now(UTC)
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        # Locked: news that has just found such a row commits first, and its order is erased with the others. Not by `locked`,
        # since their keys change.
        rows = list(theirs.select_for_update().order_by("pk"))
        for row in rows:
            users.filter(pk=row.pk).update(identity=tombstones_of(row.identity)[0], **erased)
    return frozenset(row.pk for row in rows)


def _apply_stored(person: Person) -> None:
    """Apply what is stored and names the customer. The tombstones stand, so nothing personal of it stays (`inbox.settling`).

    RACE: what another process has in hand is committed before the steps after read its order; what is stored from now on is
    applied under the tombstones. Neither loses a payment, as emptying the body of what is not applied yet would.
    """
    told = person.notifications.filter(state=Notification.State.STORED).values_list("pk", flat=True)
    apply_due(among=Q(pk__in=sorted({*told, *person.unread}), state=Notification.State.STORED))


def _erase_sales(primary_keys: Sequence[int]) -> None:
    """What the shop said of the buyer, and the form. An order that comes for such a sale from now on is kept without them."""
    alias = state_database()
    with transaction.atomic(using=alias):
        acquire_write_lock()
        sales = Checkout.objects.using(alias).filter(pk__in=primary_keys)
        # Locked: an order that is just being recorded for one of them commits first, and is erased with the others.
        held = [sale.pk for sale in locked(sales).order_by("pk")]
        erased = Checkout.objects.using(alias).filter(pk__in=held)
        erased.update(metadata={}, payment_form_url="", identity="")
        erased.filter(erased_at=None).update(erased_at=datetime.now(UTC))


def _erase_orders(project: Project, primary_keys: Sequence[int]) -> None:
    alias = state_database()
    with transaction.atomic(using=alias):
        acquire_write_lock()
        orders = Order.objects.using(alias).filter(pk__in=primary_keys)
        # The lock of each order keeps the ledger out, which would write what it read before.
        rows = list(locked(orders).order_by("pk").prefetch_related("personal_data"))
        for row in rows:
            columns = columns_of(without_customer(state_of(row), project.reference_key))
            held = Order.objects.using(alias).filter(pk=row.pk)
            held.update(document=columns.own["document"], stamps=columns.own["stamps"])
        _erase_personal(rows)
        for refund in Refund.objects.using(alias).filter(order__in=rows):
            document, _gone = split(refund.document, lasting(project.reference_key)["refund"] or {})
            Refund.objects.using(alias).filter(pk=refund.pk).update(reason="", document=document)
        Transition.objects.using(alias).filter(order__in=rows).exclude(reason="").update(reason="")


def _erase_bodies(project: Project, primary_keys: Sequence[int]) -> None:
    """What was told of orders. After their locks were given back: news holds its own row first, and then wants its order."""
    alias = state_database()
    orders = Order.objects.using(alias).filter(pk__in=primary_keys)
    ids = list(orders.values_list("order_id", flat=True))
    _empty(Notification.objects.using(alias).about_orders(project.alias, ids))


def _empty(notifications: QuerySet[Notification]) -> None:
    """Drop the bodies of those that are not stored: whoever applies a stored one drops its body."""
    settled = notifications.exclude(state=Notification.State.STORED)
    # By their keys: MariaDB would wait for each row that it reads, for one that is being applied too.
    keys = list(settled.values_list("pk", flat=True))
    Notification.objects.using(state_database()).filter(pk__in=keys).update(body=None, due_at=None)


def _erase_personal(orders: Sequence[Order]) -> None:
    held = {order.pk: getattr(order, "personal_data", None) for order in orders}
    rows = [
        PersonalData(order=order, erased_at=datetime.now(UTC))
        for order in orders
        if (known := held[order.pk]) is None or known.erased_at is None
    ]
    upsert(rows, "order", update=("document", "email", "last4", "erased_at"))


def _erase_questions(person: Person) -> None:
    """What hangs on no order: questions about the customer, and notifications that were never understood."""
    alias = state_database()
    with transaction.atomic(using=alias):
        acquire_write_lock()
        asked = list(person.questions.values_list("pk", flat=True))
        notifications = Notification.objects.using(alias)
        notifications.filter(pk__in=asked).update(body=None, object_id="")
        _empty(notifications.filter(pk__in=person.unread))
        person.decisions.update(external_id="", reason="")


def _erase_log(touched: dict[type[models.Model], list[int]]) -> None:
    """Take the words out of Django's own log of what staff did, where the admin is installed; who did it and when stays.

    Each entry names its row as the row is named now, so that the admin's list of recent actions can link it.
    """
    if not apps.is_installed("django.contrib.admin"):
        return
    entries = apps.get_model("admin", "LogEntry")._default_manager
    for model, primary_keys in touched.items():
        acts = entries.filter(
            content_type__app_label=model._meta.app_label,
            content_type__model=model._meta.model_name,
            object_id__in=[str(each) for each in primary_keys],
        )
        logged = set(acts.values_list("object_id", flat=True))
        for row in model._default_manager.using(state_database()).filter(pk__in=logged):
            acts.filter(object_id=str(row.pk)).update(object_repr=str(row)[:200], change_message="")
