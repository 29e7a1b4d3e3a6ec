"""Whose orders they are: the customers of a project, and their accounts in the shop."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import insert_once, key_of, locked, state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS
from checkout_integration.flows.ledger.entry import Entry
from checkout_integration.flows.log_safety import error_location
from checkout_integration.flows.tombstone import tombstones_of
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Checkout, CheckoutUser
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.erasure import without_customer
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.customers")


def identity_of(user: User | None) -> str:
    """What a customer is found by: the shop's own id if there is one, else the service's; "" for nobody."""
    if user is None:
        return ""
    return identity_here(user.external_id) or (key_of("user", user.id) if user.id else "")


def identity_here(external_id: str | None) -> str:
    """What a customer is found by whom the shop gave an id of its own; "" for a guest."""
    return key_of("external", external_id) if external_id else ""


def named(project: Project, identity: str) -> CheckoutUser | None:
    """The customer's row, locked, or the tombstone of one who was erased; None for one who is not known.

    Whoever begins to erase them now waits until the transaction ends. Raises ``IntegrityError`` when another transaction has
    inserted or erased one who was not known: the caller repeats its whole transaction.
    """
    if not identity:
        return None
    known = _locked_users(project, [identity]).get(identity)
    if known is None:
        _hold_place(project, identity)
    return known


def is_recorded(project: Project, identity: str) -> bool:
    """Return whether the customer has a row or a tombstone, or no identity by which one could be found."""
    return not identity or standing(project, [identity, *tombstones_of(identity)]).exists()


def find_or_create(project: Project, identity: str, user: User, account_id: Any) -> CheckoutUser:
    """Return the customer's row or tombstone, locked; a row is inserted for one who has none.

    Raises ``IntegrityError`` when another transaction has erased them meanwhile: the caller repeats its whole transaction.
    """
    known = _locked_users(project, [identity]).get(identity)
    if known is not None:
        return known
    row = _row_of(project, identity, user, account_id)
    insert_once([row], "project", "identity")
    if any_erased(project, tombstones_of(identity)):
        raise ErasedMeanwhile
    return _locked_users(project, [identity])[identity]  # it may be one that another transaction has inserted


def account_before_order(project: Project, identity: str, user: User) -> Any:
    """Return the key of the account of a customer of whom no order has come: that of their latest sale, else the hook's."""
    sales = Checkout.objects.using(state_database()).filter(project=project.alias, identity=identity)
    buyer = sales.exclude(user=None).order_by("-pk").values_list("user_id", flat=True).first()
    return _account_by_hook(project, user) if buyer is None else buyer


def _hold_place(project: Project, identity: str) -> None:
    """Locks the place where a customer has no row: one that was inserted and deleted keeps all others from inserting it."""
    places = CheckoutUser.objects.using(state_database())
    # In bulk, and not by `delete`: nobody is to hear of a row that nobody will ever see.
    places.bulk_create([CheckoutUser(project=project.alias, identity=identity)])
    if any_erased(project, tombstones_of(identity)):
        raise ErasedMeanwhile
    places.filter(project=project.alias, identity=identity)._raw_delete(state_database())  # noqa: SLF001


def _locked_users(project: Project, identities: Iterable[str]) -> dict[str, CheckoutUser]:
    """Rows or tombstones by the identity that was asked for.

    Locked, so that a customer who is being erased meanwhile is not taken for one who is not.
    """
    asked = {name: identity for identity in identities for name in (identity, *tombstones_of(identity))}
    known = CheckoutUser.objects.using(state_database()).filter(
        project=project.alias, identity__in=sorted(asked)
    )
    return {asked[user.identity]: user for user in locked(known).order_by("pk")}


class ErasedMeanwhile(IntegrityError):
    """A customer was erased between the question for their tombstone and the insertion of their row."""


@dataclass(frozen=True, kw_only=True)
class Sighted:
    """A customer for whom no tombstone stood when the locks were asked for; ``key`` of the row that they had then."""

    identity: str
    key: int | None


