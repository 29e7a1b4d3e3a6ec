"""Erasure of a customer: personal data is deleted, accounting data stays, a tombstone prevents re-import.

Ids of orders and transactions, amounts, statuses, times, items and the description stay, and so do links to the shop's own
accounts, which end with the account. The customer's ids are personal too: many shops use an address as ``external_id``. A
keyed hash replaces them, by which later observations of the customer are recognised and stored without personal data.

Who exported or erased, from where, and why, is recorded as an act.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from django.db.models import Q, QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import (
    in_transaction,
    insert_or_lock,
    locked,
    record_staff_act,
    upsert,
    with_retries,
)
from checkout_integration.flows.inbox import apply_orders_of
from checkout_integration.flows.ledger import (
    PERSONAL_FIELDS,
    ErasedMeanwhile,
    columns_of,
    is_tombstoned,
    state_of,
    tombstones_of,
)
from checkout_integration.flows.privacy.person import Person
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    PersonalData,
    Refund,
    StaffAct,
    Transition,
)
from checkout_integration.models.actor import Actor
from checkout_integration.policy.attribution import ATTRIBUTION
from checkout_integration.policy.erasure import erased_checkout, is_erased, lasting, without_customer
from checkout_integration.policy.personal import split


@dataclass(frozen=True, kw_only=True)
class PrivacyRequest:
    """Who asks for an export or an erasure, and why. It is stored for good: no personal data of the customer belongs here.

    Attributes:
        reason: why; 255 characters are stored.
        staff: the account, or the system's user, who decides; None for the shop's own code.

    """

    reason: str = field(repr=False)
    staff: Actor | None = None


def record_act(person: Person, act: StaffAct.Act, request: PrivacyRequest, counts: Mapping[str, int]) -> None:
    """Add a row about an act. In a transaction of the caller's, or by itself."""
    customers = sorted(person.users)
    orders = [] if customers else sorted(person.first_orders)
    record_staff_act(
        act,
        request.staff,
        project=person.project,
        reason=request.reason,
        customer_id=customers[0] if customers else None,
        order_id=orders[0] if orders else None,
        counts=counts,
    )


def acts_about(person: Person) -> QuerySet[StaffAct]:
    """Return the acts that were recorded about a customer."""
    about = Q(customer__in=person.users) | Q(order__in=person.orders.values("pk"))
    return StaffAct.primary.filter(about)


ORDERS_AT_ONCE: Final = 100


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """Counts of rows with data of a customer."""

    customers: int
    orders: int
    checkouts: int
    notifications: int
    decisions: int


def preview_erasure(person: Person, *, reads_bodies: bool = True) -> Erasure:
    """Return how many rows an erasure would change.

    ``reads_bodies``: count notifications that only their bodies assign to the customer too, which reads all bodies that were
    never parsed. An erasure reads them in any case.
    """
    of_orders = person.notifications.values_list("pk", flat=True)
    requests = person.validation_requests.values_list("pk", flat=True)
    unparsed = person.unparsed_notifications if reads_bodies else []
    return Erasure(
        customers=person.customers.count(),
        orders=person.orders.count(),
        checkouts=person.checkouts.count(),
        notifications=len({*of_orders, *requests, *unparsed}),
        decisions=person.decisions.count(),
    )


def erase_customer(person: Person, request: PrivacyRequest) -> Erasure:
    """Erase a customer for good, and record who asked for it. If it is interrupted, run it again: what is erased stays so.

    Tombstones and checkouts are committed first: later notifications are stored without the customer, and the next steps
    find those that were stored just before.
    """
    project = app_settings().project(person.project)
    found = preview_erasure(person)  # and remembers rows that can be found only while addresses are known
    _make_rows(project, person)
    met = _leave_tombstones(person)
    if Order.primary.filter(user__in=met - person.users).exists():
        person = replace(person, users=person.users | met)  # with orders that could not be found before
        found = preview_erasure(person)
    _apply_stored(person)
    checkouts = list(person.checkouts.order_by("pk").values_list("pk", flat=True))
    erase_checkouts(checkouts)
    orders = list(person.orders.order_by("pk").values_list("pk", flat=True))
    for begin in range(0, len(orders), ORDERS_AT_ONCE):
        some = orders[begin : begin + ORDERS_AT_ONCE]
        _erase_orders(project, some)
        with_retries(partial(_erase_bodies, project, some))
    _erase_validation_requests(person)
    _record(person, request, found)
    return found


@in_transaction
def _make_rows(project: Project, person: Person) -> None:
    """Make a row under each identity that observations of the customer may have, so that there is one to lock.

    This waits for a transaction that is just inserting it. The row is committed before it becomes a tombstone, so that
    observations in between find it. Raises ``IntegrityError`` when another erasure has made one a tombstone meanwhile.
    """
    rows = CheckoutUser.primary.filter(project=person.project)
    missing = [
        CheckoutUser(project=person.project, identity=identity)
        for identity in person.identities
        if not rows.filter(identity__in=tombstones_of(identity)).exists()
    ]
    insert_or_lock(missing, "project", "identity")
    # If this waited for another erasure, that has freed the identity, and left its tombstone in addition to the new row.
    if is_tombstoned(project, [each for row in missing for each in tombstones_of(row.identity)]):
        raise ErasedMeanwhile


