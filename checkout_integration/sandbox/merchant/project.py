"""A merchant project as the service knows it: its settings, and which values it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol import vocabulary
from checkout_integration.protocol.vocabulary import VatPayer, WebhookMode
from checkout_integration.sandbox.merchant.catalogue import Product
from checkout_integration.sandbox.merchant.currencies import is_currency
from checkout_integration.sandbox.wire.addresses import is_loopback, is_web_address

_NUMBERS: Final = (int, float, Decimal)
_LONGEST_WAIT: Final = 10**9
_LONGEST_PATIENCE: Final = 3600
_LARGEST_RATE: Final = 10**6
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": _NUMBERS,
    "Decimal": _NUMBERS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxProject:
    """One project with its settings; `Projects.update` replaces it as a whole.

    Attributes:
        project_id: login of the list, `project` of an order.
        secret_key: signs notifications and is the password; must begin with the sandbox's prefix.
        webhook_url: where notifications go; "" sends none. Must be on the loopback.
        mode: `default` or `pre_approval` (EVT-01, EVT-02).
        live: `live` and `is_production` of what the project sells.
        activated: False answers 402 to a live project (HTT-07).
        dynamic_urls: whether requests may bring their own return URLs (EP2-09).
        merchant: projects of one merchant see each other in the list.
        currency: currency of products and of virtual currency.
        virtual_currency_price: price of one unit.
        success_url, fail_url: where the form sends the customer when the order brings no URL.
        vat_payer: who pays VAT (ORD-41).
        charge_currency: what customers' cards are charged in (ORD-39); "" is the order's own currency.
        charge_rate: units of `charge_currency` for one of the order's currency (ORD-40).
        ask_billing_address: the form asks for the country.
        catalogue: the products for sale; None accepts every identifier with generated products.
        title, agreement_number: shown on the form, and `merchant_info` of orders.
        retry_interval, retry_limit, attempt_timeout: delivery of notifications, in seconds, times, seconds.
        retry_schedule: seconds before each further attempt, instead of interval and limit; () uses those.
        tells_expiry: whether `expires_at` of notifications is the time of the last attempt (WHK-06).
        suspended: True answers 403 to every creation for the project (HTT-08).
        invalid_status: how invalid data is answered: 400, or 422 (HTT-05, HTT-12).
        unsafe_allow_any_secret, unsafe_allow_any_webhook: lift the two guards above; never with a real secret.
    """

    project_id: str
    secret_key: str = field(repr=False)
    webhook_url: str = ""
    mode: WebhookMode = WebhookMode.DEFAULT
    live: bool = False
    activated: bool = True
    dynamic_urls: bool = True
    merchant: str = "default"
    currency: str = "USD"
    virtual_currency_price: Decimal = Decimal("0.10")
    success_url: str = ""
    fail_url: str = ""
    vat_payer: VatPayer = VatPayer.NOBODY
    charge_currency: str = ""
    charge_rate: Decimal = Decimal(1)
    ask_billing_address: bool = False
    catalogue: tuple[Product, ...] | None = None
    title: str = "Sandbox Games"
    agreement_number: str = "SBX-0001"
    retry_interval: float = 600.0
    retry_limit: int = 288
    attempt_timeout: float = 10.0
    retry_schedule: tuple[float, ...] = ()
    tells_expiry: bool = False
    suspended: bool = False
    invalid_status: int = 400
    unsafe_allow_any_secret: bool = False
    unsafe_allow_any_webhook: bool = False

    def __post_init__(self) -> None:
        """Accept plain texts for the enumerations, and refuse real secrets and addresses."""
        self._check_types()
        object.__setattr__(self, "mode", WebhookMode(self.mode))
        object.__setattr__(self, "vat_payer", VatPayer(self.vat_payer))
        prefix = vocabulary.SANDBOX_SECRET_PREFIX
        if not self.unsafe_allow_any_secret and not self.secret_key.startswith(prefix):
            # The sandbox signs any body that it sends, so a real secret here would be a signing oracle.
            raise ValueError(f"a sandbox secret_key begins with {prefix!r}: never give it a real one")
        self._check_webhook()
        self._check_values()

    def _check_webhook(self) -> None:
        """Refuse an address that is not http(s), or that is on another machine unless the project allows it."""
        address = self.webhook_url
        somewhere = self.unsafe_allow_any_webhook or is_loopback(address)
        if address and not (somewhere and is_web_address(address)):
            raise ValueError("webhook_url must be an http(s) address of this machine (loopback)")

    def _check_types(self) -> None:
        """Refuse a value of another type than its setting: the control API passes on any JSON."""
        for item in fields(self):
            value, kinds = getattr(self, item.name), _KINDS.get(str(item.type))
            if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise ValueError(f"{item.name} must be of the type {item.type}")
        if self.invalid_status not in {400, 422}:
            raise ValueError("invalid_status must be 400 or 422")
        waits: Any = self.retry_schedule
        if not isinstance(waits, (list, tuple)) or not all(_is_wait(item) for item in waits):
            raise ValueError("retry_schedule must be an array of seconds")
        object.__setattr__(self, "retry_schedule", tuple(float(item) for item in waits))
        object.__setattr__(self, "retry_interval", float(self.retry_interval))
        object.__setattr__(self, "attempt_timeout", float(self.attempt_timeout))
        object.__setattr__(self, "virtual_currency_price", Decimal(str(self.virtual_currency_price)))
        object.__setattr__(self, "charge_rate", Decimal(str(self.charge_rate)))

    def _check_values(self) -> None:
        """Refuse values with which the service could not work."""
        if not self.secret_key.isascii() or not self.secret_key.isprintable() or not self.secret_key.strip():
            raise ValueError("secret_key must be a text that an HTTP header can carry")  # AUT-02
        if not is_currency(self.currency) or (self.charge_currency and not is_currency(self.charge_currency)):
            raise ValueError("currency and charge_currency must be ISO 4217 codes in uppercase")
        if not all(0 < rate <= _LARGEST_RATE for rate in (self.charge_rate, self.virtual_currency_price)):
            raise ValueError(
                f"charge_rate and virtual_currency_price must be positive, {_LARGEST_RATE} at most"
            )
        if any(url and not is_web_address(url) for url in (self.success_url, self.fail_url)):
            raise ValueError("success_url and fail_url must be http or https URLs")
        if not 0 <= self.retry_limit <= _LONGEST_WAIT or not _is_wait(self.retry_interval):
            raise ValueError("retry_interval and retry_limit must not be below zero")
        if not 0 < self.attempt_timeout <= _LONGEST_PATIENCE:
            raise ValueError(f"attempt_timeout must be positive, {_LONGEST_PATIENCE} seconds at most")

    def next_wait(self, delivery_try: int) -> float | None:
        """Return the seconds before the attempt after the one numbered `delivery_try`; None for no more (EVT-12)."""
        if self.retry_schedule:
            return self.retry_schedule[delivery_try] if delivery_try < len(self.retry_schedule) else None
        return self.retry_interval if delivery_try < self.retry_limit else None

    def seconds_left(self, delivery_try: int) -> float:
        """Return the seconds from the attempt numbered `delivery_try` to the last one (EVT-10)."""
        if self.retry_schedule:
            return min(_LONGEST_WAIT, sum(self.retry_schedule[delivery_try:]))
        return min(_LONGEST_WAIT, self.retry_interval * max(0, self.retry_limit - delivery_try))


def _is_wait(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool) and 0 <= value <= _LONGEST_WAIT
