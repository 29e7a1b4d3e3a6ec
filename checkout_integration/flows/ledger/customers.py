"""The customers of a project, their accounts in the shop, and the tombstones of erased ones."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from checkout_integration.conf import Project
from checkout_integration.flows.database import (
    KEY_LENGTH,
    TRANSIENT_DATABASE_ERRORS,
    Query,
    insert_or_lock,
    key_of,
    locked,
    own_transaction,
    state_database,
    update,
)
from checkout_integration.flows.ledger.batch import Advice, Batch, LockedOrder
from checkout_integration.hooks import load_hooks, overrides
from checkout_integration.models import Checkout, CheckoutUser, PersonalData
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.erasure import is_erased, without_customer
from checkout_integration.policy.log_safety import error_location
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.customers")

NAMED: Final = "own.project = {project} AND own.identity IN {identities}"
USERS: Final = Query(CheckoutUser, f"{NAMED} ORDER BY own.id", lock=["own"])
STORED: Final = Query(CheckoutUser, NAMED)


def identity_of(user: User | None) -> str:
    """Return the key of a customer: by the shop's id, else the service's (USR-01, USR-03: the specification does not say)."""
    if user is None:
        return ""
    return identity_here(user.external_id) or (key_of("user", user.id) if user.id else "")


def names_of(user: User | None) -> list[str]:
    """Return all identities that a customer may be stored under, at the shop and at the service, each with its tombstones."""
    if user is None:
        return []
    own = [identity_here(user.external_id), key_of("user", user.id) if user.id else ""]
    return [name for each in own if each for name in (each, *tombstones_of(each))]


def customers_of(orders: Iterable[Order]) -> dict[str, list[str]]:
    """Return the identities of the customers of orders, each with all names of its customer."""
    return {identity: names_of(order.user) for order in orders if (identity := identity_of(order.user))}


def is_blocked(project: Project, user: User) -> bool:
    """Return whether staff have blocked the customer, under any of their names; an erasure lifts no block."""
    known = CheckoutUser.primary.filter(project=project.alias, blocked_at__isnull=False)
    named = Q(identity__in=names_of(user)) | (Q(user_id=user.id) if user.id else Q(pk__in=[]))
    return known.filter(named).exists()


def is_account_blocked(project: Project, account_id: Any) -> bool:
    """Return whether staff have blocked the customer of an account, by its key as an ``external_id``, or by a link."""
    known = CheckoutUser.primary.filter(project=project.alias, blocked_at__isnull=False)
    identity = identity_here(str(account_id))
    return known.filter(Q(identity__in=[identity, *tombstones_of(identity)]) | Q(account=account_id)).exists()


def identity_here(external_id: str | None) -> str:
    """Return the lookup key of a customer with an id of the shop's; "" for a guest."""
    return key_of("external", external_id) if external_id else ""


def lock_customer(project: Project, identity: str) -> CheckoutUser | None:
    """Lock and return the customer's row, or the tombstone of an erased one; None for an unknown one.

    An erasure that begins now waits until the transaction ends. Raises ``IntegrityError`` when another transaction has
    inserted or erased an unknown one: the caller retries its whole transaction.
    """
    if not identity:
        return None
    known = _locked_users(project, [identity]).get(identity)
    if known is None:
        _reserve_identity(project, identity)
    return known


def is_recorded(project: Project, identity: str) -> bool:
    """Return whether the customer has a row or a tombstone, or no identity by which one could be found."""
    return not identity or is_tombstoned(project, [identity, *tombstones_of(identity)])


def find_or_create(project: Project, identity: str, user: User, account_id: Any) -> CheckoutUser:
    """Return the customer's row or tombstone, locked; a missing row is inserted.

    Raises ``IntegrityError`` when another transaction has erased them meanwhile: the caller retries its whole transaction.
    """
    users = _found_or_inserted(project, [identity], lambda _: _row_of(project, identity, user, account_id))
    return users[identity]


def account_before_order(project: Project, identity: str, user: User) -> Any:
    """Return the key of the account of a customer without an order: that of their latest checkout, else the hook's."""
    owned = Checkout.primary.filter(project=project.alias, identity=identity, user__isnull=False)
    latest = owned.order_by("-pk").values_list("user", flat=True).first()
    return account_by_hook(project, user) if latest is None else latest


