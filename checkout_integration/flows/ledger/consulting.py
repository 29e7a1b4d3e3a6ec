"""Asking the shop's hooks about a batch: before anything is locked, outside any transaction, so perhaps more than once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS
from checkout_integration.flows.ledger.customers import account_by_hook, identity_of
from checkout_integration.flows.ledger.locking import find_checkouts, named_orders
from checkout_integration.flows.ledger.rows import state_of
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice, Step
from checkout_integration.hooks import Hooks, load_hooks
from checkout_integration.models import CheckoutUser
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Observation, Timing
from checkout_integration.policy.state import OrderState, observe

logger = logging.getLogger("checkout_integration.ledger")


def consult_hooks(project: Project, steps: Sequence[Step]) -> Advice:
    """Return what the shop says of these steps; costs nothing where it overrides neither hook.

    What it names is only an offer: a checkout is used where the order still has none under its lock, and an account where its
    customer has no row yet.
    """
    hooks = load_hooks(project.hooks)
    resolves = type(hooks).resolve_checkout is not Hooks.resolve_checkout
    finds = type(hooks).find_user is not Hooks.find_user
    if not (resolves or finds):
        return NO_ADVICE
    observations = [observation for step in steps for observation in step.observations]
    checkouts, errors = _resolved(project, hooks, observations) if resolves else ({}, {})
    accounts = _accounts(project, observations) if finds else {}
    return Advice(checkouts=checkouts, accounts=accounts, errors=errors)


def _resolved(
    project: Project, hooks: Hooks, observations: Sequence[Observation]
) -> tuple[dict[str, Any], dict[str, Exception]]:
    """Ask which checkouts the paid orders are for that name none; an error is that of its order alone."""
    checkouts: dict[str, Any] = {}
    errors: dict[str, Exception] = {}
    orders = {order.order_id: order for order in named_orders(project, _ids(observations))}
    names = {name for checkout in find_checkouts(project, observations) for name in checkout[1:] if name}
    for order_id in _ids(observations):
        row = orders.get(order_id)
        own = [observation for observation in observations if observation.order.id == order_id]
        if (row is not None and row.checkout_id) or not names.isdisjoint(_names(project, own)):
            continue
        before = state_of(row) if row is not None else OrderState()
        after = _observed(project, before, own)
        if not after.settled or after == before:
            continue
        try:
            with transaction.atomic(using=state_database()):  # what the hook breaks is undone
                checkout = hooks.resolve_checkout(after.order)
        except TRANSIENT_DATABASE_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the hook raises
            errors[order_id] = error
            continue
        if checkout is not None:
            checkouts[order_id] = checkout.pk
    return checkouts, errors


def _ids(observations: Sequence[Observation]) -> list[str]:
    return sorted({observation.order.id or "" for observation in observations})


def _names(project: Project, observations: Sequence[Observation]) -> set[str]:
    """Return what a checkout of this order would be found by."""
    orders = [observation.order for observation in observations]
    ids = {order.id or "" for order in orders}
    return ids | {reference_of(order, project.reference_key) for order in orders}


def _observed(project: Project, state: OrderState, observations: Sequence[Observation]) -> OrderState:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in observations:
        state = observe(state, observation, timing)
    return state


def _accounts(project: Project, observations: Sequence[Observation]) -> dict[str, Any]:
    """Ask for the accounts of customers who have no row."""
    users = {identity_of(each.order.user): each.order.user for each in observations if each.order.user}
    users.pop("", None)
    rows = CheckoutUser.objects.using(state_database()).filter(
        project=project.alias, identity__in=sorted(users)
    )
    known = set(rows.values_list("identity", flat=True)) if users else set()
    accounts: dict[str, Any] = {}
    for identity, user in users.items():
        if identity not in known and user is not None:
            accounts[identity] = account_by_hook(project, user)
    return accounts
