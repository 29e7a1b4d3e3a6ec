"""Payments from before the installation: an order that was over by then is historic, and no signal is sent for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.vocabulary import OrderStatus

LATEST_RETRY = timedelta(hours=48)
"""How much older than the installation a signed success may be: the service delivers it for that long."""


def is_historic(state: OrderState, installed_at: datetime | None, margin: timedelta) -> bool:
    """Return whether an order was over before this app was installed, so that no signal about it is sent.

    Only the list shows such orders. An unpaid order is not historic: its payment is still to come.
    """
    created_at = state.order.created_at
    only_listed = all(key.endswith(f"/{Source.LIST}") for key in state.facts.slots)
    if created_at is None or installed_at is None or not only_listed:
        return False
    is_open = state.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return not is_open and created_at < installed_at - margin


def is_older(state: OrderState, installed_at: datetime | None) -> bool:
    """Return whether an unbound payment is from before the installation.

    A signed success says when it was; of others it is known only when their orders were created.
    """
    if installed_at is None:
        return False
    signed = [time for time in state.facts.times(OrderStatus.PROCESSED, Source.NOTIFICATION) if time]
    if signed:
        return min(signed) < stamp(installed_at - LATEST_RETRY)
    created_at = state.order.created_at
    return created_at is not None and created_at < installed_at
