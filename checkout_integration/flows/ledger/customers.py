"""Whose orders they are: the customers of a project, and their accounts in the shop."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of, locked, state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS
from checkout_integration.flows.database.statements import insert_or_lock
from checkout_integration.flows.ledger.order_change import LockedOrder
from checkout_integration.flows.ledger.steps import Advice
from checkout_integration.flows.ledger.taking import Batch
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
    insert_or_lock([row], "project", "identity")
    if any_erased(project, tombstones_of(identity)):
        raise ErasedMeanwhile
    return _locked_users(project, [identity])[identity]  # it may be one that another transaction has inserted


def account_before_order(project: Project, identity: str, user: User) -> Any:
    """Return the key of the account of a customer of whom no order has come: that of their latest sale, else the hook's."""
    sales = Checkout.objects.using(state_database()).filter(project=project.alias, identity=identity)
    buyer = sales.exclude(user=None).order_by("-pk").values_list("user_id", flat=True).first()
    return account_by_hook(project, user) if buyer is None else buyer


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


def find_users(batch: Batch, advice: Advice) -> None:
    """Give each changed order whose customer is another one than before that customer's row.

    Rows are locked, or inserted, by one statement each. Raises ``IntegrityError`` when another transaction has erased one
    meanwhile: the caller retries its whole transaction. An erasing that begins later waits for a row that was inserted here,
    and then finds its orders (`erasing`).
    """
    project = batch.project
    wanted: dict[str, LockedOrder] = {}
    for order in batch.orders:
        identity = identity_of(order.state.order.user)
        if identity and order.changed and not (order.erased or _has_customer(order, identity)):
            wanted.setdefault(identity, order)
    if not wanted:
        return
    users = _locked_users(project, sorted(wanted))
    missing = {
        identity: _new_user(project, identity, order, _account_of(order, identity, advice))
        for identity, order in sorted(wanted.items())
        if identity not in users
    }
    if missing:
        insert_or_lock(list(missing.values()), "project", "identity")
        # RACE: a customer may have been erased since the look-up. Whoever erases one from now on waits for the new row.
        if any_erased(project, [each for identity in missing for each in tombstones_of(identity)]):
            raise ErasedMeanwhile
    users |= missing
    for order in batch.orders:
        order.user = users.get(identity_of(order.state.order.user))


def _has_customer(order: LockedOrder, identity: str) -> bool:
    return order.row.user_id is not None and identity == identity_of(order.stored.order.user)


def any_erased(project: Project, tombstones: Sequence[str]) -> bool:
    """Whether one of these tombstones stands now."""
    return bool(tombstones) and standing(project, tombstones).exists()


def standing(project: Project, tombstones: Sequence[str]) -> QuerySet[CheckoutUser]:
    """Those of these tombstones that stand."""
    users = CheckoutUser.objects.using(state_database())
    return users.filter(project=project.alias, identity__in=tombstones)


def forget_erased(batch: Batch) -> None:
    """Take out of each order what may not be stored: it was erased, or its customer, before this order was known.

    A tombstone wins over every later observation.
    """
    for order in batch.orders:
        if order.erased:
            order.state = without_customer(order.state, batch.project.reference_key)


def _new_user(project: Project, identity: str, order: LockedOrder, account_id: Any) -> CheckoutUser:
    user = order.state.order.user
    assert user is not None  # it has an identity
    return _row_of(project, identity, user, account_id)


def _row_of(project: Project, identity: str, user: User, account_id: Any) -> CheckoutUser:
    return CheckoutUser(
        project=project.alias,
        identity=identity,
        external_id=as_column_text(user.external_id),
        user_id=as_column_text(user.id),
        account_id=account_id,
    )


def _account_of(order: LockedOrder, identity: str, advice: Advice) -> Any:
    """Return the key of the account that bought, else of the one that the shop's hook named: only a link."""
    if order.checkout and order.checkout.user_id:
        return order.checkout.user_id
    return advice.accounts.get(identity)


def account_by_hook(project: Project, user: User) -> Any:
    """Return the key of the account that `Hooks.find_user` names: a link, whose failure must not stop a payment."""
    try:
        with transaction.atomic(using=state_database()):  # what the hook breaks is undone
            account = load_hooks(project.hooks).find_user(user)
            return account.pk if account is not None else None
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the hook raises
        logger.error("Hooks.find_user failed, so the customer has no account: %s", error_location(error))
        return None
