"""The settings as values: one `Project` per alias, everything resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from checkout_integration.protocol.errors import CREDENTIAL_CODES
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import API_VERSION, VERSION_HEADER

SecretSource: TypeAlias = str | Callable[[], str]
_LINE_END = ("\r", "\n")


@dataclass(frozen=True, kw_only=True)
class Project:
    """One project of the service, everything resolved: its own entry, else the app's setting, else the default.

    Attributes are the settings of the same name in lower case; `docs/settings.md` describes each.
    """

    alias: str
    project_id: str
    secret_key: SecretSource = field(repr=False)
    previous_secret_keys: tuple[SecretSource, ...] = field(default=(), repr=False)
    ownership_tokens: tuple[SecretSource, ...] = field(default=(), repr=False)
    base_url: str
    checkout_url: str
    order_form_url: str = ""
    list_url: str = ""
    client_script_url: str = ""
    order_url: str = ""
    client_class: str = "CheckoutClient"
    api_version: str = API_VERSION
    version_header: str = VERSION_HEADER
    hooks: str = "checkout_integration.hooks.Hooks"
    unbound_orders: str = "review"
    accept_test_payments: bool = False
    signature_encodings: tuple[str, ...] = ("hex",)
    credential_codes: tuple[str, ...] = tuple(sorted(CREDENTIAL_CODES))
    validate_refuse_status: int = 403
    validate_budget: float = 3.0
    validate_when_late: str = "refuse"
    retry_interval: int = 600
    list_end_parameter: str = "project_date_to"
    list_array_style: str = "brackets"
    list_page_size: int = 100
    list_invoice_id: str = "reference"
    list_margin: int = 900
    historic_margin: int = 86400
    reference_key: str = "checkout_reference"
    return_url: str = ""
    return_continue_url: str = "/"
    dynamic_urls: bool | str = False
    double_click_seconds: int = 10
    abandoned_after: float = 0.0
    allow_http_loopback: bool = False
    allow_http_hosts: tuple[str, ...] = ()
    timeout: float = 10.0
    http_session: str = ""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Accepted secrets, the current one first. Callables are called each time, so that a rotation needs no restart."""
        # No plain text in a variable: an error page would show it when a later source fails.
        return tuple(map(_current, (self.secret_key, *self.previous_secret_keys)))

    @property
    def ownership_secrets(self) -> tuple[Secret, ...]:
        """OWNERSHIP_TOKENS: with one of them a game server may ask for this project. Callables are called each time."""
        return tuple(map(_current, self.ownership_tokens))

    @property
    def secrets_with_line_end(self) -> bool:
        """Whether a callable returns a secret with a line end, which `secrets` leaves out."""
        sources = (self.secret_key, *self.previous_secret_keys)
        return any(callable(source) and source().endswith(_LINE_END) for source in sources)

    @property
    def page_timeout(self) -> float:
        """Seconds that a page of the list may take in a pass of the sync, for which no customer waits."""
        return 3 * self.timeout

    @property
    def retry_delta(self) -> timedelta:
        """RETRY_INTERVAL: seconds between delivery attempts of the service."""
        return timedelta(seconds=self.retry_interval)

    @property
    def list_delta(self) -> timedelta:
        """LIST_MARGIN: how old, in seconds, a row of the transaction list may be."""
        return timedelta(seconds=self.list_margin)

    @property
    def historic_delta(self) -> timedelta:
        """HISTORIC_MARGIN: how much older than the installation, in seconds, an order of the list must be to be historic."""
        return timedelta(seconds=self.historic_margin)

    @property
    def double_click_delta(self) -> timedelta:
        """DOUBLE_CLICK_SECONDS: for how long the same customer's same request finds the checkout that it made."""
        return timedelta(seconds=self.double_click_seconds)

    @property
    def plain_http(self) -> dict[str, Any]:
        """Which addresses of the project may be plain HTTP, as arguments of `safe_address`."""
        return {"loopback": self.allow_http_loopback, "hosts": self.allow_http_hosts}


def _current(source: SecretSource) -> Secret:
    # A mounted file ends with a line end, and no secret does: no header could carry it.
    return _stripped(Secret(source())) if callable(source) else Secret(source)


def _stripped(secret: Secret) -> Secret:
    return Secret(secret.reveal().rstrip("".join(_LINE_END)))


class UnknownAlias(KeyError):
    """No project of the settings has this alias; the message lists the aliases."""

    def __init__(self, alias: str, known: Iterable[str]) -> None:
        super().__init__(alias)
        self.known = tuple(known)

    def __str__(self) -> str:
        """Return the message as a sentence; KeyError would show its repr."""
        return (
            f"CHECKOUT_INTEGRATION has no project {self.args[0]!r}; it has: {', '.join(self.known) or 'none'}"
        )


@dataclass(frozen=True, kw_only=True)
class AppSettings:
    """All settings: projects by alias, who applies notifications and runs receivers, and what of their failures is logged.

    ``request_budget``: seconds that a web process spends on others' work after a response, where it works at all.
    ``goods``: "pull" if the shop grants without receivers.
    ``receiver_deadline``: seconds after which a running receiver is overdue.
    ``receiver_limit``: seconds to which the database's shorter limits on a receiver's transaction are raised.
    ``health_token``: by which a monitor may read the health.
    ``alerts``: who gets alerts: "mail_admins", addresses, or a function that is called with a subject and a text.
    ``retention``: days after which rows of a kind are pruned; kinds without days stay.
    """

    projects: Mapping[str, Project]
    runner: str = "request"
    request_budget: float = 0.2
    receiver_deadline: float = 300.0
    receiver_limit: float = 3600.0
    goods: str = "receivers"
    log_exception_messages: bool = False
    health_token: SecretSource = field(default="", repr=False)
    alerts: str | Sequence[str] | Callable[[str, str], object] = ""
    retention: Mapping[str, int] = field(default_factory=dict)

    @property
    def health_secret(self) -> Secret | None:
        """HEALTH_TOKEN; None if there is none. A callable is called each time, so that a rotation needs no restart."""
        return _current(self.health_token) if self.health_token else None

    def is_fetched(self, project: Project) -> bool:
        """Return whether game servers fetch what is paid in a project: GOODS is "pull", and it has OWNERSHIP_TOKENS."""
        return self.goods == "pull" and bool(project.ownership_tokens)

    def project(self, alias: str = "default") -> Project:
        """Return the project of an alias. Raises `UnknownAlias`, which is a ``KeyError``, for an unknown one."""
        try:
            return self.projects[alias]
        except (KeyError, TypeError):
            raise UnknownAlias(alias, self.projects) from None
