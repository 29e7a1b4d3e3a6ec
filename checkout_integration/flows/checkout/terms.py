"""The terms of a checkout as one value: the row for comparison with payments, and the requests to the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import models
from django.http import HttpRequest

from checkout_integration.conf import Project, app_settings
from checkout_integration.conf.rules import TOKENS_ONLY
from checkout_integration.flows.checkout.return_page import return_addresses
from checkout_integration.hooks import CheckoutTerms
from checkout_integration.models import Checkout
from checkout_integration.policy.amounts import fits_column
from checkout_integration.policy.attribution import Attribution
from checkout_integration.policy.locale import locale_of_order, locale_of_token
from checkout_integration.protocol.creation import Customer, OrderRequest, TokenRequest
from checkout_integration.protocol.creation_rules import price_problems
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.protocol.vocabulary import UNITS_KEY, CheckoutsOption, OrderType

Account: TypeAlias = AbstractBaseUser | AnonymousUser
"""The type of a request's ``user``; a user who is not signed in is a guest."""

MOST_DAYS = 3650
NUL = "\0"
"""The only character of Unicode that some databases refuse."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """`CheckoutTerms` with their defaults; they make the row and the requests."""

    project: Project
    type: CheckoutsOption | OrderType = OrderType.SIMPLE
    amount: Decimal | None = None
    currency: str = ""
    products: Sequence[str] = ()
    virtual_currency_amount: Decimal | int | None = None
    platform_id: str = ""
    description: str = ""
    metadata: Mapping[str, str] | None = None
    user: Account | None = None
    customer: Customer | None = None
    subject: models.Model | None = None
    recipient: AbstractBaseUser | None = None
    lasts_days: int | None = None
    grace_days: int = 0
    request: HttpRequest | None = None
    url_success: str = ""
    url_fail: str = ""
    idempotency_key: str = ""
    attribution: Attribution | None = None

    @classmethod
    def of(cls, user: Account | None, arguments: CheckoutTerms) -> Terms:
        """Return the terms of a call. Raises ``UnknownAlias`` where the settings have no such project."""
        project = app_settings().project(arguments.pop("project", "default"))
        return cls(project=project, user=user, **arguments)  # type: ignore[misc, arg-type]  # its alias was popped

    def checkout(self) -> Checkout:
        """Return a new row, not stored yet."""
        checkout = Checkout(
            project=self.project.alias,
            test=self.project.accept_test_payments,
            type=self.type,
            expected_amount=self.amount,
            currency=self.currency,
            products=self._product_list,
            virtual_currency_amount=self._units,
            platform_id=self.platform_id,
            description=self.description,
            metadata=self.metadata or {},
            user_id=self.user.pk if self.user is not None else None,
            lasts_days=self.lasts_days,
            grace_days=self.grace_days,
            gift=self._recipient_id is not None,
            recipient_id=self._recipient_id,
            **(self.attribution.columns if self.attribution else {}),
        )
        if self.subject is not None:
            checkout.subject = self.subject
        return checkout

    @property
    def buyer(self) -> Customer | None:
        """The customer as the service knows them: by the account's key, unless the shop gives another ``external_id``."""
        external_id = str(self.user.pk) if self.user is not None and self.user.pk else None
        if self.customer is None:
            return Customer(external_id=external_id) if external_id else None
        return self.customer if self.customer.external_id else replace(self.customer, external_id=external_id)

    @property
    def _recipient_id(self) -> Any:
        """The key of the account that gets a gift; None for no gift, and for one to the buyer's own account."""
        key = getattr(self.recipient, "pk", None)  # what is no account is refused
        return None if self.user is not None and key == self.user.pk else key

    @property
    def _own_keys(self) -> set[str]:
        """Return the keys of metadata that `sent_metadata` writes itself."""
        return {self.project.reference_key} | ({UNITS_KEY} if self.virtual_currency_amount else set())

    @property
    def _units(self) -> Decimal | None:
        units = self.virtual_currency_amount
        return Decimal(units) if isinstance(units, int) else units

    @property
    def _product_list(self) -> Sequence[str]:
        """Return the products as a list. A single text is not split into letters: the rules then refuse it."""
        return self.products if isinstance(self.products, str) else list(self.products or ())

    @property
    def _sends_price(self) -> bool:
        """Return whether the amount is sent: products and packages of virtual currency have their prices at the service."""
        packed = self.type == OrderType.VIRTUAL_CURRENCY and bool(self.products)
        return self.type in (OrderType.SIMPLE, OrderType.VIRTUAL_CURRENCY) and not packed

    def order_request(self, checkout: Checkout, order: str = "") -> OrderRequest:
        """Return the request for an order (EP2-03 to EP2-16)."""
        success, fail = self._addresses(checkout, token=False)
        buyer = self.buyer
        return OrderRequest(
            project=self.project.project_id,
            account=buyer.external_id if buyer else None,
            products=self._product_list or None,
            user=buyer and replace(buyer, locale=locale_of_order(buyer.locale)),
            order=order or None,
            url_success=success,
            url_fail=fail,
            **self._common(checkout),
        )

    def token_request(
        self, checkout: Checkout, button_caption: str = "", is_buy_for_virtual_currency: bool | None = None
    ) -> TokenRequest:
        """Return the request for a token (EP1-03 to EP1-22)."""
        success, fail = self._addresses(checkout, token=True)
        buyer = self.buyer
        return TokenRequest(
            project_id=self.project.project_id,
            products_ids=self._product_list or None,
            user=buyer and replace(buyer, locale=locale_of_token(buyer.locale)),
            button_caption=button_caption or None,
            is_buy_for_virtual_currency=is_buy_for_virtual_currency,
            return_url_success=success,
            return_url_fail=fail,
            **self._common(checkout),
        )

    def _common(self, checkout: Checkout) -> dict[str, Any]:
        """Return the parameters that have the same name in both requests."""
        return {
            "type": self.type,
            "amount": self.amount if self._sends_price else None,
            "currency": self.currency if self._sends_price else None,
            "platform_id": self.platform_id or None,
            "description": self.description or None,
            "metadata": sent_metadata(self.project, checkout),
        }

    def _addresses(self, checkout: Checkout, *, token: bool) -> tuple[str | None, str | None]:
        if not self._takes_addresses(token=token):
            return None, None
        return return_addresses(
            self.project, checkout.reference, self.request, success=self.url_success, fail=self.url_fail
        )

    def _takes_addresses(self, *, token: bool) -> bool:
        """Return whether the service takes return addresses, and does not refuse them (EP1-13, EP2-09, EP2-10)."""
        allowed = self.project.dynamic_urls
        return token if allowed == TOKENS_ONLY else bool(allowed)

    def check(self, build: Callable[[], object], *, token: bool = False) -> None:
        """Refuse the checkout before anything is stored, with all problems; ``build`` makes the request.

        Raises:
            CreationError: a rule of the specification is broken, or payments could not be compared with the checkout.

        """
        problems: list[tuple[str, str]] = []
        try:
            build()
        except CreationError as error:
            problems += error.problems
        reported = {field.rpartition(".")[2] for field, _ in problems}
        price = price_problems(
            self.amount, self.currency
        )  # payments are compared with it, whether it is sent or not
        problems += [problem for problem in price if problem[0] not in reported]
        problems += self._own_problems(token=token)
        if problems:
            raise CreationError(problems)

    def _own_problems(self, *, token: bool) -> Iterator[tuple[str, str]]:
        """Yield problems beyond the service's rules: values that cannot be compared, sent or stored."""
        units, is_virtual = self.virtual_currency_amount, self.type == OrderType.VIRTUAL_CURRENCY
        if units is not None and not is_virtual:
            yield "virtual_currency_amount", "is compared for type virtual_currency only; leave it out"
        elif units is not None and not _is_count(units):
            yield "virtual_currency_amount", "must be a positive Decimal, with at most four decimal places"
        if is_virtual and units is None and not self.products and self.amount is None and not self.currency:
            yield (
                "virtual_currency_amount",
                "say what is sold: a number of units, products, or amount and currency",
            )
        for name in ("url_success", "url_fail"):
            if getattr(self, name) and not self._takes_addresses(token=token):
                yield (
                    name,
                    "the service refuses it unless its project allows it; allow it there, and set DYNAMIC_URLS"
                    + (
                        f', or set it to "{TOKENS_ONLY}" if it takes addresses in tokens anyway'
                        if token
                        else ""
                    ),
                )
        yield from self._value_problems()

    def _value_problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems of values that no column takes, or that would be lost."""
        for name in ("user", "subject", "recipient"):
            if _is_unsaved(getattr(self, name)):
                yield name, "is not in the database; save it first, so that a payment can be traced to it"
        if self.lasts_days is not None and not (
            type(self.lasts_days) is int and 1 <= self.lasts_days <= MOST_DAYS
        ):
            yield (
                "lasts_days",
                f"must be a whole number of days from 1 to {MOST_DAYS}; leave it out for no end",
            )
        if type(self.grace_days) is not int or not 0 <= self.grace_days <= (
            MOST_DAYS if self.lasts_days else 0
        ):
            yield (
                "grace_days",
                f"must be a whole number of days from 0 to {MOST_DAYS}; without lasts_days there is no grace",
            )
        if self.recipient is not None and not isinstance(self.recipient, get_user_model()):
            yield "recipient", "is no account of this shop; look it up, and leave it out where there is none"
        for name in self._own_keys & set(self.metadata if isinstance(self.metadata, Mapping) else ()):
            yield (
                f"metadata.{name}",
                "is a key of the app; choose another (the setting REFERENCE_KEY names one)",
            )
        texts = {
            "description": [self.description],
            "products": self._product_list,
            "metadata": _texts(self.metadata),
        }
        for name, values in texts.items():
            if any(isinstance(text, str) and NUL in text for text in values):
                yield name, "has a NUL character, which no database stores; remove it"


def sent_metadata(project: Project, checkout: Checkout) -> dict[str, str]:
    """Return the shop's attributes with the checkout's reference, and with the units of virtual currency.

    No parameter of creation counts units, so they travel as an attribute (docs/open-questions.md, ORD-37).
    """
    metadata: Any = checkout.metadata
    if not isinstance(metadata, Mapping):
        return metadata  # type: ignore[no-any-return]  # the rules refuse it by its name
    units = checkout.virtual_currency_amount
    counted = {} if units is None or not _is_count(units) else {UNITS_KEY: f"{units:f}"}
    return {**metadata, **counted, project.reference_key: checkout.reference}


def _is_unsaved(row: object) -> bool:
    """Return whether a row was never saved, or is deleted. A key alone says nothing: a UUID is there before."""
    return isinstance(row, models.Model) and (row._state.adding or row.pk is None)


def _is_count(units: object) -> bool:
    if isinstance(units, bool) or not isinstance(units, (int, Decimal)):
        return False
    return Decimal(units).is_finite() and units > 0 and fits_column(Decimal(units))


def _texts(metadata: object) -> list[object]:
    return [text for pair in metadata.items() for text in pair] if isinstance(metadata, Mapping) else []
