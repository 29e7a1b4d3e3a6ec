"""The configuration of a client: one project and its service."""

from __future__ import annotations

from dataclasses import dataclass

from checkout_integration.client.addresses import require_secure
from checkout_integration.protocol.listing import END_PARAMETER, ArrayStyle
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import API_VERSION, VERSION_HEADER


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientConfig:
    """One project at one service.

    Raises InsecureAddress for an address that is not HTTPS (plain HTTP to a loopback host may be allowed),
    and ValueError for a secret that cannot travel in a header or a deadline that is not positive.

    Attributes:
        secret_key: the key of the calls.
        other_keys: tried in turn, once each, where the service refuses that key, as during a rotation.
        timeout: seconds of one call in all, including its retries and pauses.
        list_end_parameter: name of the end of the period, which the specification does not show (EP3-08).
        list_array_style: "brackets" for ``status[]=``, "plain" for ``status=``.

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
    list_end_parameter: str = END_PARAMETER
    list_array_style: ArrayStyle = "brackets"

    def __post_init__(self) -> None:
        for name in ("base_url", "checkout_url", "list_url"):
            address = require_secure(getattr(self, name), name, allow_http_loopback=self.allow_http_loopback)
            object.__setattr__(self, name, address)
        if not _can_travel(self.secret_key):
            raise ValueError(
                "the secret key must be printable ASCII text, not blank, and without blanks at its ends"
            )
        if self.timeout <= 0:
            raise ValueError("the timeout must be a positive number of seconds")

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys, the preferred one first; of the others those that a header can carry."""
        return (self.secret_key, *filter(_can_travel, self.other_keys))


def _can_travel(secret: Secret) -> bool:
    # In a function of its own: an error page shows the variables of the frame that raised.
    text = secret.reveal()
    return bool(text) and text == text.strip() and text.isascii() and text.isprintable()
