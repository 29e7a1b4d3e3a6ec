"""Whose orders they are: the customers of a project, and their accounts in the shop."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database import key_of, locked, state_database
from checkout_integration.flows.entry import Entry
from checkout_integration.flows.failure import place_of
from checkout_integration.flows.repeating import DATABASE_AWAY
from checkout_integration.flows.tombstone import tombstones_of
from checkout_integration.hooks import load_hooks
from checkout_integration.models import CheckoutUser
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.erasure import without_customer
from checkout_integration.protocol.user import User

logger = logging.getLogger("checkout_integration.customers")


def identity_of(user: User | None) -> str:
    """What a customer is found by: the shop's own id if there is one, else the service's; "" for nobody."""
    if user is None:
        return ""
    if user.external_id:
        return key_of("external", user.external_id)
    return key_of("user", user.id) if user.id else ""


def named(project: Project, user: User | None) -> CheckoutUser | None:
    """The customer's row, locked, or the tombstone of one who was erased; None for one who is not known."""
    identity = identity_of(user)
    return _locked_users(project, [identity]).get(identity) if identity else None


def _locked_users(project: Project, identities: Iterable[str]) -> dict[str, CheckoutUser]:
    """Rows or tombstones by the identity that was asked for.

    Locked, so that a customer who is being erased meanwhile is not taken for one who is not.
    """
    asked = {name: identity for identity in identities for name in (identity, *tombstones_of(identity))}
    known = CheckoutUser.objects.using(state_database()).filter(
        project=project.alias, identity__in=sorted(asked)
    )
    return {asked[user.identity]: user for user in locked(known).order_by("pk")}


def find_users(project: Project, entries: Sequence[Entry]) -> None:
    """Gives each changed entry its customer's row, inserting those that are seen for the first time.

    Raises ``IntegrityError`` when another transaction inserts the same one: the caller repeats its whole transaction.
    """
    wanted: dict[str, Entry] = {}
    for entry in entries:
        identity = identity_of(entry.after.order.user)
        held = entry.row.user
        if held is not None and (held.erased_at or held.identity == identity):
            entry.user = held
        elif identity and entry.changed:
            wanted.setdefault(identity, entry)
    if not wanted:
        return
    alias = state_database()
    users = _locked_users(project, sorted(wanted))
    missing = [
        _new_user(project, identity, entry)
        for identity, entry in sorted(wanted.items())
        if identity not in users
    ]
    if missing:
        users |= {user.identity: user for user in CheckoutUser.objects.using(alias).bulk_create(missing)}
    for entry in entries:
        entry.user = entry.user or users.get(identity_of(entry.after.order.user))


def forget_erased(project: Project, entries: Sequence[Entry]) -> None:
    """Takes out of each entry what may not be kept: its order was erased, or its customer, before this order was known.

    A tombstone wins over every later observation.
    """
    for entry in entries:
        if entry.erased:
            entry.after = without_customer(entry.after, project.reference_key)


def _new_user(project: Project, identity: str, entry: Entry) -> CheckoutUser:
    told = entry.after.order.user
    assert told is not None  # it has an identity
    account = entry.checkout.user if entry.checkout and entry.checkout.user_id else None
    return CheckoutUser(
        project=project.alias,
        identity=identity,
        external_id=as_column_text(told.external_id),
        user_id=as_column_text(told.id),
        account=account or _account_of(project, told),
    )


def _account_of(project: Project, told: User) -> Any:
    """The account that the shop names, if it can: an account is a link, and must not keep a payment out of the ledger."""
    try:
        with transaction.atomic(using=state_database()):  # what the hook breaks is undone
            return load_hooks(project.hooks).find_user(told)
    except DATABASE_AWAY:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the hook raises
        logger.error("Hooks.find_user failed, so the customer has no account: %s", place_of(error))
        return None
