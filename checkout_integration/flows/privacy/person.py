"""The stored data of one customer of one project."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from django.db.models import Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import key_of
from checkout_integration.flows.ledger import account_key, tombstones_of
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
ADDRESSES: Final = ("email", "receipt_email", "notify_sale_email", "notify_new_region_email")
"""Members of documents that have an address of the customer."""
NEWSLETTER: Final = "validated__notify_new_region_email__value__in"
UNPARSED_STATES = (
    Notification.State.STORED,
    Notification.State.QUARANTINED,
    Notification.State.TEST,
    Notification.State.FAILED,
)
"""States of notifications without an order, so that only their bodies name the customer."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """One customer of one project: the primary keys of their rows, and their ids at the shop and the service.

    One account of the shop is one customer, with the guests whom staff have linked to it; data of the service without an
    account belongs to the customer with the same id.
    """

    project: str
    users: frozenset[int]
    first_orders: frozenset[int]
    external_ids: frozenset[str] = field(repr=False)
    user_ids: frozenset[str] = field(repr=False)

    @property
    def known(self) -> bool:
        """Whether any data of them is stored."""
        if self.users or self.first_orders:
            return True
        return any(rows.exists() for rows in (self.decisions, self.checkouts, self.gifts))

    @property
    def identities(self) -> list[str]:
        """The identities by which the ledger would recognise them."""
        return [
            *(key_of("external", each) for each in sorted(self.external_ids)),
            *(key_of("user", each) for each in sorted(self.user_ids)),
        ]

    @property
    def customers(self) -> QuerySet[CheckoutUser]:
        """Their rows as customers."""
        return CheckoutUser.primary.filter(pk__in=self.users)

    @property
    def orders(self) -> QuerySet[Order]:
        """Their orders, queried anew each time: more may have come. One without an id is theirs if its checkout is."""
        orders = Order.primary.filter(project=self.project)
        own = Q(pk__in=self.first_orders) | Q(user__in=self.users)
        checkouts = orders.filter(own).values("checkout_id")
        return orders.filter(own | Q(user__isnull=True, checkout__in=checkouts))

    @property
    def checkouts(self) -> QuerySet[Checkout]:
        """Their checkouts: those of their orders, and those for their id or account, perhaps without an order."""
        paid = Q(pk__in=self.orders.values("checkout_id")) | Q(order_id__in=self.orders.values("order_id"))
        theirs = paid | Q(identity__in=self.identities) | Q(user_id__in=list(_accounts(self.external_ids)))
        return Checkout.primary.filter(theirs, project=self.project)

    @property
    def gifts(self) -> QuerySet[Checkout]:
        """Checkouts by which others gave something to their account: the data of those others, but for that fact."""
        given = Checkout.primary.filter(recipient_id__in=list(_accounts(self.external_ids)))
        return given.filter(project=self.project)

    @property
    def decisions(self) -> QuerySet[ValidationDecision]:
        """Decisions on user.validate about them."""
        theirs = Q(user__in=self.users) | Q(external_id__in=self.external_ids)
        return ValidationDecision.primary.filter(theirs, project=self.project)

    @property
    def notifications(self) -> QuerySet[Notification]:
        """Notifications about their orders."""
        notifications = Notification.primary.filter(project=self.project)
        return notifications.filter(object_id__in=self.orders.values("order_id")).exclude(
            event=Event.USER_VALIDATE
        )

    @property
    def validation_requests(self) -> QuerySet[Notification]:
        """Their user.validate notifications."""
        requests = Q(event=Event.USER_VALIDATE, object_id__in=self.user_ids) | Q(decisions__in=self.decisions)
        found = Notification.primary.filter(requests, project=self.project)
        return Notification.primary.filter(pk__in=list(found.values_list("pk", flat=True)))

    @property
    def unparsed_notifications(self) -> list[int]:
        """Primary keys of notifications that name the customer, but could not be read or made no order.

        Queried anew each time, by the ids and addresses of the first query.
        """
        words = frozenset[str]().union(*self._words.values())
        return [key for key, body in self._unparsed() if any(word in body for word in words)]

    @property
    def named_notifications(self) -> list[int]:
        """Those of `unparsed_notifications` that have an id or address of the customer at its place.

        A postal code may be equal to an id: an erasure rather empties one body too many, and an export gives none of others.
        """
        places = [
            f'"(?:{"|".join(members)})"\\s*:\\s*(?:{"|".join(map(re.escape, words))})'
            for members, words in self._words.items()
            if words
        ]
        named = re.compile("|".join(places) or r"(?!)")
        return [key for key, body in self._unparsed() if named.search(body)]

    def _unparsed(self) -> Iterator[tuple[int, str]]:
        """Yield notifications that could not be read or made no order: their primary keys, and their bodies spelled out."""
        rows = Notification.primary.filter(project=self.project, body__isnull=False)
        unparsed = rows.filter(Q(state__in=UNPARSED_STATES) | Q(object_id="") | ~Q(event__in=list(Event)))
        yield from (
            (row.pk, _spelled_out(bytes(row.body or b""))) for row in unparsed.only("pk", "body").iterator()
        )

    @cached_property
    def _words(self) -> dict[tuple[str, ...], frozenset[str]]:
        """Ids and addresses by the members that have them, as in JSON: in quotes, so that none matches a part of a text."""
        personal = PersonalData.primary.filter(order__in=self.orders)
        order_ids = self.orders.values_list("order_id", flat=True)
        words: dict[tuple[str, ...], Iterable[str]] = {
            ("external_id",): self.external_ids,
            ("id",): {*self.user_ids, *order_ids},
            ADDRESSES: personal.values_list("email", flat=True),
        }
        return {
            members: frozenset(_spelled_out(strict_json.dumps(word).encode()) for word in set(found) - {""})
            for members, found in words.items()
        }


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
    """Return the customers of a row, an id or an address: at most one in each project, or in one project.

    Addresses, and ids of the service, are searched in documents too: that reads all rows where no column has them. In many
    shops an address is the customer's id.
    """
    row = customer or order
    projects = [row.project] if row else [project] if project else list(app_settings().projects)
    found = []
    for name in projects:
        users = CheckoutUser.primary.filter(project=name)
        orders = Order.primary.filter(project=name)
        if customer:
            users, orders = users.filter(pk=customer.pk), orders.none()
        elif order or order_id:
            users, orders = users.none(), orders.filter(order_id=order.order_id if order else order_id)
        elif email:
            users, orders = (
                users.filter(_named(email, "") | Q(**{NEWSLETTER: sorted({email, email.lower()})})),
                orders.filter(
                    Q(personal_data__email=email.lower()) | Q(pk__in=_orders_sent_to(orders, email))
                ),
            )
        else:
            # The column has the first id that the service gave; it may have given another one with a later order.
            own = _orders_naming(orders, user_id) if user_id else []
            users, orders = users.filter(_named(external_id, user_id)), orders.filter(pk__in=own)
        found.append(_person(name, users, orders, {external_id, email} - {""}, {user_id} - {""}))
    return [person for person in found if person.known]


def _orders_naming(orders: QuerySet[Order], user_id: str) -> list[int]:
    documents = orders.values_list("pk", "document").iterator()
    return [key for key, document in documents if _service_id(document) == user_id]


def _orders_sent_to(orders: QuerySet[Order], email: str) -> list[int]:
    """Return the orders with an address in their documents, in any case; no query reads those."""
    documents = orders.values_list("pk", "personal_data__document").iterator()
    return [key for key, document in documents if document and email.lower() in _addresses(document)]


def _addresses(personal: dict[str, Any]) -> set[str]:
    user = personal.get("user")
    found = (personal.get("receipt_email"), user.get("email") if isinstance(user, dict) else None)
    return {address.lower() for address in found if isinstance(address, str)}


def tombstones_named(text: str) -> Q:
    """Return the condition of the tombstones of an erased customer who had this id, at the shop or the service."""
    identities = [each for kind in ("external", "user") for each in tombstones_of(key_of(kind, text))]
    return Q(project__in=list(app_settings().projects), identity__in=identities)


def _named(external_id: str, user_id: str) -> Q:
    """Return the customers with this id, or with its tombstone."""
    condition = Q(pk__in=[])
    for column, kind, value in (("external_id", "external", external_id), ("user_id", "user", user_id)):
        if value:
            condition |= Q(**{column: value}) | Q(identity__in=tombstones_of(key_of(kind, value)))
    return condition


def _person(
    project: str,
    users: QuerySet[CheckoutUser],
    orders: QuerySet[Order],
    external_ids: set[str],
    user_ids: set[str],
) -> Person:
    checkouts = orders.filter(user__isnull=True, checkout__isnull=False).values("checkout_id")
    every_order = Order.primary.filter(project=project)
    first = every_order.filter(Q(pk__in=orders.values("pk")) | Q(checkout__in=checkouts))
    first_orders = frozenset(first.values_list("pk", flat=True))
    everybody = CheckoutUser.primary.filter(project=project)
    rows = {row.pk: row for row in everybody.filter(Q(pk__in=users) | Q(orders__in=first_orders))}
    external_ids |= {row.external_id for row in rows.values()} - {""}
    accounts = {*_accounts(external_ids), *(row.account_id for row in rows.values())} - {None}
    rows |= {row.pk: row for row in _linked_by_staff(everybody, accounts)}
    external_ids |= {row.external_id for row in rows.values()} - {""}
    user_ids |= {row.user_id for row in rows.values()} - {""}
    theirs = every_order.filter(Q(pk__in=first_orders) | Q(user__in=list(rows)))
    documents = theirs.values_list("document", flat=True).iterator()
    user_ids |= {user_id for document in documents if (user_id := _service_id(document))}
    nameless = everybody.filter(external_id="", user_id__in=user_ids)
    return Person(
        project=project,
        users=frozenset([*rows, *nameless.values_list("pk", flat=True)]),
        first_orders=first_orders,
        external_ids=frozenset(external_ids),
        user_ids=frozenset(user_ids),
    )


def _linked_by_staff(everybody: QuerySet[CheckoutUser], accounts: set[Any]) -> QuerySet[CheckoutUser]:
    """Return the customers of those accounts to which staff have linked a guest: they have said that it is one person."""
    links = everybody.filter(account__in=accounts, linked_at__isnull=False)
    linked = set(links.values_list("account", flat=True))
    return everybody.filter(Q(account__in=linked) | Q(external_id__in=map(str, linked)))


def _spelled_out(json: bytes) -> str:
    """Return JSON text in lower case, without the escapes that a sender may use or not, such as those of ``&`` and ``/``."""
    text = json.decode("utf-8", "replace").replace("\\/", "/")
    text = ESCAPED.sub(lambda letter: chr(int(letter[1], 16)), text)
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").lower()
    )  # two escapes may be one letter


def _service_id(document: dict[str, Any]) -> str:
    user = document.get("user")
    text = user.get("id") if isinstance(user, dict) else None
    return text if isinstance(text, str) else ""


def _accounts(external_ids: Iterable[str]) -> Iterable[object]:
    """Return possible primary keys of accounts: `create_checkout` sends an account's key as ``external_id``."""
    return [key for each in external_ids if (key := account_key(each)) is not None]