def _reserve_identity(project: Project, identity: str) -> None:
    """Reserve the unique identity: insert and delete a placeholder so that concurrent inserts wait.

    RACE: an unknown customer has no row that could be locked, and an erasure at the same moment would not wait for us. It
    inserts its tombstone under this identity first, so both meet at the unique key: who comes second waits for the commit.
    """
    places = CheckoutUser.primary.all()
    # In bulk, and not by `delete`: no signal is sent about a row that is never visible.
    places.bulk_create([CheckoutUser(project=project.alias, identity=identity)])
    if is_tombstoned(project, tombstones_of(identity)):
        raise ErasedMeanwhile
    places.filter(project=project.alias, identity=identity)._raw_delete(state_database())  # noqa: SLF001


def _locked_users(project: Project, identities: Collection[str]) -> dict[str, CheckoutUser]:
    """Return rows or tombstones by the identity of the look-up.

    Locked, so that a customer who is being erased meanwhile does not look like a stored one.
    """
    if not identities:
        return {}
    identity_of_name = {
        name: identity for identity in identities for name in (identity, *tombstones_of(identity))
    }
    return {
        identity_of_name[user.identity]: user
        for user in USERS.rows(project=project.alias, identities=sorted(identity_of_name))
    }


class ErasedMeanwhile(IntegrityError):
    """A customer was erased between the check for their tombstone and the insertion of their row."""


def find_users(batch: Batch) -> None:
    """Set the customer's row on each changed order with another customer than before; fill in the service's id.

    Rows are locked, or inserted, by one statement each; strangers (`batch.Hints`) are inserted without a look. Raises
    ``IntegrityError`` when another transaction has erased one meanwhile: the caller retries its whole transaction. An erasure
    that begins later waits for a row that was inserted here, and then finds its orders (`privacy.erasing`).
    """
    project = batch.project
    orders: dict[str, LockedOrder] = {}
    ids: dict[str, str] = {}
    for order in batch.orders:
        identity = identity_of(order.state.order.user)
        user_id = as_column_text(order.state.order.user.id) if order.state.order.user else ""
        if not (identity and order.changed) or order.erased:
            continue
        if not _has_customer(order, identity) or (user_id and batch.hints.unnamed):
            orders.setdefault(identity, order)
        if user_id:
            ids.setdefault(identity, user_id)
    if not orders:
        return

    def row_of(identity: str) -> CheckoutUser:
        account_id = _account_of(orders[identity], identity, batch.advice)
        return _row_of(project, identity, orders[identity].state.order.user, account_id)

    users = _found_or_inserted(project, orders, row_of, strangers=batch.hints.strangers)
    learned = [
        user
        for identity, user in users.items()
        # Not "or": both are learned.
        if learn_id(user, ids.get(identity, "")) | _learn_account(user, orders.get(identity), batch.advice)
    ]
    update(learned, ("user_id", "account"))
    for order in batch.orders:
        order.user = users.get(identity_of(order.state.order.user))


def learn_id(customer: CheckoutUser, user_id: str | None) -> bool:
    """Set the service's id on a locked row without one; return whether it was set. A tombstone stays empty."""
    if not user_id or customer.user_id or is_erased(customer):
        return False
    customer.user_id = as_column_text(user_id)
    return True


def _learn_account(customer: CheckoutUser, order: LockedOrder | None, advice: Advice) -> bool:
    """Set the account of a locked row whose first order had none; return whether it was set. Links of staff stay."""
    if order is None or customer.account_id or customer.linked_at or is_erased(customer):
        return False
    customer.account_id = _account_of(order, customer.identity, advice)
    return customer.account_id is not None


def _found_or_inserted(
    project: Project,
    identities: Collection[str],
    row_of: Callable[[str], CheckoutUser],
    strangers: frozenset[str] = frozenset(),
) -> dict[str, CheckoutUser]:
    """Return rows or tombstones by identity, locked; missing rows are inserted, those of ``strangers`` without a look.

    They are returned as they are stored: another transaction may have inserted one.

    RACE: we looked, and there was neither a row nor a tombstone. Then an erasure may have committed, which had found nothing
    of ours to lock, and our insertion has made a customer of somebody who was erased. Now the tombstone is seen: the
    caller's transaction is rolled back, and its retry finds the tombstone first. An erasure that begins later waits for our
    row.
    """
    users = _locked_users(project, sorted(set(identities) - strangers))
    missing = {identity: row_of(identity) for identity in sorted(identities) if identity not in users}
    if missing:
        insert_or_lock(list(missing.values()), "project", "identity")
        names = [name for identity in missing for name in (identity, *tombstones_of(identity))]
        stored = {user.identity: user for user in STORED.rows(project=project.alias, identities=names)}
        if not stored.keys() <= missing.keys():
            raise ErasedMeanwhile
        users |= stored
    return users


