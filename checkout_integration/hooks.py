"""Decisions that only the shop can make. Subclass `Hooks` and name the class in the setting ``HOOKS``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.module_loading import import_string

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import INVALID_USER_CODE


@dataclass(frozen=True)
class Refusal:
    """A refusal of user.validate with a code and a message for the service's error object."""

    code: str = INVALID_USER_CODE
    message: str = "The customer is not known here."


@dataclass(frozen=True, kw_only=True)
class FailedRun:
    """A receiver's attempt that failed, in plain values that hold nothing of the customer.

    ``given_up``: it was the last attempt, and nothing happens until staff run the receiver again. ``order_id`` is "" where
    the signal concerns no order. ``traceback`` names the classes and lines of code, without values and messages.
    """

    receiver: str
    signal: str
    project: str
    order_id: str
    attempt: int
    given_up: bool
    traceback: str


Validator: TypeAlias = Callable[[User], "bool | Refusal"]
"""Answers whether a customer may pay, as `Hooks.validate_user` does."""


class Hooks:
    """The shop's decisions. Every method may be overridden; the defaults are the safe answers."""

    def validate_user(self, user: User) -> bool | Refusal:
        """May this customer pay? Called for user.validate, in the request, outside any transaction.

        True approves; False or a `Refusal` refuses, and so do an exception and any other answer. It must answer within
        ``VALIDATE_BUDGET`` (the service waits about 5 s; aim at 1 s) and must not grant anything: several calls for one
        customer are normal. It may run in a thread of its own, with database connections of its own. See docs/validation.md.
        """
        return False

    def validators(self) -> Sequence[Validator]:
        """Who is asked whether a customer may pay, in turn; the first refusal stands, and without any everybody is refused.

        Called for each user.validate that is no exact repetition, together with what it returns: all of them share
        ``VALIDATE_BUDGET``.
        """
        return [self.validate_user]

    def find_user(self, user: User) -> Any:
        """The account of a customer who is seen for the first time, or None.

        Called inside the ledger's transaction, or outside any for a customer whom `validators` have just approved.
        """
        return None

    def resolve_checkout(self, order: Order) -> Any:
        """The `Checkout` that an unbound order pays for, or None. Called inside the ledger's transaction, perhaps repeatedly.

        For orders that were made in the browser. It must not call the service. What is returned is compared with the order
        like any other checkout.
        """
        return None

    def receiver_failed(self, run: FailedRun, error: BaseException) -> None:
        """A receiver failed: the place to call an error tracker. Called after each failed attempt, outside any transaction.

        ``error`` is the exception itself: its message, and the variables of its frames, may hold personal data. What is
        raised here is logged and changes nothing; the next receivers wait until this returns.
        """

    def build_checkout(self, request: HttpRequest, data: dict[str, Any]) -> dict[str, Any]:
        """Price and content of a sale that is asked for over REST: keyword arguments for ``flows.create_checkout``.

        Never take a price from ``data``: look it up. Raises ``PermissionDenied`` unless overridden.
        """
        raise PermissionDenied("This shop sells nothing over REST: override Hooks.build_checkout.")


def load_hooks(path: str) -> Hooks:
    """An instance of the class that the setting ``HOOKS`` names."""
    hooks: Hooks = import_string(path)()
    return hooks


def overrides(path: str, *methods: str) -> bool:
    """Return whether the class that the setting ``HOOKS`` names has one of these methods of its own."""
    hooks = import_string(path)
    return any(getattr(hooks, method) is not getattr(Hooks, method) for method in methods)
