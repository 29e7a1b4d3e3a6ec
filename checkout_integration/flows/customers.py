"""Whose orders they are: the customers of a project, and their accounts in the shop."""

from __future__ import annotations

from collections.abc import Sequence

from checkout_integration.conf import Project
from checkout_integration.flows.database import key_of, state_database
from checkout_integration.flows.entry import Entry
from checkout_integration.hooks import load_hooks
from checkout_integration.models import CheckoutUser
from checkout_integration.models.columns import as_column_text
from checkout_integration.protocol.user import User


def identity_of(user: User | None) -> str:
    """What a customer is found by: the shop's own id if there is one, else the service's; "" for nobody."""
    if user is None:
        return ""
    if user.external_id:
        return key_of("external", user.external_id)
    return key_of("user", user.id) if user.id else ""


def find_users(project: Project, entries: Sequence[Entry]) -> None:
    """Gives each changed entry its customer's row, inserting those that are seen for the first time.

    Raises ``IntegrityError`` when another transaction inserts the same one: the caller repeats its whole transaction.
    """
    wanted: dict[str, Entry] = {}
    for entry in entries:
        identity = identity_of(entry.after.order.user)
        held = entry.row.user
        if held is not None and held.identity == identity:
            entry.user = held
        elif identity and entry.changed:
            wanted.setdefault(identity, entry)
    if not wanted:
        return
    alias = state_database()
    found = CheckoutUser.objects.using(alias).filter(project=project.alias, identity__in=sorted(wanted))
    users = {user.identity: user for user in found}
    missing = [
        _new_user(project, identity, entry)
        for identity, entry in sorted(wanted.items())
        if identity not in users
    ]
    if missing:
        users |= {user.identity: user for user in CheckoutUser.objects.using(alias).bulk_create(missing)}
    for entry in entries:
        entry.user = entry.user or users.get(identity_of(entry.after.order.user))


def _new_user(project: Project, identity: str, entry: Entry) -> CheckoutUser:
    told = entry.after.order.user
    assert told is not None  # it has an identity
    account = entry.checkout.user if entry.checkout and entry.checkout.user_id else None
    return CheckoutUser(
        project=project.alias,
        identity=identity,
        external_id=as_column_text(told.external_id),
        user_id=as_column_text(told.id),
        account=account or load_hooks(project.hooks).find_user(told),
    )