def _has_customer(order: LockedOrder, identity: str) -> bool:
    return order.row.user_id is not None and identity == identity_of(order.stored.order.user)


def is_tombstoned(project: Project, tombstones: Sequence[str]) -> bool:
    """Return whether a row has one of these identities now."""
    return CheckoutUser.primary.filter(project=project.alias, identity__in=tombstones).exists()


def forget_erased(batch: Batch) -> None:
    """Remove the personal data from each order that is erased, or whose customer was erased before the order was known.

    A tombstone wins over every later observation.
    """
    for order in batch.orders:
        if order.erased:
            order.state = without_customer(order.state, batch.project.reference_key)


def _row_of(project: Project, identity: str, user: User | None, account_id: Any) -> CheckoutUser:
    assert user is not None  # it has an identity
    return CheckoutUser(
        project=project.alias,
        identity=identity,
        external_id=as_column_text(user.external_id),
        user_id=as_column_text(user.id),
        account_id=account_id,
    )


def _account_of(order: LockedOrder, identity: str, advice: Advice) -> Any:
    """Return the key of the checkout's account, else of the one that the shop's hook named. It is only a link."""
    if order.checkout and order.checkout.user_id:
        return order.checkout.user_id
    return advice.accounts.get(identity)


class BoughtMeanwhile(IntegrityError):
    """A customer bought while they were being linked to an account."""


def bought_as_guest(customer: CheckoutUser) -> QuerySet[Checkout]:
    """Return the checkouts of a customer's orders that no account owns, or that their account owns by a link."""
    bought = Checkout.primary.filter(orders__user=customer.pk)
    owned = Q(user=None)
    if customer.linked_at is not None:
        owned |= Q(user=customer.account_id, by_link=True)
    return Checkout.primary.filter(owned, pk__in=list(bought.values_list("pk", flat=True)))


def link_to_account(customer: CheckoutUser, account_id: Any) -> int | None:
    """Give what a customer bought as a guest to an account; with None, take back what the last link gave.

    The customer then has the account again that bought as this customer itself, if there is one. In the caller's transaction.
    Return how many checkouts it is; None where nothing changes: linked already, or erased.

    RACE: the customer buys meanwhile. The ledger locks a checkout before its customer, and so does this: what is bound
    before the customer is locked is found by the second look, and the whole transaction is retried (`BoughtMeanwhile`);
    what is bound later sees the link (`owner_by_link`). An erasure comes either first, and nothing is linked, or later.
    """
    rows = CheckoutUser.primary.filter(pk=customer.pk, erased_at=None)
    found = rows.first()
    if found is None:
        return None
    keys = sorted(bought_as_guest(found).values_list("pk", flat=True))
    list(locked(Checkout.primary.filter(pk__in=keys)).order_by("pk"))
    row = locked(rows).first()
    if row is None or account_id == (row.account_id if row.linked_at is not None else None):
        return None
    if not set(bought_as_guest(row).values_list("pk", flat=True)) <= set(keys):
        raise BoughtMeanwhile
    if account_id is None:
        rows.update(account_id=_account_without_link(row), linked_at=None)
    else:
        rows.update(account_id=account_id, linked_at=datetime.now(UTC))
    given = bought_as_guest(row).filter(pk__in=keys)
    count = given.count() if account_id is not None else given.filter(by_link=True).count()
    given.update(user_id=account_id, by_link=account_id is not None)
    return count


def _account_without_link(customer: CheckoutUser) -> Any:
    """Return the key of the account that last bought as this customer itself; None for a guest."""
    bought = Checkout.primary.filter(orders__user=customer.pk, by_link=False, user__isnull=False)
    return bought.order_by("-pk").values_list("user", flat=True).first()


def owner_by_link(order: LockedOrder, *, newly_bound: bool) -> Any:
    """Return the key of the account to which staff have linked the customer of an order; None for any other customer.

    The customer is locked here where the order was known and is bound only now.
    """
    customer = order.user
    if customer is None and newly_bound and order.row.user_id is not None:
        customer = locked(CheckoutUser.primary.filter(pk=order.row.user_id)).first()
    return customer.account_id if customer is not None and customer.linked_at is not None else None


