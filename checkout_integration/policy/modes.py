"""Test or live: which orders are tests of the webhook, and which payments a test or live checkout takes."""

from __future__ import annotations

from typing import Final

from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.user import User
from checkout_integration.protocol.values import Document
from checkout_integration.protocol.vocabulary import TestingCase

USER_CASES: Final = (TestingCase.EXISTING_USER, TestingCase.NON_EXISTING_USER)


def is_testing_case(order: Document) -> bool:
    """Return whether an Order object is one of the service's tests of the webhook (ORD-43): it sells nothing."""
    return bool(order.get("testing_case"))


def user_of_testing_case(order: Order) -> User | None:
    """Return the user of a test about whom the shop's validators decide; None for a test without such a user."""
    return order.user if order.testing_case in USER_CASES else None


def modes_agree(state: OrderState, *, test: bool) -> bool:
    """Return whether the modes agree: a live checkout takes production payments, a test checkout takes test payments.

    The list makes no statement on ``live``; a notification that makes none is not taken for either.
    """
    is_live = not test
    live = state.merged.live
    silent = live is None and not any(key.endswith(f"/{Source.NOTIFICATION}") for key in state.facts.slots)
    return state.order.is_production is is_live and (live is is_live or silent)