def find_users(project: Project, entries: Sequence[Entry], sighted: Sighted | None) -> None:
    """Gives each changed entry whose customer is another one than before that customer's row.

    Raises ``IntegrityError`` when another transaction has erased one: the caller repeats its whole transaction. Of a customer
    who is inserted here, an erasing that begins later waits for their row, and then finds their orders (`erasing`).
    """
    wanted: dict[str, Entry] = {}
    for entry in entries:
        identity = identity_of(entry.after.order.user)
        if identity and entry.changed and not (entry.erased or _is_named(entry, identity)):
            wanted.setdefault(identity, entry)
    if sighted and [*wanted] == [sighted.identity]:
        users = _inserted(project, sighted, wanted[sighted.identity])
    else:
        users = _looked_up(project, wanted)
    for entry in entries:
        entry.user = users.get(identity_of(entry.after.order.user))


def _is_named(entry: Entry, identity: str) -> bool:
    return entry.row.user_id is not None and identity == identity_of(entry.before.order.user)


def _inserted(project: Project, sighted: Sighted, entry: Entry) -> dict[str, CheckoutUser]:
    """The customer's row, inserted or locked by one statement: one who is there already stays as they are."""
    account_id = _account_of(project, entry) if sighted.key is None else None
    user = _new_user(project, sighted.identity, entry, account_id)
    insert_once([user], "project", "identity")
    if sighted.key is None:
        entry.tombstones = tombstones_of(sighted.identity)
    elif sighted.key != user.pk:
        raise ErasedMeanwhile
    return {sighted.identity: user}


def _looked_up(project: Project, wanted: Mapping[str, Entry]) -> dict[str, CheckoutUser]:
    """Rows or tombstones of several customers, of whom those that are missing are inserted.

    Asked for tombstones again after that, since the shop's hook may have taken its time.
    """
    if not wanted:
        return {}
    known = _locked_users(project, sorted(wanted))
    missing = {
        identity: _new_user(project, identity, entry, _account_of(project, entry))
        for identity, entry in sorted(wanted.items())
        if identity not in known
    }
    insert_once(list(missing.values()), "project", "identity")
    if any_erased(project, [each for identity in missing for each in tombstones_of(identity)]):
        raise ErasedMeanwhile
    return known | missing


def any_erased(project: Project, tombstones: Sequence[str]) -> bool:
    """Whether one of these tombstones stands now."""
    return bool(tombstones) and standing(project, tombstones).exists()


def standing(project: Project, tombstones: Sequence[str]) -> QuerySet[CheckoutUser]:
    """Those of these tombstones that stand."""
    users = CheckoutUser.objects.using(state_database())
    return users.filter(project=project.alias, identity__in=tombstones)


def forget_erased(project: Project, entries: Sequence[Entry]) -> None:
    """Takes out of each entry what may not be kept: its order was erased, or its customer, before this order was known.

    A tombstone wins over every later observation.
    """
    for entry in entries:
        if entry.erased:
            entry.after = without_customer(entry.after, project.reference_key)


def _new_user(project: Project, identity: str, entry: Entry, account_id: Any) -> CheckoutUser:
    told = entry.after.order.user
    assert told is not None  # it has an identity
    return _row_of(project, identity, told, account_id)


def _row_of(project: Project, identity: str, user: User, account_id: Any) -> CheckoutUser:
    return CheckoutUser(
        project=project.alias,
        identity=identity,
        external_id=as_column_text(user.external_id),
        user_id=as_column_text(user.id),
        account_id=account_id,
    )


def _account_of(project: Project, entry: Entry) -> Any:
    """Key of the account that bought, else of the one that the shop names: a link, which must not stop a payment."""
    told = entry.after.order.user
    assert told is not None
    if entry.checkout and entry.checkout.user_id:
        return entry.checkout.user_id
    return _account_by_hook(project, told)


def _account_by_hook(project: Project, user: User) -> Any:
    try:
        with transaction.atomic(using=state_database()):  # what the hook breaks is undone
            account = load_hooks(project.hooks).find_user(user)
            return account.pk if account is not None else None
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the hook raises
        logger.error("Hooks.find_user failed, so the customer has no account: %s", error_location(error))
        return None
