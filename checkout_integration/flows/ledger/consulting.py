"""The shop's hooks, called for a batch before anything is locked and outside any transaction, perhaps more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from checkout_integration.conf import Project
from checkout_integration.flows.database import TRANSIENT_DATABASE_ERRORS, own_transaction
from checkout_integration.flows.ledger.batch import NO_ADVICE, Advice, Step, named_orders
from checkout_integration.flows.ledger.customers import account_by_hook, identity_of
from checkout_integration.flows.ledger.deciding import observed
from checkout_integration.hooks import load_hooks, overrides
from checkout_integration.models import Checkout, CheckoutUser
from checkout_integration.models.order import state_of
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import NOTHING
from checkout_integration.protocol import order as documents


def consult_hooks(project: Project, steps: Sequence[Step]) -> Advice:
    """Return the results of the shop's hooks for these steps. Nothing is read if the shop overrides neither hook.

    They are only offers: a checkout is used if the order, once locked, still has none; an account is used if its customer has
    no row yet.
    """
    resolves, finds = (overrides(project.hooks, name) for name in ("resolve_checkout", "find_user"))
    if not (resolves or finds):
        return NO_ADVICE
    observations = [step.observation for step in steps]
    checkouts, errors = _resolved(project, observations) if resolves else ({}, {})
    accounts = _accounts(project, observations) if finds else {}
    return Advice(checkouts=checkouts, accounts=accounts, errors=errors)


def _resolved(
    project: Project, observations: Sequence[Observation]
) -> tuple[dict[str, Any], dict[str, Exception]]:
    """Call the hook for paid orders that name no checkout. A failure concerns its order alone."""
    hooks = load_hooks(project.hooks)
    checkouts: dict[str, Any] = {}
    errors: dict[str, Exception] = {}
    by_order: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        by_order[observation.order.id or ""].append(observation)
    rows = {row.order_id: row for row in named_orders(project, list(by_order))}
    names = _names_of_checkouts(project, [observation.order for observation in observations])
    for order_id, own in sorted(by_order.items()):
        row = rows.get(order_id)
        if (row is not None and row.checkout_id) or not names.isdisjoint(_names(project, own)):
            continue
        before = state_of(row) if row is not None else NOTHING
        after = observed(project, before, own)
        if not after.settled or after == before:
            continue
        try:
            with own_transaction():  # a failure of the hook is rolled back
                checkout = hooks.resolve_checkout(after.order)
        except TRANSIENT_DATABASE_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the hook raises
            errors[order_id] = error
            continue
        if checkout is not None:
            checkouts[order_id] = checkout.pk
    return checkouts, errors


def _names_of_checkouts(project: Project, orders: Sequence[documents.Order]) -> set[str]:
    """Return order ids and references of the checkouts that these orders name. Nothing is locked."""
    ids = sorted({each.id or "" for each in orders})
    references = {reference_of(each, project.reference_key) for each in orders} - {""}
    own = Checkout.primary.filter(project=project.alias)
    found = own.filter(order_id__in=ids).values_list("order_id", "reference")
    if references:
        # A union of indexed look-ups; an OR over them would read the whole table.
        found = found.union(own.filter(reference__in=sorted(references)).values_list("order_id", "reference"))
    return {name for names in found for name in names if name}


def _names(project: Project, observations: Sequence[Observation]) -> set[str]:
    """Return the ids and references by which a checkout of these observations is found."""
    orders = [observation.order for observation in observations]
    ids = {order.id or "" for order in orders}
    return ids | {reference_of(order, project.reference_key) for order in orders}


def _accounts(project: Project, observations: Sequence[Observation]) -> dict[str, Any]:
    """Return the accounts of customers without a row, by the hook."""
    users = {identity_of(each.order.user): each.order.user for each in observations if each.order.user}
    users.pop("", None)
    rows = CheckoutUser.primary.filter(project=project.alias, identity__in=sorted(users))
    known = set(rows.values_list("identity", flat=True)) if users else set()
    accounts: dict[str, Any] = {}
    for identity, user in users.items():
        if identity not in known and user is not None:
            accounts[identity] = account_by_hook(project, user)
    return accounts