@in_transaction
def _leave_tombstones(person: Person) -> frozenset[int]:
    """Turn the rows of all identities of the customer into tombstones; return their primary keys."""
    users = CheckoutUser.primary.filter(project=person.project, erased_at=None)
    theirs = users.filter(Q(pk__in=person.users) | Q(identity__in=person.identities))
    erased: dict[str, Any] = {
        "external_id": "",
        "user_id": "",
        "account": None,
        "linked_at": None,
        "validated": {},
    }
    erased["erased_at"] = datetime.now(UTC)  # by which `flows.operations` finds all tombstones of the person
    # Locked: a transaction that has just found such a row commits first, and its order is erased, too. Not by `locked`,
    # since their keys change.
    rows = list(theirs.select_for_update().order_by("pk"))
    # A block stays, on the tombstone of each identity: the customer may come back under any of them.
    erased["blocked_at"] = min((row.blocked_at for row in rows if row.blocked_at), default=None)
    for row in rows:
        users.filter(pk=row.pk).update(identity=tombstones_of(row.identity)[0], **erased)
    return frozenset(row.pk for row in rows)


def _apply_stored(person: Person) -> None:
    """Apply the stored notifications that name the customer; tombstones ensure that no personal data remains of them.

    RACE: a notification that another process is applying is committed before the next steps read its order. One that is
    stored from now on is applied under the tombstones. So no payment is lost, as it would be if the body of a notification
    were deleted before it is applied.
    """
    of_orders = person.notifications.values_list("pk", flat=True)
    rows = Notification.primary.filter(pk__in={*of_orders, *person.unparsed_notifications})
    apply_orders_of(rows.filter(state=Notification.State.STORED).defer("body"))


@in_transaction
def erase_checkouts(primary_keys: Sequence[int]) -> None:
    """Erase the shop's data about the customer, and the form; a later order is stored without the customer."""
    checkouts = Checkout.primary.filter(pk__in=primary_keys)
    # Locked: an order that is just being recorded for one of them commits first, and is erased with the others.
    keys = [checkout.pk for checkout in locked(checkouts).order_by("pk")]
    erased = Checkout.primary.filter(pk__in=keys)
    erased.update(**erased_checkout())
    erased.filter(erased_at=None).update(erased_at=datetime.now(UTC))


@in_transaction
def _erase_orders(project: Project, primary_keys: Sequence[int]) -> None:
    orders = Order.primary.filter(pk__in=primary_keys)
    # The lock of each order stops the ledger, which would write older data that it has read.
    rows = list(locked(orders).order_by("pk").prefetch_related("personal_data"))
    for row in rows:
        columns, _personal = columns_of(without_customer(state_of(row), project.reference_key))
        own = Order.primary.filter(pk=row.pk)
        erased = {name: columns[name] for name in ("document", "stamps", *ATTRIBUTION)}
        if _is_personal(row) or any(getattr(row, name) != value for name, value in erased.items()):
            # RACE: a receiver whose arguments were loaded before this reads them again.
            own.update(changed_at=datetime.now(UTC), **erased)
    personal = [PersonalData(order=row, erased_at=datetime.now(UTC)) for row in rows if _is_personal(row)]
    upsert(personal, "order", update=PERSONAL_FIELDS)
    for refund in Refund.primary.filter(order__in=rows):
        document, _gone = split(refund.document, lasting(project.reference_key)["refund"] or {})
        Refund.primary.filter(pk=refund.pk).update(reason="", document=document)
    Transition.primary.filter(order__in=rows).exclude(reason="").update(reason="")


def _erase_bodies(project: Project, primary_keys: Sequence[int]) -> None:
    """Delete the notifications' bodies, after the orders' locks were released: applying locks the order second."""
    orders = Order.primary.filter(pk__in=primary_keys)
    ids = list(orders.values_list("order_id", flat=True))
    _empty(Notification.primary.about_orders(project.alias, ids))


def _empty(notifications: QuerySet[Notification]) -> None:
    """Delete the bodies of notifications, except ``stored`` ones: the process that applies such a one deletes its body."""
    settled = notifications.exclude(state=Notification.State.STORED)
    # By their keys: MariaDB would wait for each row that it reads, even for one that is being applied.
    keys = list(settled.values_list("pk", flat=True))
    Notification.primary.filter(pk__in=keys).update(body=None, due_at=None)


def _is_personal(order: Order) -> bool:
    """Return whether the order's personal data was not erased before; an order without any counts."""
    known: PersonalData | None = getattr(order, "personal_data", None)
    return not is_erased(known)


@in_transaction
def _erase_validation_requests(person: Person) -> None:
    """Erase data without an order: user.validate about the customer, and notifications that were never parsed."""
    requests = list(person.validation_requests.values_list("pk", flat=True))
    notifications = Notification.primary.all()
    notifications.filter(pk__in=requests).update(body=None, object_id="")
    _empty(notifications.filter(pk__in=person.unparsed_notifications))
    person.decisions.update(external_id="", reason="")


@in_transaction
def _record(person: Person, request: PrivacyRequest, found: Erasure) -> None:
    """Record the act, and empty the reasons of those before it, which people wrote in their own words."""
    acts_about(person).exclude(reason="").update(reason="")
    record_act(person, StaffAct.Act.ERASE, request, asdict(found))
