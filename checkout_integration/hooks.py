"""Decisions that only the shop can make. Subclass `Hooks` and name the class in the setting ``HOOKS``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from django.core.exceptions import PermissionDenied
from django.utils.module_loading import import_string

from checkout_integration.protocol.vocabulary import INVALID_USER_CODE

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import Model
    from django.http import HttpRequest

    from checkout_integration import models
    from checkout_integration.models import Checkout
    from checkout_integration.policy.attribution import Attribution
    from checkout_integration.protocol.creation import Customer
    from checkout_integration.protocol.order import Order
    from checkout_integration.protocol.user import User
    from checkout_integration.protocol.vocabulary import CheckoutsOption, OrderType

__all__ = ["CheckoutArguments", "CheckoutTerms", "FailedRun", "Hooks", "Refusal", "Use", "Validator"]


@dataclass(frozen=True)
class Refusal:
    """A refusal of user.validate with a code and a message for the service's error object."""

    code: str = INVALID_USER_CODE
    message: str = "The customer is not known here."


@dataclass(frozen=True, kw_only=True)
class FailedRun:
    """A failed attempt of a receiver, in plain values without data of the customer.

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


@dataclass(frozen=True)
class Use:
    """One time that a customer used what they bought. A bank reads the text, so it names nobody of the staff, and no code."""

    at: datetime
    text: str


class CheckoutTerms(TypedDict, total=False):
    """The terms of a checkout and the form's addresses: the arguments of ``flows.create_checkout`` and ``create_token``.

    Attributes:
        type: one of key, product, virtual_currency, simple (EP2-15); simple where it is left out.
        amount: price as a Decimal; sent for simple and for virtual currency without products, and compared with what is paid
            wherever it is given.
        currency: ISO 4217 code of ``amount``.
        products: product identifiers; one for type key, one or more for product, packages for virtual_currency.
        virtual_currency_amount: units that are sold, for type virtual_currency; compared with what the service says was sold.
        platform_id: platform of a key.
        description: shown on the form, at most 255 characters.
        metadata: the shop's own text attributes; the checkout's reference is added to them.
        customer: more about the customer (name, e-mail, …); its own ``external_id`` wins over that of the account.
        subject: the shop's own object that is sold, for instance a basket.
        lasts_days: days for which each payment lasts; ownership ends after them unless another payment, such as a renewal,
            comes. Left out: it lasts for ever.
        grace_days: days for which it is owned after those, so that a renewal may come late; 0 where it is left out.
        recipient: the shop's account that gets the goods as a gift; without one, and for the buyer's own account, it is no
            gift. The service is not told of it.
        request: the current request, from which return addresses are built where DYNAMIC_URLS is on.
        url_success: where the form leads after success instead, where DYNAMIC_URLS is on; ``{reference}`` becomes the signed
            reference.
        url_fail: the same after failure.
        project: alias of the project in the settings; default where it is left out.
        idempotency_key: any text that names this purchase of this customer, such as a basket's key; it stands for one
            checkout for good, unless that fails, is cancelled, or got no form in time. Without one, the same request of the
            same customer within DOUBLE_CLICK_SECONDS finds the checkout that it made, until that is paid.
        attribution: where the customer came from; staff see it and filter by it.

    """

    type: CheckoutsOption | OrderType
    amount: Decimal | None
    currency: str
    products: Sequence[str]
    virtual_currency_amount: Decimal | int | None
    platform_id: str
    description: str
    metadata: Mapping[str, str] | None
    customer: Customer | None
    subject: Model | None
    recipient: AbstractBaseUser | None
    lasts_days: int | None
    grace_days: int
    request: HttpRequest | None
    url_success: str
    url_fail: str
    project: str
    idempotency_key: str
    attribution: Attribution | None


class CheckoutArguments(CheckoutTerms, total=False):
    """The arguments of ``flows.create_checkout`` except the account. Each of them may be left out.

    Attributes:
        order: identifier of an order that the service has prepared (EP2-14); deployed services return that order.

    """

    order: str


Validator: TypeAlias = "Callable[[User], bool | Refusal]"
"""Says whether a customer may pay, as `Hooks.validate_user` does."""


class Hooks:
    """The shop's decisions. Every method may be overridden; the defaults are the safe decisions."""

    def validate_user(self, user: User) -> bool | Refusal:
        """Decide whether a customer may pay. Called for user.validate, in the request, outside any transaction.

        It must return within ``VALIDATE_BUDGET`` (the service waits about 5 s; aim at 1 s) and must not grant anything:
        several calls for one customer are normal. It may run in a thread of its own, with database connections of its own.
        See docs/validation.md.

        Returns:
            True to approve; False or a `Refusal` to refuse. An exception, and anything else, refuses too. Default: False.

        """
        return False

    def validators(self) -> Sequence[Validator]:
        """Return the validators. They are called in turn; the first refusal decides, and an empty list refuses everybody.

        Called for each user.validate that is no exact repetition. This call and the validators share ``VALIDATE_BUDGET``.
        Default: `validate_user` alone.
        """
        return [self.validate_user]

    def find_user(self, user: User) -> Model | None:
        """Return the account, a row of AUTH_USER_MODEL, of a customer who is seen for the first time. Default: None.

        Called before anything is locked, in a transaction of its own, and perhaps more than once.
        """
        return None

    def resolve_checkout(self, order: Order) -> Checkout | None:
        """Return the `Checkout` that an unbound order pays for. Default: None.

        Called for orders that were created in the browser, before anything is locked, in a transaction of its own, and
        perhaps more than once. It must not call the service. The returned checkout is compared with the order like any
        other.
        """
        return None

    def receiver_failed(self, run: FailedRun, error: BaseException) -> None:
        """Tell an error tracker that a receiver failed. Called after each failed attempt, outside any transaction.

        ``error`` is the exception itself: its message, and the variables of its frames, may hold personal data. An exception
        of this method is logged and changes nothing. The next receivers wait until it returns. Default: nothing.
        """

    def proof_of_use(self, order: models.Order) -> Sequence[Use]:
        """Return when the customer used what an order paid for: a first download, a log-in, a code that was redeemed.

        Called when staff download the evidence for a bank; ``order`` is the row. An exception is logged, the file has no use
        then, and staff read that. Default: none.
        """
        return []

    def build_checkout(self, request: HttpRequest, data: dict[str, object]) -> CheckoutArguments:
        """Return price and content of a checkout that is requested over REST. Default: ``PermissionDenied``.

        Args:
            request: Django's request; its ``user`` buys, whatever this returns.
            data: the JSON object of the body. Never take a price from it: look the price up.

        Returns:
            Keyword arguments for ``flows.create_checkout``.

        """
        raise PermissionDenied("This shop sells nothing over REST: override Hooks.build_checkout.")


def load_hooks(path: str) -> Hooks:
    """Return an instance of the class that the setting ``HOOKS`` names."""
    hooks: Hooks = import_string(path)()
    return hooks


def overrides(path: str, *methods: str) -> bool:
    """Return whether the class that the setting ``HOOKS`` names has one of these methods of its own."""
    hooks = import_string(path)
    return any(getattr(hooks, method) is not getattr(Hooks, method) for method in methods)