def account_key(external_id: str | None) -> Any:
    """Return the primary key of an account, of whatever type, that has exactly this text; None for another text."""
    field = get_user_model()._meta.pk
    try:
        key = field.to_python(external_id)
        field.run_validators(key)
    except ValidationError:
        return None
    return (
        key if key is not None and str(key) == external_id else None
    )  # not " 1", which parses to the key, too


def account_of(user: User) -> AbstractBaseUser | None:
    """Return the account whose primary key `create_checkout` has sent as ``external_id``; None for a stranger.

    It is for hooks, in a shop that gives no ``Customer.external_id`` of its own. Keys may be of any type, such as UUIDs. The
    account may be inactive.
    """
    key = account_key(user.external_id)
    return None if key is None else get_user_model()._default_manager.filter(pk=key).first()


def account_by_hook(project: Project, user: User) -> Any:
    """Return the key of the account that `Hooks.find_user` names: a link, whose failure must not stop a payment."""
    if not overrides(project.hooks, "find_user"):
        return None
    hooks = load_hooks(project.hooks)
    try:
        with own_transaction():  # a failure of the hook is rolled back
            account = hooks.find_user(user)
            return account.pk if account is not None else None
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the hook raises
        place, ids = error_location(error), {"project": project.alias}
        logger.error("Hooks.find_user failed, so the customer has no account: %s", place, extra=ids)
        return None


# Erased customers are recognised by keyed hashes, without their data being stored: docs/personal-data.md.

SALT: Final = "checkout_integration.erased"
REQUEST_SALT: Final = "checkout_integration.request"
IDS: Final = re.compile(rb'"(id|external_id)"\s*:\s*("(?:[^"\\]|\\.){1,255}")')
MOST_IDS: Final = 100


def tombstones_of(identity: str) -> list[str]:
    """Return the identities of an erased customer's tombstone: a keyed hash for each secret key.

    Without Django's SECRET_KEY, a thief of the tables cannot test guesses of the id. The keys of SECRET_KEY_FALLBACKS are
    tried too: a tombstone matches as long as its key is listed.
    """
    return [each[:KEY_LENGTH] for each in _keyed_hashes(SALT, identity)] if identity else []


def request_hashes(key: str, body: bytes) -> list[str]:
    """Return the hashes that recognise a request to user.validate: keyed, of the notification's key and the body.

    The first one is stored; the others are those of the keys in SECRET_KEY_FALLBACKS. Not a plain hash: a body has personal
    data, which must not be guessable after the erasure.
    """
    return _keyed_hashes(REQUEST_SALT, f"{key}:{hashlib.sha256(body).hexdigest()}")


def _keyed_hashes(salt: str, text: str) -> list[str]:
    hashes = [_hash(salt, key).copy() for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    for each in hashes:
        each.update(text.encode())
    return [each.hexdigest() for each in hashes]


@lru_cache(maxsize=16)
def _hash(salt: str, key: str | bytes) -> hmac.HMAC:
    """Return the empty keyed hash, to be copied: deriving a key takes longer than hashing."""
    return salted_hmac(salt, "", secret=key, algorithm="sha256")


def names_erased(project: str, bodies: Sequence[bytes]) -> list[bool]:
    """Return for each body whether it names an erased customer or order. Only ids are read: the body may be invalid.

    Two statements, whatever the number of bodies.
    """
    ids = [[(kind.decode(), _text(text)) for kind, text in IDS.findall(body)[:MOST_IDS]] for body in bodies]
    orders = PersonalData.primary.filter(order__project=project, erased_at__isnull=False)
    order_ids = {text for each in ids for _, text in each}
    erased = set(orders.filter(order__order_id__in=order_ids).values_list("order__order_id", flat=True))
    tombstones = {
        (kind, text): tombstones_of(key_of("external" if kind == "external_id" else "user", text))
        for each in ids
        for kind, text in each
    }
    customers = CheckoutUser.primary.filter(project=project, erased_at__isnull=False)
    hashes = {tombstone for each in tombstones.values() for tombstone in each}
    present = set(customers.filter(identity__in=hashes).values_list("identity", flat=True))
    gone = {name for name, each in tombstones.items() if not present.isdisjoint(each)}
    return [any(name in gone or name[1] in erased for name in each) for each in ids]


def _text(quoted: bytes) -> str:
    """Return the text of a JSON string, as it was when it was stored; "" if it is invalid."""
    try:
        return str(strict_json.loads(quoted))
    except strict_json.StrictJsonError:
        return ""
