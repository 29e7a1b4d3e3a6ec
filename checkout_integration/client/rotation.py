"""Keys during a rotation: the service accepts one of them, and may change its mind between two calls (AUT-02, AUT-03)."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence

from checkout_integration.client.errors import BadCredentials, UnknownProject
from checkout_integration.client.statuses import error_of
from checkout_integration.client.transport import RawResponse
from checkout_integration.protocol.endpoints import Endpoint
from checkout_integration.protocol.errors import parse_error
from checkout_integration.protocol.values import Secret

logger = logging.getLogger("checkout_integration.client")


class Keys:
    """The keys of one project, the one that the service accepted last first. Safe to use from several threads."""

    def __init__(self, keys: Sequence[Secret]) -> None:
        self._keys = keys
        self._accepted = 0

    def in_turn(self) -> Iterator[tuple[int, Secret]]:
        """Yield each key once, with its number; the accepted one first."""
        first = self._accepted
        yield first, self._keys[first]
        yield from ((number, key) for number, key in enumerate(self._keys) if number != first)

    def accept(self, endpoint: Endpoint, number: int) -> None:
        """Begin with this key from now on, and log that the preferred one was refused. Keys are never logged."""
        self._accepted = number
        call = f"{endpoint.method} {endpoint.path}"
        if number:
            logger.warning(
                "%s: the service refused SECRET_KEY and accepted number %d of PREVIOUS_SECRET_KEYS. "
                "If it has switched keys, make that one SECRET_KEY.",
                call,
                number,
            )
        else:
            logger.warning("%s: the service accepts SECRET_KEY again.", call)


def refuses_key(endpoint: Endpoint, answer: RawResponse, credential_codes: Container[str]) -> bool:
    """Return whether the service refused the key and did nothing else (AUT-05), so that another key may be tried."""
    if answer.status not in {400, 401}:
        return False
    error = error_of(endpoint, answer.status, parse_error(answer.body), credential_codes)
    # Another key of ours does not make the project known.
    return isinstance(error, BadCredentials) and not isinstance(error, UnknownProject)
