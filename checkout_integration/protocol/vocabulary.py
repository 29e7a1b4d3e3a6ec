"""The words of the specification: values, paths and header names, each spelled once.

This is the only module that the client's side and the sandbox share, so it has words and no rules.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias


class OrderStatus(StrEnum):
    """``status`` of an Order (STA-01)."""

    CREATED = "created"
    PROCESSED = "processed"
    REJECTED = "rejected"
    CANCELED = "canceled"
    REFUNDED = "refunded"
    CHARGEBACK = "chargeback"
    PENDING = "pending"


class Event(StrEnum):
    """``event`` of a Webhook object (EVT-03 to EVT-07)."""

    PAYMENT_SUCCESS = "payment.success"
    PAYMENT_CHARGEBACK = "payment.chargeback"
    PAYMENT_REFUND = "payment.refund"
    PAYMENT_CANCEL = "payment.cancel"
    USER_VALIDATE = "user.validate"


class OrderType(StrEnum):
    """Types of checkouts and orders (SVC-03). An Order object may also say ``products`` for ``product`` (ORD-35)."""

    KEY = "key"
    PRODUCT = "product"
    VIRTUAL_CURRENCY = "virtual_currency"
    SIMPLE = "simple"


CheckoutsOption: TypeAlias = Literal["key", "product", "virtual_currency", "simple"]
"""The words of `OrderType`, for who writes them as text (EP2-15)."""


class Platform(StrEnum):
    """``platform_id`` of a key purchase (ORD-36)."""

    STEAM = "steam"
    GOG = "gog"
    UPLAY = "uplay"
    ORIGIN = "origin"
    PSN = "psn"
    XBOX = "xbox"
    NINTENDO = "nintendo"
    ITCH = "itch"
    EGS = "egs"


class VatPayer(StrEnum):
    """The party that is responsible for VAT (ORD-41)."""

    BUYER = "buyer"
    SELLER = "seller"
    NOBODY = "nobody"


class TestingCase(StrEnum):
    """``testing_case`` of an Order (ORD-43)."""

    __test__ = False  # not a test class, whatever its name says to pytest

    CORRECT_PAYMENT = "correct_payment"
    NON_EXISTING_USER = "non_existing_user"
    EXISTING_USER = "existing_user"
    INVALID_SIGNATURE = "invalid_signature"


class FormMode(StrEnum):
    """The way in which the project opens the form (ORD-44)."""

    EMBED = "embed"
    IFRAME = "iframe"
    STANDALONE = "standalone"


class WebhookMode(StrEnum):
    """The mode of a project's webhooks (EVT-01, EVT-02)."""

    DEFAULT = "default"
    PRE_APPROVAL = "pre_approval"


OBJECT_ORDER: Final = "order"  # ORD-03
OBJECT_USER: Final = "user"  # USR-02
OBJECT_LIST: Final = "list"  # LST-01
TYPE_NOTIFICATION: Final = "notification"  # WHK-02
TYPE_PRODUCTS: Final = "products"  # ORD-35: what an Order object calls the type `product`

TOKENS_PATH: Final = "/api/v1/tokens"  # EP1-01, at {base_url}
ORDER_PATH: Final = "/api/v1/order"  # EP2-01, at {checkout_url}
TRANSACTIONS_PATH: Final = "/merchant/s2s/api/v1/order"  # EP3-01

API_SIGNATURE_HEADER: Final = "X-API-SIGNATURE"  # AUT-02
SIGNATURE_SCHEME: Final = "Signature"  # EP5-01: `Authorization: Signature <SIGNATURE>`
VERSION_HEADER: Final = "x-service-api-version"  # VER-02
API_VERSION: Final = "1.0"  # VER-01; it is always sent, since what happens without it is not shown (VER-03)

CURSOR_LIMIT_MIN: Final = 1  # LIM-01
CURSOR_LIMIT_MAX: Final = 100  # LIM-01
TRANSACTIONS_LIMIT_DEFAULT: Final = 100  # LIM-02

# Not in the specification: the codes that deployed services expect of the receiver in testing cases (ORD-43, AUT-04).
INVALID_SIGNATURE_CODE: Final = "INVALID_SIGNATURE"
INVALID_USER_CODE: Final = "INVALID_USER"

SANDBOX_SECRET_PREFIX: Final = "sandbox_"  # ours: the sandbox signs with secrets of this prefix only
UNITS_KEY: Final = "virtual_currency_amount"
"""The key of ``metadata`` under which this app sends how many units are sold; creation has no parameter for it."""
