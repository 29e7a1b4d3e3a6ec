"""Who is meant: everything that this installation keeps of one customer of one project."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database.connection import key_of, state_database
from checkout_integration.flows.tombstone import tombstones_of
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    PersonalData,
    ValidationDecision,
)
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.vocabulary import Event

ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
UNREAD = (
    Notification.State.STORED,
    Notification.State.QUARANTINED,
    Notification.State.TEST,
    Notification.State.FAILED,
)
"""States of notifications that have made no order by which their bodies could be found."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """One customer of one project, by primary keys and by the ids under which shop and service know them.

    One account of the shop is one person; what the service told without an account belongs to whoever has the same id there.
    """

    project: str
    users: frozenset[int]
    first_orders: frozenset[int]
    external_ids: frozenset[str] = field(repr=False)
    user_ids: frozenset[str] = field(repr=False)

    @property
    def known(self) -> bool:
        """Whether anything is kept of them."""
        return bool(self.users or self.first_orders) or self.decisions.exists() or self.checkouts.exists()

    @property
    def identities(self) -> list[str]:
        """Under which the ledger would know them again."""
        return [
            *(key_of("external", each) for each in sorted(self.external_ids)),
            *(key_of("user", each) for each in sorted(self.user_ids)),
        ]

    @property
    def customers(self) -> QuerySet[CheckoutUser]:
        """Their rows as customers."""
        return CheckoutUser.objects.using(state_database()).filter(pk__in=self.users)

    @property
    def orders(self) -> QuerySet[Order]:
        """Their orders, asked for anew each time: more may have come. One that tells no id is theirs if its sale is."""
        orders = Order.objects.using(state_database()).filter(project=self.project)
        own = Q(pk__in=self.first_orders) | Q(user__in=self.users)
        sales = orders.filter(own).values("checkout_id")
        return orders.filter(own | Q(user__isnull=True, checkout__in=sales))

    @property
    def checkouts(self) -> QuerySet[Checkout]:
        """Sales to them: those that their orders pay, and those to their id or account, of which no order may have come."""
        told = Q(pk__in=self.orders.values("checkout_id")) | Q(order_id__in=self.orders.values("order_id"))
        theirs = told | Q(identity__in=self.identities) | Q(user_id__in=list(_accounts(self.external_ids)))
        return Checkout.objects.using(state_database()).filter(theirs, project=self.project)

    @property
    def decisions(self) -> QuerySet[ValidationDecision]:
        """Answers to user.validate about them."""
        theirs = Q(user__in=self.users) | Q(external_id__in=self.external_ids)
        return ValidationDecision.objects.using(state_database()).filter(theirs, project=self.project)

    @property
    def notifications(self) -> QuerySet[Notification]:
        """What was told of their orders."""
        told = Notification.objects.using(state_database()).filter(project=self.project)
        return told.filter(object_id__in=self.orders.values("order_id")).exclude(event=Event.USER_VALIDATE)

    @property
    def questions(self) -> QuerySet[Notification]:
        """What was asked of themselves: their user.validate."""
        asked = Q(event=Event.USER_VALIDATE, object_id__in=self.user_ids) | Q(decisions__in=self.decisions)
        found = Notification.objects.using(state_database()).filter(asked, project=self.project)
        return Notification.objects.using(state_database()).filter(
            pk__in=list(found.values_list("pk", flat=True))
        )

    @property
    def unread(self) -> list[int]:
        """Primary keys of notifications that could not be read or made no order, and name the customer all the same.

        Read anew each time, by the words that were known at the first.
        """
        rows = Notification.objects.using(state_database()).filter(project=self.project, body__isnull=False)
        unread = rows.filter(Q(state__in=UNREAD) | Q(object_id="") | ~Q(event__in=list(Event)))
        told = unread.only("pk", "body").iterator()
        return [row.pk for row in told if self._is_named(_spelled_out(bytes(row.body or b"")))]

    def _is_named(self, body: str) -> bool:
        return any(word in body for word in self._words)

    @cached_property
    def _words(self) -> frozenset[str]:
        """Ids and addresses as a JSON document writes them: quoted, hence never a part of another word."""
        held = PersonalData.objects.using(state_database()).filter(order__in=self.orders)
        words = {*self.external_ids, *self.user_ids, *held.values_list("email", flat=True)} - {""}
        words |= set(self.orders.values_list("order_id", flat=True))
        return frozenset(_spelled_out(strict_json.dumps(word).encode()) for word in words)


def find_persons(
    *,
    project: str = "",
    customer: CheckoutUser | None = None,
    order: Order | None = None,
    external_id: str = "",
    user_id: str = "",
    email: str = "",
    order_id: str = "",
) -> list[Person]:
    """The customers that a row, an id or an address names: at most one in each project, or in one project.

    Addresses, and ids of the service, are looked for in documents too: that reads all rows where no column tells. Many shops
    know their customers by their addresses, so an address may be their id.
    """
    row = customer or order
    projects = [row.project] if row else [project] if project else list(app_settings().projects)
    alias = state_database()
    found = []
    for name in projects:
        users = CheckoutUser.objects.using(alias).filter(project=name)
        orders = Order.objects.using(alias).filter(project=name)
        if customer:
            users, orders = users.filter(pk=customer.pk), orders.none()
        elif order or order_id:
            users, orders = users.none(), orders.filter(order_id=order.order_id if order else order_id)
        elif email:
            users, orders = (
                users.filter(_named(email, "") | _newsletter_to(email)),
                orders.filter(_written_to(email)),
            )
        else:
            # The id of the service stands in a column only where it is all that a customer is known by.
            told = Q(document__user__id=user_id) if user_id else Q(pk__in=[])
            users, orders = users.filter(_named(external_id, user_id)), orders.filter(told)
        found.append(_person(name, users, orders, {external_id, email} - {""}, {user_id} - {""}))
    return [person for person in found if person.known]


def _written_to(email: str) -> Q:
    asked = Q(personal_data__email=email.lower())
    for spelling in {email, email.lower()}:
        asked |= Q(personal_data__document__receipt_email=spelling)
        asked |= Q(personal_data__document__user__email=spelling)
    return asked


def _newsletter_to(email: str) -> Q:
    spellings = sorted({email, email.lower()})
    return Q(validated__notify_new_region_email__value__in=spellings)


def _named(external_id: str, user_id: str) -> Q:
    """By an id, or by the tombstone that stands in its place."""
    asked = Q(pk__in=[])
    for column, kind, told in (("external_id", "external", external_id), ("user_id", "user", user_id)):
        if told:
            asked |= Q(**{column: told}) | Q(identity__in=tombstones_of(key_of(kind, told)))
    return asked


def _person(
    project: str,
    users: QuerySet[CheckoutUser],
    orders: QuerySet[Order],
    external_ids: set[str],
    user_ids: set[str],
) -> Person:
    sales = orders.filter(user__isnull=True, checkout__isnull=False).values("checkout_id")
    every_order = Order.objects.using(state_database()).filter(project=project)
    first = every_order.filter(Q(pk__in=orders.values("pk")) | Q(checkout__in=sales))
    first_orders = frozenset(first.values_list("pk", flat=True))
    everybody = CheckoutUser.objects.using(state_database()).filter(project=project)
    rows = {row.pk: row for row in everybody.filter(Q(pk__in=users) | Q(orders__in=first_orders))}
    external_ids |= {row.external_id for row in rows.values()} - {""}
    user_ids |= {row.user_id for row in rows.values()} - {""}
    theirs = every_order.filter(Q(pk__in=first_orders) | Q(user__in=list(rows)))
    user_ids |= {told for order in theirs.only("document").iterator() if (told := _service_id(order))}
    nameless = everybody.filter(external_id="", user_id__in=user_ids)
    return Person(
        project=project,
        users=frozenset([*rows, *nameless.values_list("pk", flat=True)]),
        first_orders=first_orders,
        external_ids=frozenset(external_ids),
        user_ids=frozenset(user_ids),
    )


def _spelled_out(json: bytes) -> str:
    """JSON text in small letters, with those written out that a sender may escape as it likes, such as ``&`` and ``/``."""
    text = json.decode("utf-8", "replace").replace("\\/", "/")
    told = ESCAPED.sub(lambda letter: chr(int(letter[1], 16)), text)
    return (
        told.encode("utf-16", "surrogatepass").decode("utf-16", "replace").lower()
    )  # two escapes may be one letter


def _service_id(order: Order) -> str:
    user = order.document.get("user")
    told = user.get("id") if isinstance(user, dict) else None
    return told if isinstance(told, str) else ""


def _accounts(external_ids: Iterable[str]) -> Iterable[object]:
    """What may be primary keys of accounts: `create_checkout` tells the service an account's key as ``external_id``."""
    key = get_user_model()._meta.pk
    for each in external_ids:
        try:
            told = key.to_python(each)
            key.run_validators(told)
        except ValidationError:
            continue
        if str(told) == each:  # not what only reads like a key, such as " 1"
            yield told
