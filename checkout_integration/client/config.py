"""The configuration of a client: one project and its service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkout_integration.client.errors import InsecureAddress
from checkout_integration.protocol.address import is_secure, split
from checkout_integration.protocol.errors import CREDENTIAL_CODES
from checkout_integration.protocol.listing import END_PARAMETER, ArrayStyle
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import API_VERSION, VERSION_HEADER


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientConfig:
    """One project at one service.

    Raises InsecureAddress for an address that is not HTTPS (plain HTTP to a loopback host, or a named one, may be allowed),
    and ValueError for a secret that cannot travel in a header or a deadline that is not positive.

    Attributes:
        secret_key: the key of the calls.
        other_keys: tried in turn, once each, where the service refuses that key, as during a rotation.
        timeout: seconds of one call in all, including its retries and pauses.
        list_end_parameter: name of the end of the period, which the specification does not show (EP3-08).
        list_array_style: "brackets" for ``status[]=``, "plain" for ``status=``.
        credential_codes: codes of a 400 that means bad credentials; the specification lists none (HTT-16, AUT-05).

    """

    project_id: str
    secret_key: Secret
    other_keys: tuple[Secret, ...] = ()
    base_url: str
    checkout_url: str
    list_url: str
    api_version: str = API_VERSION
    version_header: str = VERSION_HEADER
    timeout: float = 30.0
    allow_http_loopback: bool = False
    allow_http_hosts: tuple[str, ...] = ()
    list_end_parameter: str = END_PARAMETER
    list_array_style: ArrayStyle = "brackets"
    credential_codes: frozenset[str] = CREDENTIAL_CODES

    def __post_init__(self) -> None:
        for name in ("base_url", "checkout_url", "list_url"):
            address = require_secure(getattr(self, name), name, **self.plain_http)
            object.__setattr__(self, name, address)
        if not can_travel(self.secret_key):
            raise ValueError(
                "the secret key must be printable ASCII text, not blank, and without blanks at its ends"
            )
        if self.timeout <= 0:
            raise ValueError("the timeout must be a positive number of seconds")

    @property
    def plain_http(self) -> dict[str, Any]:
        """Which addresses may be plain HTTP, as arguments of `is_secure`."""
        return {"loopback": self.allow_http_loopback, "hosts": self.allow_http_hosts}

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys, the preferred one first; of the others those that a header can carry."""
        return (self.secret_key, *filter(can_travel, self.other_keys))


def can_travel(secret: Secret) -> bool:
    """Return whether a header can carry a secret (AUT-02)."""
    # In a function of its own: an error page shows the variables of the frame that raised.
    text = secret.reveal()
    return bool(text) and text == text.strip() and text.isascii() and text.isprintable()


def require_secure(address: str, name: str, **plain_http: Any) -> str:
    """Return the address without a slash at its end. Raises InsecureAddress, naming ``name``, for all others (AUT-01).

    Refused are also queries and fragments: a path is appended to the address. ``plain_http``: as for `is_secure`.
    """
    parts = split(address)
    if parts is None or parts.query or parts.fragment:
        raise InsecureAddress(f"{name} is not an address such as https://service.example")
    if not is_secure(address, **plain_http):
        raise InsecureAddress(f"{name} must start with https://, since plain HTTP would show the secret key")
    return address.rstrip("/")
